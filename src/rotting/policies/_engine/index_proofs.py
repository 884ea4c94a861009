"""RAW-UCB's windows: proofs that an arm's upper confidence bounds all lie above a level, whatever its next rewards are.

The bound at window h is above a level B when W(h) - B h + width sqrt(h) > 0. What W(h) = S[n] - S[n - h] needs of the
past is S at the window's start m = n - h, and that never changes: proofs are about starts, not about lengths.

The starts of an arm are divided into stretches, aligned blocks of pulls whose outline `history` keeps. On each, S lies
below the straight line between its two ends, raised by the outline. Neighbours share an end, at which the higher of
their lines counts, so a roof of straight pieces lies over all S. Below a straight piece, (S[n] - roof) - B h + width
sqrt(h) is concave in h, and positive in between if it is at both ends. So one look at every end of a stretch, a few
dozen numbers side by side, answers for any B, width and S[n] whether all windows lie above.

Where an end fails, the stretch is split, down to rows of ROW starts whose prefix sums are compared one by one; so are
the windows that begin after the last stretch. Stretches that needed splitting once stay as they are for RENEW_AFTER
pulls, so most rounds find all ends in order and nothing to split.

Nothing here decides: without any stretch the decisions are the same, and slower.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting.policies._engine.history import (
    ROUNDING,
    ROW,
    place_of,
    rise_above_line,
    rough_prefix,
    rounding,
    total_of,
    window_sum,
)

ENDS = 128  # the most ends of stretches of an arm ...
ROWS = 24  # ... and the most stretches that are rows to be compared one by one
RECENT = 2 * ROW  # windows shorter than this may begin after the last stretch
REACH = 2  # a stretch is at first no longer than this times the windows that begin there
RENEW_AFTER = 1024  # pulls after which all is divided anew: what was split may no longer need it
RETRY_AFTER = 64  # pulls after which to divide anew when there was no room for what had to be split
NO_LINE = -1.0  # in `rise`: a row, whose prefix sums are compared themselves
MOST_WIDTH = 2.0**900  # beyond it products might overflow: nothing is sure


class IndexProofs(NamedTuple):
    """The stretches of each arm's starts, and the roof over its prefix sums.

    `notes` has these slots:

    | slot | content |
    |---|---|
    | COUNT | how many ends there are: one more than stretches, or 0 |
    | LAST | the last end: starts from there on belong to no stretch |
    | ROW_COUNT | how many stretches are rows |
    | RENEWED | the arm's pulls when it was last divided anew |
    """

    ends: np.ndarray  # float64 (K, ENDS): a stretch goes from an end up to the next
    rise: np.ndarray  # float64 (K, ENDS): how far S rises above its line in the stretch from this end on, or NO_LINE
    roof: np.ndarray  # float64 (K, ENDS): the roof at each end
    rows: np.ndarray  # int64 (K, ROWS): the first starts of rows
    notes: np.ndarray  # int64 (K, 4)
    tables: np.ndarray  # float64 (3, RECENT): RECENT, ..., 2, 1; their square roots; 0, 1, 2, ...


COUNT, LAST, ROW_COUNT, RENEWED = range(4)
WINDOWS, ROOTS, STEPS = range(3)  # of `tables`


def no_index_proofs(n_arms: int) -> IndexProofs:
    """Return proofs of nothing."""
    windows = np.arange(RECENT, 0, -1.0)
    ends = np.zeros((3, n_arms, ENDS))
    return IndexProofs(
        ends=ends[0],
        rise=ends[1],
        roof=ends[2],
        rows=np.zeros((n_arms, ROWS), np.int64),
        notes=np.zeros((n_arms, 4), np.int64),
        tables=np.stack([windows, np.sqrt(windows), np.arange(RECENT, dtype=float)]),
    )


@helper
def all_above(state, arm, width, level):
    """Say whether the upper confidence bounds of an arm surely lie above `level`, at every window."""
    history, proofs, row = state.history, state.proofs, np.uint64(arm)
    n, last, total = history.pulls[arm], proofs.notes[row, LAST], total_of(history, arm)
    if n - last >= RECENT or not width < MOST_WIDTH:
        return False
    steep, slack = _steeper(level, width), rounding(history)
    if not _ends_above(proofs, row, n, total - slack, width, steep):
        return False
    for place in range(proofs.notes[row, ROW_COUNT]):
        start = proofs.rows[row, np.uint64(place)]
        if not _row_above(history, proofs.tables, arm, n - start, ROW, total - slack, width, steep):
            return False
    h = 1
    while last + h <= n:
        size = min(ROW, n - last - h + 1)
        if not _recent_above(history, proofs.tables, arm, h, size, total - slack, width, steep):
            return False
        h += size
    return True


@helper
def _steeper(level, width):
    """Return the level raised by more than rounding of terms can be worth, other than that of sums."""
    return level + ROUNDING * (abs(level) + width)


@helper
def _ends_above(proofs, row, n, total, width, steep):
    """Say whether W(h) - level h + width sqrt(h) is positive for the roof at every end."""
    below = False
    for k in range(np.uint64(proofs.notes[row, COUNT])):
        h = n - proofs.ends[row, k]
        below |= not ((total - proofs.roof[row, k]) - steep * h + width * math.sqrt(h) > 0.0)
    return not below


@helper
def _row_above(history, tables, arm, longest, size, total, width, steep):
    """Say whether it is at the windows `longest`, `longest` - 1, ..., of which there are `size` <= ROW.

    A straight line below sqrt(h) stands in for it: no square roots to take.
    """
    first, high = _first_prefix(history, arm, longest, size), history.high
    root = math.sqrt(longest)
    fall = (root - math.sqrt(longest - size + 1)) / max(size - 1, 1)
    base, step = total - steep * longest + width * root, steep - width * fall
    below = False
    for j in range(np.uint64(size)):
        below |= not (base + step * tables[STEPS, j] - high[first + j] > 0.0)
    return not below


@helper
def _recent_above(history, tables, arm, h, size, total, width, steep):
    """Say whether it is at the windows h + size - 1, ..., h, all of them at most RECENT."""
    first, high = _first_prefix(history, arm, h + size - 1, size), history.high
    table = np.uint64(RECENT - (h + size - 1))
    below = False
    for j in range(np.uint64(size)):
        bound = (total - high[first + j]) - steep * tables[WINDOWS, table + j] + width * tables[ROOTS, table + j]
        below |= not (bound > 0.0)
    return not below


@helper
def _first_prefix(history, arm, longest, size):
    """Return where the prefix sums of windows `longest`, ..., `longest` - size + 1 begin (size <= ROW)."""
    return np.uint64(place_of(history, arm, history.pulls[arm] - longest + size - 1) - (size - 1))


@outlined
def look_closer(state, arm, width, level):
    """Look at every window of which it is not sure that its bound lies above `level`; remember the lowest.

    `state.bound[arm]` is the lowest so far; says whether there was a lower one.
    """
    before = state.bound[arm]
    if state.pulls[arm] >= state.proofs.notes[arm, RENEWED] + RENEW_AFTER:
        _divide_anew(state, arm)
    _add_recent(state, arm)
    fine = width < MOST_WIDTH and _split_where_needed(state, arm, width, level)
    if not fine and state.pulls[arm] >= state.proofs.notes[arm, RENEWED] + RETRY_AFTER:
        _divide_anew(state, arm)
        fine = width < MOST_WIDTH and _split_where_needed(state, arm, width, level)
    if not fine:
        _try_windows(state, arm, 1, state.pulls[arm], width, level)
        return state.bound[arm] < before
    proofs, n = state.proofs, state.pulls[arm]
    _try_windows(state, arm, 1, n - proofs.notes[arm, LAST], width, level)
    for place in range(proofs.notes[arm, ROW_COUNT]):
        start = proofs.rows[arm, place]
        _try_windows(state, arm, n - start - ROW + 1, n - start, width, level)
    return state.bound[arm] < before


@outlined
def _try_windows(state, arm, h, end, width, level):
    """Compute the bounds at those windows from h to `end` that are not surely above `level`; remember the lowest."""
    history, n, total = state.history, state.pulls[arm], total_of(state.history, arm)
    steep, slack = _steeper(level, width), rounding(history)
    while h <= end:
        size = min(ROW, end - h + 1)
        longest, tables = h + size - 1, state.proofs.tables
        if longest <= RECENT:
            sure = _recent_above(history, tables, arm, h, size, total - slack, width, steep)
        else:
            sure = _row_above(history, tables, arm, longest, size, total - slack, width, steep)
        if not sure or not width < MOST_WIDTH:
            for g in range(h, h + size):
                rough = (total - slack - rough_prefix(history, arm, n - g)) - steep * g + width * math.sqrt(g)
                if not rough > 0.0 or not width < MOST_WIDTH:
                    mean, root = window_sum(history, arm, g) / g, math.sqrt(g)
                    if mean + width / root < state.bound[arm]:
                        state.bound[arm] = mean + width / root
                        state.window[arm], state.mean[arm], state.root[arm] = g, mean, root
        h += size


@helper
def _divide_anew(state, arm):
    """Divide the starts into stretches that are the longer, the longer ago they are."""
    proofs, n = state.proofs, state.pulls[arm]
    proofs.notes[arm, RENEWED], proofs.notes[arm, ROW_COUNT] = n, 0
    last = max(n // ROW - 1, 0) * ROW
    proofs.notes[arm, COUNT], proofs.notes[arm, LAST] = 0, 0
    start = 0
    while start < last and proofs.notes[arm, COUNT] < ENDS:
        size = ROW
        while start % (2 * size) == 0 and start + 2 * size <= last and 2 * size <= REACH * (n - start - 2 * size):
            size *= 2
        _append_stretch(state, arm, size)
        start += size


@helper
def _add_recent(state, arm):
    """Make stretches of the starts that are no longer recent."""
    notes = state.proofs.notes
    while state.pulls[arm] - notes[arm, LAST] >= RECENT and notes[arm, COUNT] < ENDS:
        _append_stretch(state, arm, ROW)


@outlined
def _append_stretch(state, arm, size):
    """Add the stretch of `size` starts after the last."""
    proofs, start = state.proofs, state.proofs.notes[arm, LAST]
    count = max(proofs.notes[arm, COUNT], 1)
    proofs.ends[arm, count - 1], proofs.ends[arm, count] = start, start + size
    proofs.rise[arm, count - 1] = rise_above_line(state.history, arm, start, size)
    proofs.notes[arm, COUNT], proofs.notes[arm, LAST] = count + 1, start + size
    _raise_roof(state, arm, count - 1)
    _raise_roof(state, arm, count)


@helper
def _raise_roof(state, arm, k):
    """Compute the roof at an end."""
    proofs, rise = state.proofs, 0.0
    if k > 0:
        rise = max(rise, proofs.rise[arm, k - 1])
    if k < proofs.notes[arm, COUNT] - 1:
        rise = max(rise, proofs.rise[arm, k])
    proofs.roof[arm, k] = rough_prefix(state.history, arm, np.int64(proofs.ends[arm, k])) + rise


@outlined
def _split_where_needed(state, arm, width, level):
    """Split stretches until the roof is in order at every end, rows apart; False if there was no room for that."""
    proofs, n = state.proofs, state.pulls[arm]
    total, steep = total_of(state.history, arm) - rounding(state.history), _steeper(level, width)
    k = proofs.notes[arm, COUNT] - 1
    while k >= 0:
        h = n - proofs.ends[arm, k]
        if (total - proofs.roof[arm, k]) - steep * h + width * math.sqrt(h) > 0.0:
            k -= 1
            continue
        before = proofs.rise[arm, k - 1] if k > 0 else NO_LINE
        after = proofs.rise[arm, k] if k < proofs.notes[arm, COUNT] - 1 else NO_LINE
        if max(before, after) == NO_LINE:
            # A start between rows, or the first: the roof is S itself there, and it is compared with its row.
            k -= 1
            continue
        if not _split(state, arm, k - 1 if before > after else k):
            return False
        k = min(k + 1, proofs.notes[arm, COUNT] - 1)
    return True


@outlined
def _split(state, arm, stretch):
    """Split a stretch in two, or make it a row; False if there is no room."""
    proofs, count = state.proofs, state.proofs.notes[arm, COUNT]
    start = np.int64(proofs.ends[arm, stretch])
    half = (np.int64(proofs.ends[arm, stretch + 1]) - start) // 2
    if half < ROW:
        rows = proofs.notes[arm, ROW_COUNT]
        if rows == ROWS:
            return False
        proofs.rows[arm, rows] = start
        proofs.notes[arm, ROW_COUNT] = rows + 1
        proofs.rise[arm, stretch] = NO_LINE
        _raise_roof(state, arm, stretch)
        _raise_roof(state, arm, stretch + 1)
        return True
    if count == ENDS:
        return False
    for k in range(count, stretch + 1, -1):
        proofs.ends[arm, k], proofs.rise[arm, k] = proofs.ends[arm, k - 1], proofs.rise[arm, k - 1]
        proofs.roof[arm, k] = proofs.roof[arm, k - 1]
    proofs.notes[arm, COUNT] = count + 1
    proofs.ends[arm, stretch + 1] = start + half
    proofs.rise[arm, stretch] = rise_above_line(state.history, arm, start, half)
    proofs.rise[arm, stretch + 1] = rise_above_line(state.history, arm, start + half, half)
    for k in range(stretch, stretch + 3):
        _raise_roof(state, arm, k)
    return True
