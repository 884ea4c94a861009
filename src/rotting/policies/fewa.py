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
    append,
    band,
    empty_history,
    place_of,
    reserve,
    rough_prefix,
    rounding,
    window_sum,
    window_sum_of,
)

SHORT = 8  # windows whose rough sums are kept
CHUNK = 64  # windows that a processor can look at side by side
STRIDE = 1024  # the fewest windows for which bands pay: one costs as much as some hundred rough sums
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
    hint: np.ndarray  # int64 [the last window that dropped an arm]
    hurry: np.ndarray  # bool [may the last arm be dropped without finding out at which window?]


def select(state, t, word):
    """Return the least-pulled arm among those that pass the filter at every window 1, 2, ... (lowest number on ties).

    The filter at window h drops the arms whose sum of the last h rewards lies more than 2 h c(h, delta_t) =
    theta sqrt(h) below the largest. It ends when it reaches a window as long as the history of an active arm, or
    when only one arm is left, since the arm with the largest sum always stays.

    Windows at which nobody can be dropped are passed over: many at once from bands around the prefix sums, where the
    threshold leaves room for that; otherwise one by one, from rough sums. Only where somebody may be dropped does the
    filter itself run.
    """
    if state.history.used[1] > 0:
        return first_unpulled(state.pulls)
    theta = filter_width(state.settings, t)
    left, shortest = keep_first(state, state.short[0], theta)
    h, scan_until, stride = 2, STRIDE, _first_stride(state.settings, theta)
    hurry = state.hurry[0]
    while left > 1 and h <= shortest:
        if h >= scan_until:
            if hurry and left == 2:
                hurry = False
                if _settled(state, h, shortest, theta):
                    left = 1
                    continue
            end = min(h + stride - 1, shortest)
            if _quiet(state, left, h, end, theta):
                h, stride = end + 1, min(2 * stride, 8 * h)
            elif stride >= 4 * STRIDE:
                stride //= 4
            else:
                scan_until = h + STRIDE
            continue
        end = min(scan_until - 1, shortest)
        if h <= SHORT and (left > 2 or h == 2):
            h, highest = _loud_short(state, left, h, theta)
        elif left == 2:
            h, highest = _next_loud_pair(state, h, end, theta)
        else:
            h, highest = _next_loud(state, left, h, end, theta)
        if highest < np.inf:
            left, shortest = _filter(state, left, h, highest, theta)
            state.hint[0] = h
            h += 1
    return least_pulled(state, left)


def update(state, arm, reward):
    """Add the reward to the arm's history."""
    append(state.history, arm, reward)
    for h in range(SHORT - 1, 0, -1):
        state.short[h, arm] = state.short[h - 1, arm] + reward
    state.short[0, arm] = reward


@helper
def _first_stride(settings, theta):
    """Guess how many windows a band can pass over at first (only speed depends on it).

    Over s windows the sums of two arms wander some 6 sigma sqrt(s) apart, and theta sqrt(h) is allowed.
    """
    sigma = settings[1]
    reach = (theta / (6.0 * sigma)) ** 2 if sigma > 0.0 else 1.0
    return int(STRIDE * min(max(reach, 1.0), 8.0))


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
        count = min(count, (place[j] & (PAGE - 1)) + 1)  # windows whose prefix sums lie side by side
    slack = rounding(history)
    enough = SHADE * theta * math.sqrt(h) - slack
    for back in range(count):
        highest, lowest = -np.inf, np.inf
        for j in range(left):
            total = last[j] - history.high[place[j] - back]
            highest, lowest = max(highest, total), min(lowest, total)
        if highest - lowest > enough:
            # Thresholds grow with the window: this one will do for a while.
            enough = SHADE * theta * math.sqrt(h + back) - slack
            if highest - lowest > enough:
                for j in range(left):
                    state.sums[j] = last[j] - history.high[place[j] - back]
                return h + back, highest
    return h + count, np.inf


@helper
def _next_loud_pair(state, h, end, theta):
    """Do what `_next_loud` does for the last two arms, whose distance can be scanned in chunks."""
    history, one, other = state.history, state.active[0], state.active[1]
    place, place_other = place_of(history, one, state.pulls[one] - h), place_of(history, other, state.pulls[other] - h)
    end = min(
        end, h + (place & (PAGE - 1)), h + (place_other & (PAGE - 1))
    )  # windows whose prefix sums lie side by side
    last, last_other = history.last[one, 0], history.last[other, 0]
    slack = rounding(history)
    chunk = CHUNK
    while h <= end:
        size = min(chunk, h, end - h + 1)
        mine, theirs = (
            history.high[place - size + 1 : place + 1],
            history.high[place_other - size + 1 : place_other + 1],
        )
        if not _any_beyond(mine, theirs, last - last_other, SHADE * theta * math.sqrt(h) - slack):
            h, place, place_other = h + size, place - size, place_other - size
            chunk = min(CHUNK, 4 * chunk)
        elif size > 1:
            chunk = size >> 2 if size > 4 else 1
        else:
            state.sums[0], state.sums[1] = last - mine[0], last_other - theirs[0]
            return h, max(state.sums[0], state.sums[1])
    return h, np.inf


@helper
def _any_beyond(mine, theirs, between, limit):
    """Say whether |between - (mine - theirs)| exceeds the limit anywhere (no early end: that is quicker)."""
    beyond = False
    for j in range(len(mine)):
        beyond |= abs(between - (mine[j] - theirs[j])) > limit
    return beyond


@helper
def _settled(state, h, shortest, theta):
    """Try to tell which of the last two arms will be dropped without looking for the window that does it.

    One is dropped somewhere from h to `later` if it would be at `later`, and the other cannot be dropped before. If so,
    makes the other the only active arm.
    """
    # Candidates: the window that decided last time, then the longest, half of it, and so on.
    if h < state.hint[0] <= shortest and _settled_at(state, h, state.hint[0], theta):
        return True
    later = shortest
    while later > h:
        if _settled_at(state, h, later, theta):
            return True
        later //= 2
    return False


@helper
def _settled_at(state, h, later, theta):
    """Try it for one choice of `later`."""
    history, one, other = state.history, state.active[0], state.active[1]
    gap = history.last[one, 0] - rough_prefix(history, one, state.pulls[one] - later)
    gap -= history.last[other, 0] - rough_prefix(history, other, state.pulls[other] - later)
    if abs(gap) - rounding(history) <= theta * math.sqrt(later) / SHADE:
        return False
    ahead, behind = (one, other) if gap > 0.0 else (other, one)
    if not _stays_close(history, ahead, behind, h, later, theta):
        return False
    state.active[0], state.dropped[behind] = ahead, later
    return True


@helper
def _stays_close(history, arm, other, h, later, theta):
    """Say whether the filters at windows h..later surely do not drop `arm` for the sake of `other`."""
    slack = rounding(history)
    while h <= later:
        end = min(8 * h, later)
        _, low_here, _, low_there = _range_of_sums(history, arm, h, end)
        high_here, _, high_there, _ = _range_of_sums(history, other, h, end)
        if high_here - low_here + slack > SHADE * theta * math.sqrt(h):
            return False
        if high_there - low_there + slack > SHADE * theta * math.sqrt(end):
            return False
        h = end + 1
    return True


@helper
def _range_of_sums(history, arm, h, end):
    """Return the highest and lowest that a window sum can be at h, and at `end`; straight lines connect them."""
    n = history.pulls[arm]
    height, slope, under, over = band(history, arm, n - end, n - h)
    there = history.last[arm, 0] - height
    here = there - slope * (end - h)
    return here - under, here - over, there - under, there - over


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
        high, low, high_later, low_later = _range_of_sums(history, state.active[place], h, end)
        high_here, low_here = max(high_here, high), min(low_here, low)
        high_there, low_there = max(high_there, high_later), min(low_there, low_later)
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
            hint=np.zeros(1, np.int64),
            hurry=np.ones(1, np.bool_),
        )

    def explain(self, state: FEWAState, t: int) -> Explanation:
        """Say which window dropped which arm."""
        state.hurry[0] = False
        explanation = explain_filter(self, state, t, lambda arm, h: window_sum_of(state.history, arm, h))
        state.hurry[0] = True
        return explanation

    def reserve(self, state: FEWAState, pulls: int) -> FEWAState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))
