"""The file of a SQLite database, and those that SQLite keeps beside it."""

from __future__ import annotations

import os
from typing import NamedTuple


class Version(NamedTuple):
    """What changes when somebody writes to the file."""

    modified: int
    size: int
    is_open: bool  # does somebody have it open?


class SqliteFile:
    """The file that an address names."""

    def __init__(self, name: str):
        self.path = os.path.abspath(name)  # a process may change its folder while a bandit is open

    def is_missing(self) -> bool:
        """Say whether there is none, so that connecting would create it."""
        return not os.path.exists(self.path)

    def identity(self) -> tuple[int, int] | None:
        """Return what identifies the file at this address, None if there is none."""
        try:
            found = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        return found.st_dev, found.st_ino

    def owns(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is this one, or one of those that SQLite keeps beside it."""
        return os.path.realpath(path) in [os.path.realpath(self.path), *self._beside()]

    def version(self) -> Version | None:
        """Return what tells whether the file has been written, None if there is none."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return Version(found.st_mtime_ns, found.st_size, any(map(os.path.exists, self._beside())))

    def version_to_read(self) -> Version | None:
        """Return the version of the file if it must be read without leaving a trace: this user may not write it.

        Otherwise SQLite would make the files beside it, which its owner could not write: it would be locked out. While
        somebody has the database open, they are there, and it is read as usual.
        """
        version = self.version()
        return None if version is None or version.is_open or os.access(self.path, os.W_OK) else version

    def _beside(self) -> list[str]:
        own = os.path.realpath(self.path)
        return [f"{own}-wal", f"{own}-shm", f"{own}-journal"]
