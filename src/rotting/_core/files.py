"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name whose file replaces `path` at the end, atomically.

    If anything goes wrong, the old file stays as it was. What has been replaced survives a power cut. Several threads
    and processes may replace the same file: each writes its own temporary file, and the last one to finish wins.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> with replacing(path) as temporary:
    ...     _ = temporary.write_text("hello")
    >>> path.read_text()
    'hello'
    """
    target = Path(os.path.realpath(path))  # a link to the file stays a link
    temporary = temporary_name(target)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def temporary_name(path: str | Path) -> Path:
    """Return a name beside the file that nobody else uses, in this process or another."""
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _sync_folder(folder: Path) -> None:
    """Make a rename durable: it is a change of the folder. Where folders cannot be opened, there is nothing to do."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
