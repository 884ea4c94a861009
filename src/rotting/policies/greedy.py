"""Greedy: the arm whose last reward was the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.policies._contract.policy import Policy


class GreedyState(NamedTuple):
    """The last reward of each arm."""

    pulls: np.ndarray
    last: np.ndarray  # float64 (K,): infinity before the first pull


def select(state, t, word):
    """Return the arm with the largest last reward; arms never pulled come first."""
    best = 0
    for arm in range(1, len(state.last)):
        if state.last[arm] > state.last[best]:
            best = arm
    return best


def update(state, arm, reward):
    """Remember the reward instead of the arm's earlier one."""
    state.pulls[arm] += 1
    state.last[arm] = reward


@dataclass(frozen=True)
class Greedy(Policy, state=GreedyState, select=select, update=update):
    """Pull the arm whose last reward was the largest (arms never pulled first, lowest index on ties).

    For rotting arms without noise, its regret is at most L (K - 1), L being the largest drop.

    References
    ----------
    Heidari, Kearns, Roth (2016), "Tight policy regret bounds for improving and decaying bandits".

    Examples
    --------
    >>> agent = Greedy().start(n_arms=2)
    >>> for reward in (0.9, 0.5, 0.7, 0.4):
    ...     agent.update(agent.select(), reward)
    >>> agent.pulls, agent.select()
    (array([3, 1]), 1)
    """

    def initial_state(self, n_arms: int) -> GreedyState:
        """Return infinite last rewards, so that every arm gets its first pull."""
        return GreedyState(np.zeros(n_arms, np.int64), np.full(n_arms, np.inf))
