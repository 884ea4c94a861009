"""Proofs that a log is the work of its policy."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping

from rotting.bandit import storage
from rotting.bandit.errors import VerificationFailed
from rotting.bandit.fold import Fold
from rotting.bandit.journal import Journal
from rotting.bandit.storage import Event

TOLD_EVERY = 1000  # events


@dataclasses.dataclass(frozen=True)
class Verification:
    """What `Bandit.verify` has checked."""

    events: int
    decisions: int
    rewards: int


def verify(journal: Journal, progress: Callable[[int, int], None] | None) -> Verification:
    """Check the log of a journal, and the states that were made of it."""
    with journal.database.reading() as connection:
        journal.catch_up(connection)
        last = journal.fold.seq
        replayed = journal.fresh_fold()
        verification = replay(
            replayed,
            storage.every_event(connection, journal.bandit, upto=last),
            journal.identifiers.make,
            lambda done: progress and progress(done, last),
        )
        states = {"in memory": journal.fold}
        if (stored := journal.stored_fold(connection)) is not None:
            for event in storage.every_event(connection, journal.bandit, stored.seq, last):
                stored.apply(event)
            states["of the snapshot"] = stored
    check_same(replayed, states)
    return verification


def replay(
    fold: Fold, events: Iterable[Event], identifier: Callable[[int], str], progress: Callable[[int], object]
) -> Verification:
    """Apply all events to a fresh state; every decision among them must be the one that the state leads to."""
    decisions = 0
    for event in events:
        if event.kind == "decided":
            decisions += 1
            _check_decision(fold, event, identifier)
        fold.apply(event)
        if event.seq % TOLD_EVERY == 0:
            progress(event.seq)
    return Verification(fold.seq, decisions, sum(fold.received))


def _check_decision(fold: Fold, event: Event, identifier: Callable[[int], str]) -> None:
    arms = fold.available() if event.among is None else json.loads(event.among)
    arm, _, probability = fold.pick(event.seq, arms, fold.in_flight)
    if (arm, probability, identifier(event.seq)) != (event.arm, event.probability, event.decision):
        raise VerificationFailed(
            f"event {event.seq} decides for {fold.names[event.arm]!r} with probability {event.probability}; the policy "
            f"decides for {fold.names[arm]!r} with {probability}: the log was changed, or written by another version"
        )


def check_same(replayed: Fold, states: Mapping[str, Fold]) -> None:
    """Refuse states that are not, bit for bit, what follows from the log."""
    for which, state in states.items():
        if not state.same_as(replayed):
            raise VerificationFailed(
                f"the state {which} is not what follows from the {replayed.seq} events of the log; "
                "delete the bandit's row in rotting_snapshots and open it again"
            )
