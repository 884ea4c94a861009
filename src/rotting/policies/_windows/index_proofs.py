"""RAW-UCB's windows: proofs that an arm's upper confidence bounds all lie above a level, now and after later rewards.

The bound at window h is above a level B when W(h) - B h + width sqrt(h) > 0. What W(h) = S[n] - S[n - h] needs of the
past is S at the window's start m = n - h, and that never changes: proofs are about starts, not about lengths.

The starts of an arm are divided into stretches, aligned blocks of pulls whose outline `history` keeps. On each, a roof
lies over S: the straight line between its two ends, raised by as much as S rises above it in between. Under a roof,
(S[n] - roof) - B h + width sqrt(h) is concave in h, so it is positive everywhere if it is at both ends. One look at the
ends of all roofs, some dozens of numbers side by side, tells for any B, width and S[n] that all windows lie above.

Where an end fails, the stretch is split, down to rows of ROW starts, which have no roof: their prefix sums are compared
one by one, and so are those of windows that begin after the last stretch. Stretches stay split for RENEW_AFTER pulls,
so in most rounds all ends are in order.

Nothing here decides: without any stretch the decisions are the same, and slower.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting.policies._windows.bonus import (
    RECENT,
    SCALE,
    WEIGHT,
    WIDTH,
    bonus_at,
    low_share,
    ratio,
    rises,
    rises_of,
)
from rotting.policies._windows.history import (
    ROUNDING,
    ROW,
    outline_of,
    place_of,
    rough_prefix,
    rounding,
    total_of,
    window_sum,
)

STRETCHES = 128  # the most stretches of an arm ...
ROWS = 24  # ... and rows
REACH = 2  # a stretch is at first no longer than this times the shortest window that begins there
RENEW_AFTER = 512  # pulls after which all is divided again: what was split may no longer need it
RETRY_AFTER = 64  # pulls after which to divide again when there was no room for what had to be split
MOST_WIDTH = 2.0**900  # beyond it products might overflow: nothing is sure


class IndexProofs(NamedTuple):
    """The roofs over each arm's prefix sums, and the rows without one.

    `notes` has these slots:

    | slot | content |
    |---|---|
    | COUNT | how many stretches there are |
    | ROW_COUNT | how many rows there are |
    | LAST | where the last stretch or row ends: starts from there on belong to none |
    | RENEWED | the arm's pulls when it was last divided again |
    | RETRY | the pulls before which it is not divided |
    | FIRST_ROW, ... | the first start of each row |
    """

    roofs: np.ndarray  # float64 (K, 4, STRETCHES): where each roof begins and ends, its heights there; in no order
    notes: np.ndarray  # int64 (K, 5 + ROWS)
    steps: np.ndarray  # float64 (RECENT,): 0, 1, 2, ...


FIRST, LAST_START, HEIGHT, LAST_HEIGHT = range(4)  # of `roofs`
COUNT, ROW_COUNT, LAST, RENEWED, RETRY, FIRST_ROW = range(6)  # of `notes`


def no_index_proofs(n_arms: int) -> IndexProofs:
    """Return proofs of nothing."""
    return IndexProofs(
        roofs=np.zeros((n_arms, 4, STRETCHES)),
        notes=np.zeros((n_arms, FIRST_ROW + ROWS), np.int64),
        steps=np.arange(RECENT, dtype=float),
    )


@helper
def all_above(history, proofs, arm, bonus, level):
    """Say whether the upper confidence bounds of an arm surely lie above `level`, at every window."""
    n, notes, width = history.pulls[arm], proofs.notes, bonus.numbers[WIDTH]
    if n - notes[arm, LAST] > RECENT or not width < MOST_WIDTH:
        return False
    total, steep = total_of(history, arm) - rounding(history), steeper(level, width)
    roofs, below = proofs.roofs, False
    scale, share, power = bonus.numbers[SCALE], low_share(bonus), ratio(bonus)
    for stretch in range(np.uint64(notes[arm, COUNT])):  # without branches, so that it is vectorised
        h, g = n - roofs[arm, FIRST, stretch], n - roofs[arm, LAST_START, stretch]
        below |= not _above_ends(roofs, arm, stretch, total, steep, h, g, *rises_of(scale, share, power, h, g))
    if below:
        return False
    for piece in range(_pieces(notes, arm, n)):
        longest, size = _piece_of(notes, arm, n, piece)
        if not _row_above(history, proofs.steps, arm, longest, size, bonus, level):
            return False
    return True


@helper
def _above_ends(roofs, arm, stretch, total, steep, h, g, rise, rise_there):
    """Say whether the two ends of a roof are in order."""
    here = (total - roofs[arm, HEIGHT, stretch]) - steep * h + rise
    return min(here, (total - roofs[arm, LAST_HEIGHT, stretch]) - steep * g + rise_there) > 0.0


@helper
def steeper(level, width):
    """Return the level, raised by more than rounding can be worth in any term but the sums, per unit of window."""
    return level + ROUNDING * (abs(level) + width)


@helper
def _pieces(notes, arm, n):
    """Return into how many pieces, of up to ROW windows each, those without a roof fall: rows, then recent windows."""
    return notes[arm, ROW_COUNT] + (n - notes[arm, LAST] + ROW - 1) // ROW


@helper
def _piece_of(notes, arm, n, piece):
    """Return the longest window of a piece and how many there are."""
    recent = piece - notes[arm, ROW_COUNT]
    if recent < 0:
        return n - notes[arm, FIRST_ROW + piece], ROW
    longest = min((recent + 1) * ROW, n - notes[arm, LAST])
    return longest, longest - recent * ROW


@helper
def _row_above(history, steps, arm, longest, size, bonus, level):
    """Say whether the bounds at windows `longest`, `longest` - 1, ..., `size` <= ROW of them, surely lie above `level`.

    What the bonus is worth comes from a table; for windows too long for it, from a straight line that lies below.
    """
    high, first = history.high, np.uint64(place_of(history, arm, history.pulls[arm] - longest + size - 1) + 1 - size)
    base = total_of(history, arm) - rounding(history) - steeper(level, bonus.numbers[WIDTH]) * longest
    table, step = np.uint64(0), level
    recent, weight = bonus.recent, bonus.numbers[WEIGHT]
    if longest <= RECENT:
        table = np.uint64(RECENT - longest)
    else:
        rise, last_rise = rises(bonus, float(longest), float(longest - size + 1))
        weight = 0.0
        base += rise
        step -= (rise - last_rise) / max(size - 1, 1)
    below = False
    for j in range(np.uint64(size)):
        below |= not (base + step * steps[j] + weight * recent[table + j] - high[first + j] > 0.0)
    return not below


@outlined
def lowest_window(history, proofs, arm, bonus, level, lowest):
    """Compute the bounds at the windows without a roof that may not lie above `level` (after `divide` at it).

    Returns the window of the lowest that is below `lowest`, and its mean; 0 and 0.0 if there is none.
    """
    n, notes, most = history.pulls[arm], proofs.notes, bonus.numbers[WIDTH]
    total, steep = total_of(history, arm) - rounding(history), steeper(level, most)
    best, best_mean = 0, 0.0
    for piece in range(_pieces(notes, arm, n)):
        longest, size = _piece_of(notes, arm, n, piece)
        if most < MOST_WIDTH and _row_above(history, proofs.steps, arm, longest, size, bonus, level):
            continue
        for h in range(longest - size + 1, longest + 1):
            rise, _ = rises(bonus, h, h)
            rough = (total - rough_prefix(history, arm, n - h)) - steep * h + rise
            if rough > 0.0 and most < MOST_WIDTH:
                continue
            mean = window_sum(history, arm, h) / h
            bound = mean + bonus_at(bonus, h)
            if bound < lowest:
                lowest, best, best_mean = bound, h, mean
    return best, best_mean


@outlined
def divide(history, proofs, arm, bonus, level):
    """Divide an arm's starts into stretches with roofs that are in order, and rows; if there is no room, not at all.

    What is in order at a level is so at lower ones.
    """
    n, notes, usable = history.pulls[arm], proofs.notes, bonus.numbers[WIDTH] < MOST_WIDTH
    if n >= notes[arm, RENEWED] + RENEW_AFTER or not usable:
        _forget(notes, arm, n)
    while n >= notes[arm, RETRY] and usable:
        _add_stretches(history, proofs, arm)
        if _split_stretches(history, proofs, arm, bonus, level):
            return
        if notes[arm, RENEWED] == n:
            notes[arm, RETRY] = n + RETRY_AFTER
        _forget(notes, arm, n)


@helper
def _forget(notes, arm, n):
    """Forget all stretches and rows of an arm."""
    notes[arm, COUNT], notes[arm, ROW_COUNT], notes[arm, LAST], notes[arm, RENEWED] = 0, 0, 0, n


@helper
def _add_stretches(history, proofs, arm):
    """Make stretches of the starts that are no longer recent: the longer, the longer ago they are."""
    n, notes = history.pulls[arm], proofs.notes
    while n - notes[arm, LAST] > RECENT and notes[arm, COUNT] < STRETCHES:
        start, size = notes[arm, LAST], ROW
        while start % (2 * size) == 0 and (2 + 2 * REACH) * size <= REACH * (n - start):
            size *= 2
        _write(history, proofs.roofs, arm, notes[arm, COUNT], start, size)
        notes[arm, COUNT] += 1
        notes[arm, LAST] = start + size


@outlined
def _write(history, roofs, arm, stretch, start, size):
    """Write the roof over a stretch."""
    _, rise = outline_of(history, arm, start, size)
    roofs[arm, FIRST, stretch], roofs[arm, LAST_START, stretch] = start, start + size
    roofs[arm, HEIGHT, stretch] = rough_prefix(history, arm, start) + rise
    roofs[arm, LAST_HEIGHT, stretch] = rough_prefix(history, arm, start + size) + rise


@helper
def _split_stretches(history, proofs, arm, bonus, level):
    """Split stretches until all roofs are in order, or there are no stretches left but rows; False if there is no room.

    A row takes the place of its stretch; the last stretch then moves to where that was.
    """
    n, roofs, notes = history.pulls[arm], proofs.roofs, proofs.notes
    total, steep = total_of(history, arm) - rounding(history), steeper(level, bonus.numbers[WIDTH])
    stretch = np.int64(0)  # typed: numba would compile `_write` once more for a literal
    while stretch < notes[arm, COUNT]:
        h, g = n - roofs[arm, FIRST, stretch], n - roofs[arm, LAST_START, stretch]
        if _above_ends(roofs, arm, np.uint64(stretch), total, steep, h, g, *rises(bonus, h, g)):
            stretch += 1
            continue
        start, last = np.int64(roofs[arm, FIRST, stretch]), notes[arm, COUNT]
        half = (np.int64(roofs[arm, LAST_START, stretch]) - start) // 2
        if half < ROW:
            if notes[arm, ROW_COUNT] == ROWS:
                return False
            notes[arm, FIRST_ROW + notes[arm, ROW_COUNT]] = start
            notes[arm, ROW_COUNT] += 1
            notes[arm, COUNT] = last - 1
            for fact in range(4):
                roofs[arm, fact, stretch] = roofs[arm, fact, last - 1]
        else:
            if last == STRETCHES:
                return False
            _write(history, roofs, arm, stretch, start, half)
            _write(history, roofs, arm, last, start + half, half)
            notes[arm, COUNT] = last + 1
    return notes[arm, LAST] + RECENT >= n
