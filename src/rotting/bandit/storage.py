"""What is read from the tables and written into them: bandits, events, snapshots."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Dialect, Executable, bindparam, delete, func, insert, select, type_coerce
from sqlalchemy.types import NullType

from rotting.bandit import schema
from rotting.bandit.errors import DamagedLog
from rotting.policies._engine.agent import LARGEST_REWARD

MANY = 2**62  # more events than there will ever be


class Event(NamedTuple):
    """One row of the log."""

    seq: int
    kind: str
    at: float
    arm: int
    name: str | None = None
    decision: str | None = None
    target: int | None = None
    value: float | None = None
    probability: float | None = None
    among: str | None = None


class BanditRow(NamedTuple):
    """What the database knows about a bandit besides its events."""

    id: int
    name: str
    token: str
    secret: str
    settings: dict[str, Any]


_COLUMNS = [schema.events.c[name] for name in Event._fields]
_INSERT = insert(schema.events)
_AFTER = (
    select(*_COLUMNS)
    .where(
        schema.events.c.bandit == bindparam("bandit"),
        schema.events.c.seq > bindparam("seq"),
        schema.events.c.seq <= bindparam("upto"),
    )
    .order_by(schema.events.c.seq)
)


_TIME = select(schema.events.c.at).where(
    schema.events.c.bandit == bindparam("bandit"), schema.events.c.seq == bindparam("seq")
)
_PARAMETERS: dict[Executable, tuple[str, ...]] = {
    _INSERT: ("bandit", *Event._fields),
    _AFTER: ("bandit", "seq", "upto"),
}


AT_ONCE = 50  # rows that SQLite is given in one statement: it takes them a third quicker than one by one


@lru_cache(maxsize=64)
def _insert_many(dialect: Dialect) -> str:
    """Return the statement that inserts AT_ONCE rows of the log."""
    head, _, row = _compiled(_INSERT, dialect)[0].rpartition(" VALUES ")
    return f"{head} VALUES " + ", ".join([row] * AT_ONCE)


@lru_cache(maxsize=64)
def _compiled(statement: Executable, dialect: Dialect) -> tuple[str, bool]:
    """Return a statement as the driver wants it, and whether its parameters go by place rather than by name."""
    compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return str(compiled), compiled.positional


def _execute(connection: Connection, statement: Executable, rows: list[tuple[Any, ...]]) -> Any:
    """Execute one of the statements above, once per row.

    They are executed all the time, and SQLAlchemy's way of handling parameters would cost more than they do.
    """
    text, by_place = _compiled(statement, connection.dialect)
    if by_place:
        return connection.exec_driver_sql(text, rows if len(rows) > 1 else rows[0])
    named = [dict(zip(_PARAMETERS[statement], row, strict=True)) for row in rows]
    return connection.exec_driver_sql(text, named if len(named) > 1 else named[0])


# Bandits.


def find_bandit(connection: Connection, name: str) -> BanditRow | None:
    """Return the bandit of that name, if there is one."""
    row = connection.execute(select(schema.bandits).where(schema.bandits.c.name == name)).first()
    if row is None:
        return None
    what = "settings"
    try:
        settings = dict(json.loads(row.settings))
        what = "secret"
        hashlib.blake2b(key=bytes.fromhex(row.secret))
    except (TypeError, ValueError, RecursionError):
        raise DamagedLog(
            f"the {what} of bandit {name!r} in {schema.bandits.name} cannot be read: the table was changed or damaged; "
            "restore a backup of the database"
        ) from None
    return BanditRow(row.id, row.name, row.token, row.secret, settings)


def bandit_names(connection: Connection) -> list[str]:
    """Return the names of all bandits."""
    return list(connection.execute(select(schema.bandits.c.name).order_by(schema.bandits.c.name)).scalars())


def add_bandit(connection: Connection, name: str, settings: dict[str, Any]) -> BanditRow:
    """Add a bandit without events."""
    token, secret = secrets.token_hex(5), secrets.token_hex(16)
    row = {"name": name, "token": token, "secret": secret, "settings": json.dumps(settings)}
    key = connection.execute(insert(schema.bandits), row).inserted_primary_key
    assert key is not None
    return BanditRow(key[0], name, token, secret, settings)


# Events.


def append_events(connection: Connection, bandit: int, events: Sequence[Event]) -> None:
    """Append to a bandit's log."""
    rows = [(bandit, *event) for event in events]
    many = len(rows) // AT_ONCE * AT_ONCE if connection.dialect.name == "sqlite" else 0
    for start in range(0, many, AT_ONCE):
        values = tuple(value for row in rows[start : start + AT_ONCE] for value in row)
        connection.exec_driver_sql(_insert_many(connection.dialect), values)
    if rows[many:]:
        _execute(connection, _INSERT, rows[many:])


def events_after(connection: Connection, bandit: int, seq: int, upto: int = MANY) -> Sequence[Event]:
    """Return a bandit's events after `seq`, in order."""
    return [Event._make(row) for row in _execute(connection, _AFTER, [(bandit, seq, upto)])]


def time_of(connection: Connection, bandit: int, seq: int) -> float | None:
    """Return the time of an event, None if it is not in the log.

    Every write asks for one, of the driver itself: SQLAlchemy would take longer than the database.
    """
    text, by_place = _compiled(_TIME, connection.dialect)
    driver: Any = connection.connection.dbapi_connection
    row = driver.execute(text, (bandit, seq) if by_place else {"bandit": bandit, "seq": seq}).fetchone()
    return None if row is None else row[0]


def every_event(connection: Connection, bandit: int, after: int = 0, upto: int = MANY) -> Iterator[Event]:
    """Yield what `events_after` returns, for long logs: some thousand at a time."""
    bounds = {"bandit": bandit, "seq": after, "upto": upto}
    rows = connection.execute(_AFTER, bounds, execution_options={"yield_per": 10_000})
    for row in rows:
        yield Event._make(row)


def events_about(connection: Connection, bandit: int, decision: int) -> list[Event]:
    """Return a decision and what became of it."""
    table = schema.events.c
    mine = table.bandit == bandit
    itself = connection.execute(select(*_COLUMNS).where(mine, table.seq == decision, table.kind == "decided"))
    # Not ordered by the database: it would rather search the whole log in order than use the index and sort.
    later = connection.execute(select(*_COLUMNS).where(mine, table.target == decision))
    return [Event._make(row) for row in (*itself, *sorted(later))]


def rewards_until(connection: Connection, bandit: int, seq: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arms and the values of all rewards up to an event, in the order in which they came."""
    table = schema.events.c
    query = select(table.seq, table.arm, table.value).where(
        table.bandit == bandit, table.seq <= seq, table.value.is_not(None)
    )
    rows = connection.execute(query.order_by(table.seq)).all()
    for number, arm, value in rows:
        if type(arm) is not int or arm < 0 or type(value) is not float or not abs(value) <= LARGEST_REWARD:
            raise DamagedLog(
                f"event {number} of the log has arm={arm!r} and value={value!r}; expected the number of an arm and a "
                "finite reward: the table was changed or damaged; restore a backup of the database"
            )
    return np.array([row[1] for row in rows], np.int64), np.array([row[2] for row in rows], np.float64)


def exposures_until(connection: Connection, bandit: int, seq: int) -> dict[int, int]:
    """Return for each arm how many decisions have been shown up to an event: all that have a reward must have been."""
    table = schema.events.c
    query = select(table.arm, func.count(table.target.distinct())).where(
        table.bandit == bandit, table.seq <= seq, (table.kind == "shown") | table.value.is_not(None)
    )
    return {row[0]: row[1] for row in connection.execute(query.group_by(table.arm))}


# Snapshots.


def snapshot_seq(connection: Connection, bandit: int) -> int:
    """Return the last event that the newest snapshot includes, 0 without one."""
    table = schema.snapshots.c
    seq = connection.execute(select(table.seq).where(table.bandit == bandit)).scalar()
    return seq if isinstance(seq, int) else 0


def put_snapshot(connection: Connection, bandit: int, seq: int, content: bytes) -> None:
    """Keep a snapshot in place of the one before, unless that is newer."""
    if snapshot_seq(connection, bandit) > seq:
        return
    connection.execute(delete(schema.snapshots).where(schema.snapshots.c.bandit == bandit))
    row = {"bandit": bandit, "seq": seq, "checksum": _checksum(content), "content": content}
    connection.execute(insert(schema.snapshots), row)


def get_snapshot(connection: Connection, bandit: int) -> bytes | None:
    """Return the newest snapshot, or None if there is none that is whole."""
    table = schema.snapshots.c
    query = select(table.checksum, type_coerce(table.content, NullType)).where(table.bandit == bandit)
    row = connection.execute(query).first()
    if row is None or not isinstance(row[1], bytes | memoryview):
        return None
    content = bytes(row[1])
    return content if _checksum(content) == row.checksum else None


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
