"""The filter of exact FEWA at any window, and proofs that it drops nobody at many windows at once.

A filter at window h drops the arms whose sum of the last h rewards, W(h), is more than theta sqrt(h) below the largest.
The functions here first look at rough sums (one subtraction of prefix sums): where those are further from the
threshold than rounding can matter, they decide. Only where they are not are sums added exactly.
"""

from __future__ import annotations

import math

import numpy as np

from rotting.compiling import helper
from rotting.policies.filtering import MANY, keep_best
from rotting.policies.history import ROW, band, place_of, rough_prefix, rounding, window_sum

FIRST_ROW = 16  # windows to look at side by side at first: drops are most likely early
ROOTS = 2048  # windows whose square roots are kept
WORTH = 256  # the fewest windows for which bands pay: one costs as much as some hundred rough sums
# FEWA's notes: a window that dropped an arm not long ago; and whether it is enough to know who stays, and not at which
# window the last of the others was dropped.
HINT, HURRY = 0, 1
CROWD = 32  # arms from which on wrong guesses at branches cost more than doing without them
SHADE = 1.0 - 2.0**-40  # a threshold times this is below the threshold, however it was rounded


def new_rows() -> np.ndarray:
    """Return ones and the square roots of ROOTS, ..., 2, 1 (see `thresholds`), and room for two rows of sums."""
    return np.concatenate([np.ones(ROW), np.sqrt(np.arange(ROOTS, 0, -1)), np.zeros(2 * ROW)])


@helper
def filter_sums(state, left, h, highest, theta):
    """Apply the filter at window h to the rough sums in `state.sums`, of which `highest` is the largest.

    Returns how many arms stay and the fewest pulls among them.
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
    state.duel.notes[HINT] = h
    if state.duel.notes[HURRY] and left > CROWD:
        return _keep_many(state, left, highest, limit)
    return keep_best(state, left, h, highest, limit)


@helper
def _keep_many(state, left, highest, limit):
    """Do what `keep_best` does, without branches that a processor would often guess wrong, and without notes."""
    active, kept = state.active, 0
    for place in range(left):
        active[kept] = active[place]
        kept += highest - state.sums[place] <= limit
    fewest = MANY
    for place in range(kept):
        fewest = min(fewest, state.pulls[active[place]])
    return kept, fewest


@helper
def filter_at(state, left, shortest, h, theta):
    """Apply the filter at window h. Returns how many arms stay and the fewest pulls among them."""
    history, highest, lowest = state.history, -np.inf, np.inf
    for place in range(left):
        arm = state.active[place]
        total = history.last[arm, 0] - rough_prefix(history, arm, state.pulls[arm] - h)
        state.sums[place] = total
        highest, lowest = max(highest, total), min(lowest, total)
    if highest - lowest + rounding(history) > SHADE * theta * math.sqrt(h):
        return filter_sums(state, left, h, highest, theta)
    return left, shortest


@helper
def filter_row(state, left, shortest, h, size, theta):
    """Apply the filters at `size` <= ROW windows from h on. Returns how many arms stay and the fewest pulls among them.

    The range of all arms' sums at each window says where somebody may be dropped.
    """
    history = state.history
    start, below, _ = thresholds(history, h, size, theta)
    room_for_range = state.rows[len(state.rows) - 2 * ROW :]
    roots, highest, lowest = state.rows[start : start + size], room_for_range[:size], room_for_range[ROW : ROW + size]
    for j in range(size):
        highest[j], lowest[j] = -np.inf, np.inf
    for place in range(left):
        arm = state.active[place]
        stop = place_of(history, arm, state.pulls[arm] - h) + 1
        _widen(highest, lowest, history.last[arm, 0], history.high[stop - size : stop])
    if _any_apart(highest, lowest, roots, below):
        for j in range(size - 1, -1, -1):
            if left > 1 and highest[j] - lowest[j] > below * roots[j]:
                left, shortest = filter_at(state, left, shortest, h + size - 1 - j, theta)
    return left, shortest


@helper
def _widen(highest, lowest, last, prefixes):
    """Let the range of sums, at each window of a row, include those of one more arm."""
    for j in range(len(prefixes)):
        total = last - prefixes[j]
        highest[j], lowest[j] = max(highest[j], total), min(lowest[j], total)


@helper
def _any_apart(highest, lowest, roots, below):
    """Say whether the range of sums may be wider than the threshold at any window of a row."""
    apart = 0
    for j in range(len(roots)):  # no early end: that is quicker
        apart += highest[j] - lowest[j] > below * roots[j]
    return apart > 0


@helper
def thresholds(history, h, size, theta):
    """Return where in `state.rows` the square roots of windows h + size - 1, ..., h start, and two factors.

    Times the first they are surely below the thresholds, times the second surely above, by more than any rounding of
    sums. For windows too long for the table, a row of ones stands in for square roots that hardly differ.
    """
    if h + size <= ROOTS:
        start, lowest, highest = ROW + ROOTS - (h + size - 1), theta, theta
    else:
        start, lowest, highest = 0, theta * math.sqrt(h), theta * math.sqrt(h + size)
    slack = rounding(history)  # square roots are at least 1
    return start, SHADE * lowest - slack, highest / SHADE + slack


@helper
def reach(settings, theta):
    """Guess for how many windows after h a band can prove that nobody is dropped, as a multiple of h (at most 3).

    Over s windows the sums of two arms wander some 6 sigma sqrt(s) apart, and theta sqrt(h) is allowed. Only speed
    depends on this.
    """
    sigma = settings[1]
    return min((theta / (6.0 * sigma)) ** 2, 3.0) if sigma > 0.0 else 0.0


@helper
def quiet(state, left, h, end, theta):
    """Say whether the filters at windows h..end surely drop nobody.

    Every arm's window sum W(g) = S[n] - S[n - g] lies in a band of constant width around a straight line in g. So the
    distance between the top of the highest band and the bottom of the lowest is at most a maximum of straight lines: a
    convex function of g, which lies below the concave theta sqrt(g) in between if it does at both ends.
    """
    history = state.history
    high_here, low_here, high_there, low_there = -np.inf, np.inf, -np.inf, np.inf
    for place in range(left):
        high, low, high_later, low_later = range_of_sums(history, state.active[place], h, end)
        high_here, low_here = max(high_here, high), min(low_here, low)
        high_there, low_there = max(high_there, high_later), min(low_there, low_later)
    return room(history, high_here - low_here, high_there - low_there, h, end, theta) >= 0.0


@helper
def room(history, here, there, h, end, theta):
    """Return how far two distances between sums, at windows h and `end`, are at least below their thresholds."""
    return min(SHADE * theta * math.sqrt(h) - here, SHADE * theta * math.sqrt(end) - there) - rounding(history)


@helper
def range_of_sums(history, arm, h, end):
    """Return the highest and lowest that a window sum can be at h, and at `end`; straight lines connect them."""
    n = history.pulls[arm]
    height, slope, under, over = band(history, arm, n - end, n - h)
    there = history.last[arm, 0] - height
    here = there - slope * (end - h)
    return here - under, here - over, there - under, there - over
