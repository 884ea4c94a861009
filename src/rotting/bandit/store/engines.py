"""How databases are reached, and what their errors mean."""

from __future__ import annotations

import sqlite3

from sqlalchemy import NullPool, create_engine
from sqlalchemy.engine import URL, Engine
from sqlalchemy.event import listen

from rotting.bandit.store.addresses import sqlite_file
from rotting.bandit.store.deadlines import DEFAULT_TIMEOUT
from rotting.errors import MissingExtra

# PostgreSQL: serialization failure, deadlock, a key that exists by now, a prepared statement that was forgotten.
_RETRIED = {"40001", "40P01", "23505", "26000"}


def make_engine(url: URL) -> Engine:
    """Return an engine that keeps no connections and begins no transactions: `Database` does both."""
    if url.drivername != "sqlite":
        try:
            return create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        except ImportError as error:
            raise MissingExtra(
                "PostgreSQL is reached with psycopg, which is not installed", hint="pip install 'rotting[sql]'"
            ) from error
    if not str(url.database).startswith("file:"):
        url = url.set(database=sqlite_file(url))  # absolute: a process may change its folder
    options = {"timeout": DEFAULT_TIMEOUT, "check_same_thread": False}
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=options)
    listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA synchronous = FULL")  # what has been committed survives a power cut
    connection.execute("PRAGMA foreign_keys = ON")


def is_contention(error: Exception) -> bool:
    """Say whether only another writer was in the way."""
    original = getattr(error, "orig", error)
    if isinstance(original, sqlite3.Error):
        # The lowest byte is the primary code. Errors that Python itself raises have none.
        return getattr(original, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return getattr(original, "sqlstate", None) in _RETRIED


def is_broken(error: Exception) -> bool:
    """Say whether PostgreSQL has closed the connection: classes 08 and 57P0 of its errors, or one of libpq, without."""
    original = getattr(error, "orig", error)
    if isinstance(original, sqlite3.Error):
        return False
    state = getattr(original, "sqlstate", None)
    return type(original).__name__ == "OperationalError" if state is None else state.startswith(("08", "57P0"))
