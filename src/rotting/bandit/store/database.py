"""The database: its one connection, and durable transactions that wait for each other, but not beyond a deadline."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.event import listen
from sqlalchemy.exc import SQLAlchemyError

from rotting.bandit.errors import BanditError, ClosedBandit, StorageError
from rotting.bandit.store import forks
from rotting.bandit.store.addresses import checked_url, masked
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.engines import is_broken, is_contention, make_engine
from rotting.bandit.store.sqlite_files import SqliteFile, Version
from rotting.bandit.turns import Turns
from rotting.errors import literal

if TYPE_CHECKING:
    from rotting.bandit.store import postgres

_LOCK_NOT_AVAILABLE = "55P03"  # what PostgreSQL says when a lock was waited for too long
# Seconds between two attempts to begin a transaction in SQLite. SQLite itself waits longer and longer (up to 0.1 s), so
# that a writer which has waited for long waits for ever; a wait that never grows gives everybody the same chance. With
# pauses this long a writer gets a few transactions done before another has its turn: with eight, twice as many as with
# pauses of a third, which keep the processors busy asking.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.003

# How transactions begin. SQLite: one that read first and wanted to write later could fail however long it waited.
# PostgreSQL: all that is read in one transaction is of one moment.
_WRITING = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}
_READING = {"sqlite": "BEGIN", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}

Result = TypeVar("Result")


class Database(Turns):
    """A database that holds bandits, and one connection to it, made when it is first needed.

    Threads that share it must hold `lock`. A signal handler may raise an exception anywhere:
    `_in_transaction` is set before a transaction begins and cleared when it has ended, so one that was left unfinished
    is known by it. The next transaction then closes the connection, which rolls back whatever was left, and makes
    another.
    """

    def __init__(self, url: str):
        super().__init__()
        self.url = checked_url(url)
        self.engine = make_engine(self.url)
        self.is_postgres = self.engine.dialect.name == "postgresql"
        self._dialect = self.engine.dialect.name
        self._file = SqliteFile(self.url) if self._dialect == "sqlite" else None
        self._errors = (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error)
        self._connection: Connection | None = None
        self.driver: Any = None  # the driver's own connection
        self.greeting: postgres.Greeting | None = None  # what the server said when the connection was made
        self._in_transaction = False
        self._is_reading = False  # is the transaction one that only reads?
        self._committing = False  # has a commit been sent that was not yet answered?
        self._wal_is_on = False  # SQLite keeps it with the file, but setting it writes: not for those who only read
        self._closed = False
        self.tables_are_good = False  # once a bandit has been found or made in them
        self._process = os.getpid()
        self._identity: tuple[int, int] | None = None  # of a SQLite file, once it is there
        self._read_as: Version | None = None  # of a SQLite file that is read without leaving a trace
        self._busy_timeout = -1  # SQLite's own, in milliseconds; -1: not yet set
        self._dialling = Deadline()  # until when the connection that is being made may take
        if self.is_postgres:
            listen(self.engine, "do_connect", self._dial)
        forks.watch(self)

    # Transactions.

    @property
    def is_locking(self) -> bool:
        """Whether other writers wait for a transaction of this connection, if it has begun at all."""
        return self._in_transaction and not self._is_reading

    def write(
        self, work: Callable[[Connection], Result], bandit_id: int | None = None, deadline: Deadline | None = None
    ) -> Result:
        """Do some work in one durable transaction; a bandit that is given is locked against other writers.

        If another writer was quicker in a way that a lock could not prevent, the work is done again from the start.
        """
        deadline = deadline or Deadline()

        def locked() -> Result:
            with self._transaction(_WRITING, deadline) as connection:
                if bandit_id is not None:
                    self._lock_bandit(bandit_id, deadline)
                return work(connection)

        return self.retrying(locked, deadline)

    def retrying(self, work: Callable[[], Result], deadline: Deadline) -> Result:
        """Do some work in a transaction of its own, again and again while only other writers are in the way."""
        tried = False
        while True:
            self._committing = False
            try:
                return work()
            except self._errors as error:
                if getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
                    raise deadline.error("other writers") from error
                if not is_contention(error):
                    if deadline.is_over():
                        raise deadline.error("the database", self._committing) from error
                    if not tried and not self._committing and is_broken(error):
                        tried = True  # the server had closed the connection: nothing is lost yet
                        continue
                    raise self._storage_error("cannot be written", error, self._committing) from error
                if deadline.is_over():
                    raise deadline.error("other writers") from error
            time.sleep(random.uniform(_SHORTEST_PAUSE, _LONGEST_PAUSE))

    def write_optimistically(self, work: Callable[[Connection], Result], deadline: Deadline) -> Result | None:
        """Do some work in one durable transaction without a lock; None if it fails, for whatever reason."""

        def begun() -> Result:
            with self._transaction(_WRITING, deadline) as connection:
                return work(connection)

        return self.trying(begun, deadline)

    def trying(self, work: Callable[[], Result], deadline: Deadline) -> Result | None:
        """Do some work in a transaction of its own; None if it fails, for whatever reason but that time is over."""
        self._committing = False
        try:
            return work()
        except (*self._errors, BanditError) as error:
            if deadline.is_over() and not isinstance(error, BanditError):
                raise deadline.error("the database", self._committing) from error
            return None

    @contextlib.contextmanager
    def reading(self, deadline: Deadline | None = None) -> Iterator[Connection]:
        """Yield a connection that sees one state of the database, whatever is written meanwhile."""
        deadline = deadline or Deadline()
        try:
            with self._transaction(_READING, deadline) as connection:
                yield connection
                self._check_unchanged()
        except self._errors as error:
            if deadline.is_over():
                raise deadline.error("the database") from error
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
    def _transaction(self, begin: dict[str, str], deadline: Deadline) -> Iterator[Connection]:
        with self.connected(deadline, begin[self._dialect]) as connection:
            yield connection
            self.committing()
            self.driver.execute("COMMIT")

    def committing(self) -> None:
        """Note that the next statement may write for good: if it is not answered, nobody knows whether it has."""
        self._committing = True

    @contextlib.contextmanager
    def connected(self, deadline: Deadline, begin: str | None = None) -> Iterator[Connection]:
        """Yield the connection; nothing is left of a transaction that was begun, but not committed, within the block.

        `begin` is the statement that begins one.
        """
        # Not SQLAlchemy's transactions: an exception in the middle of them can come out as another one.
        try:
            yield self._begin(begin, deadline)
            self._in_transaction = False
        except BanditError:  # of this package, between two statements
            if self._in_transaction and (begin is not None or self._has_begun()):
                self._roll_back()
            self._in_transaction = False
            raise
        except BaseException:  # perhaps in the middle of a statement, so that the connection cannot even roll back
            try:
                self.disconnect()
            except BaseException:  # a second one, raised while disconnecting: release the locks all the same
                self.disconnect()
                raise
            raise

    def _roll_back(self) -> None:
        if self.is_postgres:
            from rotting.bandit.store import postgres

            postgres.roll_back(self.driver)
        else:
            self.driver.execute("ROLLBACK")

    def _has_begun(self) -> bool:
        """Say whether PostgreSQL has begun a transaction on this connection."""
        return self.is_postgres and self.driver is not None and self.driver.info.transaction_status != 0

    def _begin(self, begin: str | None, deadline: Deadline) -> Connection:
        """Begin a transaction and return the connection."""
        connection = self._connect(deadline)
        self._is_reading = begin == _READING[self._dialect]
        if begin == _WRITING["sqlite"]:
            return self._begin_in_turn(connection, begin, deadline)
        self._in_transaction = True
        if begin is None:
            return connection
        if not self.is_postgres:
            self._set_busy_timeout(round(deadline.timeout * 1000))
        try:
            self.driver.execute(begin)
        except self._errors:
            if not getattr(self.driver, "broken", False):
                raise
            connection = self._connect(deadline)  # the server had closed the old one: nothing is lost yet
            self._in_transaction = True
            self.driver.execute(begin)
        return connection

    def _begin_in_turn(self, connection: Connection, begin: str, deadline: Deadline) -> Connection:
        """Begin to write in SQLite, as soon as no other writer is in the way."""
        self._set_busy_timeout(0)
        if not self._wal_is_on:
            self.driver.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
            self._wal_is_on = True
        self._in_transaction = True
        while True:
            try:
                self.driver.execute(begin)
            except sqlite3.OperationalError as error:
                if not is_contention(error) or deadline.is_over():
                    raise
                time.sleep(random.uniform(_SHORTEST_PAUSE, _LONGEST_PAUSE))
            else:
                return connection

    def _lock_bandit(self, bandit_id: int, deadline: Deadline) -> None:
        """Make other writers of a bandit wait. SQLite's writers wait for each other from BEGIN IMMEDIATE on."""
        if self.is_postgres:
            from rotting.bandit.store import postgres

            assert self.greeting is not None
            postgres.lock(self.driver, self.greeting.namespace, bandit_id, deadline)

    def clock(self) -> float:
        """Return the time in seconds since 1970: that of the database where it has a clock of its own."""
        return time.time() if self.greeting is None else self.greeting.ahead + time.monotonic()

    # The connection.

    def _connect(self, deadline: Deadline) -> Connection:
        """Return the connection, a new one if need be, with no transaction in progress."""
        if self._closed:
            raise ClosedBandit("this bandit is closed", hint="open it again")
        self._check_file()
        if self._process != os.getpid():  # a fork that Python did not see
            _INHERITED.append(self.driver)
            self._connection, self.driver, self._in_transaction, self._process = None, None, False, os.getpid()
        if self._in_transaction:
            self.disconnect()
        if self._connection is None:
            self._dialling = deadline
            connection = self._engine_now().connect()
            self.driver = connection.connection.driver_connection
            self._identity = self._identity or (None if self._file is None else self._file.identity())
            self._wal_is_on, self._busy_timeout = False, -1
            connection.detach()  # SQLAlchemy no longer closes or resets it
            if self.is_postgres:
                from rotting.bandit.store import postgres

                self.driver.deadline = deadline
                self.greeting = postgres.greet(self.driver)
            self._connection = connection
        if self.is_postgres:
            self.driver.deadline = deadline
        return self._connection

    def _dial(self, _dialect: object, _record: object, arguments: Any, options: dict[str, Any]) -> Any:
        """Connect to PostgreSQL, within the time that the call has."""
        from rotting.bandit.store.postgres import dial

        return dial(self._dialling, *arguments, **options)

    def _set_busy_timeout(self, milliseconds: int) -> None:
        """Let SQLite itself wait so long for locks."""
        if self._busy_timeout != milliseconds:
            self.driver.execute(f"PRAGMA busy_timeout = {milliseconds}")
            self._busy_timeout = milliseconds

    def _engine_now(self) -> Engine:
        """Return what makes the next connection: to a file that this user may not write, one that leaves no trace."""
        url = None if self._file is None else self._file.read_only_url()
        self._read_as = None if url is None or self._file is None else self._file.version()
        return self.engine if url is None else make_engine(url)

    def _check_file(self) -> None:
        """Refuse to go on with a file that is no longer the one at this address: what it holds would be lost."""
        if self._file is None or self._identity is None:
            return
        if (now := self._file.identity()) != self._identity:
            what = "was deleted" if now is None else "was replaced by another file"
            raise StorageError(
                f"{self.quoted_address} {what} since it was opened", hint="put it back, or open the bandit again"
            )
        if self._read_as is not None and self._read_as != self._file.version():
            self.disconnect()  # somebody writes it by now

    def _check_unchanged(self) -> None:
        """Refuse what was read of a file without a lock, if somebody has written it meanwhile."""
        if self._read_as is not None and self._file is not None and self._read_as != self._file.version():
            raise StorageError(f"{self.quoted_address} was written while it was read", hint="read it again")

    def close(self) -> None:
        """Close the connection for good."""
        self.wait_for_background()
        with self.lock:
            self.disconnect()
            self._closed = True

    def give_back(self) -> None:
        """Disconnect what nobody uses: its bandit was dropped without being closed.

        A server has few connections, and the garbage collector may find this object much later, since it is part of
        a cycle. Who still has it, such as an iterator over the log, gets another connection.
        """
        if not self.lock.acquire(blocking=False):
            return
        try:
            if not self._in_transaction:
                self.disconnect()
        finally:
            self.lock.release()

    def disconnect(self) -> None:
        """Close the connection, which rolls back what it had not committed. The next transaction makes another."""
        if self.driver is not None:
            with contextlib.suppress(*self._errors):
                if self._dialect == "sqlite":
                    self.driver.rollback()  # closing alone would wait until no cursor is left
            with contextlib.suppress(*self._errors):
                self.driver.close()
        self._connection, self.driver, self._in_transaction = None, None, False

    @property
    def quoted_address(self) -> str:
        """The address without its password, for messages."""
        return literal(repr(masked(self.url.render_as_string(hide_password=True))))

    def _storage_error(self, problem: str, error: Exception, may_be_written: bool = False) -> StorageError:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        failure = StorageError(f"{self.quoted_address} {problem}: {literal(reason)}")
        failure.may_be_written = may_be_written
        return failure

    def another(self) -> Database:
        """Return the same database with a connection of its own."""
        return Database(self.engine.url.render_as_string(hide_password=False))

    def is_missing(self) -> bool:
        """Say whether this is a SQLite file that does not exist (and that connecting to would create)."""
        return self._file is not None and self._file.is_missing()

    def owns_file(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is this database, or one of those that SQLite keeps beside it."""
        return self._file is not None and self._file.owns(path)


_INHERITED: list[Any] = []  # connections of a parent, after a fork that Python did not see; closing them would harm it
