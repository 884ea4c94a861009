"""The filter of exact FEWA at any window, and proofs that it drops nobody at many windows at once.

A filter at window h drops the arms whose sum of the last h rewards, W(h), is more than theta sqrt(h) below the largest.
The functions here first compare rough sums (one subtraction of prefix sums). Where these are further from the threshold
than rounding can matter, they decide; only elsewhere are sums added exactly.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting.policies._windows.filtering import MAX_PULLS, keep_best
from rotting.policies._windows.history import ROW, band, rough_prefix, rounding, row_of, total_of, window_sum
from rotting.policies._windows.team import any_in_team, largest_in_team, my_share, smallest_in_team

FIRST_ROW = 16  # windows to compare side by side at first: drops are most likely early
ROOTS = 2048  # windows whose square roots are tabulated
BAND_MINIMUM = 256  # the fewest windows for which a band pays: it costs as much as some hundred rough sums
LAST_DROP, DECISION_ONLY = 0, 1  # slots of `PairProofs.notes`, which has a table of them
ONE_PASS = 4  # arms that a row is compared for in one pass
BRANCH_FREE_ABOVE = 32  # arms from which on branch mispredictions cost more than branch-free code
INVERSES = np.uint64(ROW + ROOTS)  # how far the inverse of a square root is from it, in `rows`
JUST_BELOW = 1.0 - 2.0**-40  # a threshold times this is below the threshold, however it was rounded


def new_rows() -> np.ndarray:
    """Return ones and the square roots of ROOTS, ..., 2, 1 (see `thresholds`), and their inverses."""
    return _first_rows().copy()


@cache
def _first_rows() -> np.ndarray:
    roots = np.concatenate([np.ones(ROW), np.sqrt(np.arange(ROOTS, 0, -1))])
    return np.concatenate([roots, 1.0 / roots])


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
    state.proofs.notes[LAST_DROP] = h
    if state.proofs.notes[DECISION_ONLY] and left > BRANCH_FREE_ABOVE:
        return _keep_many(state, left, highest, limit)
    return keep_best(state.active, state.dropped, state.pulls, state.sums, left, h, highest, limit)


@helper
def _keep_many(state, left, highest, limit):
    """Do what `keep_best` does, branch-free, and without noting which window dropped an arm."""
    active, kept = state.active, 0
    for place in range(left):
        active[kept] = active[place]
        kept += highest - state.sums[place] <= limit
    fewest = MAX_PULLS
    for place in range(kept):
        fewest = min(fewest, state.pulls[active[place]])
    return kept, fewest


@helper
def filter_at(state, left, shortest, h, theta):
    """Apply the filter at window h. Returns how many arms stay and the fewest pulls among them."""
    history, highest, lowest = state.history, -np.inf, np.inf
    for place in range(left):
        arm = state.active[place]
        total = total_of(history, arm) - rough_prefix(history, arm, state.pulls[arm] - h)
        state.sums[place] = total
        highest, lowest = max(highest, total), min(lowest, total)
    if highest - lowest + rounding(history) > JUST_BELOW * theta * math.sqrt(h):
        return filter_sums(state, left, h, highest, theta)
    return left, shortest


@helper
def row_size(h, shortest):
    """Return how many windows from h on to compare side by side."""
    return min(ROW if h > FIRST_ROW else FIRST_ROW, shortest - h + 1)


@helper
def filter_row(state, left, shortest, h, size, theta):
    """Apply the filters at `size` <= ROW windows from h on, up to the first that may drop somebody.

    Returns how many arms stay, the fewest pulls among them, and the window to go on from.
    """
    if left == 2:
        safe, stays = _safe_for_pair(state, h, size, theta)
        if stays >= 0:
            state.dropped[state.active[1 - stays]], state.proofs.notes[LAST_DROP] = h + safe, h + safe
            state.active[0] = state.active[stays]
            return 1, shortest, h + safe + 1
    elif left <= ONE_PASS:
        safe = _safe_for_few(state, left, h, size, theta)
    else:
        safe = _safe_for_many(state, left, h, size, theta)
    if safe < size:
        left, shortest = filter_at(state, left, shortest, h + safe, theta)
        safe += 1
    return left, shortest, h + safe


@helper
def _safe_for_pair(state, h, size, theta):
    """Return how many windows of a row, from the shortest on, surely drop neither of two arms; and which stays then.

    The second is -1 if the row ends first, or if rough sums cannot tell.
    """
    between, mine, theirs = pair_of(state, np.int64(0), h, size)
    root, below, above = thresholds(state.history, h, size, theta)
    high, roots = state.history.high, state.rows
    far = False
    for j in my_share(size):  # no early exit, so that it is vectorised
        far |= abs(between - (high[mine + j] - high[theirs + j])) > below * roots[root + j]
    if not any_in_team(far):
        return size, -1
    safe = np.int64(size)
    for back in my_share(size):
        at = np.uint64(size - 1) - back
        if abs(between - (high[mine + at] - high[theirs + at])) > below * roots[root + at]:
            safe = np.int64(back)
            break
    safe, stays = smallest_in_team(safe), -1
    at = np.uint64(size - 1 - safe)
    gap = between - (high[mine + at] - high[theirs + at])
    if abs(gap) > above * roots[root + at]:
        stays = 0 if gap > 0.0 else 1
    return safe, stays


@helper
def any_below(state, who, h, size, theta):
    """Say whether the sum of the arm `who` of two may lie below the other's by more than the threshold, in a row."""
    between, mine, theirs = pair_of(state, who, h, size)
    root, below, _ = thresholds(state.history, h, size, theta)
    high, roots = state.history.high, state.rows
    far = False
    for j in my_share(size):
        far |= (high[mine + j] - high[theirs + j]) - between > below * roots[root + j]
    return any_in_team(far)


@helper
def pair_of(state, who, h, size):
    """Return S[n] - S'[n'] of the active arm `who` of two and the other, and where their prefix sums of a row are."""
    history, arm, other = state.history, state.active[who], state.active[1 - who]
    between = total_of(history, arm) - total_of(history, other)
    return between, row_of(history, arm, h, size), row_of(history, other, h, size)


@helper
def _safe_for_few(state, left, h, size, theta):
    """Do what `_safe_for_pair` does for three or four arms."""
    history, high, roots = state.history, state.history.high, state.rows
    root, below, _ = thresholds(history, h, size, theta)
    a, b, c, d = state.active[0], state.active[1], state.active[2], state.active[left - 1]
    total_a, total_b = total_of(history, a), total_of(history, b)
    total_c, total_d = total_of(history, c), total_of(history, d)
    row_a, row_b = row_of(history, a, h, size), row_of(history, b, h, size)
    row_c, row_d = row_of(history, c, h, size), row_of(history, d, h, size)
    apart = False
    for j in my_share(size):
        w, x = total_a - high[row_a + j], total_b - high[row_b + j]
        y, z = total_c - high[row_c + j], total_d - high[row_d + j]
        apart |= _spread(w, x, y, z) > below * roots[root + j]
    if not any_in_team(apart):
        return size
    safe = np.int64(size)
    for back in my_share(size):
        at = np.uint64(size - 1) - back
        w, x = total_a - high[row_a + at], total_b - high[row_b + at]
        y, z = total_c - high[row_c + at], total_d - high[row_d + at]
        if _spread(w, x, y, z) > below * roots[root + at]:
            safe = np.int64(back)
            break
    return smallest_in_team(safe)


@helper
def _spread(w, x, y, z):
    """Return how far the largest of four numbers is from the smallest."""
    return max(max(w, x), max(y, z)) - min(min(w, x), min(y, z))


@outlined
def _safe_for_many(state, left, h, size, theta):
    """Do what `_safe_for_pair` does for any number of arms, much more slowly."""
    history, high, roots = state.history, state.history.high, state.rows
    root, below, _ = thresholds(history, h, size, theta)
    highest, lowest = state.ranges[0], state.ranges[1]
    for j in my_share(size):
        highest[j], lowest[j] = -np.inf, np.inf
    for place in range(left):
        arm = state.active[place]
        total, row = total_of(history, arm), row_of(history, arm, h, size)
        for j in my_share(size):
            window = total - high[row + j]
            highest[j], lowest[j] = max(highest[j], window), min(lowest[j], window)
    apart = False
    for j in my_share(size):
        apart |= highest[j] - lowest[j] > below * roots[root + j]
    if not any_in_team(apart):
        return size
    shortest = np.int64(0)
    for j in my_share(size):
        if highest[j] - lowest[j] > below * roots[root + j]:
            shortest = np.int64(j)
    return size - 1 - largest_in_team(shortest)


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
    return np.uint64(start), JUST_BELOW * lowest - slack, highest / JUST_BELOW + slack


@helper
def band_reach(settings, theta):
    """Estimate for how many windows after h a band can prove that nobody is dropped, as a multiple of h (at most 3).

    Over s windows the sums of two arms move some 6 sigma sqrt(s) apart, and theta sqrt(h) is allowed. Only speed
    depends on this.
    """
    sigma = settings[1]
    return min((theta / (6.0 * sigma)) ** 2, 3.0) if sigma > 0.0 else 0.0


@outlined
def surely_drops_nobody(state, left, h, end, theta):
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
    return margin(history, high_here - low_here, high_there - low_there, h, end, theta) >= 0.0


@helper
def margin(history, here, there, h, end, theta):
    """Return how far two distances between sums, at windows h and `end`, are at least below their thresholds."""
    return min(JUST_BELOW * theta * math.sqrt(h) - here, JUST_BELOW * theta * math.sqrt(end) - there) - rounding(
        history
    )


@helper
def range_of_sums(history, arm, h, end):
    """Return the highest and lowest that a window sum can be at h, and at `end`; straight lines connect them."""
    n = history.pulls[arm]
    height, slope, under, over = band(history, arm, n - end, n - h)
    there = total_of(history, arm) - height
    here = there - slope * (end - h)
    return here - under, here - over, there - under, there - over
