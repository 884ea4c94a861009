"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name whose file takes the place of `path` in the end: nobody ever sees half of it.

    If anything goes wrong, the old file stays as it was. What has been replaced survives a power cut.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> with replacing(path) as temporary:
    ...     _ = temporary.write_text("hello")
    >>> path.read_text()
    'hello'
    """
    temporary = beside(path)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, os.path.realpath(path))
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def beside(path: str | Path) -> Path:
    """Return a temporary name in the folder where the file really is: a link to it stays a link."""
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")
