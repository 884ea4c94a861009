"""UCB1: the classic index for arms that do not change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter


class UCB1State(NamedTuple):
    """Running totals of each arm."""

    settings: np.ndarray  # [sigma]
    pulls: np.ndarray
    totals: np.ndarray


def select(state, t, word):
    """Return the arm with the largest index; arms never pulled come first."""
    width = state.settings[0] * math.sqrt(2.0 * math.log(t))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        n = state.pulls[arm]
        if n == 0:
            return arm
        index = state.totals[arm] / n + width / math.sqrt(n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Add the reward to the arm's total."""
    state.pulls[arm] += 1
    state.totals[arm] += reward


@dataclass(frozen=True)
class UCB1(Policy, state=UCB1State, select=select, update=update, noise="sigma"):
    """Pull the arm with the largest mean + sigma sqrt(2 ln t / N).

    For rewards in [0, 1] the classic index sqrt(2 ln t / N) is sigma = 1.

    References
    ----------
    Auer, Cesa-Bianchi, Fischer (2002), "Finite-time analysis of the multiarmed bandit problem".

    Examples
    --------
    >>> agent = UCB1(sigma=0.5).start(n_arms=2)
    >>> for _ in range(10):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([2, 8])
    """

    sigma: float | None = sigma_parameter()

    def initial_state(self, n_arms: int) -> UCB1State:
        """Return empty totals."""
        return UCB1State(np.array([self.told("sigma")]), np.zeros(n_arms, np.int64), np.zeros(n_arms))
