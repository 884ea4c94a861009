"""The database: its address, its one connection, and durable transactions that wait for each other."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import unquote

from sqlalchemy import Connection, NullPool, create_engine, select
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.event import listen
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from rotting.bandit import schema
from rotting.bandit.errors import BadAddress, BanditError, ClosedBandit, StorageError
from rotting.errors import MissingExtra, literal

LOCK_TIMEOUT = 60.0  # seconds to wait for other writers
_RETRIED = {"40001", "40P01", "23505"}  # PostgreSQL: serialization failure, deadlock, a key that exists by now

# How transactions begin. SQLite: one that read first and wanted to write later could fail however long it waited.
# PostgreSQL: all that is read in one transaction is of one moment.
_WRITING = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}
_READING = {"sqlite": "BEGIN", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}

Result = TypeVar("Result")


class Database:
    """A database that holds bandits, and one connection to it, made when it is first needed.

    Threads that share it must hold `lock`. A signal handler may raise an exception anywhere:
    `_in_transaction` is set before a transaction begins and cleared when it has ended, so one that was left unfinished
    is known by it. The next transaction then closes the connection, which rolls back whatever was left, and makes
    another.
    """

    def __init__(self, url: str):
        self.url = _checked_url(url)
        self.engine = _make_engine(self.url)
        self.lock = threading.RLock()
        self._dialect = self.engine.dialect.name
        self._path = _sqlite_file(self.url) if self._dialect == "sqlite" else None
        self._errors = (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error)
        self._connection: Connection | None = None
        self._driver: Any = None  # the driver's own connection
        self._in_transaction = False
        self._wal_is_on = False  # SQLite keeps it with the file, but setting it writes: not for those who only read
        self._closed = False
        self._process = os.getpid()
        self._file: tuple[int, int] | None = None  # what identifies a SQLite file, once it is there
        _OPEN.add(self)

    # Transactions.

    def write(self, work: Callable[[Connection], Result], bandit_id: int | None = None) -> Result:
        """Do some work in one durable transaction; a bandit that is given is locked against other writers.

        If another writer was quicker in a way that a lock could not prevent, the work is done again from the start.
        """
        deadline = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                with self._transaction(_WRITING) as connection:
                    if bandit_id is not None:
                        self._lock_bandit(connection, bandit_id)
                    return work(connection)
            except self._errors as error:
                if not _is_contention(error) or time.monotonic() > deadline:
                    raise self._storage_error("cannot be written", error) from error
            time.sleep(0.0005 * (1 + secrets.randbelow(8)))

    def write_optimistically(self, work: Callable[[Connection], Result]) -> Result | None:
        """Do some work in one durable transaction without a lock; None if it fails, for whatever reason."""
        try:
            with self._transaction(_WRITING) as connection:
                return work(connection)
        except (*self._errors, BanditError):
            return None

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees one state of the database, whatever is written meanwhile."""
        try:
            with self._transaction(_READING) as connection:
                yield connection
        except self._errors as error:
            raise self._storage_error("cannot be read", error) from error

    @contextlib.contextmanager
    def reading_in_transaction(self) -> Iterator[Connection]:
        """Yield the connection of the transaction in progress; if there is none, this is `reading`."""
        if self._in_transaction and self._connection is not None:
            yield self._connection
        else:
            with self.reading() as connection:
                yield connection

    @contextlib.contextmanager
    def _transaction(self, begin: dict[str, str]) -> Iterator[Connection]:
        # Not SQLAlchemy's transactions: an exception in the middle of them can come out as another one.
        try:
            yield self._begin(begin[self._dialect])
            self._driver.execute("COMMIT")
            self._in_transaction = False
        except BanditError:  # of this package, between two statements
            if self._in_transaction:
                self._driver.execute("ROLLBACK")
                self._in_transaction = False
            raise
        except BaseException:  # perhaps in the middle of a statement, so that the connection cannot even roll back
            try:
                self.disconnect()
            except BaseException:  # a second one, raised while disconnecting: release the locks all the same
                self.disconnect()
                raise
            raise

    def _begin(self, begin: str) -> Connection:
        """Begin a transaction and return the connection."""
        connection = self._connect()
        if begin == _WRITING["sqlite"] and not self._wal_is_on:
            self._driver.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
            self._wal_is_on = True
        self._in_transaction = True
        try:
            self._driver.execute(begin)
        except self._errors:
            if not getattr(self._driver, "broken", False):
                raise
            connection = self._connect()  # the server had closed the old one: nothing is lost yet
            self._in_transaction = True
            self._driver.execute(begin)
        return connection

    def _lock_bandit(self, connection: Connection, bandit_id: int) -> None:
        """Make other writers of a bandit wait. SQLite's writers wait for each other from BEGIN IMMEDIATE on."""
        if self._dialect != "sqlite":
            row = schema.bandits.c.id
            connection.execute(select(row).where(row == bandit_id).with_for_update())

    # The connection.

    def _connect(self) -> Connection:
        """Return the connection, a new one if need be, with no transaction in progress."""
        if self._closed:
            raise ClosedBandit("this bandit is closed", hint="open it again")
        if self._file is not None:
            self._check_file(self._file)
        if self._process != os.getpid():  # a fork that Python did not see
            _INHERITED.append(self._driver)
            self._connection, self._driver, self._in_transaction, self._process = None, None, False, os.getpid()
        if self._in_transaction:
            self.disconnect()
        if self._connection is None:
            connection = self.engine.connect()
            self._driver = connection.connection.driver_connection
            self._file = self._file or self._file_now()
            self._wal_is_on = False
            connection.detach()  # SQLAlchemy no longer closes or resets it
            self._connection = connection
        return self._connection

    def _check_file(self, known: tuple[int, int]) -> None:
        """Refuse to go on with a file that is no longer the one at this address: what it holds would be lost."""
        if (now := self._file_now()) != known:
            what = "was deleted" if now is None else "was replaced by another file"
            raise StorageError(
                f"{self.quoted_address} {what} since it was opened", hint="put it back, or open the bandit again"
            )

    def _file_now(self) -> tuple[int, int] | None:
        """Return what identifies the SQLite file at this address, None if there is none."""
        try:
            found = os.stat(self._path) if self._path is not None else None
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def close(self) -> None:
        """Close the connection for good."""
        with self.lock:
            self.disconnect()
            self._closed = True

    def disconnect(self) -> None:
        """Close the connection, which rolls back what it had not committed. The next transaction makes another."""
        if self._driver is not None:
            with contextlib.suppress(*self._errors):
                if self._dialect == "sqlite":
                    self._driver.rollback()  # closing alone would wait until no cursor is left
            with contextlib.suppress(*self._errors):
                self._driver.close()
        self._connection, self._driver, self._in_transaction = None, None, False

    @property
    def quoted_address(self) -> str:
        """The address without its password, for messages."""
        return literal(repr(_masked(self.url.render_as_string(hide_password=True))))

    def _storage_error(self, problem: str, error: Exception) -> StorageError:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        return StorageError(f"{self.quoted_address} {problem}: {literal(reason)}")

    def is_missing(self) -> bool:
        """Say whether this is a SQLite file that does not exist (and that connecting to would create)."""
        return self._path is not None and not os.path.exists(self._path)

    def owns_file(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is this database, or one of those that SQLite keeps beside it."""
        if self._path is None:
            return False
        own = os.path.realpath(self._path)
        return os.path.realpath(path) in (own, f"{own}-wal", f"{own}-shm", f"{own}-journal")


# Forks. A SQLite connection that a child inherits makes the child believe that it holds locks which only its parent
# holds, even for connections that it makes itself: when the parent closes its own, the child's writes are lost. So no
# connection is inherited.

_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()
_FORKING = threading.Lock()
_LOCKED_FOR_FORK: list[Database] = []
_INHERITED: list[Any] = []  # connections of a parent, after a fork that Python did not see; closing them would harm it


def _before_fork() -> None:
    _FORKING.acquire()
    for database in list(_OPEN):
        database.lock.acquire()
        _LOCKED_FOR_FORK.append(database)
        database.disconnect()


def _after_fork() -> None:
    while _LOCKED_FOR_FORK:
        _LOCKED_FOR_FORK.pop().lock.release()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


# Addresses and engines.


def _checked_url(text: object) -> URL:
    try:
        url = make_url(text)  # type: ignore[arg-type]
    except (ArgumentError, AttributeError, TypeError, ValueError):
        raise _bad_address("is not the address of a database", text) from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise _bad_address(f"is of a kind, {literal(repr(url.drivername))}, that cannot hold bandits", text)
    if "\0" in str(url.database):
        raise _bad_address("has a character that no name of a file or database has", text)
    if url.drivername == "sqlite" and url.query and not str(url.database).startswith("file:"):
        raise _bad_address("has options after a '?', which are not supported", text)
    in_memory = url.database in (None, "") or ":memory:" in str(url.database) or "memory" in url.query.get("mode", "")
    if url.drivername == "sqlite" and in_memory:
        raise _bad_address("would forget everything", text)
    return url


def _bad_address(problem: str, address: object) -> BadAddress:
    masked = _masked(address) if isinstance(address, str) else address
    expected = "'sqlite:///FILE' or 'postgresql://USER:PASSWORD@HOST/DATABASE'"
    return BadAddress(problem, name="url", value=masked, expected=expected)


def _masked(address: str) -> str:
    """Return an address without its password, however it is written.

    >>> _masked("postgresql://me:secret@host:54x/db?password=secret&user=me")
    'postgresql://me:***@host:54x/db?password=***&user=me'
    """
    return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=://)([^:/@]*):[^/]*@", r"\1:***@", address))


def _sqlite_file(url: URL) -> str:
    """Return the name of a SQLite file, which the address may give as a file: URI of its own."""
    name = str(url.database)
    # Absolute: a process may change its folder while a bandit is open.
    return os.path.abspath(unquote(name.removeprefix("file:")) if name.startswith("file:") else name)


def _make_engine(url: URL) -> Engine:
    """Return an engine that keeps no connections and begins no transactions: `Database` does both."""
    if url.drivername != "sqlite":
        try:
            return create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        except ImportError as error:
            raise MissingExtra(
                "PostgreSQL is reached with psycopg, which is not installed", hint="pip install 'rotting[sql]'"
            ) from error
    options = {"timeout": LOCK_TIMEOUT, "check_same_thread": False}
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=options)
    listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA synchronous = FULL")  # what has been committed survives a power cut
    connection.execute("PRAGMA foreign_keys = ON")


def _is_contention(error: Exception) -> bool:
    """Say whether only another writer was in the way."""
    original = getattr(error, "orig", error)
    if isinstance(original, sqlite3.Error):
        # The lowest byte is the primary code. Errors that Python itself raises have none.
        return getattr(original, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return getattr(original, "sqlstate", None) in _RETRIED
