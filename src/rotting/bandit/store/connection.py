"""One connection to a database: blocks that begin and end transactions, and what is left when one is interrupted."""

from __future__ import annotations

import contextlib
import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from rotting.bandit.errors import BanditError, ClosedBandit, Contention, StorageError
from rotting.bandit.store import forks
from rotting.bandit.store.deadlines import Deadline
from rotting.errors import literal

# Seconds between two attempts to write. SQLite itself waits longer and longer (up to 0.1 s), so that a writer which has
# waited for long waits for ever; a wait that never grows gives everybody the same chance. With pauses this long a
# writer gets a few transactions done before another has its turn: with eight, twice as many as with pauses of a third,
# which keep the processors busy asking.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.0005, 0.003
_READING, _WRITING = "cannot be read", "cannot be written"

Result = TypeVar("Result")


def pause() -> None:
    """Let another writer finish."""
    time.sleep(random.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))


class Connected:
    """A connection, made when it is first needed, and the blocks in which it is used.

    A signal handler may raise an exception anywhere: `_is_busy` is set before a block begins and cleared when it has
    ended, so one that was left unfinished is known by it. The next block then closes the connection, which rolls back
    whatever was left, and makes another.
    """

    BEGIN_READING: str
    ERRORS: tuple[type[Exception], ...]  # of the driver

    def __init__(self, address: str):
        self.lock = threading.RLock()
        self.address = literal(repr(address))
        self.driver: Any = None  # the driver's own connection
        self.deadline = Deadline()  # of the block in progress
        self._is_busy = False  # is there a block that has not ended?
        self._committing = False  # has something been sent that was not yet answered, and may write for good?
        self._closed = False
        self._process = os.getpid()
        forks.watch(self)

    # What differs from database to database.

    def _dial(self, deadline: Deadline) -> Any:
        """Return a new connection of the driver, in which no transaction begins by itself."""
        raise NotImplementedError

    def _begin_writing(self, patience: float = math.inf) -> None:
        """Begin a transaction that writes, and wait so many seconds for others if it must."""
        raise NotImplementedError

    def _check_place(self) -> None:
        """Refuse to go on with what is no longer the place that was opened."""

    def _check_unchanged(self) -> None:
        """Refuse what was read without a lock, if somebody has written it meanwhile."""

    def _has_begun(self) -> bool:
        """Say whether a transaction is in progress, as the driver knows."""
        raise NotImplementedError

    def _is_contention(self, error: Exception) -> bool:
        """Say whether only another writer was in the way."""
        raise NotImplementedError

    def _is_broken(self, error: Exception) -> bool:
        """Say whether the connection was closed by the other side."""
        return False

    def _is_refusal(self, error: Exception) -> bool:
        """Say whether the other side has answered that nothing was written."""
        return False

    # Blocks.

    @contextlib.contextmanager
    def reading(self, deadline: Deadline | None = None) -> Iterator[None]:
        """Begin a block in which all that is read is of one moment; see `Store`."""
        with self._block(_READING, deadline):
            self._begin(lambda: self.driver.execute(self.BEGIN_READING))
            yield
            self._check_unchanged()
            self.driver.execute("COMMIT")

    @contextlib.contextmanager
    def reading_now(self) -> Iterator[None]:
        """Go on with the block in progress, or begin one of `reading`."""
        if self._is_busy and self.driver is not None:
            yield
        else:
            with self.reading():
                yield

    @contextlib.contextmanager
    def writing(self, deadline: Deadline | None = None) -> Iterator[None]:
        """Begin a block of one turn to write; see `Store`."""
        with self._block(_WRITING, deadline):
            yield

    def write(self, work: Callable[[], Result], deadline: Deadline | None = None) -> Result:
        """Do some work in one durable transaction; again, if only another writer was in the way."""
        deadline = deadline or Deadline()
        while True:
            try:
                with self.writing(deadline):
                    self._begin_writing()
                    result = work()
                    self._commit()
                    return result
            except Contention as error:
                if deadline.is_over():
                    raise deadline.error("other writers") from error
            pause()

    @contextlib.contextmanager
    def _block(self, problem: str, deadline: Deadline | None) -> Iterator[None]:
        """Use the connection; nothing is left of a transaction that was begun, but not committed, within the block."""
        deadline = deadline or Deadline()
        self._committing = False
        try:
            self._connect(deadline)
            self._is_busy = True
            yield
            self._roll_back()
            self._is_busy = False
        except BanditError:  # of this package, between two statements
            with contextlib.suppress(*self.ERRORS):  # if it cannot roll back, the next block has another connection
                if self._is_busy:
                    self._roll_back()
                self._is_busy = False
            raise
        except BaseException as error:  # perhaps in the middle of a statement, so that it cannot even roll back
            try:
                self.disconnect()
            except BaseException:  # a second one, raised while disconnecting: release the locks all the same
                self.disconnect()
                raise
            if isinstance(error, self.ERRORS):
                raise self._translated(problem, error, deadline) from error
            raise

    def _begin(self, begin: Callable[[], Result]) -> Result:
        """Begin a transaction; on a connection that the server had closed, on another: nothing is lost yet."""
        try:
            return begin()
        except self.ERRORS as error:
            if not self._is_broken(error) or self.deadline.is_over():
                raise
        self.disconnect()
        self._connect(self.deadline)
        self._is_busy = True
        return begin()

    def _commit(self) -> None:
        self._committing = True
        self.driver.execute("COMMIT")

    def _roll_back(self) -> None:
        if self._has_begun():
            self.driver.execute("ROLLBACK")

    def _refused(self) -> StorageError:
        """Return the error that other writers were in the way, as long as there was patience, or time."""
        if self.deadline.is_over():
            return self.deadline.error("other writers")
        return Contention(f"{self.address}: another writer is at work")

    def _translated(self, problem: str, error: Exception, deadline: Deadline) -> StorageError:
        """Return the error to raise for one of the driver."""
        reason = " ".join(str(error).split())
        if self._is_contention(error) and problem == _WRITING:
            return Contention(f"{self.address}: another writer was quicker: {literal(reason)}")
        if deadline.is_over():
            return deadline.error("the database", self._committing)
        failure = StorageError(f"{self.address} {problem}: {literal(reason)}")
        failure.may_be_written = self._committing and not self._is_refusal(error)
        return failure

    # The connection.

    def _connect(self, deadline: Deadline) -> None:
        """Have a connection, a new one if need be, with no transaction in progress."""
        if self._closed:
            raise ClosedBandit("this bandit is closed", hint="open it again")
        self._check_place()
        if self._process != os.getpid():  # a fork that Python did not see
            _INHERITED.append(self.driver)
            self.driver, self._is_busy, self._process = None, False, os.getpid()
        if self._is_busy:
            self.disconnect()
        self.deadline = deadline
        if self.driver is None:
            self.driver = self._dial(deadline)

    def disconnect(self) -> None:
        """Close the connection, which rolls back what it had not committed. The next block makes another."""
        if self.driver is not None:
            with contextlib.suppress(*self.ERRORS):
                self.driver.close()
        self.driver, self._is_busy = None, False

    def close(self) -> None:
        """Close the connection for good."""
        with self.lock:
            self.disconnect()
            self._closed = True


_INHERITED: list[Any] = []  # connections of a parent, after a fork that Python did not see; closing them would harm it
