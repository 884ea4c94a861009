"""Logs in PostgreSQL: many writers, and one or two round trips for each transaction.

Alone (no other process has written lately): one statement, which appends if the last event is the one that is known.
Otherwise: one message that begins, locks the bandits and reads what is new, and one that appends and commits.
Statements never fail because another writer was quicker: they append nothing and say so.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Self

import psycopg
from psycopg import ClientCursor, waiting

from rotting.bandit.core.events import Question
from rotting.bandit.errors import Contention
from rotting.bandit.store import tables
from rotting.bandit.store.addresses import Address, masked
from rotting.bandit.store.contract import NO_LIMIT, Batch
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.sql import COLUMNS, FULL, Rows, SqlStore

GRACE = 0.1  # seconds in which the server is expected to give up by itself, before the connection is dropped
_LONGEST_DIAL = 30  # seconds after which a connection that nobody waits for is given up
_PREPARING = int.from_bytes(b"rotting")  # of an advisory lock: a number that no other program will use
# Serialization failure, deadlock, a key that exists by now, a prepared statement that was forgotten.
_RETRIED = {"40001", "40P01", "23505", "26000"}

KINDS = {"number": "SERIAL", "float": "DOUBLE PRECISION", "bytes": "BYTEA"}
_TYPES = {column: kind.format(**KINDS) for column, kind in tables.columns_of("rotting_events").items()}
# What the statement that appends is given: a column of values for each field, and what is known of the logs.
_GIVEN = {f"new_{column}": f"{kind}[]" for column, kind in _TYPES.items()} | {
    "known_bandit": "INTEGER[]",
    "known_seq": "BIGINT[]",
    "known_at": "DOUBLE PRECISION[]",
    "namespace": "INTEGER",
}
_ALL = f"bandit, {COLUMNS}"
_ALL_NEW = ", ".join(f"new.{column}" for column in _TYPES)


def _append_statement(given: Mapping[str, str]) -> str:
    """Return the statement that appends, with these texts where something is given.

    For each log it inserts the first event, if the one before it is there, its number is free and nobody else has the
    lock (otherwise who waits for it would always come too late), and then the others. The one before is looked up for
    each log by itself, after the join: joined, too, all events of the log were read, as long as the server had no
    statistics of the table; and with `known` alone, the server plans the statement again whenever it is executed.
    """
    arrays = ", ".join(given[f"new_{column}"] for column in _TYPES)
    known = ", ".join(given[name] for name in ("known_bandit", "known_seq", "known_at"))
    return f"""
WITH new AS (SELECT * FROM unnest({arrays}) AS new({_ALL})),
known AS (SELECT * FROM unnest({known}) AS known(bandit, seq, at)),
first AS (
  INSERT INTO rotting_events ({_ALL})
  SELECT {_ALL_NEW} FROM known JOIN new ON new.bandit = known.bandit AND new.seq = known.seq + 1
  WHERE (SELECT e.at FROM rotting_events e WHERE e.bandit = known.bandit AND e.seq = new.seq - 1) = known.at
  AND pg_try_advisory_xact_lock({given["namespace"]}, known.bandit)
  ON CONFLICT (bandit, seq) DO NOTHING RETURNING bandit, seq
),
rest AS (
  INSERT INTO rotting_events ({_ALL})
  SELECT {_ALL_NEW} FROM new JOIN first ON new.bandit = first.bandit WHERE new.seq > first.seq
)
SELECT bandit FROM first"""


_APPEND = _append_statement({name: f"%({name})s::{kind}" for name, kind in _GIVEN.items()})
# The server takes longer to plan this statement than to execute it. So it is prepared: by psycopg where it is sent for
# itself, which is quickest, and by us where it is sent together with the commit.
_PREPARE = f"PREPARE rotting_append ({', '.join(_GIVEN.values())}) AS " + _append_statement(
    {name: f"${place}" for place, name in enumerate(_GIVEN, start=1)}
)
_APPEND_AND_COMMIT = f"EXECUTE rotting_append ({', '.join(f'%({name})s' for name in _GIVEN)}); COMMIT"
_LOCK = """BEGIN; SELECT set_config('lock_timeout', %(wait)s, true);
SELECT pg_advisory_xact_lock(%(space)s, %(first)s), %(first)s;"""
_LOCK_OTHERS = """
SELECT bandit FROM unnest(%(others)s::INTEGER[]) AS bandit WHERE pg_try_advisory_xact_lock(%(space)s, bandit);"""
# The lock is held while this is planned: for one bandit, that takes a tenth of the time. Of many, each is looked up by
# the index: left to itself, the server would rather scan a table of which it expects to read a third.
_FROM_ONE = f"SELECT bandit, {COLUMNS} FROM rotting_events WHERE bandit = %(first)s AND seq >= %(seq)s"
_FROM_EACH = f"""SELECT e.bandit, {FULL} FROM unnest(%(bandits)s::INTEGER[], %(seqs)s::BIGINT[]) AS asked(bandit, seq)
CROSS JOIN LATERAL (SELECT * FROM rotting_events WHERE rotting_events.bandit = asked.bandit
AND rotting_events.seq >= asked.seq ORDER BY rotting_events.seq LIMIT {NO_LIMIT}) AS e"""


_COLUMNS = """SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped"""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for the server until `deadline`, and not at all for it to cancel what was interrupted."""

    deadline: Deadline | None = None
    has_prepared = False  # is there a statement `rotting_append`?

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait as psycopg does, but not beyond the deadline."""
        if self.deadline is not None:
            timeout = self.deadline.remaining() + GRACE
        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout)


def dial(deadline: Deadline, *arguments: Any, **options: Any) -> BoundedConnection:
    """Return a connection, made within the deadline.

    libpq counts whole seconds, two at least, and looks up names before it counts: so a thread does it, which closes the
    connection if it comes when nobody waits any more.
    """
    made: SimpleQueue[BoundedConnection | Exception] = SimpleQueue()
    claim = threading.Lock()  # taken by who comes first: the connection, or the end of the time

    def connect() -> None:
        try:
            found = BoundedConnection.connect(*arguments, **{"connect_timeout": _LONGEST_DIAL, **options})
        except Exception as error:
            made.put(error)
            return
        if claim.acquire(blocking=False):
            made.put(found)
        else:
            found.close()

    threading.Thread(target=connect, name="rotting-connect", daemon=True).start()
    try:
        found = made.get(timeout=deadline.remaining() + GRACE)
    except Empty:
        if claim.acquire(blocking=False):
            raise psycopg.errors.ConnectionTimeout("the server does not answer") from None
        found = made.get()
    if isinstance(found, Exception):
        raise found
    return found


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database; see `rotting.bandit.store.contract.Store`."""

    MARK = "%s"
    KINDS = KINDS
    BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # all that is read is of one moment
    ERRORS = (psycopg.Error,)

    def __init__(self, url: str, address: Address):
        super().__init__(masked(url))
        self._url, self._options = url, address
        self._ahead: float | None = None  # the server's clock (seconds since 1970) less this machine's monotonic one
        self._namespace = 0  # of the advisory locks: bandits of different schemas do not share them

    def another(self) -> Self:
        """Return the same database with a connection of its own."""
        return type(self)(self._url, self._options)

    def clock(self) -> float:
        """Return the time in seconds since 1970, by the server's clock."""
        return time.time() if self._ahead is None else self._ahead + time.monotonic()

    def is_missing(self) -> bool:
        """Say that connecting makes nothing."""
        return False

    def owns_file(self, path: str | os.PathLike[str]) -> bool:
        """Say that no file of this machine belongs to the server."""
        return False

    # The connection.

    def _dial(self, deadline: Deadline) -> Any:
        made = dial(deadline, f"postgresql://{self._options.text}", autocommit=True)
        made.deadline = deadline
        before = time.monotonic()
        at, namespace = made.execute(
            "SELECT extract(epoch FROM clock_timestamp())::float8, hashtext('rotting' || current_schema())"
        ).fetchone() or (0.0, 0)
        self._ahead, self._namespace = at - (before + time.monotonic()) / 2, namespace or 0
        return made

    def _connect(self, deadline: Deadline) -> None:
        super()._connect(deadline)
        self.driver.deadline = deadline

    def _is_contention(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", None) in _RETRIED

    def _is_broken(self, error: Exception) -> bool:
        """Say whether the server has closed the connection: classes 08 and 57P0, or an error of libpq, without any."""
        state = getattr(error, "sqlstate", None)
        return type(error).__name__ == "OperationalError" if state is None else state.startswith(("08", "57P0"))

    # Transactions.

    def _begin_writing(self, patience: float = math.inf) -> None:
        self._begin("BEGIN")
        self.is_locking = True

    def _roll_back(self) -> None:
        """End a transaction without effect. psycopg then forgets its prepared statements; so ours go with them."""
        if self._has_begun:
            ClientCursor(self.driver).execute("ROLLBACK; DEALLOCATE ALL")
            self.driver.has_prepared = False
            self._has_begun = self.is_locking = False

    def _lock_and_read(self, questions: Mapping[int, Question], patience: float) -> tuple[Collection[int], Rows]:
        first, *others = questions
        seconds = min(self.deadline.remaining(), patience)
        values = {"wait": str(max(1, math.ceil(seconds * 1000))), "space": self._namespace, "first": first}
        seqs = [NO_LIMIT if asked.after is None else asked.after for asked in questions.values()]
        values |= {"others": others, "bandits": list(questions), "seqs": seqs, "seq": seqs[0]}
        self._has_begun = True
        try:
            return self._locked_rows(values)
        except psycopg.errors.LockNotAvailable as error:
            self._roll_back()
            if self.deadline.is_over():
                raise self.deadline.error("other writers") from error
            raise Contention(f"{self.address}: another writer is at work") from error
        except self.ERRORS as error:
            if not self._is_broken(error) or self.deadline.is_over():
                raise
        self._connect_again()  # the server had closed the connection: nothing is lost yet
        return self._locked_rows(values)

    def _locked_rows(self, values: dict[str, Any]) -> tuple[Collection[int], Rows]:
        rest = _LOCK_OTHERS + _FROM_EACH if values["others"] else _FROM_ONE
        *_, locked, rows = self._results(_LOCK + rest, values)
        self.is_locking = True
        return {values["first"], *(row[-1] for row in locked)}, rows

    def _results(self, statements: str, values: dict[str, Any]) -> list[Rows]:
        """Return the rows of each of several statements, sent in one message; `rotting_append` is prepared."""
        prepare = "" if self.driver.has_prepared else f"{_PREPARE};"
        cursor = ClientCursor(self.driver)
        cursor.execute(prepare + statements, values)
        self.driver.has_prepared = True
        results: list[Rows] = []
        more: bool | None = True
        while more:
            results.append(cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else [])
            more = cursor.nextset()
        return results

    # Appending.

    def append(self, batches: Mapping[int, Batch]) -> set[int]:
        """Append to logs; returns the bandits for which that was accepted."""
        more = any(batch.snapshot is not None or batch.seal is not None for batch in batches.values())
        if more and not self._has_begun:
            self._begin_writing()
        values = self._values(batches)
        self._committing = not more
        if self._has_begun and not more:
            *_, rows, _ = self._results(_APPEND_AND_COMMIT, values)
            self._has_begun = self.is_locking = False
            return {row[0] for row in rows}
        accepted = {row[0] for row in self.driver.execute(_APPEND, values)}
        self._put_beside(batches, accepted)
        if more:
            self._commit()
        return accepted

    def _values(self, batches: Mapping[int, Batch]) -> dict[str, Any]:
        rows = [(bandit, *event) for bandit, batch in batches.items() for event in batch.events]
        columns = zip(*rows, strict=True) if rows else ([] for _ in _TYPES)
        values: dict[str, Any] = {f"new_{name}": list(column) for name, column in zip(_TYPES, columns, strict=True)}
        known = [(bandit, batch.seq, batch.at) for bandit, batch in batches.items()]
        names = ("known_bandit", "known_seq", "known_at")
        values |= {name: list(column) for name, column in zip(names, zip(*known, strict=True), strict=True)}
        return values | {"namespace": self._namespace}

    # Tables.

    def columns(self) -> dict[str, set[str]]:
        """Return the columns of all tables that there are."""
        found: dict[str, set[str]] = {}
        for table, column in self.rows(_COLUMNS):
            found.setdefault(table, set()).add(column)
        return found

    def prepare_alone(self) -> None:
        """Keep other processes from preparing the tables at the same time."""
        self.rows("SELECT pg_advisory_xact_lock(?)", _PREPARING)

    def add_columns_of_2(self, known: Sequence[str]) -> None:
        """Add the columns that version 1 did not have."""
        self.execute("ALTER TABLE rotting_events DROP CONSTRAINT IF EXISTS rotting_events_kind_check")
        for column, kind in _TYPES.items():
            if column not in known:
                self.execute(f"ALTER TABLE rotting_events ADD COLUMN {column} {kind}")
