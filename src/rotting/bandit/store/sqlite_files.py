"""The file of a SQLite database, and those that SQLite keeps beside it."""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import quote

from sqlalchemy.engine import URL

from rotting.bandit.store.addresses import sqlite_file


class Version(NamedTuple):
    """What changes when somebody writes to the file."""

    modified: int
    size: int
    is_open: bool  # does somebody have it open?


class SqliteFile:
    """The file that an address names."""

    def __init__(self, url: URL):
        self._path = sqlite_file(url)

    def is_missing(self) -> bool:
        """Say whether there is none, so that connecting would create it."""
        return not os.path.exists(self._path)

    def identity(self) -> tuple[int, int] | None:
        """Return what identifies the file at this address, None if there is none."""
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        return found.st_dev, found.st_ino

    def owns(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is this one, or one of those that SQLite keeps beside it."""
        return os.path.realpath(path) in [os.path.realpath(self._path), *self._beside()]

    def version(self) -> Version | None:
        """Return what tells whether the file has been written, None if there is none."""
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return Version(found.st_mtime_ns, found.st_size, any(map(os.path.exists, self._beside())))

    def read_only_url(self) -> URL | None:
        """Return the address to read the file by without leaving a trace, if this user may not write it.

        Otherwise SQLite would make the files beside it, which its owner could not write: it would be locked out. While
        somebody has the database open, they are there, and it is read as usual.
        """
        version = self.version()
        if version is None or version.is_open or os.access(self._path, os.W_OK):
            return None
        return URL.create(
            "sqlite", database=f"file:{quote(self._path)}", query={"mode": "ro", "immutable": "1", "uri": "true"}
        )

    def _beside(self) -> list[str]:
        own = os.path.realpath(self._path)
        return [f"{own}-wal", f"{own}-shm", f"{own}-journal"]
