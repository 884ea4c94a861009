"""SWA: explore every arm, then trust the mean of its last M rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import horizon_parameter, sigma_parameter
from rotting.policies._windows.history import History, append, check_history, empty_history, reserve, window_sum

LONGEST = 2.0**62  # a window that no run ever fills


class SWAState(NamedTuple):
    """All rewards so far and the window."""

    settings: np.ndarray  # [factor of the window: M = ceil(factor * T^(2/3) ln(sqrt(2) T)^(1/3))]
    pulls: np.ndarray
    history: History
    counted: np.ndarray  # int64 (K,): pulls since the last restart
    phase: np.ndarray  # int64 [horizon, window M]


def select(state, t, word):
    """Return an arm with fewer than M pulls (the least-pulled), or else the one with the best last M rewards."""
    window = state.phase[1]
    least = 0
    for arm in range(1, len(state.counted)):
        if state.counted[arm] < state.counted[least]:
            least = arm
    if state.counted[least] < window:
        return least
    best, best_sum = 0, -np.inf
    for arm in range(len(state.counted)):
        total = window_sum(state.history, arm, window)
        if total > best_sum:
            best, best_sum = arm, total
    return best


def update(state, arm, reward):
    """Add the reward to the arm's history."""
    append(state.history, arm, reward)
    state.counted[arm] += 1


def window_for(factor, horizon):
    """Return the window M for a horizon, at least 1 (not a helper: Python calls it too)."""
    size = factor * horizon ** (2.0 / 3.0) * math.log(math.sqrt(2.0) * horizon) ** (1.0 / 3.0)
    return max(1, math.ceil(min(size, LONGEST)))


def window_factor(policy: str, alpha: float | None, sigma: float, mu_max: float | None, n_arms: int) -> float:
    """Return alpha 4^(2/3) sigma^(2/3) K^(-2/3), with the theoretical alpha where none is given."""
    if alpha is None:
        if mu_max is None:
            problem = "asks for the theoretical alpha (2 mu_max)^(-2/3)"
            raise BadValue(problem, owner=policy, name="alpha", value=alpha, expected="mu_max with it")
        alpha = (2 * mu_max) ** (-2 / 3)
    return float(alpha * (4 * sigma / n_arms) ** (2 / 3))


def first_state(settings: list[float], n_arms: int, horizon: int) -> SWAState:
    """Return empty histories and the window for a horizon."""
    history = empty_history(n_arms)
    phase = np.array([horizon, window_for(settings[0], horizon)], np.int64)
    return SWAState(np.array(settings), history.pulls, history, np.zeros(n_arms, np.int64), phase)


@dataclass(frozen=True)
class SWA(
    Policy,
    knows=("horizon",),
    state=SWAState,
    select=select,
    update=update,
    keeps_history=True,
    shared_memory=True,
    noise="sigma",
):
    """Pull the arms in turn until each has M pulls, then the arm with the best mean of its last M rewards.

    M = ceil(alpha 4^(2/3) sigma^(2/3) K^(-2/3) T^(2/3) ln(sqrt(2) T)^(1/3)) for a known horizon T. In a simulation
    `horizon=None` is filled in.

    References
    ----------
    Levine, Crammer, Mannor (2017), "Rotting bandits".

    Examples
    --------
    >>> agent = SWA(alpha=0.2, sigma=0.2, horizon=1000).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.4, 0.5][arm])
    >>> agent.pulls
    array([22, 78])
    """

    alpha: float | None = parameter(0.2, above=0, optional=True, doc="scale of the window; None: (2 mu_max)^(-2/3)")
    sigma: float | None = sigma_parameter()
    horizon: int | None = horizon_parameter()
    mu_max: float | None = parameter(None, above=0, optional=True, doc="largest mean, for alpha=None")

    def __post_init__(self) -> None:
        super().__post_init__()
        window_factor("SWA", self.alpha, self.sigma or 0.0, self.mu_max, 1)

    def initial_state(self, n_arms: int) -> SWAState:
        """Return empty histories and the window for the horizon."""
        horizon = self.told("horizon")
        factor = window_factor("SWA", self.alpha, self.told("sigma"), self.mu_max, n_arms)
        return first_state([factor], n_arms, horizon)

    def reserve(self, state: SWAState, pulls: int) -> SWAState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: SWAState) -> None:
        """Check the history, and that what is counted fits it."""
        check_history(state.history)
        horizon, window = state.phase.tolist()
        counted_right = np.all((state.counted >= 0) & (state.counted <= state.pulls))
        if not counted_right or not 1 <= horizon < 1 << 62 or window < 1:
            raise DamagedFile("its counts, its horizon and its window do not fit its history")
