"""What clients of a simulated world have been told of a bandit, and whether its log keeps to it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from rotting.bandit import Bandit, BanditError, Choice, CompactedDecision
from rotting.bandit.core.snapshots import Snapshot
from rotting.testing.memory import MemoryStore

LARGEST_BATCH = 3  # decisions of one request
REPEATED = 2  # requests of each kind that are asked for again when promises are checked


class BrokenPromiseError(AssertionError):
    """What was promised does not hold."""


@dataclasses.dataclass
class Acknowledged:
    """What clients have asked of one bandit, and have been told."""

    asked: dict[str, int] = dataclasses.field(default_factory=dict)  # keys, and of how many decisions
    keys: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # identifiers of their decisions
    maybe: Counter[str] = dataclasses.field(default_factory=Counter)  # attempts that were, or may have been, written
    keyless: int = 0  # the same of decisions without a key
    decisions: dict[str, str] = dataclasses.field(default_factory=dict)  # arms by identifier
    given: dict[str, float] = dataclasses.field(default_factory=dict)  # the reward that is given to each, however often
    rewards: dict[str, float] = dataclasses.field(default_factory=dict)  # those that were acknowledged
    fresh: set[str] = dataclasses.field(default_factory=set)  # decisions whose reward was said to be new
    sealed: dict[str, int] = dataclasses.field(default_factory=dict)  # what had been compacted when it was given

    @contextlib.contextmanager
    def attempt(self, key: str | None, number: int) -> Iterator[None]:
        """Ask for decisions: they may have been written until it is said that they were not."""
        if key is None:
            self.keyless += number
        else:
            self.asked[key] = number
            self.maybe[key] += 1
        try:
            yield
        except BanditError as error:
            if not getattr(error, "may_be_written", False):
                self.keyless -= number if key is None else 0
                self.maybe[key or ""] -= 1
            raise

    def note(self, bandit: Bandit, key: str | None, choices: Sequence[Choice]) -> None:
        """Take note of decisions that were acknowledged; the same key gives the same ones."""
        ids = [choice.id for choice in choices]
        if bandit._state.seq < max(map(seq_of, ids)):
            raise BrokenPromiseError(f"{ids} were acknowledged, and the state is that after event {bandit._state.seq}")
        if key is not None:
            compacted, before = bandit._state.sealed, self.keys.setdefault(key, ids)
            if before != ids and not any(seq_of(each) <= compacted for each in before):
                raise BrokenPromiseError(f"{key!r} gave {before}, then {ids}")
            self.keys[key] = ids
        elif self.decisions.keys() & set(ids):
            raise BrokenPromiseError(f"{ids} were given to somebody else, too")
        self.decisions |= {choice.id: choice.arm for choice in choices}

    def rewarded(self, bandit: Bandit, decision: str, outcome: bool | BanditError) -> None:
        """Take note of a reward that was given: it is new once, and known as long as the log keeps the decision."""
        if isinstance(outcome, CompactedDecision) and self.is_kept(bandit, decision):
            raise BrokenPromiseError(f"{decision} has been compacted, it is said, and it has not")
        if isinstance(outcome, BanditError):
            raise outcome
        if outcome and decision in self.fresh and not is_doubtful(bandit):
            raise BrokenPromiseError(f"the reward of {decision} was new twice")
        if outcome:
            self.fresh.add(decision)
        self.rewards[decision], self.sealed[decision] = self.given[decision], bandit._state.sealed

    def is_kept(self, bandit: Bandit, decision: str) -> bool:
        """Say whether the log still knows of a decision, and of its reward."""
        sealed = bandit._state.sealed
        return seq_of(decision) > sealed or self.sealed.get(decision) == sealed

    # What is in the log.

    def check(self, bandit: Bandit) -> None:
        """Check what is in the log, in a bandit that has just been opened, and ask for the same again."""
        self._check_rows(bandit)
        self._check_keys(bandit)
        self._check_again(bandit)
        stored = bandit._log.store
        with stored.lock, stored.reading():
            snapshot = stored.snapshot(bandit._log.bandit_id)
        if snapshot is not None and Snapshot.from_bytes(snapshot.content).seq != snapshot.seq:
            raise BrokenPromiseError(f"a snapshot says that it ends with event {snapshot.seq}, and does not")

    def _check_rows(self, bandit: Bandit) -> None:
        rows = [row for portion in bandit.rows() for row in portion]
        sealed = bandit._state.sealed
        decided = Counter(row.decision for row in rows if row.kind == "decided")
        arms = {row.decision: row.arm for row in rows if row.kind == "decided"}
        rewards = {row.decision: row.reward for row in rows if row.kind == "rewarded"}
        settled = Counter(
            row.decision for row in rows if row.kind in ("rewarded", "expired") and row.reward is not None
        )
        for decision, arm in self.decisions.items():
            if seq_of(decision) > sealed and (decided[decision] != 1 or arms[decision] != arm):
                raise BrokenPromiseError(
                    f"decision {decision} was acknowledged, and is there {decided[decision]} times"
                )
        for decision, value in self.rewards.items():
            if seq_of(decision) > sealed and rewards.get(decision) != value:
                raise BrokenPromiseError(f"reward {value} of {decision} was acknowledged, and is not there")
        if settled and max(settled.values()) > 1:
            raise BrokenPromiseError("a decision has two rewards")

    def _check_keys(self, bandit: Bandit) -> None:
        stored = bandit._log.store
        with stored.lock, stored.reading():
            events = [event for event in stored.events(bandit._log.bandit_id) if event.kind == "decided"]
        keys = Counter(event.key for event in events if event.key is not None)
        keyless = len(events) - sum(event.batch or 0 for event in events)
        # A request may have lost its key, where a part of it was compacted.
        if keyless > self.keyless + (LARGEST_BATCH - 1 if bandit._state.sealed else 0):
            raise BrokenPromiseError(f"{keyless} decisions without a key, of {self.keyless} that were asked for")
        for key, number in keys.items():
            if number > 1:
                raise BrokenPromiseError(f"{key!r} was carried out twice")
            if not self.maybe[key]:
                raise BrokenPromiseError(f"{key!r} was said not to be written, and was")

    def _check_again(self, bandit: Bandit) -> None:
        """Ask again for what was acknowledged last: the answer is the same, and nothing is written."""
        there, before = bandit._state.sealed + 1, bandit._state.seq
        for key, ids in list(self.keys.items())[-REPEATED:]:
            if min(map(seq_of, ids)) >= there and [each.id for each in bandit.decide(len(ids), key=key)] != ids:
                raise BrokenPromiseError(f"{key!r} no longer gives {ids}")
        for decision, value in list(self.rewards.items())[-REPEATED:]:
            if self.is_kept(bandit, decision) and bandit.reward(decision, value):
                raise BrokenPromiseError(f"the reward of {decision} was taken again")
        if bandit._state.seq != before:
            raise BrokenPromiseError("what was asked again was written again")


def is_doubtful(bandit: Bandit) -> bool:
    """Say whether an answer was lost so far: of the same reward at the same instant, two processes say it was new."""
    store = bandit._log.store
    return isinstance(store, MemoryStore) and store.place.lost > 0


def seq_of(decision: str) -> int:
    """Return the number of a decision's event."""
    return int(decision.split("-")[1])


def choices_of(outcome: object) -> list[Choice]:
    """Return the choices of an outcome; if it is an error, raise it."""
    if isinstance(outcome, BanditError):
        raise outcome
    assert isinstance(outcome, list)
    return outcome
