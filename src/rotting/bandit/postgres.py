"""Appending to a log in PostgreSQL with one or two round trips, and connections that wait no longer than they may.

Alone (no other process has written lately): one statement, which appends if the last event is the one that is known.
Otherwise: one message that begins, locks the bandit and reads what is new, and one that appends and commits. Statements
never fail because another writer was quicker: they append nothing and say so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import ClientCursor, waiting
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql

from rotting.bandit import schema
from rotting.bandit.deadlines import Deadline
from rotting.bandit.events import Event

GRACE = 0.1  # seconds in which the server is expected to give up by itself, before the connection is dropped

_DIALECT: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
_TYPES = {field: schema.events.c[field].type.compile(_DIALECT) for field in Event._fields}
_COLUMNS = ", ".join(Event._fields)
_NEW = "unnest(" + ", ".join(f"%s::{_TYPES[field]}[]" for field in Event._fields) + f") AS new({_COLUMNS})"
# Inserts the first event, if the one before it is there, its number is free and nobody else has the lock (otherwise who
# waits for it would always come too late), and then the others.
_APPEND = f"""
WITH new AS (SELECT * FROM {_NEW}),
first AS (
  INSERT INTO rotting_events (bandit, {_COLUMNS}) SELECT %s, {_COLUMNS} FROM new
  WHERE seq = %s AND EXISTS (SELECT FROM rotting_events WHERE bandit = %s AND seq = %s AND at = %s)
  AND pg_try_advisory_xact_lock(%s, %s)
  ON CONFLICT (bandit, seq) DO NOTHING RETURNING seq
),
rest AS (
  INSERT INTO rotting_events (bandit, {_COLUMNS})
  SELECT %s, {", ".join(f"new.{field}" for field in Event._fields)} FROM new, first WHERE new.seq > first.seq
)
SELECT EXISTS (SELECT FROM first)"""
_LOCK = "SELECT set_config('lock_timeout', %s, true); SELECT pg_advisory_xact_lock(%s, %s)"
_LOCK_AND_READ = f"""BEGIN; {_LOCK};
SELECT {_COLUMNS} FROM rotting_events WHERE bandit = %s AND seq >= %s ORDER BY seq"""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for the server until `deadline`, and not at all for it to cancel what was interrupted."""

    deadline: Deadline | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait as psycopg does, but not beyond the deadline."""
        if self.deadline is not None:
            timeout = self.deadline.remaining() + GRACE
        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout)


def lock_and_read(driver: Any, namespace: int, bandit: int, seq: int, deadline: Deadline) -> list[Event]:
    """Begin a transaction, wait for the bandit's lock, and return its events from `seq` on."""
    cursor = ClientCursor(driver)
    cursor.execute(_LOCK_AND_READ, (_milliseconds(deadline), namespace, bandit, bandit, seq))
    while cursor.nextset():
        pass
    return [Event._make(row) for row in cursor]


def append(
    driver: Any, namespace: int, bandit: int, last: tuple[int, float], events: Sequence[Event], commit: bool
) -> bool:
    """Append events after the last known one (its number and time), all or none; with `commit`, end the transaction."""
    seq, at = last
    columns = [list(column) for column in zip(*events, strict=True)]
    values = (*columns, bandit, seq + 1, bandit, seq, at, namespace, bandit, bandit)
    if commit:
        cursor = ClientCursor(driver)
        cursor.execute(_APPEND + "; COMMIT", values)
    else:
        cursor = driver.execute(_APPEND, values)
    row = cursor.fetchone()
    return row is not None and bool(row[0])


def lock(driver: Any, namespace: int, bandit: int, deadline: Deadline) -> None:
    """Wait for the bandit's lock, in a transaction that has begun."""
    cursor = ClientCursor(driver)
    cursor.execute(_LOCK, (_milliseconds(deadline), namespace, bandit))


def _milliseconds(deadline: Deadline) -> str:
    return str(max(1, math.ceil(deadline.remaining() * 1000)))


class Greeting(NamedTuple):
    """What a server says of itself when a connection has been made."""

    ahead: float  # its clock (seconds since 1970) less this machine's monotonic one
    namespace: int  # of the advisory locks: bandits of different schemas do not share them


def greet(driver: Any) -> Greeting:
    """Ask a server for its clock and for the namespace of locks."""
    before = time.monotonic()
    at, schema = driver.execute(
        "SELECT extract(epoch FROM clock_timestamp())::float8, hashtext('rotting' || current_schema())"
    ).fetchone()
    return Greeting(at - (before + time.monotonic()) / 2, schema or 0)
