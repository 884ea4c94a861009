"""Logs in a SQLite file: one writer at a time, who waits for its turn."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self
from urllib.parse import quote

from rotting.bandit.core.events import Question
from rotting.bandit.errors import Contention, StorageError
from rotting.bandit.store import tables
from rotting.bandit.store.addresses import Address, masked
from rotting.bandit.store.connection import pause
from rotting.bandit.store.contract import Batch
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.files import SqliteFile, Version
from rotting.bandit.store.sql import COLUMNS, FROM, Rows, SqlStore

ROWS_PER_INSERT = 50  # so many rows in one statement take two thirds of the time of single ones


class SqliteStore(SqlStore):
    """A store in a SQLite file; see `rotting.bandit.store.contract.Store`."""

    KINDS = {"number": "INTEGER", "float": "FLOAT", "bytes": "BLOB"}  # noqa: RUF012
    BEGIN_READING = "BEGIN"
    ERRORS = (sqlite3.Error,)

    def __init__(self, url: str, address: Address):
        super().__init__(masked(url))
        self._url, self._options = url, address
        self._file = SqliteFile(address.text)
        self._identity: tuple[int, int] | None = None  # of the file, once it is there
        self._read_as: Version | None = None  # of a file that is read without leaving a trace
        self._keeps_a_log = False  # SQLite keeps that with the file, but setting it writes: not for those who only read
        self._busy_timeout = -1  # SQLite's own, in milliseconds; -1: not yet set

    def another(self) -> Self:
        """Return the same file with a connection of its own."""
        return type(self)(self._url, self._options)

    def clock(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    def is_missing(self) -> bool:
        """Say whether there is no file, so that a block would make one."""
        return self._file.is_missing()

    def owns_file(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is this database, or one of those that SQLite keeps beside it."""
        return self._file.owns(path)

    # The connection.

    def _dial(self, deadline: Deadline) -> Any:
        self._read_as = self._file.version_to_read()
        query = "mode=ro&immutable=1" if self._read_as is not None else self._options.query
        name = f"file:{quote(self._file.path)}?{query}" if query else self._file.path
        made = sqlite3.connect(name, uri=bool(query), isolation_level=None, check_same_thread=False)
        self._identity = self._identity or self._file.identity()
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
        if (now := self._file.identity()) != self._identity:
            what = "was deleted" if now is None else "was replaced by another file"
            raise StorageError(
                f"{self.address} {what} since it was opened", hint="put it back, or open the bandit again"
            )
        if self._read_as is not None and self._read_as != self._file.version():
            self.disconnect()  # somebody writes it by now

    def _check_unchanged(self) -> None:
        if self._read_as is not None and self._read_as != self._file.version():
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

    def _begin(self, statement: str) -> Any:
        self._wait_inside(round(self.deadline.timeout * 1000))
        return super()._begin(statement)

    def _begin_writing(self, patience: float = math.inf) -> None:
        until = time.monotonic() + patience
        self._wait_inside(0)
        if not self._keeps_a_log:
            self.driver.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
            self._keeps_a_log = True
        while True:
            self._has_begun = True
            try:
                self.driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                self._has_begun = False
                if not self._is_contention(error):
                    raise
                if self.deadline.is_over():
                    raise self.deadline.error("other writers") from error
                if time.monotonic() >= until:
                    raise Contention(f"{self.address}: another writer is at work") from error
                pause()
            else:
                self.is_locking = True
                return

    def _wait_inside(self, milliseconds: int) -> None:
        """Let SQLite itself wait so long for locks."""
        if self._busy_timeout != milliseconds:
            self.driver.execute(f"PRAGMA busy_timeout = {milliseconds}")
            self._busy_timeout = milliseconds

    # Appending.

    def _lock_and_read(self, questions: Mapping[int, Question], patience: float) -> tuple[Collection[int], Rows]:
        self._begin_writing(patience)
        known = [(bandit, asked.after) for bandit, asked in questions.items() if asked.after is not None]
        return questions.keys(), list(self._asked(FROM, known))

    def append(self, batches: Mapping[int, Batch]) -> set[int]:
        """Append to logs; returns the bandits for which that was accepted."""
        if not self._has_begun:
            self._begin_writing()
        accepted = self._whose_last_is_known(batches)
        self._insert_events([(bandit, *event) for bandit in accepted for event in batches[bandit].events])
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

    def _insert_events(self, rows: Rows) -> None:
        whole = len(rows) // ROWS_PER_INSERT * ROWS_PER_INSERT
        for start in range(0, whole, ROWS_PER_INSERT):
            values = tuple(value for row in rows[start : start + ROWS_PER_INSERT] for value in row)
            self.driver.execute(_insert_statement(ROWS_PER_INSERT, len(rows[0])), values)
        if rows[whole:]:
            self.driver.executemany(_insert_statement(1, len(rows[0])), rows[whole:])

    # Tables.

    def columns(self) -> dict[str, set[str]]:
        """Return the columns of all tables that there are."""
        found: dict[str, set[str]] = {}
        for table, column in self.rows(
            "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
        ):
            found.setdefault(table, set()).add(column)
        return found

    def prepare_alone(self) -> None:
        """Keep other processes from preparing the tables at the same time: the transaction does."""

    def add_columns_of_2(self, known: Sequence[str]) -> None:
        """Rebuild the table of events: SQLite cannot drop the constraint that it had."""
        columns = ", ".join(known)
        self.execute("DROP INDEX rotting_outcomes")
        self.execute("ALTER TABLE rotting_events RENAME TO rotting_events_1")
        tables.make(self, "rotting_events")
        self.execute(f"INSERT INTO rotting_events ({columns}) SELECT {columns} FROM rotting_events_1")
        self.execute("DROP TABLE rotting_events_1")
        self.execute(f"CREATE UNIQUE INDEX rotting_outcomes ON {tables.INDEXES['rotting_outcomes']}")


_LAST = """SELECT e.bandit, e.at,
EXISTS (SELECT 1 FROM rotting_events later WHERE later.bandit = e.bandit AND later.seq = e.seq + 1)
FROM asked CROSS JOIN rotting_events e WHERE e.bandit = asked.bandit AND e.seq = asked.it"""


@lru_cache(maxsize=2)
def _insert_statement(rows: int, columns: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO rotting_events (bandit, {COLUMNS}) VALUES {', '.join([row] * rows)}"
