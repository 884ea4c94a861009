"""The database: its address, its engine, and transactions that are durable and wait for each other."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine, select
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.event import listen
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from rotting.bandit import schema
from rotting.bandit.errors import BadAddress, BanditError, StorageError

PATIENCE = 60.0  # seconds to wait for other writers
_TRY_AGAIN = {"40001", "40P01", "23505"}  # PostgreSQL: serialization failure, deadlock, a key that exists by now

Result = TypeVar("Result")


class Database:
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
