"""Logs in a SQLite file: one writer at a time, who waits for its turn."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from rotting.bandit.core.events import Question
from rotting.bandit.errors import StorageError
from rotting.bandit.store import tables
from rotting.bandit.store.addresses import Address
from rotting.bandit.store.connection import Result, pause
from rotting.bandit.store.contract import Batch
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.sql import ALL_COLUMNS, Rows, SqlStore

_KINDS = {"number": "INTEGER", "float": "FLOAT", "bytes": "BLOB"}
# The table of events is made again: SQLite cannot drop the constraint that it had.
_COLUMNS_OF_1 = "bandit, seq, kind, at, arm, name, decision, target, value, probability, among"
_FROM_1_TO_2 = (
    "DROP INDEX rotting_outcomes",
    "ALTER TABLE rotting_events RENAME TO rotting_events_1",
    tables.definition("rotting_events", _KINDS),
    f"INSERT INTO rotting_events ({_COLUMNS_OF_1}) SELECT {_COLUMNS_OF_1} FROM rotting_events_1",
    "DROP TABLE rotting_events_1",
    tables.INDEXES["rotting_outcomes"],
)


class SqliteStore(SqlStore):
    """A store in a SQLite file; see `rotting.bandit.store.contract.Store`."""

    KINDS = _KINDS
    CATALOGUE = "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
    PREPARE_ALONE = "SELECT 1"  # the transaction keeps others away
    FROM_1_TO_2 = _FROM_1_TO_2
    BEGIN_READING = "BEGIN"
    ERRORS = (sqlite3.Error,)

    def __init__(self, url: str, address: Address):
        super().__init__(url, address)
        self._path = os.path.abspath(address.text)  # a process may change its folder while a bandit is open
        self._identity: tuple[int, int] | None = None  # of the file, once it is there
        self._read_as: Version | None = None  # of a file that is read without leaving a trace
        self._keeps_a_log = False  # SQLite keeps that with the file, but setting it writes: not for those who only read
        self._busy_timeout = -1  # SQLite's own, in milliseconds; -1: not yet set

    def clock(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    def is_missing(self) -> bool:
        """Say whether there is no file, so that a block would make one."""
        return not os.path.exists(self._path)

    def owns_file(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is this database, or one of those that SQLite keeps beside it."""
        return os.path.realpath(path) in [os.path.realpath(self._path), *_beside(self._path)]

    # The connection.

    def _dial(self, deadline: Deadline) -> Any:
        self._read_as = _version_to_read(self._path)
        query = "mode=ro&immutable=1" if self._read_as is not None else self._options.query
        name = f"file:{quote(self._path)}?{query}" if query else self._path
        made = sqlite3.connect(name, uri=bool(query), isolation_level=None, check_same_thread=False)
        self._identity = self._identity or _identity(self._path)
        self._keeps_a_log, self._busy_timeout = False, -1
        try:
            made.execute("PRAGMA synchronous = FULL")  # what has been committed survives a power cut
            made.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            made.close()
            raise
        return made

    def _check_place(self) -> None:
        """Refuse to go on with a file that is no longer the one at this address: what it holds would be lost."""
        if self._identity is None:
            return
        if (now := _identity(self._path)) != self._identity:
            what = "was deleted" if now is None else "was replaced by another file"
            raise StorageError(
                f"{self.address} {what} since it was opened", hint="put it back, or open the bandit again"
            )
        if self._read_as is not None and self._read_as != _version(self._path):
            self.disconnect()  # somebody writes it by now

    def _check_unchanged(self) -> None:
        if self._read_as is not None and self._read_as != _version(self._path):
            raise StorageError(f"{self.address} was written while it was read", hint="read it again")

    def disconnect(self) -> None:
        """Close the connection."""
        if self.driver is not None:
            with contextlib.suppress(*self.ERRORS):
                self.driver.rollback()  # closing alone would wait until no cursor is left
        super().disconnect()

    def _is_contention(self, error: Exception) -> bool:
        # The lowest byte is the primary code. Errors that Python itself raises have none.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY

    # Transactions. One that read first and wanted to write later could fail however long it waited.

    def _has_begun(self) -> bool:
        return self.driver.in_transaction  # type: ignore[no-any-return]

    def _begin(self, begin: Callable[[], Result]) -> Result:
        self._wait_inside(round(self.deadline.timeout * 1000))
        return super()._begin(begin)

    def _begin_writing(self, patience: float = math.inf) -> None:
        until = time.monotonic() + patience
        self._wait_inside(0)
        if not self._keeps_a_log:
            self.driver.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
            self._keeps_a_log = True
        while True:
            try:
                self.driver.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not self._is_contention(error):
                    raise
                if self.deadline.is_over() or time.monotonic() >= until:
                    raise self._refused() from error
            pause()

    def _wait_inside(self, milliseconds: int) -> None:
        """Let SQLite itself wait so long for locks."""
        if self._busy_timeout != milliseconds:
            self.driver.execute(f"PRAGMA busy_timeout = {milliseconds}")
            self._busy_timeout = milliseconds

    # Appending.

    def _lock_and_read(self, questions: Mapping[int, Question], patience: float) -> tuple[Collection[int], Rows]:
        self._begin_writing(patience)
        return questions.keys(), self._from(questions)

    def append(self, batches: Mapping[int, Batch]) -> set[int]:
        """Append to logs; returns the bandits for which that was accepted."""
        if not self._has_begun():
            self._begin_writing()
        accepted = self._whose_last_is_known(batches)
        rows = [(bandit, *event) for bandit in accepted for event in batches[bandit].events]
        self.insert("rotting_events", ALL_COLUMNS, rows)
        self._put_beside(batches, accepted)
        if accepted:
            self._commit()
        else:
            self._roll_back()
        return accepted

    def _whose_last_is_known(self, batches: Mapping[int, Batch]) -> set[int]:
        asked = [(bandit, batch.seq) for bandit, batch in batches.items()]
        found = {bandit: at for bandit, at, has_next in self._asked(_LAST, asked) if not has_next}
        return {bandit for bandit, batch in batches.items() if found.get(bandit) == batch.at}


_LAST = """SELECT e.bandit, e.at,
EXISTS (SELECT 1 FROM rotting_events later WHERE later.bandit = e.bandit AND later.seq = e.seq + 1)
FROM asked CROSS JOIN rotting_events e WHERE e.bandit = asked.bandit AND e.seq = asked.it"""


# The file, and those that SQLite keeps beside it.


class Version(NamedTuple):
    """What changes when somebody writes to a file."""

    modified: int
    size: int
    is_open: bool  # does somebody have it open?


def _found(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except TimeoutError:  # an OSError, too, but one that a caller's signal handler raised
        raise
    except OSError:
        return None


def _identity(path: str) -> tuple[int, int] | None:
    """Return what identifies the file at this address, None if there is none."""
    found = _found(path)
    return None if found is None else (found.st_dev, found.st_ino)


def _version(path: str) -> Version | None:
    """Return what tells whether a file has been written, None if there is none."""
    found = _found(path)
    return None if found is None else Version(found.st_mtime_ns, found.st_size, any(map(os.path.exists, _beside(path))))


def _version_to_read(path: str) -> Version | None:
    """Return the version of a file if it must be read without leaving a trace: this user may not write it.

    Otherwise SQLite would make the files beside it, which its owner could not write: it would be locked out. While
    somebody has the database open, they are there, and it is read as usual.
    """
    version = _version(path)
    return None if version is None or version.is_open or os.access(path, os.W_OK) else version


def _beside(path: str) -> list[str]:
    return [f"{os.path.realpath(path)}-{end}" for end in ("wal", "shm", "journal")]
