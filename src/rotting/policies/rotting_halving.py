"""RottingHalving: which arm will be best, of arms that wear out: sequential halving that takes back whom it dropped."""

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
from rotting.policies.sequential_halving import halvings


@helper
def window_of(state, arm):
    """Return the window h with the smallest (mean of the last h rewards + width / sqrt(h)), and that smallest value."""
    best, least = 0, np.inf
    for h in range(1, state.pulls[arm] + 1):
        upper = window_sum(state.history, arm, h) / h + state.settings[0] / math.sqrt(h)
        if upper < least:
            best, least = h, upper
    return best, least


def update(state, arm, reward):
    """Add the reward; at the end of a phase choose among all arms who is in the next."""
    append(state.history, arm, reward)
    if is_over(state):
        for other in range(len(state.pulls)):
            _, state.scores[other] = window_of(state, other)
        begin_phase(state)


def recommend(state):
    """Return the arm with the largest mean of its window, of all arms; one never pulled last of all."""
    best, best_mean = 0, -np.inf
    for arm in range(len(state.pulls)):
        h, _ = window_of(state, arm)
        if h > 0:
            mean = window_sum(state.history, arm, h) / h
            if mean > best_mean:
                best, best_mean = arm, mean
    return best


@dataclass(frozen=True)
class RottingHalving(
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

    The phases and their lengths are those of sequential halving. After each, an arm's index is the smallest, over its
    windows h, of (mean of its last h rewards + sigma sqrt(2 ln(1 / delta) / h)): as arms only fall, each bounds what
    its next pull pays. The next phase has the arms with the largest indices, of *all* arms: one that was dropped stays
    as it was, while those that are pulled wear out. It recommends the arm with the largest mean of the window that gave
    its index.

    Proved: if all window means lie within the widths c(h) of their expectations (which holds with probability
    1 - 2 delta per window), an arm that is preferred to the best one is, by the mean of its last h pulls, for every h,
    at most 2 c(h) below what the best one's next pull pays. Only measured: that this recommends better than uniform
    allocation and successive rejects (docs/paper.md).

    Examples
    --------
    >>> agent = RottingHalving(sigma=0.1, horizon=400).start(n_arms=4)
    >>> for _ in range(400):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.4 if arm == 0 else 0.8 - 0.01 * agent.pulls[arm])
    >>> agent.pulls, agent.recommend()
    (array([...]), 0)
    """

    sigma: float | None = sigma_parameter()
    delta: float = parameter(0.05, above=0, maximum=1, doc="with which probability a bound may fail")

    def plan(self, n_arms: int) -> Sequence[tuple[int, int]]:
        """Return the phases of sequential halving."""
        return halvings(self.told("horizon"), n_arms)

    def scoring(self) -> list[float]:
        """Return the width of a window of one reward."""
        return [self.told("sigma") * math.sqrt(2 * math.log(1 / self.delta))]
