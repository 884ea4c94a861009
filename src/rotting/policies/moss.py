"""MOSS: an index that stops exploring arms pulled more than their share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter


class MOSSState(NamedTuple):
    """Running totals of each arm."""

    settings: np.ndarray  # [sigma, horizon (0: none given)]
    pulls: np.ndarray
    totals: np.ndarray


def select(state, t, word):
    """Return the arm with the largest index; arms never pulled come first."""
    sigma, horizon = state.settings[0], state.settings[1]
    n_arms = len(state.pulls)
    share = (horizon if horizon > 0.0 else float(t)) / n_arms
    best, best_index = 0, -np.inf
    for arm in range(n_arms):
        n = state.pulls[arm]
        if n == 0:
            return arm
        index = state.totals[arm] / n + sigma * math.sqrt(max(0.0, math.log(share / n)) / n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Add the reward to the arm's total."""
    state.pulls[arm] += 1
    state.totals[arm] += reward


@dataclass(frozen=True)
class MOSS(Policy, state=MOSSState, select=select, update=update, noise="sigma"):
    """Pull the arm with the largest mean + sigma sqrt(max(0, ln(T / (K N))) / N).

    Without a horizon T, the round t takes its place (the anytime form).

    References
    ----------
    Audibert, Bubeck (2009), "Minimax policies for adversarial and stochastic bandits".
    Degenne, Perchet (2016), "Anytime optimal algorithms in stochastic multi-armed bandits".

    Examples
    --------
    >>> agent = MOSS(sigma=0.5, horizon=50).start(n_arms=2)
    >>> for _ in range(50):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.5][arm])
    >>> agent.pulls
    array([ 5, 45])
    """

    sigma: float | None = sigma_parameter()
    horizon: int | None = parameter(
        None, whole=True, minimum=1, optional=True, doc="number of rounds T; none: anytime, with t for T"
    )

    def initial_state(self, n_arms: int) -> MOSSState:
        """Return empty totals."""
        settings = np.array([self.told("sigma"), float(self.horizon or 0)])
        return MOSSState(settings, np.zeros(n_arms, np.int64), np.zeros(n_arms))
