"""Rows: 64 windows side by side, shown to drop nobody by rough sums.

Claim: a filter drops nobody if its rough sums (one subtraction of prefix sums each, see `history`) are closer to each
other than the threshold, less what rounding can be worth.
Proof: the true sums are then closer than the threshold.

Any 64 prefix sums in a row lie side by side in memory, which is what vector instructions want. Square roots come from a
table. A first pass over the row only asks whether all windows are quiet, as they mostly are; the second finds the first
one that is not.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting.policies._windows.history import ROW, rounding, row_of, total_of

FIRST_ROW = 16  # windows to compare side by side at first: drops are most likely early
ROOTS = 2048  # windows whose square roots are tabulated
ONE_PASS = 4  # arms that a row is compared for in one pass
INVERSES = np.uint64(ROW + ROOTS)  # how far the inverse of a square root is from it, in `roots`
JUST_BELOW = 1.0 - 2.0**-40  # a threshold times this is below the threshold, however it was rounded


def new_roots() -> np.ndarray:
    """Return ones and the square roots of ROOTS, ..., 2, 1 (see `thresholds`), and their inverses."""
    return _roots().copy()


@cache
def _roots() -> np.ndarray:
    roots = np.concatenate([np.ones(ROW), np.sqrt(np.arange(ROOTS, 0, -1))])
    return np.concatenate([roots, 1.0 / roots])


@helper
def row_size(h, shortest):
    """Return how many windows from h on to compare side by side."""
    return min(ROW if h > FIRST_ROW else FIRST_ROW, shortest - h + 1)


@helper
def quiet_in_row(state, left, h, size, theta):
    """Return how many windows of a row, h, h + 1, ..., `size` <= ROW of them, surely drop nobody."""
    if left == 2:
        return _quiet_for_few(state, None, None, h, size, theta)
    if left <= ONE_PASS:
        c, d = _sums_of(state, 2, h, size), _sums_of(state, left - 1, h, size)
        return _quiet_for_few(state, c, d, h, size, theta)
    return _quiet_for_many(state, left, h, size, theta)


@helper
def _quiet_for_few(state, c, d, h, size, theta):
    """Return it for two arms, or four (the last two perhaps the same), in one pass that writes nothing down."""
    high, roots = state.history.high, state.roots
    root, below = thresholds(state.history, h, size, theta)
    a, b = _sums_of(state, 0, h, size), _sums_of(state, 1, h, size)
    far = False
    for j in range(np.uint64(size)):  # no early exit, so that it is vectorised
        far |= _spread(high, j, a, b, c, d) > below * roots[root + j]
    if not far:
        return size
    loud = np.int64(-1)  # the place of the shortest window that may drop one of them
    for j in range(np.uint64(size)):
        if _spread(high, j, a, b, c, d) > below * roots[root + j]:
            loud = np.int64(j)
    return size - 1 - loud


@helper
def _sums_of(state, place, h, size):
    """Return S[n] of an active arm, and where its prefix sums of a row are."""
    arm = state.active[place]
    return total_of(state.history, arm), row_of(state.history, arm, h, size)


@helper
def _spread(high, j, a, b, c, d):
    """Return how far the largest window sum is from the smallest, at a place in a row, of two arms or of four."""
    if c is None:
        return abs((a[0] - b[0]) - (high[a[1] + j] - high[b[1] + j]))
    w, x, y, z = a[0] - high[a[1] + j], b[0] - high[b[1] + j], c[0] - high[c[1] + j], d[0] - high[d[1] + j]
    return max(max(w, x), max(y, z)) - min(min(w, x), min(y, z))


@helper
def below_in_row(state, arm, h, size, theta):
    """Say whether a row of windows may drop one of two arms, 0 or 1."""
    between, mine, theirs = pair_of(state, h, size)
    root, below = thresholds(state.history, h, size, theta)
    high, roots, sign = state.history.high, state.roots, 2.0 * arm - 1.0
    far = False
    for j in range(np.uint64(size)):
        far |= sign * (between - (high[mine + j] - high[theirs + j])) > below * roots[root + j]
    return far


@helper
def pair_of(state, h, size):
    """Return S[n] - S'[n'] of the two active arms, and where their prefix sums of a row are."""
    history, one, other = state.history, state.active[0], state.active[1]
    between = total_of(history, one) - total_of(history, other)
    return between, row_of(history, one, h, size), row_of(history, other, h, size)


@outlined
def _quiet_for_many(state, left, h, size, theta):
    """Return it for any number of arms, much more slowly."""
    history, high, roots = state.history, state.history.high, state.roots
    root, below = thresholds(history, h, size, theta)
    highest, lowest = state.ranges[0], state.ranges[1]
    for j in range(np.uint64(size)):
        highest[j], lowest[j] = -np.inf, np.inf
    for place in range(left):
        arm = state.active[place]
        total, row = total_of(history, arm), row_of(history, arm, h, size)
        for j in range(np.uint64(size)):
            window = total - high[row + j]
            highest[j], lowest[j] = max(highest[j], window), min(lowest[j], window)
    loud = np.int64(-1)
    for j in range(np.uint64(size)):
        if highest[j] - lowest[j] > below * roots[root + j]:
            loud = np.int64(j)
    return size - 1 - loud


@helper
def thresholds(history, h, size, theta):
    """Return where in `state.roots` the square roots of windows h + size - 1, ..., h start, and a factor.

    Times this factor they are surely below the thresholds, by more than any rounding of sums. For windows too long for
    the table, a row of ones stands in for square roots that hardly differ.
    """
    if h + size <= ROOTS:
        start, factor = ROW + ROOTS - (h + size - 1), theta
    else:
        start, factor = 0, theta * math.sqrt(h)
    return np.uint64(start), JUST_BELOW * factor - rounding(history)  # square roots are at least 1
