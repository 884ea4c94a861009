"""SSUCB: an upper confidence bound over a sample of the arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import horizon_parameter, sigma_parameter


class SSUCBState(NamedTuple):
    """Running totals of each arm."""

    settings: np.ndarray  # [sigma]
    pulls: np.ndarray
    totals: np.ndarray
    sampled: np.ndarray  # int64 [how many arms, at most, it looks at: the first]


def select(state, t, word):
    """Return the arm of the sample with the largest index; arms never pulled come first."""
    width = state.settings[0] * math.sqrt(2.0 * math.log(1.0 + t * math.log(t) ** 2))
    best, best_index = 0, -np.inf
    for arm in range(min(state.sampled[0], len(state.pulls))):
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
class SSUCB(
    Policy, knows=("horizon",), state=SSUCBState, select=select, update=update, noise="sigma", made_for="many arms"
):
    """Pull the arm with the largest mean + sigma sqrt(2 ln(1 + t ln(t)^2) / N) of the first ceil(sqrt(T)) arms.

    For many arms, whose order says nothing: the first are as good a sample as any. All indices are those of round t
    (the program of Kim et al. leaves an arm's index as it was at its last pull). In a simulation `horizon=None` is
    filled in.

    References
    ----------
    Bayati, Hamidi, Johari, Khosravi (2020), "Unreasonable effectiveness of greedy algorithms in multi-armed bandit with
    many arms"; the form and the size of the sample are those of Kim, Vojnovic, Yun (2022).

    Examples
    --------
    >>> agent = SSUCB(sigma=0.5, horizon=100).start(n_arms=50)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, float(arm == 3))
    >>> agent.pulls[:12]
    array([ 3,  3,  3, 73,  3,  3,  3,  3,  3,  3,  0,  0])
    """

    sigma: float | None = sigma_parameter()
    horizon: int | None = horizon_parameter()

    def initial_state(self, n_arms: int) -> SSUCBState:
        """Return empty totals."""
        sampled = math.ceil(math.sqrt(self.told("horizon")))
        return SSUCBState(
            np.array([self.told("sigma")]), np.zeros(n_arms, np.int64), np.zeros(n_arms), np.array([sampled], np.int64)
        )

    def check_state(self, state: SSUCBState) -> None:
        """Check the sample."""
        assert self.horizon is not None
        if state.sampled[0] != math.ceil(math.sqrt(self.horizon)):
            raise DamagedFile("its sample is not that of its horizon")
