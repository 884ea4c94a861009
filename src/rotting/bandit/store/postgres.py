"""Logs in PostgreSQL: many writers, and one or two round trips for each transaction.

Alone (no other process has written lately): one statement, which appends if the last event is the one that is known.
Otherwise: one message that begins, locks the bandits and reads what is new, and one that appends and commits.
Statements never fail because another writer was quicker: they append nothing and say so.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, InvalidStateError, wait
from typing import Any

import psycopg
from psycopg import ClientCursor, waiting
from psycopg.pq import TransactionStatus

from rotting.bandit.core.events import Question
from rotting.bandit.store.addresses import Address
from rotting.bandit.store.contract import NO_LIMIT, Batch
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.sql import COLUMNS, FULL, Rows, SqlStore

GRACE = 0.1  # seconds in which the server is expected to give up by itself, before the connection is dropped
_LONGEST_DIAL = 30  # seconds after which a connection that nobody waits for is given up
_DOUBLED = "23505"  # a key that exists by now
# Serialization failure, deadlock, the former, a prepared statement that was forgotten.
_RETRIED = {"40001", "40P01", _DOUBLED, "26000"}

# The server takes longer to plan this statement than to execute it, so it is prepared. It is given the events as JSON,
# which the server reads as rows of the table, and what is known of the logs. For each log it inserts the first event,
# if the one before it is there, its number is free and nobody else has the lock (otherwise who waits for it would
# always come too late), and then the others. The one before is looked up for each log by itself, after the join:
# joined, too, all events of the log were read, as long as the server had no statistics of the table.
_PREPARE = """
PREPARE rotting_append (INTEGER, JSON, JSON) AS
WITH new AS (SELECT * FROM json_populate_recordset(NULL::rotting_events, $2)),
known AS (SELECT * FROM json_to_recordset($3) AS known(bandit INTEGER, seq BIGINT, at DOUBLE PRECISION)),
first AS (
  INSERT INTO rotting_events
  SELECT new.* FROM known JOIN new ON new.bandit = known.bandit AND new.seq = known.seq + 1
  WHERE (SELECT e.at FROM rotting_events e WHERE e.bandit = known.bandit AND e.seq = new.seq - 1) = known.at
  AND pg_try_advisory_xact_lock($1, known.bandit)
  ON CONFLICT (bandit, seq) DO NOTHING RETURNING bandit, seq
),
rest AS (
  INSERT INTO rotting_events
  SELECT new.* FROM new JOIN first ON new.bandit = first.bandit WHERE new.seq > first.seq
)
SELECT bandit FROM first;"""
_APPEND = "EXECUTE rotting_append (%(space)s, %(new)s, %(known)s);"
# A writer that hangs, or whose machine has died, keeps others waiting until its own deadline, not for two hours.
_LOCK = """BEGIN; SELECT set_config('lock_timeout', %(milliseconds)s::text, true),
set_config('idle_in_transaction_session_timeout', %(silent)s::text, true);
SELECT pg_advisory_xact_lock(%(space)s, %(first)s), %(first)s;"""
_LOCK_OTHERS = """
SELECT bandit FROM unnest(%(others)s::INTEGER[]) AS bandit WHERE pg_try_advisory_xact_lock(%(space)s, bandit);"""
# The lock is held while this is planned: for one bandit, that takes a tenth of the time. Of many, each is looked up by
# the index: left to itself, the server would rather scan a table of which it expects to read a third.
_FROM_ONE = f"SELECT bandit, seq, {COLUMNS} FROM rotting_events WHERE bandit = %(first)s AND seq >= %(seq)s"
_FROM_EACH = f"""SELECT e.bandit, e.seq, {FULL}
FROM unnest(%(bandits)s::INTEGER[], %(seqs)s::BIGINT[]) AS asked(bandit, seq)
CROSS JOIN LATERAL (SELECT * FROM rotting_events WHERE rotting_events.bandit = asked.bandit
AND rotting_events.seq >= asked.seq ORDER BY rotting_events.seq LIMIT {NO_LIMIT}) AS e"""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for the server until `deadline`, and not at all for it to cancel what was interrupted."""

    deadline: Deadline | None = None
    has_prepared = False  # is there a statement `rotting_append`?

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait as psycopg does, but not beyond the deadline."""
        if self.deadline is not None:
            timeout = self.deadline.remaining(GRACE)
        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout)


def dial(deadline: Deadline, address: str) -> BoundedConnection:
    """Return a connection, made within the deadline.

    libpq counts whole seconds, two at least, and looks up names before it counts: so a thread does it, which closes the
    connection if it comes when nobody waits any more.
    """
    made = Future[BoundedConnection]()

    def connect() -> None:
        try:
            found = BoundedConnection.connect(address, autocommit=True, connect_timeout=_LONGEST_DIAL)
        except Exception as error:
            with contextlib.suppress(InvalidStateError):  # nobody waits any more
                made.set_exception(error)
            return
        if made.set_running_or_notify_cancel():
            made.set_result(found)
        else:
            found.close()

    threading.Thread(target=connect, name="rotting-connect", daemon=True).start()
    try:
        wait([made], deadline.remaining(GRACE))
    finally:  # a signal may raise an exception, too
        nobody_waits = made.cancel()
    if nobody_waits:
        raise psycopg.errors.ConnectionTimeout("the server does not answer")
    return made.result()


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database; see `rotting.bandit.store.contract.Store`."""

    MARK = "%s"
    KINDS = {"number": "SERIAL", "float": "DOUBLE PRECISION", "bytes": "BYTEA"}  # noqa: RUF012
    CATALOGUE = """SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped"""
    PREPARE_ALONE = f"SELECT pg_advisory_xact_lock({int.from_bytes(b'rotting')})"  # a number that nobody else will use
    FROM_1_TO_2 = (
        """ALTER TABLE rotting_events DROP CONSTRAINT IF EXISTS rotting_events_kind_check,
        ADD COLUMN key TEXT, ADD COLUMN batch INTEGER, ADD COLUMN holdout INTEGER, ADD COLUMN happened DOUBLE PRECISION,
        ADD COLUMN details TEXT""",
    )
    BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"  # all that is read is of one moment
    ERRORS = (psycopg.Error,)

    def __init__(self, url: str, address: Address):
        super().__init__(url, address)
        self._ahead: float | None = None  # the server's clock (seconds since 1970) less this machine's monotonic one
        self._namespace = 0  # of the advisory locks: bandits of different schemas do not share them

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
        made = dial(deadline, f"postgresql://{self._options.text}")
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
        state = getattr(error, "sqlstate", None)
        return state in _RETRIED and not (state == _DOUBLED and self._committing)  # an event does not go away

    def _is_broken(self, error: Exception) -> bool:
        """Say whether the server has closed the connection: classes 08 and 57P0, or an error of libpq, without any."""
        state = getattr(error, "sqlstate", None)
        return type(error).__name__ == "OperationalError" if state is None else state.startswith(("08", "57P0"))

    def _is_refusal(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", None) is not None and not self._is_broken(error)

    # Transactions.

    def _has_begun(self) -> bool:
        return self.driver.info.transaction_status != TransactionStatus.IDLE  # type: ignore[no-any-return]

    def _begin_writing(self, patience: float = math.inf) -> None:
        self._begin(lambda: self.driver.execute("BEGIN"))

    def _roll_back(self) -> None:
        """End a transaction without effect. psycopg then forgets its prepared statements; so ours go with them."""
        if self._has_begun():
            ClientCursor(self.driver).execute("ROLLBACK; DEALLOCATE ALL")
            self.driver.has_prepared = False

    def _lock_and_read(self, questions: Mapping[int, Question], patience: float) -> tuple[Collection[int], Rows]:
        first, *others = questions
        seqs = [NO_LIMIT if asked.after is None else asked.after for asked in questions.values()]
        remaining = self.deadline.remaining()
        milliseconds, silent = max(1, math.ceil(1000 * min(remaining, patience))), math.ceil(1000 * (remaining + 1.0))
        values = {
            "milliseconds": milliseconds,
            "silent": silent,
            "space": self._namespace,
            "first": first,
            "others": others,
        }
        values |= {"bandits": list(questions), "seqs": seqs, "seq": seqs[0]}
        statements = _LOCK + (_LOCK_OTHERS + _FROM_EACH if others else _FROM_ONE)
        try:
            *_, locked, rows = self._begin(lambda: self._results(statements, values))
        except psycopg.errors.LockNotAvailable as error:
            raise self._refused() from error
        return {first, *(row[-1] for row in locked)}, rows

    def _results(self, statements: str, values: dict[str, Any]) -> list[Rows]:
        """Return the rows of each of several statements that has any, sent in one message."""
        prepare = "" if self.driver.has_prepared else _PREPARE
        cursor = ClientCursor(self.driver)
        cursor.execute(prepare + statements, values)
        self.driver.has_prepared = True
        return [each.fetchall() for each in cursor.results() if each.description]

    # Appending.

    def append(self, batches: Mapping[int, Batch]) -> set[int]:
        """Append to logs; returns the bandits for which that was accepted."""
        more = any(batch.snapshot is not None or batch.seal is not None for batch in batches.values())
        if more and not self._has_begun():
            self._begin_writing()
        rows = [{"bandit": bandit} | event._asdict() for bandit, batch in batches.items() for event in batch.events]
        known = [{"bandit": bandit, "seq": batch.seq, "at": batch.at} for bandit, batch in batches.items()]
        values = {"space": self._namespace, "new": json.dumps(rows, ensure_ascii=False), "known": json.dumps(known)}
        self._committing = not more
        [found] = self._results(_APPEND + ("COMMIT" if self._has_begun() and not more else ""), values)
        accepted = {bandit for (bandit,) in found}
        if more:
            self._put_beside(batches, accepted)
            self._commit()
        return accepted
