"""FEWA: filtering on expanding window averages, every window, exactly as the paper has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.compiling import helper
from rotting.parameters import parameter
from rotting.policies.base import Policy
from rotting.policies.explaining import Explanation, explain_filter
from rotting.policies.history import (
    History,
    append,
    band,
    empty_history,
    first_unpulled,
    reserve,
    rough_prefix,
    rough_window_sum,
    rounding,
    stretch,
    window_sum,
    window_sum_of,
)

TILE = 16
SHADE = 1.0 - 2.0**-40  # what rounding could add to a threshold


class FEWAState(NamedTuple):
    """All rewards so far, and room to work."""

    settings: np.ndarray  # [alpha, sigma, delta0]
    pulls: np.ndarray
    history: History
    active: np.ndarray  # int64 (K,): the arms that have passed every filter so far, in increasing order
    sums: np.ndarray  # float64 (K,): their rough window sums
    highest: np.ndarray  # float64 (TILE,): the largest and the smallest of them at each window of a tile
    lowest: np.ndarray
    dropped: np.ndarray  # int64 (K,): the window that dropped each arm (0: none)


def select(state, t, word):
    """Return the least-pulled arm among those that pass the filter at every window 1, 2, ... (lowest number on ties).

    The filter at window h drops the arms whose sum of the last h rewards lies more than 2 h c(h, delta_t) =
    theta sqrt(h) below the largest. It ends when it reaches a window as long as the history of an active arm, or
    when only one arm is left, since the arm with the largest sum always stays.
    """
    history, active = state.history, state.active
    arm = first_unpulled(history)
    if arm >= 0:
        return arm
    theta = filter_width(state.settings, t)
    left = len(active)
    for arm in range(left):
        active[arm], state.dropped[arm] = arm, 0
    shortest = fewest_pulls(history.pulls, active, left)
    # Short windows are looked at one by one. After them, blocks of windows are passed over where it can be shown that
    # nobody is dropped: by evaluating a tile of windows roughly, or from bands for a longer stride.
    h, close_until, stride = 1, 4, TILE
    while h <= shortest and left > 1:
        if h < close_until:
            if not _quiet_at(state, left, h, theta):
                left = _filter(state, left, h, theta)
                shortest = fewest_pulls(history.pulls, active, left)
            h += 1
        elif stride <= TILE:
            end = min(h + TILE - 1, shortest)
            if _quiet_tile(state, left, h, end, theta):
                h = end + 1
                stride = 4 * TILE if h >= 4 * TILE else TILE
            else:
                close_until = end + 1
        else:
            end = min(h + stride - 1, shortest)
            if _quiet_stride(state, left, h, end, theta):
                h = end + 1
                stride = min(2 * stride, h)
            else:
                stride //= 4
    return least_pulled(history.pulls, active, left)


def update(state, arm, reward):
    """Add the reward to the arm's history."""
    append(state.history, arm, reward)


@helper
def filter_width(settings, t):
    """Return theta = sqrt(8 sigma^2 log(1 / delta_t)), delta_t = delta0 / t^alpha, the logarithm never below 0."""
    alpha, sigma, delta0 = settings[0], settings[1], settings[2]
    return sigma * math.sqrt(8.0 * max(0.0, alpha * math.log(t) - math.log(delta0)))


@helper
def least_pulled(pulls, active, left):
    """Return the arm with the fewest pulls among the first `left` of `active`, the first on ties."""
    best = active[0]
    for place in range(1, left):
        if pulls[active[place]] < pulls[best]:
            best = active[place]
    return best


@helper
def fewest_pulls(pulls, active, left):
    """Return the number of pulls of the least-pulled active arm."""
    return pulls[least_pulled(pulls, active, left)]


@helper
def _quiet_at(state, left, h, theta):
    """Say whether the filter at window h surely drops nobody; leaves rough window sums in `state.sums`."""
    highest, lowest = -np.inf, np.inf
    for place in range(left):
        total = rough_window_sum(state.history, state.active[place], h)
        state.sums[place] = total
        highest, lowest = max(highest, total), min(lowest, total)
    return highest - lowest + rounding(state.history) <= theta * math.sqrt(h)


@helper
def _filter(state, left, h, theta):
    """Apply the filter at window h to the sums that `_quiet_at` left behind. Returns how many arms stay.

    Rough sums decide, unless one is too close to the threshold; only then are exact ones worth their price.
    """
    limit = theta * math.sqrt(h)
    if _too_close(state, left, limit):
        for place in range(left):
            state.sums[place] = window_sum(state.history, state.active[place], h)
    return keep_best(state, left, h, limit)


@helper
def _too_close(state, left, limit):
    """Say whether rounding could decide about an arm."""
    highest = -np.inf
    for place in range(left):
        highest = max(highest, state.sums[place])
    for place in range(left):
        if abs(highest - state.sums[place] - limit) <= rounding(state.history):
            return True
    return False


@helper
def keep_best(state, left, h, limit):
    """Keep the active arms whose sum lies within `limit` of the largest, in order. Returns how many there are."""
    highest = -np.inf
    for place in range(left):
        highest = max(highest, state.sums[place])
    kept = 0
    for place in range(left):
        arm = state.active[place]
        if highest - state.sums[place] <= limit:
            state.active[kept] = arm
            kept += 1
        else:
            state.dropped[arm] = h
    return kept


@helper
def _quiet_tile(state, left, h, end, theta):
    """Say whether the filters at windows h..end (at most TILE) surely drop nobody, from rough sums of them all."""
    history, highest, lowest = state.history, state.highest, state.lowest
    count = end - h + 1
    for j in range(count):
        highest[j], lowest[j] = -np.inf, np.inf
    for place in range(left):
        arm = state.active[place]
        n = history.pulls[arm]
        last = history.last[arm, 0]
        begin = stretch(history, arm, n - end, n - h)
        if begin >= 0:
            for j in range(count):
                total = last - history.high[begin + j]
                highest[j] = total if total > highest[j] else highest[j]
                lowest[j] = total if total < lowest[j] else lowest[j]
        else:
            for j in range(count):
                total = last - rough_prefix(history, arm, n - end + j)
                highest[j] = total if total > highest[j] else highest[j]
                lowest[j] = total if total < lowest[j] else lowest[j]
    limit = theta * math.sqrt(h) - rounding(history)
    for j in range(count):
        if highest[j] - lowest[j] > limit:
            return False
    return True


@helper
def _quiet_stride(state, left, h, end, theta):
    """Say whether the filters at windows h..end surely drop nobody.

    Every arm's window sum W(g) = S[n] - S[n - g] lies in a band of constant width around a straight line in g. So the
    distance between the top of the highest band and the bottom of the lowest is at most a maximum of straight lines: a
    convex function of g, which lies below the concave theta sqrt(g) in between if it does at both ends.
    """
    history = state.history
    high_here, low_here, high_there, low_there = -np.inf, np.inf, -np.inf, np.inf
    for place in range(left):
        arm = state.active[place]
        n = history.pulls[arm]
        height, slope, under, over = band(history, arm, n - end, n - h)
        there = history.last[arm, 0] - height
        here = there - slope * (end - h)
        high_here, low_here = max(high_here, here - under), min(low_here, here - over)
        high_there, low_there = max(high_there, there - under), min(low_there, there - over)
    slack = rounding(history)
    return high_here - low_here + slack <= SHADE * theta * math.sqrt(
        h
    ) and high_there - low_there + slack <= SHADE * theta * math.sqrt(end)


@dataclass(frozen=True)
class FEWA(Policy, state=FEWAState, select=select, update=update):
    """Filter the arms on windows of every length, then pull the least-pulled one that is left.

    An arm is dropped at window h when the mean of its last h rewards lies more than 2 c(h, delta_t) below the best,
    c(h, delta) = sqrt(2 sigma^2 log(1 / delta) / h), delta_t = delta0 / t^alpha.

    Theory asks for alpha = 5; the paper's experiments use 0.03 to 0.1. With probability at least 1 - delta, for
    alpha > 3 and delta0 = 2 delta / zeta(alpha - 2), see `rotting.theory`.

    References
    ----------
    Seznec, Locatelli, Carpentier, Lazaric, Valko (2019), "Rotting bandits are not harder than stochastic ones".

    Examples
    --------
    The first arm is worth 1 for twenty pulls and nothing afterwards:

    >>> agent = FEWA(alpha=0.06, sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([21, 79])
    """

    alpha: float = parameter(0.06, above=0, doc="confidence exponent: delta_t = delta0 / t^alpha")
    sigma: float = parameter(1.0, minimum=0, doc="scale of the noise (its standard deviation)")
    delta0: float = parameter(1.0, above=0, doc="confidence at t = 1")

    def initial_state(self, n_arms: int) -> FEWAState:
        """Return empty histories."""
        history = empty_history(n_arms)
        settings = np.array([self.alpha, self.sigma, self.delta0])
        return FEWAState(
            settings,
            history.pulls,
            history,
            np.zeros(n_arms, np.int64),
            np.zeros(n_arms),
            np.zeros(TILE),
            np.zeros(TILE),
            np.zeros(n_arms, np.int64),
        )

    def explain(self, state: FEWAState, t: int) -> Explanation:
        """Say which window dropped which arm."""
        return explain_filter(self, state, t, lambda arm, h: window_sum_of(state.history, arm, h))

    def reserve(self, state: FEWAState, pulls: int) -> FEWAState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))
