"""The tickets of one bandit that are carried out together: what to ask, what to append, what became of it."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rotting.bandit.core.events import Facts, Question
from rotting.bandit.core.planning import Plan, plan, wanted
from rotting.bandit.core.requests import Change
from rotting.bandit.errors import BanditError, StorageError, TimedOut
from rotting.bandit.line import Ticket
from rotting.bandit.log.snapshotting import row_of
from rotting.bandit.log.stored import Early, with_early
from rotting.bandit.metrics import Measurement, notify
from rotting.bandit.store.contract import Batch

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog

NOTHING = Facts([], {}, {})


def doubted(error: BanditError, ticket: Ticket) -> BanditError:
    """Return an error that says that something may have been written."""
    if isinstance(error, TimedOut):
        return ticket.deadline.error("the database", may_be_written=True)
    if isinstance(error, StorageError):
        error = copy.copy(error)
        error.may_be_written = True
    return error


class Attempt(NamedTuple):
    """What was given to the store, and whose callers get the outcomes once it is durable."""

    plan: Plan
    tickets: list[Ticket]


class Group:
    """Tickets of one log that are carried out in one transaction."""

    def __init__(self, log: EventLog):
        self.log = log
        self.tickets: list[Ticket] = []
        self.attempts: list[Attempt] = []  # to write it; the last one, or one that was thought to have failed, counts
        self.facts = NOTHING
        self._attempt: Attempt | None = None  # of the transaction in progress, ...
        self._found: Attempt | None = None  # ... and the one that the log has
        self._expired = False
        self._begun = self._turn = time.perf_counter()
        self._settled, self._conflicts, self._caught_up = 0, 0, log.caught_up

    # Before the transaction ends.

    def claim(self, tickets: Sequence[Ticket], largest: float = math.inf) -> None:
        """Take tickets that nobody else has, with so many requests; leave those that are settled, or given up."""
        self.tickets = [ticket for ticket in self.tickets if not ticket.is_settled]
        self._attempt, self.facts, size = None, NOTHING, 0
        for ticket in tickets:
            if size >= largest or (self.tickets and (ticket.comes_alone or self.tickets[0].comes_alone)):
                return
            if ticket.claim():
                self.tickets.append(ticket)
            size += len(ticket.requests)

    def question(self) -> tuple[Question, Early] | None:
        """Return what must be asked of the store; None if the state says everything."""
        state = self.log.state
        decisions, keys = wanted(state, (request for ticket in self.tickets for request in ticket.requests))
        return self.log.stored.question(decisions, keys, state.sealed) if decisions or keys else None

    def answer(self, facts: Facts, early: Early) -> None:
        """Take note of what the store says."""
        self.facts = with_early(facts, early, self.log.state.sealed)

    def batch(self) -> Batch | None:
        """Return what to append; None if there is nothing, or an earlier attempt is in the log."""
        log, state = self.log, self.log.state
        self._turn = self._turn if self.attempts else time.perf_counter()
        self._found = next((each for each in self.attempts if self._is_in_log(each)), None)
        if self._found is not None and not self._only_settles(self._found):
            return None
        self._found = None
        if self._is_outdated():
            self._conflicts += 1
            return None
        requests = [request for ticket in self.tickets for request in ticket.requests]
        made = plan(state, log.now(), log.identifiers, self.facts, requests, settle_overdue=not self._expired)
        self._attempt = Attempt(made, self.tickets)
        if not made.events:
            return None
        self.attempts.append(self._attempt)
        snapshot = seal = None
        if isinstance(change := requests[0], Change):
            seal, after = change.seal, state.snapshot_after(made.events) if change.changes_policy else None
            snapshot = None if after is None else row_of(after.seq, after.to_bytes())
        return Batch(made.events, state.seq, state.at, snapshot, seal)

    def _is_outdated(self) -> bool:
        """Say whether the facts are newer than the state: then a plan would be refused, if it can be made at all.

        Under a lock, they never are: so the state is brought up to date, and the same is asked again.
        """
        events = (about[-1] for about in (*self.facts.about.values(), *self.facts.keyed.values()) if about)
        return any(event.seq > self.log.state.seq for event in events)

    def _only_settles(self, attempt: Attempt) -> bool:
        """Say whether all that an attempt has written is the end of what was overdue; then it is planned again."""
        if attempt.plan.only_settles:
            self._expired, self.attempts = True, []
            self._settled += len(attempt.plan.events)
        return attempt.plan.only_settles

    def _is_in_log(self, attempt: Attempt) -> bool:
        # All of them: another process may have taken the same decision at the same instant, and others after it.
        first, last = attempt.plan.events[0].seq, attempt.plan.events[-1].seq
        return last <= self.log.state.seq and list(self.log.stored.stream(first - 1, last)) == attempt.plan.events

    # After it.

    def is_done(self, was_accepted: bool, lock: bool) -> bool:
        """Say whether all that its callers get is known; what was accepted is applied to the state."""
        attempt = self._attempt
        if was_accepted:
            assert attempt is not None
            self.log.applied(attempt.plan.events)
            if self._only_settles(attempt):
                return False
            self._found = attempt
        elif lock and self._found is None and attempt is not None and not attempt.plan.events:
            self._found = attempt  # nothing to write, and nobody has written anything meanwhile
        else:
            self._conflicts += self.forget_attempt()
        return self._found is not None

    def forget_attempt(self) -> bool:
        """Forget the attempt of the last transaction, if there was one: nothing of it was written, or ever will be."""
        attempt = self._attempt
        if attempt is None or attempt not in self.attempts:
            return False
        self.attempts.remove(attempt)
        return True

    def deliver(self) -> None:
        """Give everybody the outcomes; those who have none, because they came too late, go on waiting."""
        assert self._found is not None
        done, start = self._found, 0
        for ticket in done.tickets:
            ticket.settle(done.plan.outcomes[start : start + len(ticket.requests)])
            start += len(ticket.requests)
        self.release()
        if self.log.observers:
            notify(self.log.observers, self.measurement(None))

    def fail(self, error: BanditError, tickets: Sequence[Ticket]) -> None:
        """Give callers an error; it says so if an earlier attempt, whose answer was lost, may have been written."""
        for ticket in tickets:
            if not ticket.is_settled:
                tried = any(ticket in attempt.tickets for attempt in self.attempts)
                ticket.settle(doubted(error, ticket) if tried else error)
        if self.log.observers:
            notify(self.log.observers, self.measurement(type(error).__name__))

    def release(self) -> None:
        """Let others decide about the tickets that are not settled."""
        for ticket in self.tickets:
            if not ticket.is_settled:
                ticket.unclaim()

    def measurement(self, error: str | None) -> Measurement:
        """Return what the transaction was like."""
        made, tickets = self._found or Attempt(Plan([], []), self.tickets)
        return Measurement(
            bandit=self.log.name,
            seconds=time.perf_counter() - self._begun,
            lock_wait=self._turn - self._begun,
            requests=len(made.outcomes),
            refused=sum(isinstance(outcome, BanditError) for outcome in made.outcomes),
            calls=len(tickets),
            events=len(made.events) + self._settled,
            expired=self._settled,
            conflicts=self._conflicts,
            caught_up=self.log.caught_up - self._caught_up,
            pending=len(self.log.state.pending),
            error=error,
        )
