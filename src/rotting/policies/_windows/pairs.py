"""Pairs: proofs about the last two active arms, kept from round to round.

Most of a long run is spent comparing two arms, whose windows mostly stay quiet.

Claim: if the sums of two arms at a window were closer than the threshold by some margin, the window drops neither until
both arms together have travelled that far.
Proof: with every pull, a window of the pulled arm gains one reward and loses one, so its sum moves by no more than that
reward is away from the smallest or the greatest of the arm. These steps are added up as the arm's travel. Thresholds
only grow with t.

Two things are proved, both from LONG windows on:

* about a row of 64 windows, every one of which is compared;
* where the threshold leaves a margin for it, about a stretch of windows of any length, by `bands`: until when it surely
  keeps the one arm, and until when the other.

Settling from afar. Where one arm is far ahead, finding the first window that drops the other is most of the work, and
needless: if a later window surely drops it, and none before can drop the arm ahead, only the latter is left either way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting.policies._windows.bands import BAND_MINIMUM, band_reach, rooms_of_pair
from rotting.policies._windows.history import ROW, TRAVEL, rounding
from rotting.policies._windows.rows import INVERSES, JUST_BELOW, below_in_row, pair_of, thresholds

LONG = 256  # windows (a multiple of ROW) from which on proofs are kept: those about shorter windows would not last
ROWS = 32  # the most rows that proofs are kept of ...
STRETCHES = 128  # ... and stretches
RENEW_AFTER = 1024  # pulls after which all proofs are dropped: stretches were split where that is no longer needed
RETRY_AFTER = 16  # pulls after which to try again what could not be proved
PARTS = 1024  # parts that a threshold is divided into, see _largest_share
AFAR = 4096  # windows behind which to settle from afar: what lies before is soon looked through
BOTH = np.int64(2)  # in place of an arm, 0 or 1


class PairProofs(NamedTuple):
    """What is proved about the windows of two arms.

    `notes` has these slots:

    | slot | content |
    |---|---|
    | COUNT | how many stretches there are |
    | FIRST | the first window of the first stretch |
    | SINCE | the pulls of both arms when the proofs were begun |
    | ONE, OTHER | the two arms |
    | STRETCH | in this round: the stretch to look at next |
    | LOUD | a window that dropped one of two arms lately, or may have; 0: none; -1: `dropped` is to be the first |

    A row of `stretches` has these:

    | slot | content |
    |---|---|
    | 0, 1, BOTH | how far the arms may travel while the stretch surely keeps the one, the other, both |
    | END | the last window; the next stretch begins after it |
    | RETRY | the pulls of both arms before which nothing more can be proved |
    """

    notes: np.ndarray  # int64 (7,)
    stretches: np.ndarray  # float64 (STRETCHES, 5)
    row_limits: np.ndarray  # float64 (ROWS + 1,): travel until each row may drop an arm; last, the largest |S| at SINCE


COUNT, FIRST, SINCE, ONE, OTHER, STRETCH, LOUD = range(7)
END, RETRY = 3, 4


def no_proofs() -> PairProofs:
    """Return proofs of nothing, about no arms."""
    return PairProofs(np.array([0, 0, 0, -1, -1, 0, 0]), np.zeros((STRETCHES, 5)), np.zeros(ROWS + 1))


@helper
def begin(state):
    """Prepare for the two active arms: to be called once per round, before `advance`.

    Drops all proofs if they are about other arms, are old, or allow for the rounding of smaller sums only.
    """
    proofs, largest = state.proofs, state.history.largest[0]
    notes = proofs.notes
    same = notes[ONE] == state.active[0] and notes[OTHER] == state.active[1]
    young = _pulled(state) < notes[SINCE] + RENEW_AFTER and notes[COUNT] < STRETCHES
    notes[STRETCH] = 0
    if not (same and young and largest <= 2.0 * proofs.row_limits[ROWS]):
        notes[ONE], notes[OTHER] = state.active[0], state.active[1]
        notes[COUNT], notes[SINCE] = 0, _pulled(state)
        for row in range(ROWS):
            proofs.row_limits[row] = 0.0
        proofs.row_limits[ROWS] = largest


@helper
def advance(state, h, shortest, theta):
    """Return a window before which the filters from h on surely drop neither active arm, and False.

    Or one that drops the arm that one before it may drop, too, and True.
    """
    notes, ratio = state.proofs.notes, band_reach(state.settings, theta)
    if shortest - h >= BAND_MINIMUM and ratio * h > BAND_MINIMUM:
        if notes[LOUD] > max(h, AFAR):
            notes[LOUD] = _settled_at(state, h, shortest, theta, ratio)
            if notes[LOUD] > 0:
                return notes[LOUD], True
        after = _pass_over(state, BOTH, h, shortest, theta, ratio)
        if after > h:
            return after, False
    return _pass_rows(state, h, shortest, theta), False


@helper
def _settled_at(state, h, shortest, theta, ratio):
    """Return a window that surely drops one arm while those from h up to it surely keep the other; 0 if none is found.

    Tried are the one that did so last, some a little longer, which do so by more, and the longest.
    """
    last = state.proofs.notes[LOUD]
    for window in (last, last + last // 16, last + last // 4, shortest):
        if h < window <= shortest:
            ahead = _ahead_at(state, window, theta)
            if ahead >= 0 and _is_kept(state, ahead, h, window, theta, ratio):
                return window
    state.proofs.notes[STRETCH] = 0
    return np.int64(0)


@helper
def _ahead_at(state, h, theta):
    """Return which of the two arms, 0 or 1, surely drops the other at window h; -1 if none does or it is close."""
    between, mine, theirs = pair_of(state, h, 1)
    gap = between - (state.history.high[mine] - state.history.high[theirs])
    if abs(gap) - rounding(state.history) <= theta * math.sqrt(h) / JUST_BELOW:
        return np.int64(-1)
    return np.int64(gap < 0.0)


@helper
def _is_kept(state, arm, h, end, theta, ratio):
    """Say whether the filters at windows h..end surely keep one of the two arms, 0 or 1."""
    state.proofs.notes[STRETCH] = 0
    while h <= end:
        after = _pass_over(state, arm, h, end, theta, ratio)
        if after == h:
            after = min(h + ROW, end + 1)
            if below_in_row(state, arm, h, after - h, theta):
                return False
        h = after
    return True


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
    root, below = thresholds(state.history, h, np.int64(ROW), theta)
    share = _largest_share(state, h, root + INVERSES, below)
    if share >= PARTS:
        return False
    lowest = below * state.roots[root + np.uint64(ROW - 1)]  # the threshold at the shortest window
    state.proofs.row_limits[row] = JUST_BELOW * travelled + (1.0 - (share + 1) / PARTS) * lowest
    return True


@helper
def _largest_share(state, h, inverse, below):
    """Return the largest distance of the sums at the windows of a row, in 1 / PARTS of the threshold there."""
    between, mine, theirs = pair_of(state, h, np.int64(ROW))
    high, inverses, scale = state.history.high, state.roots, PARTS / max(below, 2.0**-1000)
    largest = np.int32(0)  # a maximum of integers is vectorised, one of floats is not
    for j in range(np.uint64(ROW)):
        distance = abs(between - (high[mine + j] - high[theirs + j])) * (inverses[inverse + j] * scale)
        largest = max(largest, np.int32(min(2.0 * PARTS, distance)))
    return largest


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
def _pass_over(state, arm, h, shortest, theta, ratio):
    """Return the window after the stretch that h lies in, if its filters surely keep an arm (or BOTH); otherwise h."""
    proofs, pulled, travelled = state.proofs, _pulled(state), _travelled(state)
    facts, notes = proofs.stretches, proofs.notes
    stretch = notes[STRETCH]
    while stretch < notes[COUNT] and _end_of(proofs, stretch) < h:
        stretch += 1
    notes[STRETCH] = stretch
    if stretch == notes[COUNT] and not _add_stretch(proofs, h, shortest, ratio):
        return h
    if h < _start_of(proofs, stretch):
        return h
    while travelled >= facts[stretch, arm]:
        if pulled < facts[stretch, RETRY]:
            return h
        _prove(state, stretch, theta)
        if travelled >= facts[stretch, arm]:
            if not _split(proofs, stretch):
                facts[stretch, RETRY] = pulled + RETRY_AFTER
            elif h > _end_of(proofs, stretch):
                stretch += 1
    notes[STRETCH] = stretch + 1
    return _end_of(proofs, stretch) + 1


@helper
def _start_of(proofs, stretch):
    """Return the first window of a stretch."""
    return proofs.notes[FIRST] if stretch == 0 else _end_of(proofs, stretch - 1) + 1


@helper
def _end_of(proofs, stretch):
    """Return the last window of a stretch."""
    return np.int64(proofs.stretches[stretch, END])


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
    for fact in range(5):
        proofs.stretches[stretch, fact] = end if fact == END else 0.0


@helper
def _split(proofs, stretch):
    """Split a stretch in two, with nothing proved about them; False if there is no space or they would be too short."""
    count, start, end = proofs.notes[COUNT], _start_of(proofs, stretch), _end_of(proofs, stretch)
    if count == STRETCHES or end - start < 2 * BAND_MINIMUM:
        return False
    for later in range(count, stretch, -1):
        for fact in range(5):
            proofs.stretches[later, fact] = proofs.stretches[later - 1, fact]
    _write(proofs, stretch, (start + end) // 2)
    _write(proofs, stretch + 1, end)
    proofs.notes[COUNT] = count + 1
    return True


@helper
def _prove(state, stretch, theta):
    """Find out how long the filters of a stretch surely keep each of the two arms."""
    proofs = state.proofs
    rooms = rooms_of_pair(state, _start_of(proofs, stretch), _end_of(proofs, stretch), theta)
    for arm in range(3):
        proofs.stretches[stretch, arm] = JUST_BELOW * _travelled(state) + rooms[arm]
