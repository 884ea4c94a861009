"""Exact FEWA's last two arms: most of a long run is spent on them, so here proofs are kept from round to round.

Windows that drop neither arm will not do so for some time: with every pull, a window of that arm gains a reward and
loses one, so that its sum travels no further than the rewards of that arm lie apart. If the sums of two arms stay below
the threshold by `room`, then they will until both together have travelled that far (thresholds only grow).

Proofs are about rows (64 windows, all of them looked at) or, where the threshold leaves room for that, about stretches
of any length, from bands around the prefix sums. For a stretch it is noted until when the first arm is surely spared by
the filters there, and until when the second; for a row, until when both are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting.policies._engine.exact_filter import (
    HINT,
    HURRY,
    INVERSES,
    SHADE,
    WORTH,
    any_below,
    pair_of,
    range_of_sums,
    reach,
    room,
    thresholds,
)
from rotting.policies._engine.history import ROW, TRAVEL, rough_prefix, rounding, total_of

LONG = 256  # windows (a multiple of ROW) from which on proofs are kept: those about shorter ones would not last
ROWS = 32  # the most rows that proofs are kept of ...
STRETCHES = 64  # ... and stretches
FRESH = 1024  # pulls after which all proofs are thrown away: stretches were split where that is no longer needed
LATER = 16  # pulls after which to try again what could not be proved
WHOLE = 1024  # parts that a threshold is divided into, see _largest_share
BOTH = 2


class Duel(NamedTuple):
    """What is known about the windows of two arms."""

    notes: np.ndarray  # int64: HINT and HURRY of exact_filter, and what is listed below
    stretches: np.ndarray  # float64 (STRETCHES, 4): what is known of each, see below
    calm: np.ndarray  # float64 (ROWS + 1,): how far the arms may travel until a row may drop one; the largest |S| then


# The number of stretches, the first window of the first, the pulls of both arms when it was written down, and the arms;
# and of this round: the stretch to look at next, and whether to try `_settled_early`.
COUNT, FIRST, SINCE, ONE, OTHER, STRETCH, EARLY = range(2, 9)
# Of a stretch: how far the arms may travel while the first is surely spared, and the second; its last window (the next
# stretch begins after it); and the pulls of both arms until which it is no use trying to prove more.
SPARED, END, RETRY = 0, 2, 3


def new_duel() -> Duel:
    """Return a duel of nobody."""
    return Duel(
        notes=np.array([0, 1, 0, 0, 0, -1, -1, 0, 0]),
        stretches=np.zeros((STRETCHES, 4)),
        calm=np.zeros(ROWS + 1),
    )


@helper
def begin(state):
    """Prepare for the two active arms: to be called once per round, before `advance`."""
    _forget_if_stale(state)
    state.duel.notes[STRETCH], state.duel.notes[EARLY] = 0, state.duel.notes[HURRY]


@helper
def advance(state, h, shortest, theta):
    """Return the window from which on it is not known that the filters drop neither of the two active arms.

    Or -1 if it is known who will be dropped; then the other is the first active arm.
    """
    notes, ratio = state.duel.notes, reach(state.settings, theta)
    if shortest - h >= WORTH and ratio * h > WORTH:
        if notes[EARLY]:
            notes[EARLY] = 0
            if _settled_early(state, h, shortest, theta, ratio):
                return -1
        after, notes[STRETCH] = _pass_over(state, h, shortest, theta, ratio, notes[STRETCH], BOTH)
        if after > h:
            return after
    return _pass_rows(state, h, shortest, theta)


@helper
def _pass_rows(state, h, shortest, theta):
    """Return the window after the rows from h on that surely drop neither arm; h if there is none.

    Rows begin at the same windows every time; to look at some windows again does no harm.
    """
    calm, travelled = state.duel.calm, _travelled(state)
    row = (h - LONG) // ROW
    start, end = LONG + row * ROW, min(LONG + ROWS * ROW, shortest + 1)
    while start + ROW <= end and (travelled < calm[row] or _prove_row(state, row, start, theta, travelled)):
        row += 1
        start += ROW
    return max(h, start)


@helper
def _prove_row(state, row, h, theta, travelled):
    """Look at a row of windows from h on; say whether it surely drops neither arm, and note for how long."""
    root, below, _ = thresholds(state.history, h, ROW, theta)
    share = _largest_share(state, h, root + INVERSES, below)
    if share >= WHOLE:
        return False
    lowest = below * state.rows[root + np.uint64(ROW - 1)]  # the threshold at the shortest window
    state.duel.calm[row] = SHADE * travelled + (1.0 - (share + 1) / WHOLE) * lowest
    return True


@helper
def _largest_share(state, h, inverse, below):
    """Return the largest distance of the sums at the windows of a row, in 1 / WHOLE of the threshold there."""
    between, mine, theirs = pair_of(state, 0, h, ROW)
    high, inverses, scale = state.history.high, state.rows, WHOLE / max(below, 2.0**-1000)
    largest = np.int32(0)  # processors are quick at the largest of such integers, not of floats
    for j in range(np.uint64(ROW)):
        distance = abs(between - (high[mine + j] - high[theirs + j])) * (inverses[inverse + j] * scale)
        largest = max(largest, np.int32(min(2.0 * WHOLE, distance)))
    return largest


@helper
def _settled_early(state, h, shortest, theta, ratio):
    """Try to tell which arm will be dropped without looking for the window that does it.

    One arm is dropped somewhere from h to `later` if it would be at `later`, and the other is spared up to there. If
    so, makes the other the only active arm. Candidates for `later`: the window that decided last time, and the longest.
    """
    later = state.duel.notes[HINT]
    stays = _ahead_at(state, later, theta) if h < later <= shortest else -1
    if stays < 0:
        later = shortest
        stays = _ahead_at(state, later, theta)
    if stays < 0 or not _is_spared(state, h, later, theta, ratio, stays):
        return False
    state.active[0], state.duel.notes[HINT] = state.active[stays], later
    return True


@helper
def _ahead_at(state, h, theta):
    """Return which of the two arms (0 or 1) surely drops the other at window h; -1 if none does or it is close."""
    history, one, other = state.history, state.active[0], state.active[1]
    gap = total_of(history, one) - rough_prefix(history, one, state.pulls[one] - h)
    gap -= total_of(history, other) - rough_prefix(history, other, state.pulls[other] - h)
    if abs(gap) - rounding(history) <= theta * math.sqrt(h) / SHADE:
        return -1
    return 0 if gap > 0.0 else 1


@helper
def _is_spared(state, h, end, theta, ratio, who):
    """Say whether the filters at windows h..end surely do not drop the arm `who` (0 or 1) for the sake of the other."""
    stretch = 0
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
    """Start with no proofs if those that are known belong to other arms, are old, or count on smaller sums."""
    duel, largest = state.duel, state.history.largest[0]
    same = duel.notes[ONE] == state.active[0] and duel.notes[OTHER] == state.active[1]
    young = _pulled(state) < duel.notes[SINCE] + FRESH and duel.notes[COUNT] < STRETCHES
    if not (same and young and largest <= 2.0 * duel.calm[ROWS]):
        duel.notes[ONE], duel.notes[OTHER] = state.active[0], state.active[1]
        duel.notes[COUNT], duel.notes[SINCE] = 0, _pulled(state)
        for row in range(ROWS):
            duel.calm[row] = 0.0
        duel.calm[ROWS] = largest


@helper
def _pass_over(state, h, shortest, theta, ratio, stretch, who):
    """Return the window after the stretch that h lies in, if the arm `who` (or BOTH) is surely spared by all of it.

    Otherwise returns h. The second result is where to start looking for the next stretch.
    """
    duel, pulled, travelled = state.duel, _pulled(state), _travelled(state)
    while stretch < duel.notes[COUNT] and _end_of(duel, stretch) < h:
        stretch += 1
    if stretch == duel.notes[COUNT] and not _add_stretch(duel, h, shortest, ratio):
        return h, stretch
    if h < _start_of(duel, stretch):
        return h, stretch
    while travelled >= _spared_until(duel, stretch, who):
        if pulled < duel.stretches[stretch, RETRY]:
            return h, stretch
        _prove(state, stretch, theta)
        if travelled >= _spared_until(duel, stretch, who):
            if not _split(duel, stretch):
                duel.stretches[stretch, RETRY] = pulled + LATER
            elif h > _end_of(duel, stretch):
                stretch += 1
    return _end_of(duel, stretch) + 1, stretch + 1


@helper
def _start_of(duel, stretch):
    """Return the first window of a stretch."""
    return duel.notes[FIRST] if stretch == 0 else _end_of(duel, stretch - 1) + 1


@helper
def _end_of(duel, stretch):
    """Return the last window of a stretch."""
    return np.int64(duel.stretches[stretch, END])


@helper
def _spared_until(duel, stretch, who):
    """Return how far the arms have travelled when it is no longer known that the arm `who` (or BOTH) is spared."""
    facts = duel.stretches
    if who == BOTH:
        return min(facts[stretch, SPARED], facts[stretch, SPARED + 1])
    return facts[stretch, SPARED + who]


@helper
def _add_stretch(duel, h, shortest, ratio):
    """Add a stretch from h on, as long as can be hoped for; False if that would not be worth it."""
    count = duel.notes[COUNT]
    end = min(h + int(ratio * h), shortest)
    if count == STRETCHES or end - h < WORTH:
        return False
    if count == 0:
        duel.notes[FIRST] = h
    _write(duel, count, end)
    duel.notes[COUNT] = count + 1
    return True


@helper
def _write(duel, stretch, end):
    """Write down a stretch of which nothing is known but its last window."""
    for fact in range(4):
        duel.stretches[stretch, fact] = end if fact == END else 0.0


@helper
def _split(duel, stretch):
    """Make two stretches out of one, with nothing known about them; False if there is no room or no point."""
    count, start, end = duel.notes[COUNT], _start_of(duel, stretch), _end_of(duel, stretch)
    if count == STRETCHES or end - start < 2 * WORTH:
        return False
    for later in range(count, stretch, -1):
        for fact in range(4):
            duel.stretches[later, fact] = duel.stretches[later - 1, fact]
    _write(duel, stretch, (start + end) // 2)
    _write(duel, stretch + 1, end)
    duel.notes[COUNT] = count + 1
    return True


@outlined
def _prove(state, stretch, theta):
    """Find out how long each of the two arms is surely spared by the filters of a stretch.

    Their sums lie in bands around straight lines; for the rest see `exact_filter.quiet`.
    """
    duel, history = state.duel, state.history
    h, end = _start_of(duel, stretch), _end_of(duel, stretch)
    high, low, high_later, low_later = range_of_sums(history, state.active[0], h, end)
    high_other, low_other, high_other_later, low_other_later = range_of_sums(history, state.active[1], h, end)
    rooms = (
        room(history, high_other - low, high_other_later - low_later, h, end, theta),
        room(history, high - low_other, high_later - low_other_later, h, end, theta),
    )
    for who in range(2):
        duel.stretches[stretch, SPARED + who] = SHADE * _travelled(state) + rooms[who]
