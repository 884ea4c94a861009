"""Who waits to write, and in which order: a state machine without I/O, clocks, threads or coroutines.

A ticket is the requests of one caller. It is *waiting*, then *claimed* by whoever carries it out (or withdraws it),
then *settled*: it has outcomes, or an error, or nobody wants them any more. Whoever calls in threads or coroutines is
told by `wake`, which is given from outside, when a ticket is settled, or when its caller should carry out what waits.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rotting.bandit.core.requests import Change, Outcome, Request
from rotting.bandit.errors import BanditError

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog
    from rotting.bandit.store.deadlines import Deadline


class Ticket:
    """The requests of one caller to one log."""

    __slots__ = ("_answer", "_claim", "abandoned", "deadline", "log", "requests", "wake")

    def __init__(self, log: EventLog, requests: Sequence[Request], deadline: Deadline, wake: Callable[[], None]):
        self.log = log
        self.requests = requests
        self.deadline = deadline
        self.wake = wake
        self._answer: list[Outcome] | Exception | None = None
        self.abandoned = False  # its caller no longer waits
        # A lock, because taking it without waiting is one step, whatever a signal interrupts.
        self._claim = threading.Lock()

    @property
    def comes_alone(self) -> bool:
        """Whether it cannot be carried out together with others of its log."""
        return isinstance(self.requests[0], Change)

    @property
    def is_settled(self) -> bool:
        """Whether nobody need do anything about it any more."""
        return self._answer is not None or self.abandoned

    def claim(self) -> bool:
        """Say whether the caller of this method may decide about the ticket."""
        return self._claim.acquire(blocking=False)

    def unclaim(self) -> None:
        """Let others decide about the ticket, which nothing has been written for."""
        self._claim.release()

    def settle(self, answer: list[Outcome] | Exception) -> None:
        """Give the caller its outcomes, or an error of its own."""
        if isinstance(answer, Exception):
            cause, answer = answer.__cause__, copy.copy(answer)
            answer.__cause__ = cause
        self._answer = answer
        self.wake()

    def result(self) -> list[Outcome]:
        """Return the outcomes, or raise the error."""
        assert self._answer is not None
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def withdraw(self) -> BanditError | None:
        """Return the error of a caller who gives up; None if somebody is carrying out the ticket right now."""
        return self.deadline.error("other callers") if self.claim() else None


class Line:
    """Tickets in the order in which they came. Whoever carries them out is the only one to remove any."""

    def __init__(self) -> None:
        self._tickets: deque[Ticket] = deque()

    def __len__(self) -> int:
        return len(self._tickets)

    def add(self, ticket: Ticket) -> None:
        """Come last."""
        self._tickets.append(ticket)

    def first(self) -> Ticket | None:
        """Return the first ticket that is not settled."""
        return next((ticket for ticket in self._tickets.copy() if not ticket.is_settled), None)

    def waiting(self) -> dict[EventLog, list[Ticket]]:
        """Return the tickets that are not settled, by log, in the order in which they came."""
        found: dict[EventLog, list[Ticket]] = {}
        for ticket in self._tickets.copy():
            if not ticket.is_settled:
                found.setdefault(ticket.log, []).append(ticket)
        return found

    def drop_settled(self) -> None:
        """Forget the settled tickets that are first."""
        while self._tickets and self._tickets[0].is_settled:
            self._tickets.popleft()

    def send_back(self, ticket: Ticket) -> None:
        """Let others come before a ticket that cannot be carried out now."""
        self._tickets.remove(ticket)
        self._tickets.append(ticket)

    def abandon(self) -> None:
        """Forget all tickets: their callers are gone."""
        for ticket in self._tickets:
            ticket.abandoned = True
        self._tickets.clear()
