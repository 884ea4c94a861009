"""Proofs that a log is the work of its policy."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

from sqlalchemy import Connection

from rotting.bandit import storage
from rotting.bandit.errors import VerificationFailed
from rotting.bandit.fold import Fold
from rotting.bandit.identifiers import Identifiers
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
        last, replay = journal.fold.seq, Replay(journal.fresh_fold(), journal.identifiers)
        for event in storage.every_event(connection, journal.bandit, upto=last):
            replay.take_in(event)
            if progress is not None and event.seq % TOLD_EVERY == 0:
                progress(event.seq, last)
        _check_states(journal, connection, replay.fold)
    return Verification(last, len(replay.decided), sum(replay.fold.received))


class Replay:
    """Takes in a log from its beginning; whatever the state does not lead to is refused."""

    def __init__(self, fold: Fold, identifiers: Identifiers):
        self.fold = fold
        self.decided: dict[int, int] = {}  # the arm of each decision, by the number of its event
        self._shown: dict[int, int] = {}  # which event showed a decision, ...
        self._rewarded: dict[int, int] = {}  # ... and which gave it a reward
        self._identifiers = identifiers

    def take_in(self, event: Event) -> None:
        """Check and apply the next event."""
        self.fold.check(event)
        if event.kind == "decided":
            self._check_decision(event)
            self.decided[event.seq] = event.arm
        elif event.target is not None:
            self._check_outcome(event, event.target)
        self.fold.apply(event)

    def _check_decision(self, event: Event) -> None:
        fold = self.fold
        arms = fold.available() if event.among is None else json.loads(event.among)
        if not arms or not all(fold.live[arm] for arm in arms):
            raise VerificationFailed(f"event {event.seq} decides among {arms}, of which some are retired: {_CHANGED}")
        arm, _, probability = fold.pick(event.seq, arms, fold.in_flight)
        if (arm, probability) != (event.arm, event.probability):
            raise VerificationFailed(
                f"event {event.seq} decides for {fold.names[event.arm]!r} with probability {event.probability}; the "
                f"policy decides for {fold.names[arm]!r} with {probability}: {_CHANGED}"
            )
        if not self._identifiers.belongs(event.decision, event.seq, event.at):
            raise VerificationFailed(
                f"event {event.seq} is a decision with the id {event.decision!r}, expected "
                f"{self._identifiers.make(event.seq, event.at)!r}: {_CHANGED}"
            )

    def _check_outcome(self, event: Event, decision: int) -> None:
        what = f"event {event.seq} says that decision {decision} was {event.kind}"
        if self.decided.get(decision) != event.arm:
            raise VerificationFailed(f"{what} with arm {event.arm}; there is no such decision: {_CHANGED}")
        if event.kind == "expired" and decision not in self.fold.pending:
            raise VerificationFailed(f"{what}; it no longer waited for a reward: {_CHANGED}")
        for known, applies in ((self._shown, event.kind == "shown"), (self._rewarded, event.value is not None)):
            if applies and known.setdefault(decision, event.seq) != event.seq:
                raise VerificationFailed(f"{what}; event {known[decision]} had done that: {_CHANGED}")


_CHANGED = "the log was changed, or written by another version"


def _check_states(journal: Journal, connection: Connection, replayed: Fold) -> None:
    """Refuse states that are not, bit for bit, what follows from the log."""
    stored = journal.stored_fold(connection)
    if stored is not None:
        for event in storage.every_event(connection, journal.bandit, stored.seq, replayed.seq):
            stored.apply(event)
        if (what := stored.difference(replayed)) is not None:
            raise VerificationFailed(
                f"the snapshot of bandit {journal.name!r} differs from its log of {replayed.seq} events in {what!r}: "
                "one of the two was changed; restore a backup of the database, or, if the log is right, delete the "
                "bandit's row in rotting_snapshots and open it again"
            )
    if (what := journal.fold.difference(replayed)) is not None:
        raise VerificationFailed(
            f"the state in memory differs from the log of {replayed.seq} events in {what!r}: the log was changed "
            "after the bandit was opened; restore a backup of the database, or open the bandit again to go on with it"
        )
