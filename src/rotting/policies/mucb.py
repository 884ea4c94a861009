"""M-UCB: UCB1 that starts over when an arm's last rewards differ from those just before them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._contract.changes import period_for, turn_of
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import (
    USUAL_HORIZON,
    high_parameter,
    low_parameter,
    sigma_parameter,
    usual_horizon_parameter,
)
from rotting.policies._windows.history import History, append, check_history, empty_history, reserve, window_sum


class MUCBState(NamedTuple):
    """All rewards so far, and what was learnt since the last restart."""

    settings: np.ndarray  # [sigma, window, threshold, period of forced exploration (0: none)]
    pulls: np.ndarray
    history: History
    counted: np.ndarray  # int64 (K,): pulls since the last restart
    totals: np.ndarray  # float64 (K,): rewards since then
    clock: np.ndarray  # int64 [rounds played, rounds played before the last restart]


def select(state, t, word):
    """Return the arm whose turn it is to be explored, and else the one with the largest index."""
    since = max(t - state.clock[1], 1)
    arm = turn_of(since, np.int64(state.settings[3]), len(state.pulls))
    if arm >= 0:
        return arm
    width = state.settings[0] * math.sqrt(2.0 * math.log(since))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        n = state.counted[arm]
        if n == 0:
            return arm
        index = state.totals[arm] / n + width / math.sqrt(n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Add the reward, and start over if the arm's last ones differ too much from those before."""
    append(state.history, arm, reward)
    state.counted[arm] += 1
    state.totals[arm] += reward
    state.clock[0] += 1
    window = np.int64(state.settings[1])
    if state.counted[arm] < window:
        return
    late, both = window_sum(state.history, arm, window // 2), window_sum(state.history, arm, window)
    if abs(late - (both - late)) > state.settings[2]:
        state.counted[:] = 0
        state.totals[:] = 0.0
        state.clock[1] = state.clock[0]


@dataclass(frozen=True)
class MUCB(
    Policy,
    knows=("horizon",),
    state=MUCBState,
    select=select,
    update=update,
    keeps_history=True,
    shared_memory=True,
    rewards=("low", "high"),
    maps_rewards=True,
    noise="sigma",
):
    """Play UCB1 and explore in turn; start over when the two halves of an arm's last `window` rewards differ.

    They differ if their sums are more than `threshold` apart: sqrt(window ln(2 K T^2) / 2) for rewards in [0, 1], if
    none is given. Of every floor(K / gamma) rounds since the last restart, the first K explore one arm each. Without a
    gamma it is sqrt(changes K (2 threshold + 3 sqrt(window)) / (2 T)), 1 at most. The index is that of `UCB1`, with the
    rounds since the restart for t; with gamma = 0 and an endless threshold it is `UCB1`. The published rule explores
    when (t - restart) mod floor(K / gamma) is one of 1..K, which leaves open what happens at floor(K / gamma) = K:
    here, all rounds explore.

    References
    ----------
    Cao, Wen, Kveton, Xie (2019), "Nearly optimal adaptive procedure with change detection for piecewise-stationary
    bandit".

    Examples
    --------
    >>> agent = MUCB(window=20, threshold=5, gamma=0.1).start(n_arms=2)
    >>> for t in range(400):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, 0.9 if t < 200 else 0.1][arm])
    >>> agent.pulls
    array([194, 206])
    """

    window: int = parameter(200, whole=True, minimum=2, doc="rewards whose halves are compared (w), an even number")
    threshold: float | None = parameter(
        None, minimum=0, optional=True, doc="difference of sums that is a change (b); none: as the theory has it"
    )
    gamma: float | None = parameter(
        None, minimum=0, maximum=1, optional=True, doc="share of explored rounds; none: as the theory has it"
    )
    changes: int = parameter(1, whole=True, minimum=0, doc="changes expected over the horizon, for gamma=None")
    horizon: int | None = usual_horizon_parameter()
    sigma: float | None = sigma_parameter()
    low: float = low_parameter()
    high: float = high_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window % 2:
            raise BadValue("has no halves", owner="MUCB", name="window", value=self.window, expected="an even number")

    def initial_state(self, n_arms: int) -> MUCBState:
        """Return empty histories."""
        threshold, gamma, rounds = self.threshold, self.gamma, self.horizon or USUAL_HORIZON
        if threshold is None:
            threshold = math.sqrt(self.window / 2 * math.log(2 * n_arms * float(rounds) ** 2))
        if gamma is None:
            cost = 2 * threshold + 3 * math.sqrt(self.window)
            gamma = min(1.0, math.sqrt(self.changes * n_arms * cost / (2 * rounds)))
        history = empty_history(n_arms)
        return MUCBState(
            settings=np.array([self.told("sigma"), self.window, threshold, period_for(gamma, n_arms)]),
            pulls=history.pulls,
            history=history,
            counted=np.zeros(n_arms, np.int64),
            totals=np.zeros(n_arms),
            clock=np.zeros(2, np.int64),
        )

    def reserve(self, state: MUCBState, pulls: int) -> MUCBState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: MUCBState) -> None:
        """Check the history, and that what is counted fits it."""
        check_history(state.history)
        counted_right = np.all((state.counted >= 0) & (state.counted <= state.pulls))
        if not counted_right or not 0 <= state.clock[1] <= state.clock[0]:
            raise DamagedFile("its counts do not fit its history")
