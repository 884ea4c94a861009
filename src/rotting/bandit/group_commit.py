"""Group commit: callers that share a bandit share transactions. Whatever waits while one is committed is the next one.

There is no timer and no thread of its own. A caller puts a ticket into the line. If nobody holds the database and it is
the first, it leads: it carries out all tickets that wait in one transaction, and rings everybody's bell. Otherwise it
waits for its bell: either its ticket has been carried out, or it is its turn to lead.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from rotting.bandit.core.events import Event
from rotting.bandit.core.exchanging import Exchange
from rotting.bandit.core.requests import Outcome, Request
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BanditError, StorageError, TimedOut
from rotting.bandit.metrics import Measurement, Observer, notify
from rotting.bandit.store.deadlines import Deadline

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog
    from rotting.bandit.log.stored import StoredLog

Result = TypeVar("Result")

LARGEST_GROUP = 1000  # requests in one transaction
# Seconds after which a caller looks by itself whether it should lead: a leader may have been interrupted before it
# could ring the next bell.
_LOOK_AGAIN = 0.1


class Ticket:
    """The requests of one caller, in the line."""

    __slots__ = ("_bell", "_claim", "abandoned", "deadline", "error", "group", "outcomes", "requests")

    def __init__(self, group: GroupCommit | None, requests: Sequence[Request], deadline: Deadline):
        self.group = group
        self.requests = requests
        self.deadline = deadline
        self.outcomes: list[Outcome] | None = None
        self.error: BanditError | None = None
        self.abandoned = False  # its caller no longer waits
        # Taken by whoever decides about the ticket: a leader that carries it out, or the caller that withdraws it.
        self._claim = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()

    @property
    def is_settled(self) -> bool:
        """Whether nobody need do anything about it any more."""
        return self.outcomes is not None or self.error is not None or self.abandoned

    def claim(self) -> bool:
        """Say whether the caller of this method may decide about the ticket."""
        return self._claim.acquire(blocking=False)

    def unclaim(self) -> None:
        """Let others decide about the ticket, which nothing has been written for."""
        self._claim.release()

    def ring(self) -> None:
        """Wake the caller."""
        if self._bell.locked():
            self._bell.release()

    def wait(self, seconds: float) -> bool:
        """Wait for the bell; False if it did not ring."""
        return self._bell.acquire(timeout=seconds)

    def fail(self, error: BanditError) -> None:
        """Give the caller an error of its own."""
        self.error = copy.copy(error)
        self.error.__cause__ = error.__cause__
        self.ring()


class GroupCommit:
    """Carries out requests for one log."""

    def __init__(self, log: EventLog):
        self._log = log
        self._turns = log.turns
        # A group whose leader was interrupted, or lost the connection: it may have been written.
        self._unfinished: _Group | None = None
        self.observers: list[Observer] = []

    def submit(self, requests: Sequence[Request], deadline: Deadline) -> list[Outcome]:
        """Carry out requests in one transaction, with those of others, and return the outcomes once it is durable."""
        ticket, rung = Ticket(self, requests, deadline), True
        try:
            self._turns.line.append(ticket)
            while not ticket.is_settled:
                if self._turns.is_turn_of(ticket) or (not rung and self._turns.is_free()):
                    self._lead(ticket)
                    rung = True
                elif deadline.is_over():
                    self._withdraw(ticket)
                else:
                    rung = ticket.wait(min(_LOOK_AGAIN, deadline.remaining()))
        finally:
            ticket.abandoned = True
        if ticket.error is not None:
            raise ticket.error
        assert ticket.outcomes is not None
        return ticket.outcomes

    def take_turn(self, work: Callable[[], Result], deadline: Deadline) -> Result:
        """Do something that is a transaction of its own, when its turn has come."""
        ticket, rung = Ticket(None, (), deadline), True
        try:
            self._turns.line.append(ticket)
            while not (self._turns.is_turn_of(ticket) or (not rung and self._turns.is_free())):
                if deadline.is_over():
                    raise deadline.error("other callers")
                rung = ticket.wait(min(_LOOK_AGAIN, deadline.remaining()))
            with self._turns.held():
                ticket.abandoned = True
                return work()
        finally:
            ticket.abandoned = True

    def _withdraw(self, ticket: Ticket) -> None:
        """Give up at the deadline."""
        if ticket.claim():
            raise ticket.deadline.error("other callers")
        # Somebody is writing it right now; the leader gives up at its own deadline, or has just finished.
        if not ticket.wait(_LOOK_AGAIN) and not ticket.is_settled:
            raise ticket.deadline.error("the database", may_be_written=True)

    def _lead(self, ticket: Ticket) -> None:
        """Carry out what waits, unless somebody else has done so meanwhile."""
        with self._turns.held():
            if not ticket.is_settled:
                self._carry_out(ticket)

    def _carry_out(self, mine: Ticket) -> None:
        group = self._unfinished or _Group(self._log, self)
        self._unfinished = group
        try:
            self._log.prepare()
            group.begin()
            while not group.is_written(self._log.append(group.plan, mine.deadline, optimistic=not group.attempts)):
                pass
        except BanditError as error:
            self._fail(group, mine, error)
            notify(self.observers, group.measurement(type(error).__name__))
            return
        self._unfinished = group.deliver()
        if self.observers:
            notify(self.observers, group.measurement(None))
        self._log.after_append()

    def _fail(self, group: _Group, mine: Ticket, error: BanditError) -> None:
        """Tell those whom an error concerns, which is about the whole transaction."""
        unknown = isinstance(error, StorageError) and error.may_be_written and bool(group.attempts)
        if isinstance(error, TimedOut):
            told = [mine]  # the others may have more time
        elif unknown and not group.is_second_try:
            group.is_second_try = True  # the next attempt finds out whether it was written; see `submit`
            return
        else:
            told = [*group.tickets, mine, *(each for each in self._turns.waiting_for(self) if each.claim())]
        for ticket in told:
            if not ticket.is_settled:
                ticket.fail(error)
        if unknown and isinstance(error, TimedOut):
            return
        self._unfinished = None
        for ticket in group.tickets:
            if not ticket.is_settled:
                ticket.unclaim()


class _Attempt:
    """What was given to the database: the events, and what their callers get once they are durable."""

    def __init__(self, events: list[Event], outcomes: list[Outcome], tickets: list[Ticket]):
        self.events, self.outcomes, self.tickets = events, outcomes, tickets

    def is_in(self, state: BanditState, stored: StoredLog) -> bool:
        """Say whether the log has these events."""
        first = self.events[0]
        return first.seq <= state.seq and list(stored.stream(first.seq - 1, first.seq)) == [first]


class _Group:
    """Tickets that are carried out in one transaction."""

    def __init__(self, log: EventLog, owner: GroupCommit):
        self.tickets: list[Ticket] = []
        self.attempts: list[_Attempt] = []  # to write it; the last one, or one that was thought to have failed, counts
        self.is_second_try = False
        self._log = log
        self._owner = owner
        self._expired = False
        self._found: _Attempt | None = None
        self._begun = self._turn = time.perf_counter()
        self._settled = self._caught_up = 0

    def begin(self) -> None:
        """Note that the transaction begins."""
        self._begun = self._turn = time.perf_counter()
        self._caught_up = self._log.caught_up

    def measurement(self, error: str | None) -> Measurement:
        """Return what the transaction was like."""
        found = self._found or _Attempt([], [], self.tickets)
        return Measurement(
            bandit=self._log.name,
            seconds=time.perf_counter() - self._begun,
            lock_wait=self._turn - self._begun,
            requests=len(found.outcomes),
            refused=sum(isinstance(outcome, BanditError) for outcome in found.outcomes),
            calls=len(found.tickets),
            events=len(found.events) + self._settled,
            expired=self._settled,
            conflicts=max(0, len(self.attempts) - 1),
            caught_up=self._log.caught_up - self._caught_up,
            pending=len(self._log.state.pending),
            error=error,
        )

    def plan(self, state: BanditState, now: float, stored: StoredLog) -> list[Event]:
        """Return the events to append for all tickets, and for those that have come into the line meanwhile."""
        self._turn = time.perf_counter() if not self.attempts else self._turn
        self._found = next((each for each in self.attempts if each.is_in(state, stored)), None)
        if self._found is not None:
            return []
        self.tickets = [ticket for ticket in self.tickets if not ticket.abandoned]
        size = sum(len(ticket.requests) for ticket in self.tickets)
        for ticket in self._log.turns.waiting_for(self._owner):
            if size < LARGEST_GROUP and not ticket.is_settled and ticket.claim():
                self.tickets.append(ticket)
                size += len(ticket.requests)
        requests = [request for ticket in self.tickets for request in ticket.requests]
        exchange = Exchange(requests, self._log.identifiers, settle_overdue=not self._expired)
        events = exchange.plan(state, now, stored)
        attempt = _Attempt(events, exchange.outcomes, self.tickets)
        if events:
            self.attempts.append(attempt)
        else:
            self._found = attempt  # nothing to write
        return events

    def is_written(self, events: list[Event]) -> bool:
        """Say whether these events, which are durable by now, were all; if not, append again."""
        if events and events[0].kind == "expired":
            self._expired, self.attempts = True, []
            self._settled += len(events)
            return False
        if events:
            self._found = self.attempts[-1]
        return True

    def deliver(self) -> _Group | None:
        """Give everybody the outcomes; returns the group of those who have none, because they came too late."""
        assert self._found is not None
        done, start = self._found, 0
        for ticket in done.tickets:
            ticket.outcomes = done.outcomes[start : start + len(ticket.requests)]
            start += len(ticket.requests)
            ticket.ring()
        left = _Group(self._log, self._owner)
        left.tickets = [ticket for ticket in self.tickets if not ticket.is_settled]
        return left if left.tickets else None
