"""Whose turn it is: threads that share a database wait for each other in a line."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rotting.bandit.store import forks
from rotting.bandit.store.contract import Store

if TYPE_CHECKING:
    from rotting.bandit.group_commit import GroupCommit, Ticket


class Turns:
    """A lock, the line of those who wait to write, and one thread for what nobody should wait for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lock = store.lock
        forks.in_child(self.forget_other_threads)
        self.line: deque[Ticket] = deque()  # who waits to write; only who holds the lock removes anything
        self._holder: int | None = None  # the thread that holds the lock
        self._background: threading.Thread | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock, so that others wait in the line; afterwards, ring the bell of the first of them."""
        with self.lock:
            before, self._holder = self._holder, threading.get_ident()
            try:
                yield
            finally:
                self._holder = before
                while self.line and self.line[0].is_settled:
                    self.line.popleft()
                if self.line and before is None:
                    self.line[0].ring()

    def is_free(self) -> bool:
        """Say whether this thread need not wait for another, as far as is known."""
        return self._holder in (None, threading.get_ident())

    def is_turn_of(self, ticket: Ticket) -> bool:
        """Say whether the caller of a ticket should carry it out: it is the first in the line, or holds the lock.

        If everybody did who finds the lock free, some would wait for the lock long after their tickets are done.
        """
        if self._holder is not None:
            return self._holder == threading.get_ident()
        return next((each for each in self.line.copy() if not each.is_settled), None) is ticket

    def waiting_for(self, group: GroupCommit) -> list[Ticket]:
        """Return the tickets in the line that one group carries out."""
        return [ticket for ticket in self.line.copy() if ticket.group is group]

    def in_background(self, work: Callable[[], None]) -> None:
        """Do some work in a thread of its own, unless the last one is not done; `close` and the program wait for it."""
        if self._background is None or not self._background.is_alive():
            thread = threading.Thread(target=work, name="rotting-background")
            with contextlib.suppress(RuntimeError):  # the program ends, or has too many threads
                thread.start()
                self._background = thread

    def wait_for_background(self) -> None:
        """Wait for the end of such work, unless that would wait for this thread."""
        if self._background is not None and self._holder != threading.get_ident():
            self._background.join()

    def close(self) -> None:
        """Finish what is done in the background, and close the store."""
        self.wait_for_background()
        self.store.close()

    def give_back(self) -> None:
        """Disconnect what nobody uses: its bandit was dropped without being closed.

        A server has few connections, and the garbage collector may find this object much later, since it is part of
        a cycle. Who still has it, such as an iterator over the log, gets another connection.
        """
        if self._holder is None and self.lock.acquire(blocking=False):
            try:
                self.store.disconnect()
            finally:
                self.lock.release()

    def forget_other_threads(self) -> None:
        """Forget who waits and who holds the lock: in a child, after a fork, these threads are the parent's."""
        for ticket in self.line:
            ticket.abandoned = True
        self.line.clear()
        self._holder = None
