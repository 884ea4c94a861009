"""What a user would otherwise install, behind one pair of calls: `select()` and `update(arm, reward)`."""

from __future__ import annotations

from typing import Any

import numpy as np


class River:
    """river's `bandit.UCB`."""

    def __init__(self, n_arms: int):
        from river import bandit

        self._policy = bandit.UCB(delta=1.0, seed=1)
        self._arms = list(range(n_arms))

    def select(self) -> int:
        return self._policy.pull(self._arms)

    def update(self, arm: int, reward: float) -> None:
        self._policy.update(arm, reward)


class MABWiser:
    """mabwiser's UCB1."""

    def __init__(self, n_arms: int):
        from mabwiser.mab import MAB, LearningPolicy

        self._mab = MAB(list(range(n_arms)), LearningPolicy.UCB1(alpha=1.0))
        self._mab.fit(list(range(n_arms)), [0.0] * n_arms)

    def select(self) -> int:
        return self._mab.predict()

    def update(self, arm: int, reward: float) -> None:
        self._mab.partial_fit([arm], [reward])


def river_ucb(n_arms: int) -> River:
    """Return river's UCB with every arm pulled a few times, so that it is past its first look at them."""
    peer = River(n_arms)
    feed(peer, n_arms, 3 * n_arms)
    return peer


def feed(agent: Any, n_arms: int, pulls: int) -> None:
    """Give an agent some pulls of every arm, in turn."""
    rewards = np.random.default_rng(0).normal(size=pulls).tolist()
    for n, reward in enumerate(rewards):
        agent.update(n % n_arms, reward)


def drive(agent: Any, calls: int) -> None:
    """Decide and learn, `calls` times."""
    for _ in range(calls):
        agent.update(agent.select(), 0.5)
