"""Proofs that a log is the work of its policy: the whole log is replayed."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rotting.bandit.core.choosing import Pick, pick_again
from rotting.bandit.core.events import Event
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import NoArms, RewardOutOfRange, VerificationFailed
from rotting.errors import literal, quoted

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog
    from rotting.bandit.log.stored import StoredLog

PROGRESS_EVERY = 1000  # events
Progress = Callable[[int, int], None]  # is told how many events are done, and how many there are


@dataclasses.dataclass(frozen=True)
class Verification:
    """What `Bandit.verify` has checked: everything from event `since` on, which is 1 unless the log was compacted."""

    events: int
    decisions: int
    rewards: int
    since: int = 1


def verify(log: EventLog, progress: Progress | None) -> Verification:
    """Check a log, and the states that were made of it."""
    with log.reading() as stored:
        replay = replayed(log, stored, log.state.seq, progress)
        _check_states(log, stored, replay.state)
    return Verification(replay.state.seq - replay.since + 1, replay.decisions, replay.rewards, replay.since)


def replayed(log: EventLog, stored: StoredLog, upto: int, progress: Progress | None) -> Replay:
    """Replay what is still in a log, up to an event."""
    replay = Replay(log, stored)
    before = replay.state.seq
    for event in stored.stream(before, upto):
        replay.apply(event)
        if progress is not None and (event.seq - before) % PROGRESS_EVERY == 0:
            progress(event.seq - before, upto - before)
    return replay


class Replay:
    """Applies a log from its beginning, or from a seal, and refuses whatever does not follow from what came before."""

    def __init__(self, log: EventLog, stored: StoredLog):
        seal = stored.newest_seal()
        self.early = {} if seal is None else seal.known  # decisions before the first event
        self.state = state = log.first_state(seal)
        state.read_rewards = stored.rewards_until
        self.since = state.seq + 1
        self.decisions, self.rewards = 0, 0
        self.imports = 0  # rewards that a warm start has announced and that are still to come
        self._seals = {row.seq: row.checksum for row in stored.store.seals(log.bandit_id, content=False)}
        self._identifiers = log.identifiers
        # The arm of each decision, and whether it belongs to the holdout, by the number of its event.
        self._decided = {seq: (early.arm, early.holdout) for seq, early in self.early.items()}
        # Which event showed a decision, ...
        self._shown: dict[int, int] = {seq: state.seq for seq, waiting in state.pending.items() if waiting.shown}
        self._rewarded: dict[int, int] = {}  # ... and which gave it a reward

    def was_shown(self, decision: int) -> bool:
        """Say whether a decision that no longer waits was shown; one with a reward must have been."""
        return decision in self._shown or decision in self._rewarded

    def apply(self, event: Event) -> None:
        """Check and apply the next event."""
        self.state.check(event)
        if event.kind == "decided":
            self._check_decision(event)
            self._decided[event.seq] = event.arm, event.holdout
            self.decisions += 1
        elif event.target is not None:
            self._check_outcome(event, event.target)
        elif event.kind == "sealed":
            self._check_seal(event)
        self._check_imports(event)
        self.state.apply(event)
        self.rewards += event.value is not None

    def _check_decision(self, event: Event) -> None:
        state = self.state
        arms = state.available() if event.among is None else json.loads(event.among)
        if not arms or not all(state.live[arm] for arm in arms):
            raise _changed(f"event {event.seq} decides among {arms}, of which some are retired")
        try:
            again = pick_again(state, event)
        except NoArms as error:
            raise _changed(f"event {event.seq} is a decision, but {literal(str(error))}") from None
        if again.arm != event.arm or not _same_probability(state, event, again):
            raise _changed(
                f"event {event.seq} decides for {quoted(state.names[event.arm])} with probability "
                f"{event.probability}; the policy decides for {quoted(state.names[again.arm])} with {again.probability}"
            )
        if again.holdout != event.holdout:
            raise _changed(
                f"event {event.seq} says {event.holdout} of whether it is of the holdout, not {again.holdout}"
            )
        if not self._identifiers.belongs(event.decision, event.seq, event.at):
            raise _changed(
                f"event {event.seq} is a decision with the id {quoted(event.decision)}, expected "
                f"{self._identifiers.make(event.seq, event.at)!r}"
            )

    def _check_outcome(self, event: Event, decision: int) -> None:
        what = f"event {event.seq} says that decision {decision} was {event.kind}"
        arm, holdout = self._decided.get(decision, (None, None))
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

    def _check_seal(self, event: Event) -> None:
        details = json.loads(event.details or "")
        if self._seals.get(details["upto"]) != details.get("seal"):
            raise _changed(f"event {event.seq} names a seal with another checksum than the one that is there")

    def _check_imports(self, event: Event) -> None:
        if (event.kind == "imported") != (self.imports > 0):
            raise _changed(f"event {event.seq} is {event.kind}, but {self.imports} imported rewards were to follow")
        if event.kind == "imported":
            self._check_range(event)
            self.imports -= 1
        elif event.kind == "warmed":
            number = json.loads(event.details or "").get("rewards")
            if type(number) is not int or number < 1:
                raise _changed(f"event {event.seq} announces {quoted(number)} imported rewards")
            self.imports = number

    def _check_range(self, event: Event) -> None:
        try:
            self.state.settings.check_reward(event.value or 0.0)
        except RewardOutOfRange as error:
            raise _changed(f"event {event.seq}: {literal(str(error))}") from None


def _same_probability(state: BanditState, event: Event, again: Pick) -> bool:
    """Say whether a decision's probability is that of its policy, but for a few units in the last place."""
    if event.probability is None or again.probability is None:
        # Older versions knew none of any randomised policy.
        return event.probability == again.probability or (event.probability is None and state.policy.randomised)
    return math.isclose(event.probability, again.probability, rel_tol=1e-9 if state.policy.randomised else 0.0)


def _changed(problem: str) -> VerificationFailed:
    return VerificationFailed(f"{problem}: the log was changed, or written by another version")


def _check_states(log: EventLog, stored: StoredLog, replayed: BanditState) -> None:
    """Refuse states that are not, bit for bit, what follows from the log."""
    snapshot = log.stored_state()
    if snapshot is not None:
        for event in stored.stream(snapshot.seq, replayed.seq):
            snapshot.apply(event)
    for state, what, why, otherwise in (
        (
            snapshot,
            f"the snapshot of bandit {quoted(log.name)}",
            "one of the two was changed",
            "if the log is right, delete the bandit's row in rotting_snapshots and open it again",
        ),
        (
            log.state,
            "the state in memory",
            "the log was changed after the bandit was opened",
            "open the bandit again to go on with it",
        ),
    ):
        if state is not None and (name := state.difference(replayed)) is not None:
            raise VerificationFailed(
                f"{what} differs from the log of {replayed.seq} events in {name!r}: {why}",
                hint=f"restore a backup of the database, or {otherwise}",
            )
