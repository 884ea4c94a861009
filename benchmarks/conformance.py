"""Compare decisions with other packages on the same rewards: those of docs/conformance.md that the index has.

Usage: conformance.py. Needs river and mabwiser (`make bench` installs them). Prints a table, and exits with 1 if a
comparison does not come out as the page says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import rotting
from rotting.policies import Agent, Policy

GAMES, ROUNDS = 20, 300
KEY = np.uint64(0)  # decides nothing: no policy here is asked for a random choice


class Comparison(NamedTuple):
    """A policy and a peer: whether they agree as they are, and if not, whether with our clock one round behind."""

    policy: Policy
    peer: str
    make: Callable[[int], Any]
    agree: bool = True


class RiverIndex:
    """A policy of river's that decides without chance once each arm has been pulled."""

    def __init__(self, policy: Any, n_arms: int):
        self.policy, self.arms = policy, list(range(n_arms))

    def same(self, agent: Agent, t: int) -> bool:
        """Say whether it decides as the agent does in round t."""
        return bool(self.policy.pull(self.arms) == agent.select_at(t, KEY))

    def update(self, arm: int, reward: float) -> None:
        self.policy.pull(self.arms)
        self.policy.update(arm, reward)


class RiverBeta(RiverIndex):
    """river's Thompson sampling: its posteriors."""

    def same(self, agent: Agent, t: int) -> bool:
        rewards = [self.policy._rewards[arm] for arm in self.arms]
        theirs = [reward.alpha for reward in rewards], [reward.beta for reward in rewards]
        return np.array_equal(theirs, beta_counts(agent))


class RiverExp3(RiverIndex):
    """river's Exp3: its probabilities."""

    def same(self, agent: Agent, t: int) -> bool:
        self.policy.pull(self.arms)
        state, gamma = agent._state, agent._state.settings[0]
        ours = (1 - gamma) * state.weights / state.weights.sum() + gamma / len(self.arms)
        return np.allclose(list(self.policy._probabilities.values()), ours, rtol=1e-9)


class Wiser:
    """A policy of mabwiser's, which is told of all arms at once."""

    def __init__(self, learning: Any, n_arms: int):
        from mabwiser.mab import MAB

        self.mab, self.arms = MAB(list(range(n_arms)), learning), list(range(n_arms))
        self.first: list[tuple[int, float]] = []

    def same(self, agent: Agent, t: int) -> bool:
        return bool(self.mab.predict() == agent.select_at(t, KEY))

    def update(self, arm: int, reward: float) -> None:
        self.first.append((arm, reward))
        if len(self.first) == len(self.arms):
            arms, rewards = zip(*self.first, strict=True)
            self.mab.fit(list(arms), list(rewards))
        elif len(self.first) > len(self.arms):
            self.mab.partial_fit([arm], [reward])


class WiserBeta(Wiser):
    """mabwiser's Thompson sampling: its posteriors."""

    def same(self, agent: Agent, t: int) -> bool:
        inside = self.mab._imp
        theirs = [
            [counts[arm] for arm in self.arms] for counts in (inside.arm_to_success_count, inside.arm_to_fail_count)
        ]
        return np.array_equal(theirs, beta_counts(agent))


def beta_counts(agent: Agent) -> tuple[np.ndarray, np.ndarray]:
    return agent._state.successes, agent._state.failures


def comparisons() -> list[Comparison]:
    """Return all that there is to compare."""
    from mabwiser.mab import LearningPolicy
    from river import bandit, proba

    ucb1, greedy, thompson = rotting.UCB1(), rotting.EpsilonGreedy(epsilon=0.0), rotting.BetaThompson()
    return [
        Comparison(ucb1, "river UCB", lambda n: RiverIndex(bandit.UCB(delta=1, seed=1), n), agree=False),
        Comparison(ucb1, "mabwiser UCB1", lambda n: Wiser(LearningPolicy.UCB1(alpha=1.0), n), agree=False),
        Comparison(greedy, "river EpsilonGreedy", lambda n: RiverIndex(bandit.EpsilonGreedy(0.0, seed=1), n)),
        Comparison(greedy, "mabwiser EpsilonGreedy", lambda n: Wiser(LearningPolicy.EpsilonGreedy(epsilon=0.0), n)),
        Comparison(
            thompson, "river ThompsonSampling", lambda n: RiverBeta(bandit.ThompsonSampling(proba.Beta(), seed=1), n)
        ),
        Comparison(thompson, "mabwiser ThompsonSampling", lambda n: WiserBeta(LearningPolicy.ThompsonSampling(), n)),
        Comparison(rotting.Exp3(gamma=0.1), "river Exp3", lambda n: RiverExp3(bandit.Exp3(gamma=0.1, seed=1), n)),
    ]


def differences(compared: Comparison, behind: int) -> int:
    """Return in how many rounds of all games the two differ, our clock being so many rounds behind."""
    found = 0
    for game in range(GAMES):
        rng = np.random.default_rng(game)
        n_arms = int(rng.integers(2, 6))
        means = rng.uniform(0.1, 0.9, (n_arms, 1))
        coins = isinstance(compared.policy, rotting.BetaThompson)
        shape = (n_arms, ROUNDS)
        rewards = (rng.random(shape) < means) * 1.0 if coins else means + 0.2 * (rng.random(shape) - 0.5)
        agent, peer = compared.policy.start(n_arms, seed=game), compared.make(n_arms)
        for t in range(1, ROUNDS + 1):
            if t > n_arms:  # before, every arm is pulled once
                found += not peer.same(agent, t - behind)
            arm = agent.select() if t > n_arms else t - 1
            reward = float(rewards[arm, agent.pulls[arm]])
            agent.update(arm, reward)
            peer.update(arm, reward)
    return found


def main() -> int:
    table = Table("policy", "peer", "differ", "differ, clock one behind", "as the page says")
    right = True
    for compared in comparisons():
        plain, behind = differences(compared, 0), differences(compared, 1)
        holds = plain == 0 if compared.agree else plain > 0 and behind == 0
        right &= holds
        table.add_row(str(compared.policy), compared.peer, str(plain), str(behind), "yes" if holds else "NO")
    Console().print(f"{GAMES} games of {ROUNDS} rounds each", table)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
