"""R-ed-UCB: an optimistic index for arms that improve with their pulls, ever more slowly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.history import (
    History,
    append,
    check_history,
    difference_of_windows,
    empty_history,
    reserve,
    window_sum,
)

FIRST_PULLS = 2  # of each arm, in turn


class REdUCBState(NamedTuple):
    """The sums of rewards, plain and weighted by their numbers, and what they make of each arm's windows."""

    settings: np.ndarray  # [sigma, share, what else the policy is told]
    pulls: np.ndarray
    rewards: History
    weighted: History  # of l x_l, l being the number of the pull
    window: np.ndarray  # int64 (K,): h
    mean: np.ndarray  # float64 (K,): of the last h rewards
    slope: np.ndarray  # float64 (K,): the sum of x_l - x_(l-h) over them
    moment: np.ndarray  # float64 (K,): the sum of l (x_l - x_(l-h)) over them


def select(state, t, word):
    """Return the arm with the largest index; first, arms are pulled twice in turn, and until they have a window."""
    least = 0
    for arm in range(1, len(state.pulls)):
        if state.pulls[arm] < state.pulls[least]:
            least = arm
    if state.pulls[least] < FIRST_PULLS:
        return least
    width = state.settings[0] * math.sqrt(10.0 * state.settings[2] * math.log(t))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.window[arm] == 0:
            return arm
        index = index_with(state, arm, t, width)
        if index > best_index:
            best, best_index = arm, index
    return best


@helper
def index_with(state, arm, t, width):
    """Return an arm's optimistic value at round t, with width (t - N + h - 1) / h^1.5 added."""
    n, h = state.pulls[arm], float(state.window[arm])
    trend = (t * state.slope[arm] - state.moment[arm]) / (h * h)
    return state.mean[arm] + trend + width * (t - n + h - 1.0) / (h * math.sqrt(h))


@entry
def index_of(state, arm, t):
    """Return an arm's index, for Python to call."""
    return index_with(state, arm, t, state.settings[0] * math.sqrt(10.0 * state.settings[2] * math.log(t)))


def update(state, arm, reward):
    """Add the reward to the sums; what the index needs of the new window then takes a few differences of them.

    Over the last h pulls l, the sum of l (x_l - x_(l-h)) is that of l x_l, less that of (l + h) x_l over the h before.
    """
    append(state.rewards, arm, reward)
    n = state.pulls[arm]
    append(state.weighted, arm, n * reward)
    h = np.int64(math.floor(state.settings[1] * n))
    state.window[arm] = h
    if h > 0:
        newer, slope = window_sum(state.rewards, arm, h), difference_of_windows(state.rewards, arm, h)
        state.mean[arm], state.slope[arm] = newer / h, slope
        state.moment[arm] = difference_of_windows(state.weighted, arm, h) - h * (newer - slope)


@dataclass(frozen=True)
class RisingWindows(Policy, abstract=True):
    """What R-ed-UCB and R-UCBE have in common: the sums that their index is made of."""

    sigma: float | None = sigma_parameter()
    share: float = parameter(0.25, above=0, maximum=0.5, doc="the window, as a share of the arm's pulls (epsilon)")

    def settings(self, n_arms: int) -> list[float]:
        """Return what a policy is told besides sigma and the share."""
        raise NotImplementedError

    def initial_state(self, n_arms: int) -> REdUCBState:
        """Return empty histories."""
        rewards, weighted = empty_history(n_arms), empty_history(n_arms)
        settings, room = np.array([self.told("sigma"), self.share, *self.settings(n_arms)]), np.zeros((3, n_arms))
        window = np.zeros(n_arms, np.int64)
        return REdUCBState(
            settings, rewards.pulls, rewards, weighted, window, room[0].copy(), room[1].copy(), room[2].copy()
        )

    def reserve(self, state: REdUCBState, pulls: int) -> REdUCBState:
        """Make room for more pulls."""
        return state._replace(rewards=reserve(state.rewards, pulls), weighted=reserve(state.weighted, pulls))

    def check_state(self, state: REdUCBState) -> None:
        """Check the histories and the windows."""
        check_history(state.rewards)
        check_history(state.weighted)
        windows = np.floor(self.share * state.pulls).astype(np.int64)
        sums = (state.mean, state.slope, state.moment)
        if not np.array_equal(state.weighted.pulls, state.pulls) or not np.array_equal(state.window, windows):
            raise DamagedFile("its windows are not those of its pulls")
        if not all(np.isfinite(each).all() for each in sums):
            raise DamagedFile("its sums are no numbers")


@dataclass(frozen=True)
class REdUCB(
    RisingWindows,
    state=REdUCBState,
    select=select,
    update=update,
    keeps_history=True,
    noise="sigma",
    made_for="arms that rise",
):
    """Pull the arm with the largest optimistic value at round t, from the last h = floor(share N) rewards x_l.

    The index is the mean of x_l + (t - l) (x_l - x_(l-h)) / h over these, l being the number of the pull, plus
    sigma (t - N + h - 1) sqrt(10 ln(1 / delta_t) / h^3), delta_t = t^-alpha. Before that, arms are pulled twice in
    turn, and then each until h = 1. For arms whose means increase with their pulls, and ever more slowly. The sums are
    kept such that a reward costs O(1), whatever h is.

    References
    ----------
    Metelli, Trovo, Pirola, Restelli (2022), "Stochastic rising bandits".

    Examples
    --------
    >>> agent = REdUCB(sigma=0.01).start(n_arms=2)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, agent.pulls[1] / (agent.pulls[1] + 10.0)][arm])
    >>> agent.pulls
    array([ 52, 148])
    """

    alpha: float = parameter(4.0, above=0, doc="confidence: delta_t = t^-alpha")

    def settings(self, n_arms: int) -> list[float]:
        """Return alpha."""
        return [self.alpha]
