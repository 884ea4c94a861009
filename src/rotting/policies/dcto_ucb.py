"""D-CTO-UCB: find each arm's decay by comparing halves of its rewards, then its constant by an upper bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.history import (
    History,
    append,
    check_history,
    empty_history,
    reserve,
    total_of,
    window_sum,
)
from rotting.problems.curve_kernels import CurveArrays, curve_arrays, mean_at
from rotting.problems.curves import Curve, curve_set


class DCTOUCBState(NamedTuple):
    """All rewards, and what they would have been on average under each curve."""

    settings: np.ndarray  # [sigma]
    pulls: np.ndarray
    history: History
    curves: CurveArrays
    decide_at: np.ndarray  # int64 [m: the pull after which an arm's curve is settled; 0: none, every pull]
    expected: np.ndarray  # float64 (K, curves): sum of mu(0), ..., mu(N - 1) ...
    halves: np.ndarray  # float64 (K, curves): ... and of the first floor(N / 2) of them
    fitted: np.ndarray  # int64 (K,): the curve that fits the arm best
    values: np.ndarray  # float64 (K,): estimated constant of the arm + mu(N) under that curve


def select(state, t, word):
    """Return the arm with the largest index; arms with less than m pulls come first, the least pulled of them."""
    least = 0
    for arm in range(len(state.pulls)):
        if state.pulls[arm] < state.pulls[least]:
            least = arm
    if state.pulls[least] < max(state.decide_at[0], 1):
        return least
    width = 2.0 * state.settings[0] * math.sqrt(2.0 * math.log(t))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        index = state.values[arm] + width / math.sqrt(state.pulls[arm])
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Add the reward, fit the arm's curve if it is not settled, and estimate the arm's constant."""
    append(state.history, arm, reward)
    n, m = state.pulls[arm], state.decide_at[0]
    if m == 0 or n <= m:
        for theta in range(len(state.curves.family)):
            state.expected[arm, theta] += mean_at(state.curves, theta, n - 1)
            if n % 2 == 0:
                state.halves[arm, theta] += mean_at(state.curves, theta, n // 2 - 1)
        state.fitted[arm] = _closest(state, arm, n)
    else:
        state.expected[arm, state.fitted[arm]] += mean_at(state.curves, state.fitted[arm], n - 1)
    theta = state.fitted[arm]
    constant = (total_of(state.history, arm) - state.expected[arm, theta]) / n
    state.values[arm] = constant + mean_at(state.curves, theta, n)


@helper
def _closest(state, arm, n):
    """Return the curve under which the first half of the rewards exceeds the second by what it does, most nearly."""
    total, later = total_of(state.history, arm), window_sum(state.history, arm, n - n // 2)
    closest, smallest = 0, np.inf
    for theta in range(len(state.curves.family)):
        whole, half = state.expected[arm, theta], state.halves[arm, theta]
        distance = abs((total - 2.0 * later) - (2.0 * half - whole))
        if distance < smallest:
            closest, smallest = theta, distance
    return closest


@dataclass(frozen=True)
class DCTOUCB(
    Policy, state=DCTOUCBState, select=select, update=update, noise="sigma", keeps_history=True, constants=("curves",)
):
    """Fit one of finitely many known curves, up to a constant, to each arm; pull the largest upper confidence bound.

    An arm's mean is c + mu(n), mu in the set `curves`, c unknown. Its curve is the one with the smallest |Z|, the first
    such curve on ties, Z being the sum of its first floor(N / 2) rewards less that of the others, less the same of mu.
    Then the arm with the largest c + mu(N) + sqrt(8 sigma^2 ln t / N) is pulled, c being the mean of reward - mu.

    With m = None curves are fitted again in every round (the authors' D-CTO_SIM-UCB, the one in their figures).
    Otherwise each arm is pulled m times, in turn, and its curve is settled then. By theory m is
    `rotting.theory.detection_pulls`, which can be millions. For odd N the halves differ by one reward, and c does not
    cancel in Z; that is the authors' rule.

    References
    ----------
    Levine, Crammer, Mannor (2017), "Rotting bandits", Section 4.2.

    Examples
    --------
    >>> from rotting.problems.curves import Power
    >>> agent = DCTOUCB(curves=(Power(theta=0.1), Power(theta=0.5)), sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, (agent.pulls[arm] + 1.0) ** [-0.5, -0.1][arm] + [0.5, 0.0][arm])
    >>> agent.pulls
    array([42, 58])
    """

    curves: tuple[Curve, ...] = parameter(raw=True, doc="the decay curves that an arm may follow, up to a constant")
    m: int | None = parameter(None, minimum=1, optional=True, doc="pulls after which curves are settled; none: never")
    sigma: float | None = sigma_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "curves", curve_set("DCTOUCB", self.curves))

    def initial_state(self, n_arms: int) -> DCTOUCBState:
        """Return an empty history."""
        history = empty_history(n_arms)
        return DCTOUCBState(
            settings=np.array([self.told("sigma")]),
            pulls=history.pulls,
            history=history,
            curves=curve_arrays(self.curves),
            decide_at=np.array([self.m or 0], np.int64),
            expected=np.zeros((n_arms, len(self.curves))),
            halves=np.zeros((n_arms, len(self.curves))),
            fitted=np.zeros(n_arms, np.int64),
            values=np.zeros(n_arms),
        )

    def reserve(self, state: DCTOUCBState, pulls: int) -> DCTOUCBState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: DCTOUCBState) -> None:
        """Check the history, and that fitted curves exist."""
        check_history(state.history)
        if state.fitted.min() < 0 or state.fitted.max() >= len(self.curves):
            raise DamagedFile("its fitted curves do not exist")
        if state.decide_at[0] != (self.m or 0):
            raise DamagedFile("its m is not that of its parameters")
