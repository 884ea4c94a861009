"""What clients of a simulated world ask of a bandit."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

from rotting.bandit import Bandit, BanditError, CompactedDecision
from rotting.policies import EffFEWA, EpsilonGreedy
from rotting.testing.promises import LARGEST_BATCH, Acknowledged

POLICIES = EffFEWA(sigma=0.5), EffFEWA(alpha=0.1, sigma=0.5), EpsilonGreedy(epsilon=0.3)
LATEST = 10  # keys from which one is chosen to be given again
# What is asked, and how often in proportion; `WITHOUT_TIMEOUT` takes as long as it takes.
OPERATIONS = {
    "decide": 40,
    "again": 16,
    "reward": 20,
    "rewards": 6,
    "shown": 6,
    "arms": 3,
    "settings": 2,
    "expire": 2,
    "snapshot": 2,
    "compact": 4,
}
WITHOUT_TIMEOUT = ("snapshot", "compact")


@dataclasses.dataclass
class Client:
    """Somebody who calls a bandit of some process once, and takes note of the answer."""

    bandit: Bandit
    known: Acknowledged
    timeout: float
    dice: random.Random
    folder: Path

    def decide(self) -> None:
        """Ask for one decision or several, with a key or without."""
        key = f"key {len(self.known.asked)} {self.dice.random()}" if self.dice.random() < 0.5 else None
        self.ask(key, self.dice.choice((1, 1, LARGEST_BATCH)))

    def again(self) -> None:
        """Ask with a key for the second time, whatever became of the first: it may not have ended."""
        if self.known.asked:
            key = self.dice.choice(list(self.known.asked)[-LATEST:])
            self.ask(key, self.known.asked[key])

    def ask(self, key: str | None, number: int) -> None:
        """Ask for so many decisions."""
        with self.known.attempt(key, number):
            choices = self.bandit.decide(number, key=key, timeout=self.timeout)
        self.known.note(self.bandit, key, choices)

    def reward(self) -> None:
        """Give the reward of some decision, perhaps for the second time."""
        for decision, value in self._rewards(1):
            try:
                outcome: bool | BanditError = self.bandit.reward(decision, value, timeout=self.timeout)
            except CompactedDecision as error:
                outcome = error
            self.known.rewarded(self.bandit, decision, outcome)

    def rewards(self) -> None:
        """Give several rewards in one transaction: those that can be logged are."""
        given = self._rewards(LARGEST_BATCH)
        outcomes = self.bandit.reward_many(given, partial=True, timeout=self.timeout)
        refused = [isinstance(outcome, BanditError) for outcome in outcomes]
        for _, (decision, _), outcome in sorted(zip(refused, given, outcomes, strict=True), key=lambda each: each[0]):
            self.known.rewarded(self.bandit, decision, outcome)  # raises the first error, which comes last

    def _rewards(self, number: int) -> list[tuple[str, float]]:
        """Return so many decisions and their rewards: the same ones, however often they are given."""
        known = list(self.known.decisions)
        some = [self.dice.choice(known) for _ in range(number) if known]
        return [(each, self.known.given.setdefault(each, self.dice.random())) for each in some]

    def shown(self) -> None:
        """Say that a decision was shown."""
        if self.known.decisions:
            self.bandit.shown(self.dice.choice(list(self.known.decisions)), timeout=self.timeout)

    def arms(self) -> None:
        """Add an arm, retire one, or restore all."""
        arms = list(self.bandit._state.names)
        match self.dice.randrange(3):
            case 0:
                self.bandit.change_arms(add=[f"arm {len(arms)} {self.dice.random()}"], timeout=self.timeout)
            case 1:
                self.bandit.change_arms(retire=arms[1:2], timeout=self.timeout)
            case _:
                self.bandit.change_arms(restore=arms, timeout=self.timeout)

    def settings(self) -> None:
        """Change the policy, or another setting."""
        if self.dice.random() < 0.5:
            self.bandit.change(policy=self.dice.choice(POLICIES), timeout=self.timeout)
        else:
            self.bandit.change(epsilon=self.dice.choice((0.0, 0.1, 0.5)), timeout=self.timeout)

    def expire(self) -> None:
        """Settle what is overdue."""
        self.bandit.expire(timeout=self.timeout)

    def snapshot(self) -> None:
        """Take a snapshot."""
        self.bandit.snapshot()

    def compact(self) -> None:
        """Compact all but the last few events."""
        upto = self.bandit._state.seq - self.dice.randrange(20)
        self.bandit.compact(upto, self.folder / f"{self.dice.random()}.jsonl")
