"""The database: connections that are durable, transactions that wait for each other, and what is read and written."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sqlalchemy import Connection, Dialect, Executable, bindparam, create_engine, delete, insert, select
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.event import listen
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from rotting.bandit import schema
from rotting.bandit.errors import BadAddress, BanditError, StorageError

MANY = 2**62  # more events than there will ever be
PATIENCE = 60.0  # seconds to wait for other writers
_TRY_AGAIN = {"40001", "40P01", "23505"}  # PostgreSQL: serialization failure, deadlock, a key that exists by now

Result = TypeVar("Result")


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


@lru_cache(maxsize=64)
def _compiled(statement: Executable, dialect: Dialect) -> tuple[str, bool]:
    """Return a statement as the driver wants it, and whether its parameters go by place rather than by name."""
    compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
    return str(compiled), compiled.positional


def _execute(connection: Connection, statement: Executable, rows: list[tuple[Any, ...]]) -> Any:
    """Execute one of the two statements above, once per row.

    They are executed all the time, and SQLAlchemy's way of handling parameters would cost more than they do.
    """
    text, by_place = _compiled(statement, connection.dialect)
    if by_place:
        return connection.exec_driver_sql(text, rows if len(rows) > 1 else rows[0])
    names = ("bandit", *Event._fields) if statement is _INSERT else ("bandit", "seq", "upto")
    named = [dict(zip(names, row, strict=True)) for row in rows]
    return connection.exec_driver_sql(text, named if len(named) > 1 else named[0])


class Storage:
    """A database that holds bandits."""

    def __init__(self, url: str):
        self.url = _checked_url(url)
        self.engine = _make_engine(self.url)
        self._writing = self.engine.execution_options(writing=True)

    def write(self, work: Callable[[Connection], Result], bandit: int | None = None) -> Result:
        """Do some work in one durable transaction; a bandit that is named is locked against other writers.

        If another writer was quicker in a way that a lock could not prevent, the work is done again from the start.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with self._writing.begin() as connection:
                    if bandit is not None:
                        self._lock(connection, bandit)
                    return work(connection)
            except DBAPIError as error:
                if not _worth_repeating(error) or time.monotonic() > deadline:
                    raise StorageError(f"{self.shown} cannot be written: {_reason(error)}") from error
            except SQLAlchemyError as error:
                raise StorageError(f"{self.shown} cannot be written: {_reason(error)}") from error
            time.sleep(0.0005 * (1 + secrets.randbelow(8)))

    def write_unless_overtaken(self, work: Callable[[Connection], Result]) -> Result | None:
        """Do some work in one durable transaction without a lock; None if it fails, for whatever reason."""
        try:
            with self._writing.begin() as connection:
                return work(connection)
        except (SQLAlchemyError, BanditError):
            return None

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees one state of the database, whatever is written meanwhile."""
        try:
            with self.engine.connect() as connection, connection.begin():
                yield connection
        except SQLAlchemyError as error:
            raise StorageError(f"{self.shown} cannot be read: {_reason(error)}") from error

    @property
    def shown(self) -> str:
        """The address without its password."""
        return repr(self.url.render_as_string(hide_password=True))

    def is_missing(self) -> bool:
        """Say whether this is a SQLite file that does not exist (and that connecting to would create)."""
        path = str(self.url.database)
        return self.url.drivername == "sqlite" and not path.startswith("file:") and not os.path.exists(path)

    def is_part_of_it(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is this database, or one of those that SQLite keeps beside it."""
        if self.url.drivername != "sqlite":
            return False
        own = os.path.realpath(str(self.url.database))
        return os.path.realpath(path) in (own, f"{own}-wal", f"{own}-shm", f"{own}-journal")

    def _lock(self, connection: Connection, bandit: int) -> None:
        """Keep other writers of a bandit waiting. SQLite's writers wait for each other from BEGIN IMMEDIATE on."""
        if self.engine.dialect.name != "sqlite":
            row = schema.bandits.c.id
            connection.execute(select(row).where(row == bandit).with_for_update())

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


# Bandits.


def find_bandit(connection: Connection, name: str) -> BanditRow | None:
    """Return the bandit of that name, if there is one."""
    row = connection.execute(select(schema.bandits).where(schema.bandits.c.name == name)).first()
    return None if row is None else BanditRow(row.id, row.name, row.token, row.secret, json.loads(row.settings))


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
    _execute(connection, _INSERT, [(bandit, *event) for event in events])


def events_after(connection: Connection, bandit: int, seq: int, upto: int = MANY) -> Sequence[Event]:
    """Return a bandit's events after `seq`, in order."""
    return [Event._make(row) for row in _execute(connection, _AFTER, [(bandit, seq, upto)])]


def every_event(connection: Connection, bandit: int, after: int = 0, upto: int = MANY) -> Iterator[Event]:
    """Yield what `events_after` returns, for long logs: some thousand at a time."""
    rows = connection.execution_options(yield_per=10_000).execute(
        _AFTER, {"bandit": bandit, "seq": after, "upto": upto}
    )
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
    query = select(table.arm, table.value).where(table.bandit == bandit, table.seq <= seq, table.value.is_not(None))
    rows = connection.execute(query.order_by(table.seq)).all()
    return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)


# Snapshots.


def snapshot_seq(connection: Connection, bandit: int) -> int:
    """Return the last event that the newest snapshot includes, 0 without one."""
    table = schema.snapshots.c
    return connection.execute(select(table.seq).where(table.bandit == bandit)).scalar() or 0


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
    row = connection.execute(select(table.checksum, table.content).where(table.bandit == bandit)).first()
    if row is None or _checksum(row.content) != row.checksum:
        return None
    return bytes(row.content)


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# Connections.


def _checked_url(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, AttributeError, TypeError, ValueError):
        raise BadAddress(f"{str(text)[:200]!r} is not the address of a database; {_expected()}") from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise BadAddress(f"{url.drivername!r} databases cannot hold bandits; {_expected()}")
    if url.drivername == "sqlite" and url.query and not str(url.database).startswith("file:"):
        raise BadAddress(f"{text!r} has options after a '?', which are not supported; {_expected()}")
    if url.drivername == "sqlite" and url.database in (None, "", ":memory:"):
        raise BadAddress(f"{text!r} would forget everything; {_expected()}")
    return url


def _expected() -> str:
    return "expected 'sqlite:///FILE' or 'postgresql://USER:PASSWORD@HOST/DATABASE'"


def _make_engine(url: URL) -> Engine:
    if url.drivername != "sqlite":
        return create_engine(url, pool_pre_ping=False)
    engine = create_engine(url, connect_args={"timeout": PATIENCE, "check_same_thread": False})
    listen(engine, "connect", _set_up_sqlite)
    listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    # Readers do not wait for writers; what has been committed survives a power cut.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that read first and wanted to write later could fail however long it waited.
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _worth_repeating(error: DBAPIError) -> bool:
    """Say whether only another writer was in the way."""
    return getattr(error.orig, "sqlstate", None) in _TRY_AGAIN or "database is locked" in str(error.orig)


def _reason(error: SQLAlchemyError) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())
