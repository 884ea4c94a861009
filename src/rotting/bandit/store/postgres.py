"""Appending to a log in PostgreSQL with one or two round trips, and connections that wait no longer than they may.

Alone (no other process has written lately): one statement, which appends if the last event is the one that is known.
Otherwise: one message that begins, locks the bandit and reads what is new, and one that appends and commits. Statements
never fail because another writer was quicker: they append nothing and say so.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import psycopg
from psycopg import ClientCursor, waiting
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql

from rotting.bandit.core.events import Event
from rotting.bandit.store import schema
from rotting.bandit.store.deadlines import Deadline

GRACE = 0.1  # seconds in which the server is expected to give up by itself, before the connection is dropped
_LONGEST_DIAL = 30  # seconds after which a connection that nobody waits for is given up

_DIALECT: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
_TYPES = {field: schema.events.c[field].type.compile(_DIALECT) for field in Event._fields}
_COLUMNS = ", ".join(Event._fields)
# What the statement that appends is given: a column of values for each field, and what is known of the log.
_KNOWN = {"bandit": "integer", "last_seq": "bigint", "last_at": "double precision", "namespace": "integer"}
_GIVEN = {f"new_{field}": f"{_TYPES[field]}[]" for field in Event._fields} | _KNOWN


def _append_statement(given: Mapping[str, str]) -> str:
    """Return the statement that appends, with these texts where something is given.

    It inserts the first event, if the one before it is there, its number is free and nobody else has the lock
    (otherwise who waits for it would always come too late), and then the others.
    """
    arrays = ", ".join(given[f"new_{field}"] for field in Event._fields)
    bandit, last_seq, last_at = given["bandit"], given["last_seq"], given["last_at"]
    return f"""
WITH new AS (SELECT * FROM unnest({arrays}) AS new({_COLUMNS})),
first AS (
  INSERT INTO rotting_events (bandit, {_COLUMNS}) SELECT {bandit}, {_COLUMNS} FROM new
  WHERE seq = {last_seq} + 1
  AND EXISTS (SELECT FROM rotting_events WHERE bandit = {bandit} AND seq = {last_seq} AND at = {last_at})
  AND pg_try_advisory_xact_lock({given["namespace"]}, {bandit})
  ON CONFLICT (bandit, seq) DO NOTHING RETURNING seq
),
rest AS (
  INSERT INTO rotting_events (bandit, {_COLUMNS})
  SELECT {bandit}, {", ".join(f"new.{field}" for field in Event._fields)} FROM new, first WHERE new.seq > first.seq
)
SELECT EXISTS (SELECT FROM first)"""


_APPEND = _append_statement({name: f"%({name})s::{kind}" for name, kind in _GIVEN.items()})
# The server takes longer to plan this statement than to execute it. So it is prepared: by psycopg where it is sent for
# itself, and by us where it is sent together with the commit.
_PREPARE = f"PREPARE rotting_append ({', '.join(_GIVEN.values())}) AS " + _append_statement(
    {name: f"${place}" for place, name in enumerate(_GIVEN, start=1)}
)
_APPEND_AND_COMMIT = f"EXECUTE rotting_append ({', '.join(f'%({name})s' for name in _GIVEN)}); COMMIT"
_LOCK = "SELECT set_config('lock_timeout', %s, true); SELECT pg_advisory_xact_lock(%s, %s)"
_LOCK_AND_READ = f"""BEGIN; {_LOCK};
SELECT {_COLUMNS} FROM rotting_events WHERE bandit = %s AND seq >= %s ORDER BY seq"""


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


def lock_and_read(driver: Any, namespace: int, bandit: int, seq: int, deadline: Deadline) -> list[Event]:
    """Begin a transaction, wait for the bandit's lock, and return its events from `seq` on."""
    cursor = ClientCursor(driver)
    prepare = "" if driver.has_prepared else f"{_PREPARE};"
    cursor.execute(prepare + _LOCK_AND_READ, (_milliseconds(deadline), namespace, bandit, bandit, seq))
    driver.has_prepared = True
    while cursor.nextset():
        pass
    return [Event._make(row) for row in cursor]


def append(
    driver: Any, namespace: int, bandit: int, last: tuple[int, float], events: Sequence[Event], commit: bool
) -> bool:
    """Append events after the last known one (its number and time), all or none; with `commit`, end the transaction."""
    columns = zip(*events, strict=True)
    values: dict[str, object] = {f"new_{field}": list(each) for field, each in zip(Event._fields, columns, strict=True)}
    values |= {"bandit": bandit, "last_seq": last[0], "last_at": last[1], "namespace": namespace}
    if commit:
        cursor = ClientCursor(driver)
        cursor.execute(_APPEND_AND_COMMIT, values)
    else:
        cursor = driver.execute(_APPEND, values)
    row = cursor.fetchone()
    return row is not None and bool(row[0])


def roll_back(driver: Any) -> None:
    """End a transaction without effect. psycopg then forgets its prepared statements; so ours go with them."""
    ClientCursor(driver).execute("ROLLBACK; DEALLOCATE ALL")
    driver.has_prepared = False


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
