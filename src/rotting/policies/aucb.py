"""A-UCB: UCB for arms whose trend is known up to a constant factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import BadValue
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.problems.curve_kernels import CurveArrays, curve_arrays, mean_at
from rotting.problems.curves import Constant, Curve, Exponential, Logistic, Power, as_curve

# A trend below this counts as this: the largest reward (1e100) divided by it is still finite.
_SMALLEST = 1e-150
# These come down to their floor but never touch it.
_NEVER_AT_THE_FLOOR = (Exponential, Power, Logistic)


class AUCBState(NamedTuple):
    """Running totals of each arm's rewards, each divided by the trend at its pull."""

    settings: np.ndarray  # [sigma]
    trend: CurveArrays
    pulls: np.ndarray
    totals: np.ndarray


@helper
def _trend_at(trend, n):
    return max(mean_at(trend, 0, n), _SMALLEST)


def select(state, t, word):
    """Return the arm with the largest index; arms never pulled come first."""
    width = state.settings[0] * math.sqrt(2.0 * math.log(t))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        n = state.pulls[arm]
        if n == 0:
            return arm
        index = (state.totals[arm] / n + width / math.sqrt(n)) * _trend_at(state.trend, n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Divide the reward by the trend and add it to the arm's total."""
    state.totals[arm] += reward / _trend_at(state.trend, state.pulls[arm])
    state.pulls[arm] += 1


@dataclass(frozen=True)
class AUCB(Policy, state=AUCBState, select=select, update=update, noise="sigma"):
    """Pull the arm with the largest (m + sigma sqrt(2 ln t / N)) D(N), where m is the mean of r(n) / D(n).

    For arms whose mean after n pulls is an unknown constant of their own times the known trend D(n). With
    D = 1 this is UCB1.

    Parameters
    ----------
    trend
        D, the same for all arms: a positive `rotting.problems.curves.Curve` (or a number, or a sequence of values).
    sigma
        Scale of the noise.

    References
    ----------
    Bouneffouf, Feraud (2016), "Multi-armed bandit problem with known trend".

    Examples
    --------
    >>> agent = AUCB(trend=Power(theta=0.5), sigma=0.1).start(n_arms=2)
    >>> for _ in range(20):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, 1.0][arm] / (agent.pulls[arm] + 1.0) ** 0.5)
    >>> agent.pulls
    array([ 5, 15])
    """

    # parameter() declares a field, and the curve it holds is frozen.
    trend: Curve = parameter(Constant(1.0), raw=True, doc="the trend D(n) of all arms")  # noqa: RUF009
    sigma: float | None = sigma_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        trend = as_curve(self.trend)
        highest, lowest = trend.highest_and_lowest()
        if lowest < 0 or highest <= 0 or (lowest == 0 and not isinstance(trend, _NEVER_AT_THE_FLOOR)):
            problem = f"comes down to {lowest:g}"
            raise BadValue(problem, owner="AUCB", name="trend", value=trend, expected="a trend > 0 for every n")
        object.__setattr__(self, "trend", trend)

    def initial_state(self, n_arms: int) -> AUCBState:
        """Return empty totals."""
        return AUCBState(
            settings=np.array([self.told("sigma")]),
            trend=curve_arrays([self.trend]),
            pulls=np.zeros(n_arms, np.int64),
            totals=np.zeros(n_arms),
        )
