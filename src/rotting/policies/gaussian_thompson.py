"""Thompson sampling for Gaussian rewards of known noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.randomness import normal
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter


class GaussianThompsonState(NamedTuple):
    """Running totals of each arm."""

    settings: np.ndarray  # [sigma]
    pulls: np.ndarray
    totals: np.ndarray


def select(state, t, word):
    """Return the arm with the largest sampled mean; arms never pulled come first."""
    best, best_sample = 0, -np.inf
    for arm in range(len(state.pulls)):
        n = state.pulls[arm]
        if n == 0:
            return arm
        sample = state.totals[arm] / n + state.settings[0] / math.sqrt(n) * normal(word, arm)
        if sample > best_sample:
            best, best_sample = arm, sample
    return best


def update(state, arm, reward):
    """Add the reward to the arm's total."""
    state.pulls[arm] += 1
    state.totals[arm] += reward


@dataclass(frozen=True)
class GaussianThompson(
    Policy, state=GaussianThompsonState, select=select, update=update, randomised=True, noise="sigma"
):
    """Sample each arm's mean from its posterior N(mean, sigma^2 / N), and pull the arm that samples highest.

    The posterior is that of a flat prior and Gaussian rewards of standard deviation sigma; it exists from an
    arm's first pull on, so arms never pulled come first. With sigma = 0 the arm with the best mean is pulled.

    References
    ----------
    Thompson (1933), "On the likelihood that one unknown probability exceeds another in view of the evidence
    of two samples".
    Agrawal, Goyal (2013), "Further optimal regret bounds for Thompson sampling".

    Examples
    --------
    >>> agent = GaussianThompson(sigma=0.5).start(n_arms=2, seed=1)
    >>> for _ in range(20):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 2, 18])
    """

    sigma: float | None = sigma_parameter()

    def initial_state(self, n_arms: int) -> GaussianThompsonState:
        """Return empty totals."""
        return GaussianThompsonState(np.array([self.told("sigma")]), np.zeros(n_arms, np.int64), np.zeros(n_arms))
