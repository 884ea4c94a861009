"""Proofs that a log is the work of its policy: the whole log is replayed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from rotting.bandit.choosing import counts_at, pick
from rotting.bandit.errors import NoArms, RewardOutOfRange, VerificationFailed
from rotting.bandit.events import Event
from rotting.bandit.identifiers import Identifiers
from rotting.bandit.state import BanditState
from rotting.errors import literal, quoted

if TYPE_CHECKING:
    from rotting.bandit.event_log import EventLog
    from rotting.bandit.storage import StoredLog

PROGRESS_EVERY = 1000  # events


@dataclasses.dataclass(frozen=True)
class Verification:
    """What `Bandit.verify` has checked."""

    events: int
    decisions: int
    rewards: int


def verify(log: EventLog, progress: Callable[[int, int], None] | None) -> Verification:
    """Check a log, and the states that were made of it."""
    with log.reading() as stored:
        last, replay = log.state.seq, Replay(log.fresh_state(), log.identifiers)
        for event in stored.stream(upto=last):
            replay.apply(event)
            if progress is not None and event.seq % PROGRESS_EVERY == 0:
                progress(event.seq, last)
        _check_states(log, stored, replay.state)
    return Verification(last, len(replay.decided), sum(replay.state.received))


class Replay:
    """Applies a log from its beginning, and refuses whatever does not follow from what came before."""

    def __init__(self, state: BanditState, identifiers: Identifiers):
        self.state = state
        # The arm of each decision, and whether it belongs to the holdout, by the number of its event.
        self.decided: dict[int, tuple[int, int | None]] = {}
        self._shown: dict[int, int] = {}  # which event showed a decision, ...
        self._rewarded: dict[int, int] = {}  # ... and which gave it a reward
        self._identifiers = identifiers

    def apply(self, event: Event) -> None:
        """Check and apply the next event."""
        self.state.check(event)
        if event.kind == "decided":
            self._check_decision(event)
            self.decided[event.seq] = event.arm, event.holdout
        elif event.target is not None:
            self._check_outcome(event, event.target)
        self.state.apply(event)

    def _check_decision(self, event: Event) -> None:
        state = self.state
        arms = state.available() if event.among is None else json.loads(event.among)
        if not arms or not all(state.live[arm] for arm in arms):
            raise _changed(f"event {event.seq} decides among {arms}, of which some are retired")
        try:
            arm, _, probability, holdout = pick(state, event.seq, arms, counts_at(state, event.at))
        except NoArms as error:
            raise _changed(f"event {event.seq} is a decision, but {literal(str(error))}") from None
        if (arm, probability) != (event.arm, event.probability):
            raise _changed(
                f"event {event.seq} decides for {quoted(state.names[event.arm])} with probability "
                f"{event.probability}; the policy decides for {quoted(state.names[arm])} with {probability}"
            )
        if holdout != event.holdout:
            raise _changed(f"event {event.seq} says {event.holdout} of whether it is of the holdout, not {holdout}")
        if not self._identifiers.belongs(event.decision, event.seq, event.at):
            raise _changed(
                f"event {event.seq} is a decision with the id {quoted(event.decision)}, expected "
                f"{self._identifiers.make(event.seq, event.at)!r}"
            )

    def _check_outcome(self, event: Event, decision: int) -> None:
        what = f"event {event.seq} says that decision {decision} was {event.kind}"
        arm, holdout = self.decided.get(decision, (None, None))
        if arm != event.arm:
            raise _changed(f"{what} with arm {event.arm}; there is no such decision")
        if event.kind != "shown" and holdout != event.holdout:
            raise _changed(f"{what} with holdout {event.holdout}, the decision with {holdout}")
        if event.kind == "rewarded":
            self._check_range(event)
        if event.kind == "expired" and decision not in self.state.pending:
            raise _changed(f"{what}; it no longer waited for a reward")
        for known, applies in ((self._shown, event.kind == "shown"), (self._rewarded, event.value is not None)):
            if applies and known.setdefault(decision, event.seq) != event.seq:
                raise _changed(f"{what}; event {known[decision]} had done that")

    def _check_range(self, event: Event) -> None:
        try:
            self.state.settings.check_reward(event.value or 0.0)
        except RewardOutOfRange as error:
            raise _changed(f"event {event.seq}: {literal(str(error))}") from None


def _changed(problem: str) -> VerificationFailed:
    return VerificationFailed(f"{problem}: the log was changed, or written by another version")


def _check_states(log: EventLog, stored: StoredLog, replayed: BanditState) -> None:
    """Refuse states that are not, bit for bit, what follows from the log."""
    state = log.stored_state(stored)
    if state is not None:
        for event in stored.stream(state.seq, replayed.seq):
            state.apply(event)
        if (what := state.difference(replayed)) is not None:
            raise VerificationFailed(
                f"the snapshot of bandit {quoted(log.name)} differs from its log of {replayed.seq} events in {what!r}: "
                "one of the two was changed",
                hint="restore a backup of the database, or, if the log is right, delete the bandit's row in "
                "rotting_snapshots and open it again",
            )
    if (what := log.state.difference(replayed)) is not None:
        raise VerificationFailed(
            f"the state in memory differs from the log of {replayed.seq} events in {what!r}: the log was changed after "
            "the bandit was opened",
            hint="restore a backup of the database, or open the bandit again to go on with it",
        )
