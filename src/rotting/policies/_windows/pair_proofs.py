"""Exact FEWA's last two active arms: proofs that windows drop neither, kept from round to round.

Most of a long run is spent comparing two arms. With every pull, a window of the pulled arm gains one reward and loses
one, so its sum moves by at most the range of that arm's rewards. If the sums of two arms differ by `margin` less than
the threshold, the window drops neither until both arms together have travelled that far; thresholds only grow with t.

There are two kinds of proofs:

* about a row of 64 windows, every one of which was compared;
* where the threshold leaves a margin for it, about a stretch of windows of any length, from bands around the prefix
  sums (`history.band`). A stretch is proved for each arm separately: until when the filter surely keeps it.

Nothing here decides: without any proof the decisions are the same, and slower.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting.policies._windows.exact_filter import (
    BAND_MINIMUM,
    DECISION_ONLY,
    INVERSES,
    JUST_BELOW,
    LAST_DROP,
    any_below,
    band_reach,
    margin,
    pair_of,
    range_of_sums,
    thresholds,
)
from rotting.policies._windows.history import ROW, TRAVEL, rough_prefix, rounding, total_of
from rotting.policies._windows.team import largest_in_team, my_share

LONG = 256  # windows (a multiple of ROW) from which on proofs are kept: those about shorter windows would not last
ROWS = 32  # the most rows that proofs are kept of ...
STRETCHES = 64  # ... and stretches
RENEW_AFTER = 1024  # pulls after which all proofs are dropped: stretches were split where that is no longer needed
RETRY_AFTER = 16  # pulls after which to try again what could not be proved
PARTS = 1024  # parts that a threshold is divided into, see _largest_share
BOTH = np.int64(
    2
)  # typed, as are other constants that kernels hand on: a literal has a type, and so a compilation, of its own


class PairProofs(NamedTuple):
    """What is proved about the windows of two arms.

    `notes` has these slots:

    | slot | content |
    |---|---|
    | LAST_DROP | a window that dropped an arm recently: a guess where the next drop is |
    | DECISION_ONLY | 1: only the decision is needed; 0: also the window that drops each arm, for explanations |
    | COUNT | how many stretches there are |
    | FIRST | the first window of the first stretch |
    | SINCE | the pulls of both arms when the proofs were begun |
    | ONE, OTHER | the two arms |
    | STRETCH | in this round: the stretch to look at next |
    | EARLY | in this round: whether to try `_decided_early` |

    A row of `stretches` has these:

    | slot | content |
    |---|---|
    | KEPT_UNTIL, KEPT_UNTIL + 1 | how far the arms may travel while the filter surely keeps the first (the second) |
    | END | the last window; the next stretch begins after it |
    | RETRY | the pulls of both arms before which nothing more can be proved |
    """

    notes: np.ndarray  # int64 (9,)
    stretches: np.ndarray  # float64 (STRETCHES, 4)
    row_limits: np.ndarray  # float64 (ROWS + 1,): travel until each row may drop an arm; last, the largest |S| at SINCE


# The slots of `notes` after LAST_DROP and DECISION_ONLY, which exact_filter defines; those of a stretch.
COUNT, FIRST, SINCE, ONE, OTHER, STRETCH, EARLY = range(2, 9)
KEPT_UNTIL, END, RETRY = 0, 2, 3


def no_proofs() -> PairProofs:
    """Return proofs of nothing, about no arms."""
    return PairProofs(
        notes=np.array([0, 1, 0, 0, 0, -1, -1, 0, 0]),
        stretches=np.zeros((STRETCHES, 4)),
        row_limits=np.zeros(ROWS + 1),
    )


@helper
def begin(state):
    """Prepare for the two active arms: to be called once per round, before `advance`."""
    _forget_if_stale(state)
    state.proofs.notes[STRETCH], state.proofs.notes[EARLY] = 0, state.proofs.notes[DECISION_ONLY]


@helper
def advance(state, h, shortest, theta):
    """Return the first window, from h on, of which it is not proved that its filter drops neither active arm.

    Or -1 if it is proved which arm will be dropped; then the other is the first active arm.
    """
    notes, ratio = state.proofs.notes, band_reach(state.settings, theta)
    if shortest - h >= BAND_MINIMUM and ratio * h > BAND_MINIMUM:
        if notes[EARLY]:
            notes[EARLY] = 0
            if _decided_early(state, h, shortest, theta, ratio):
                return -1
        after, notes[STRETCH] = _pass_over(state, h, shortest, theta, ratio, notes[STRETCH], BOTH)
        if after > h:
            return after
    return _pass_rows(state, h, shortest, theta)


@helper
def _pass_rows(state, h, shortest, theta):
    """Return the window after the rows from h on that surely drop neither arm; h if there is none.

    Rows begin at the same windows in every round, so some windows may be compared twice, which does no harm.
    """
    limits, travelled = state.proofs.row_limits, _travelled(state)
    row = (h - LONG) // ROW
    start, end = LONG + row * ROW, min(LONG + ROWS * ROW, shortest + 1)
    while start + ROW <= end and (travelled < limits[row] or _prove_row(state, row, start, theta, travelled)):
        row += 1
        start += ROW
    return max(h, start)


@helper
def _prove_row(state, row, h, theta, travelled):
    """Compare the arms at a row of windows from h on; say whether it surely drops neither, and note for how long."""
    root, below, _ = thresholds(state.history, h, np.int64(ROW), theta)
    share = _largest_share(state, h, root + INVERSES, below)
    if share >= PARTS:
        return False
    lowest = below * state.rows[root + np.uint64(ROW - 1)]  # the threshold at the shortest window
    state.proofs.row_limits[row] = JUST_BELOW * travelled + (1.0 - (share + 1) / PARTS) * lowest
    return True


@helper
def _largest_share(state, h, inverse, below):
    """Return the largest distance of the sums at the windows of a row, in 1 / PARTS of the threshold there."""
    between, mine, theirs = pair_of(state, np.int64(0), h, np.int64(ROW))
    high, inverses, scale = state.history.high, state.rows, PARTS / max(below, 2.0**-1000)
    largest = np.int32(0)  # a maximum of integers is vectorised, one of floats is not
    for j in my_share(np.int64(ROW)):
        distance = abs(between - (high[mine + j] - high[theirs + j])) * (inverses[inverse + j] * scale)
        largest = max(largest, np.int32(min(2.0 * PARTS, distance)))
    return largest_in_team(largest)


@helper
def _decided_early(state, h, shortest, theta, ratio):
    """Try to find which arm will be dropped without searching for the window that does it.

    If one arm would be dropped at window `later`, and the filters up to there surely keep the other, then the first is
    dropped somewhere from h to `later`, and the other becomes the only active arm. Candidates for `later`: the window
    that decided last time, and the longest.
    """
    later = state.proofs.notes[LAST_DROP]
    stays = _ahead_at(state, later, theta) if h < later <= shortest else -1
    if stays < 0:
        later = shortest
        stays = _ahead_at(state, later, theta)
    if stays < 0 or not _is_kept(state, h, later, theta, ratio, stays):
        return False
    state.active[0], state.proofs.notes[LAST_DROP] = state.active[stays], later
    return True


@helper
def _ahead_at(state, h, theta):
    """Return which of the two arms (0 or 1) surely drops the other at window h; -1 if none does or it is close."""
    history, one, other = state.history, state.active[0], state.active[1]
    gap = total_of(history, one) - rough_prefix(history, one, state.pulls[one] - h)
    gap -= total_of(history, other) - rough_prefix(history, other, state.pulls[other] - h)
    if abs(gap) - rounding(history) <= theta * math.sqrt(h) / JUST_BELOW:
        return -1
    return 0 if gap > 0.0 else 1


@helper
def _is_kept(state, h, end, theta, ratio, who):
    """Say whether the filters at windows h..end surely keep the arm `who` (0 or 1)."""
    stretch = np.int64(0)
    while h <= end:
        after, stretch = _pass_over(state, h, end, theta, ratio, stretch, who)
        if after == h:
            size = min(ROW, end - h + 1)
            if any_below(state, who, h, size, theta):
                return False
            after = h + size
        h = after
    return True


@helper
def _travelled(state):
    """Return how far the sums of the two active arms can have travelled, both together, in all their pulls."""
    summary = state.history.summary
    return summary[state.active[0], TRAVEL] + summary[state.active[1], TRAVEL]


@helper
def _pulled(state):
    """Return the pulls of the two active arms."""
    return state.pulls[state.active[0]] + state.pulls[state.active[1]]


@helper
def _forget_if_stale(state):
    """Drop all proofs if they are about other arms, are old, or allow for the rounding of smaller sums only."""
    proofs, largest = state.proofs, state.history.largest[0]
    same = proofs.notes[ONE] == state.active[0] and proofs.notes[OTHER] == state.active[1]
    young = _pulled(state) < proofs.notes[SINCE] + RENEW_AFTER and proofs.notes[COUNT] < STRETCHES
    if not (same and young and largest <= 2.0 * proofs.row_limits[ROWS]):
        proofs.notes[ONE], proofs.notes[OTHER] = state.active[0], state.active[1]
        proofs.notes[COUNT], proofs.notes[SINCE] = 0, _pulled(state)
        for row in range(ROWS):
            proofs.row_limits[row] = 0.0
        proofs.row_limits[ROWS] = largest


@helper
def _pass_over(state, h, shortest, theta, ratio, stretch, who):
    """Return the window after the stretch that h lies in, if its filters surely keep the arm `who` (or BOTH).

    Otherwise return h. The second result is where to start looking for the next stretch.
    """
    proofs, pulled, travelled = state.proofs, _pulled(state), _travelled(state)
    while stretch < proofs.notes[COUNT] and _end_of(proofs, stretch) < h:
        stretch += 1
    if stretch == proofs.notes[COUNT] and not _add_stretch(proofs, h, shortest, ratio):
        return h, stretch
    if h < _start_of(proofs, stretch):
        return h, stretch
    while travelled >= _kept_until(proofs, stretch, who):
        if pulled < proofs.stretches[stretch, RETRY]:
            return h, stretch
        _prove(state, stretch, theta)
        if travelled >= _kept_until(proofs, stretch, who):
            if not _split(proofs, stretch):
                proofs.stretches[stretch, RETRY] = pulled + RETRY_AFTER
            elif h > _end_of(proofs, stretch):
                stretch += 1
    return _end_of(proofs, stretch) + 1, stretch + 1


@helper
def _start_of(proofs, stretch):
    """Return the first window of a stretch."""
    return proofs.notes[FIRST] if stretch == 0 else _end_of(proofs, stretch - 1) + 1


@helper
def _end_of(proofs, stretch):
    """Return the last window of a stretch."""
    return np.int64(proofs.stretches[stretch, END])


@helper
def _kept_until(proofs, stretch, who):
    """Return how far the arms may travel until it is no longer proved that the arm `who` (or BOTH) is kept."""
    facts = proofs.stretches
    if who == BOTH:
        return min(facts[stretch, KEPT_UNTIL], facts[stretch, KEPT_UNTIL + 1])
    return facts[stretch, KEPT_UNTIL + who]


@helper
def _add_stretch(proofs, h, shortest, ratio):
    """Add a stretch from h on, as long as bands may reach; False if it would be too short to pay."""
    count = proofs.notes[COUNT]
    end = min(h + int(ratio * h), shortest)
    if count == STRETCHES or end - h < BAND_MINIMUM:
        return False
    if count == 0:
        proofs.notes[FIRST] = h
    _write(proofs, count, end)
    proofs.notes[COUNT] = count + 1
    return True


@helper
def _write(proofs, stretch, end):
    """Write a stretch of which nothing is proved yet."""
    for fact in range(4):
        proofs.stretches[stretch, fact] = end if fact == END else 0.0


@helper
def _split(proofs, stretch):
    """Split a stretch in two, with nothing proved about them; False if there is no space or they would be too short."""
    count, start, end = proofs.notes[COUNT], _start_of(proofs, stretch), _end_of(proofs, stretch)
    if count == STRETCHES or end - start < 2 * BAND_MINIMUM:
        return False
    for later in range(count, stretch, -1):
        for fact in range(4):
            proofs.stretches[later, fact] = proofs.stretches[later - 1, fact]
    _write(proofs, stretch, (start + end) // 2)
    _write(proofs, stretch + 1, end)
    proofs.notes[COUNT] = count + 1
    return True


@outlined
def _prove(state, stretch, theta):
    """Find out how long each of the two arms is surely kept by the filters of a stretch.

    Their sums lie in bands around straight lines; for the rest see `exact_filter.surely_drops_nobody`.
    """
    proofs, history = state.proofs, state.history
    h, end = _start_of(proofs, stretch), _end_of(proofs, stretch)
    high, low, high_later, low_later = range_of_sums(history, state.active[0], h, end)
    high_other, low_other, high_other_later, low_other_later = range_of_sums(history, state.active[1], h, end)
    margins = (
        margin(history, high_other - low, high_other_later - low_later, h, end, theta),
        margin(history, high - low_other, high_later - low_other_later, h, end, theta),
    )
    for who in range(2):
        proofs.stretches[stretch, KEPT_UNTIL + who] = JUST_BELOW * _travelled(state) + margins[who]
