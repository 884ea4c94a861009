"""CTO: find out which of finitely many known decay curves each arm follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.policies._contract.policy import Policy
from rotting.problems.curve_kernels import CurveArrays, curve_arrays, mean_at
from rotting.problems.curves import Curve, curve_set


class CTOState(NamedTuple):
    """What each arm has paid, and what it would have paid on average under each curve."""

    curves: CurveArrays
    pulls: np.ndarray
    totals: np.ndarray
    expected: np.ndarray  # (K, curves): sum of mu(0), ..., mu(N - 1)
    values: np.ndarray  # mu(N) under the curve that fits the arm best


def select(state, t, word):
    """Return the arm whose fitted curve promises most; arms never pulled come first."""
    best, best_value = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        if state.values[arm] > best_value:
            best, best_value = arm, state.values[arm]
    return best


def update(state, arm, reward):
    """Add the reward to the arm's total, and fit the arm's curve again."""
    n = state.pulls[arm]
    state.pulls[arm] = n + 1
    state.totals[arm] += reward
    closest, smallest = 0, np.inf
    for theta in range(len(state.curves.family)):
        state.expected[arm, theta] += mean_at(state.curves, theta, n)
        distance = abs(state.totals[arm] - state.expected[arm, theta])
        if distance < smallest:
            closest, smallest = theta, distance
    state.values[arm] = mean_at(state.curves, closest, n + 1)


@dataclass(frozen=True)
class CTO(Policy, state=CTOState, select=select, update=update):
    """Closest to origin: fit one of finitely many known curves to each arm, and pull the most promising arm.

    An arm's curve is the one with the smallest |sum of rewards - sum of mu(m)| over the arm's N pulls, the
    first such curve on ties. The arm with the largest mu(N) under its curve is pulled; arms never pulled
    come first.

    Parameters
    ----------
    curves
        The set Theta: `rotting.problems.curves.Curve` objects, or what stands for one (a number, a sequence of
        values).

    References
    ----------
    Levine, Crammer, Mannor (2017), "Rotting bandits", Section 4 (parametric case).

    Examples
    --------
    >>> from rotting.problems.curves import Power
    >>> agent = CTO(curves=(Power(theta=0.1), Power(theta=0.5))).start(n_arms=2)
    >>> for _ in range(20):
    ...     arm = agent.select()
    ...     agent.update(arm, (agent.pulls[arm] + 1.0) ** [-0.5, -0.1][arm])
    >>> agent.pulls
    array([ 2, 18])
    """

    curves: tuple[Curve, ...] = parameter(raw=True, doc="the decay curves that an arm may follow")

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", curve_set(type(self).__name__, self.curves))

    def initial_state(self, n_arms: int) -> CTOState:
        """Return empty totals."""
        return CTOState(
            curves=curve_arrays(self.curves),
            pulls=np.zeros(n_arms, np.int64),
            totals=np.zeros(n_arms),
            expected=np.zeros((n_arms, len(self.curves))),
            values=np.zeros(n_arms),
        )
