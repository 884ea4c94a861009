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
from rotting.policies.filtering import (
    filter_settings,
    filter_width,
    first_unpulled,
    keep_best,
    keep_first,
    least_pulled,
)
from rotting.policies.history import (
    PAGE,
    History,
    adapt_reach,
    append,
    band,
    empty_history,
    place_of,
    reserve,
    rounding,
    window_sum,
    window_sum_of,
)

SHORT = 4  # windows whose rough sums are kept
CHUNK = 16  # windows that a processor can look at side by side
TILE = 64  # windows that are looked at together, from rough sums
STRIDE = 4 * TILE  # the fewest windows for which bands pay: one costs as much as some hundred rough sums
STRIDE_PAIR = 16 * TILE  # the same for the last two arms, whose rough sums are quick to scan
SHADE = 1.0 - 2.0**-40  # a threshold times this is below the threshold, however it was rounded


class FEWAState(NamedTuple):
    """All rewards so far, and room to work."""

    settings: np.ndarray  # see filter_settings
    pulls: np.ndarray
    history: History
    short: np.ndarray  # float64 (SHORT, K): rough sums of the last 1, 2, ..., SHORT rewards
    active: np.ndarray  # int64 (K,): the arms that have passed every filter so far, in increasing order
    sums: np.ndarray  # float64 (K,): their window sums
    last: np.ndarray  # float64 (K,): their newest prefix sums
    place: np.ndarray  # int64 (K,): where the prefix sums of a tile end
    dropped: np.ndarray  # int64 (K,): the window that dropped each arm that is not active
    left: np.ndarray  # int64 [how many arms are active]
    reach: np.ndarray  # float64 [see adapt_reach]


def select(state, t, word):
    """Return the least-pulled arm among those that pass the filter at every window 1, 2, ... (lowest number on ties).

    The filter at window h drops the arms whose sum of the last h rewards lies more than 2 h c(h, delta_t) =
    theta sqrt(h) below the largest. It ends when it reaches a window as long as the history of an active arm, or
    when only one arm is left, since the arm with the largest sum always stays.

    Windows at which nobody can be dropped are passed over: many at once from bands around the prefix sums, where the
    threshold leaves room for that; otherwise a tile of them from rough sums. Only where somebody may be dropped does
    the filter itself run.
    """
    if state.history.used[1] > 0:
        return first_unpulled(state.pulls)
    theta = filter_width(state.settings, t)
    left, shortest = keep_first(state, state.short[0], theta)
    h = 2
    while left > 1 and h <= shortest:
        stride = int(state.reach[0] * h)
        if stride >= (STRIDE_PAIR if left == 2 else STRIDE):
            end = min(h + stride - 1, shortest)
            quiet = _quiet(state, left, h, end, theta)
            adapt_reach(state.reach, quiet)
            if quiet:
                h = end + 1
                continue
        end = min(2 * h - 1, h + TILE - 1, shortest)
        if h <= SHORT:
            h, highest = _loud_short(state, left, h, theta)
        elif left == 2:
            h, highest = _next_loud_pair(state, h, end, theta)
        else:
            h, highest = _next_loud(state, left, h, end, theta)
        if highest < np.inf:
            left, shortest = _filter(state, left, h, highest, theta)
            h += 1
    return least_pulled(state, left)


def update(state, arm, reward):
    """Add the reward to the arm's history."""
    append(state.history, arm, reward)
    for h in range(SHORT - 1, 0, -1):
        state.short[h, arm] = state.short[h - 1, arm] + reward
    state.short[0, arm] = reward


@helper
def _filter(state, left, h, highest, theta):
    """Apply the filter at window h to the rough sums in `state.sums`, of which `highest` is the largest.

    Rough sums decide, unless one is too close to the threshold; only then are exact ones worth their price. Returns
    how many arms stay and the fewest pulls among them.
    """
    limit, slack = theta * math.sqrt(h), rounding(state.history)
    close = False
    for place in range(left):
        close |= abs(highest - state.sums[place] - limit) <= slack
    if close:
        highest = -np.inf
        for place in range(left):
            state.sums[place] = window_sum(state.history, state.active[place], h)
            highest = max(highest, state.sums[place])
    return keep_best(state, left, h, highest, limit)


@helper
def _loud_short(state, left, h, theta):
    """Say whether the filter at a window h <= SHORT may drop somebody. Returns as `_next_loud` does."""
    highest, lowest = -np.inf, np.inf
    for place in range(left):
        total = state.short[h - 1, state.active[place]]
        state.sums[place] = total
        highest, lowest = max(highest, total), min(lowest, total)
    loud = highest - lowest + rounding(state.history) > SHADE * theta * math.sqrt(h)
    return (h, highest) if loud else (h + 1, np.inf)


@helper
def _next_loud(state, left, h, end, theta):
    """Look at windows h..end for the first at which somebody may be dropped.

    Returns that window and the largest rough sum there (all of them are in `state.sums`), or the window to go on from
    and infinity. It may stop before `end`.
    """
    history, place, last = state.history, state.place, state.last
    count = end - h + 1
    for j in range(left):
        arm = state.active[j]
        last[j] = history.last[arm, 0]
        place[j] = place_of(history, arm, state.pulls[arm] - h)
        count = min(count, place[j] % PAGE + 1)  # windows whose prefix sums lie side by side
    slack = rounding(history)
    enough = SHADE * theta * math.sqrt(h) - slack
    for back in range(count):
        highest, lowest = -np.inf, np.inf
        for j in range(left):
            total = last[j] - history.high[place[j] - back]
            state.sums[j] = total
            highest, lowest = max(highest, total), min(lowest, total)
        if highest - lowest > enough and highest - lowest + slack > SHADE * theta * math.sqrt(h + back):
            return h + back, highest
    return h + count, np.inf


@helper
def _next_loud_pair(state, h, end, theta):
    """Do what `_next_loud` does for the last two arms, whose distance can be scanned in chunks."""
    history, one, other = state.history, state.active[0], state.active[1]
    place, place_other = place_of(history, one, state.pulls[one] - h), place_of(history, other, state.pulls[other] - h)
    count = min(end - h, place % PAGE, place_other % PAGE) + 1
    last, last_other = history.last[one, 0], history.last[other, 0]
    slack = rounding(history)
    for done in range(0, count, CHUNK):
        size = min(CHUNK, count - done)
        mine = history.high[place - done - size + 1 : place - done + 1]
        theirs = history.high[place_other - done - size + 1 : place_other - done + 1]
        if _farthest(mine, theirs, last - last_other) + slack <= SHADE * theta * math.sqrt(h + done):
            continue
        for back in range(size):
            total, total_other = last - mine[size - 1 - back], last_other - theirs[size - 1 - back]
            if abs(total - total_other) + slack > SHADE * theta * math.sqrt(h + done + back):
                state.sums[0], state.sums[1] = total, total_other
                return h + done + back, max(total, total_other)
    return h + count, np.inf


@helper
def _farthest(mine, theirs, between):
    """Return the largest |between - (mine - theirs)|."""
    farthest = 0.0
    for j in range(len(mine)):
        farthest = max(farthest, abs(between - (mine[j] - theirs[j])))
    return farthest


@helper
def _quiet(state, left, h, end, theta):
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
        return FEWAState(
            settings=filter_settings(self.alpha, self.sigma, self.delta0),
            pulls=history.pulls,
            history=history,
            short=np.zeros((SHORT, n_arms)),
            active=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            last=np.zeros(n_arms),
            place=np.zeros(n_arms, np.int64),
            dropped=np.zeros(n_arms, np.int64),
            left=np.zeros(1, np.int64),
            reach=np.ones(1),
        )

    def explain(self, state: FEWAState, t: int) -> Explanation:
        """Say which window dropped which arm."""
        return explain_filter(self, state, t, lambda arm, h: window_sum_of(state.history, arm, h))

    def reserve(self, state: FEWAState, pulls: int) -> FEWAState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))
