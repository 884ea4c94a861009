"""RottingRejects: which arm will be best, of arms that wear out: successive rejects that can take an arm back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.policies._contract.phases import Phases, PhasesState, begin_phase, is_over, select
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.history import append, window_sum
from rotting.policies.successive_rejects import rejections


@helper
def _mean(state, arm):
    """Return the mean of the longest of the last N, N / 2, N / 4, ... rewards that fits; -infinity without a reward."""
    h = state.pulls[arm]
    while h > 1 and not _fits(state, arm, h):
        h //= 2
    return window_sum(state.history, arm, h) / h if h > 0 else -np.inf


@helper
def _fits(state, arm, h):
    """Say whether the mean of the last h rewards exceeds that of no shorter window by more than chance."""
    mean, s = window_sum(state.history, arm, h) / h, h // 2
    while s > 0:
        if mean - window_sum(state.history, arm, s) / s > state.settings[0] * math.sqrt(1.0 / s - 1.0 / h):
            return False
        s //= 2
    return True


def update(state, arm, reward):
    """Add the reward; at the end of a phase choose among all arms who is in the next."""
    append(state.history, arm, reward)
    if is_over(state):
        for other in range(len(state.pulls)):
            state.scores[other] = _mean(state, other)
        begin_phase(state)


def recommend(state):
    """Return the arm with the largest mean of its window, of all arms."""
    best, best_mean = 0, -np.inf
    for arm in range(len(state.pulls)):
        mean = _mean(state, arm)
        if mean > best_mean:
            best, best_mean = arm, mean
    return best


@dataclass(frozen=True)
class RottingRejects(
    Phases,
    knows=("horizon",),
    state=PhasesState,
    select=select,
    update=update,
    recommend=recommend,
    keeps_history=True,
    shared_memory=True,
    noise="sigma",
):
    """Identify the arm that will be best among arms that wear out with their own pulls. Our own: it is not published.

    The phases are those of SuccessiveRejects. An arm is judged by the mean of the longest window h = N, N / 2, N / 4,
    ... (rounded down) that fits: whose mean exceeds that of none of the shorter ones s = h / 2, h / 4, ... by more than
    sigma sqrt(2 ln(1 / delta) (1 / s - 1 / h)). Each phase has the best of *all* arms: one that was rejected stays as
    it was, while those that are pulled wear out. It recommends the best of all arms.

    Proved, if arms only fall: except with probability delta for each pair of windows, a window over which the arm did
    not change fits, so that the one used is at least half as long as the arm has been what it is; and the expected mean
    of the window used exceeds that of a shorter one s by 2 sigma sqrt(2 ln(1 / delta) (1 / s - 1 / h)) at most. Only
    measured: how often it errs beside uniform allocation and successive rejects on the last quarter of rewards
    (docs/paper.md).

    Examples
    --------
    >>> agent = RottingRejects(sigma=0.1, horizon=400).start(n_arms=4)
    >>> for _ in range(400):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.4 if arm == 0 else 0.8 * (agent.pulls[arm] < 50))
    >>> agent.pulls, agent.recommend()
    (array([127, 126,  84,  63]), 0)
    """

    sigma: float | None = sigma_parameter()
    delta: float = parameter(0.001, above=0, maximum=1, doc="with which probability a comparison of windows may fail")

    def plan(self, n_arms: int) -> Sequence[tuple[int, int]]:
        """Return the phases of successive rejects."""
        return rejections(self.told("horizon"), n_arms)

    def scoring(self) -> list[float]:
        """Return the width for two windows of which one is a reward more certain."""
        return [self.told("sigma") * math.sqrt(2 * math.log(1 / self.delta))]
