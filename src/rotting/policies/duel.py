"""Exact FEWA's last two arms: most of a long run is spent on them, so here proofs are kept from round to round.

A stretch of windows is known to be quiet for some time: with every pull, a window of that arm gains a reward and loses
one, so its sum changes by no more than the range of all rewards seen so far. If the sums of two arms stay below the
threshold by `room`, then they will for another room / range pulls (thresholds only grow). For every stretch two such
times are kept: until when the first arm is surely spared by the filters there, and until when the second.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rotting.compiling import helper
from rotting.policies.exact_filter import (
    FIRST_ROW,
    HINT,
    HURRY,
    SHADE,
    WORTH,
    filter_at,
    range_of_sums,
    reach,
    room,
    thresholds,
)
from rotting.policies.filtering import MANY
from rotting.policies.history import ROW, place_of, rough_prefix, rounding

STRETCHES = 64  # the most that are kept
FRESH = 1024  # pulls after which all proofs are thrown away: stretches were split where that is no longer needed
LATER = 16  # pulls after which to try again what could not be proved
BOTH = 2


class Duel(NamedTuple):
    """What is known about the windows of two arms."""

    notes: np.ndarray  # int64: HINT and HURRY of exact_filter, and what is listed below
    stretches: np.ndarray  # int64 (STRETCHES, 4): what is known of each, see below
    scale: np.ndarray  # float64 [range of rewards, largest prefix sum]: the proofs count on these


# The number of stretches, the first window of the first, the pulls of both arms when it was written down, and the arms.
COUNT, FIRST, SINCE, ONE, OTHER = range(2, 7)
# Of a stretch: the pulls (of both arms) until which the first arm is surely spared, and the second; its last window
# (the next stretch begins after it); and the pulls until which it is no use trying to prove more.
SPARED, END, RETRY = 0, 2, 3


def new_duel() -> Duel:
    """Return a duel of nobody."""
    return Duel(
        notes=np.array([0, 1, 0, 0, 0, -1, -1]),
        stretches=np.zeros((STRETCHES, 4), np.int64),
        scale=np.zeros(2),
    )


@helper
def settle(state, h, shortest, theta):
    """Apply the filters at windows h..shortest to the two active arms. Returns how many stay."""
    ratio = reach(state.settings, theta)
    proofs_from = int(WORTH / ratio) + 1 if ratio > 0.0 else MANY
    begun, stretch = False, 0
    while h <= shortest:
        if h >= proofs_from and shortest - h >= WORTH:
            if not begun:
                begun = True
                _forget_if_stale(state)
                if state.duel.notes[HURRY] and _settled_early(state, h, shortest, theta, ratio):
                    return 1
            after, stretch = _pass_over(state, h, shortest, theta, ratio, stretch, BOTH)
            if after > h:
                h = after
                continue
        size = min(ROW if h > FIRST_ROW else FIRST_ROW, shortest - h + 1)
        if _filter_pair(state, h, size, theta) == 1:
            return 1
        h += size
    return 2


@helper
def _filter_pair(state, h, size, theta):
    """Apply the filters at `size` <= ROW windows from h on to the two active arms. Returns how many stay.

    In a hurry, it is enough to know who stays: an arm that surely drops the other at some window of the row, and cannot
    be dropped itself at any.
    """
    history, one, other = state.history, state.active[0], state.active[1]
    between = history.last[one, 0] - history.last[other, 0]
    start, below, above = thresholds(history, h, size, theta)
    stop = place_of(history, one, state.pulls[one] - h) + 1
    stop_other = place_of(history, other, state.pulls[other] - h) + 1
    roots = state.rows[start : start + size]
    mine, theirs = history.high[stop - size : stop], history.high[stop_other - size : stop_other]
    if not _any_far(mine, theirs, between, roots, below):
        return 2
    if state.duel.notes[HURRY]:
        stays = _who_stays(mine, theirs, between, roots, below, above)
        if stays >= 0:
            state.active[0], state.duel.notes[HINT] = state.active[stays], h + size - 1
            return 1
    left, shortest = 2, MANY
    for back in range(size):
        if left > 1:
            left, shortest = filter_at(state, left, shortest, h + back, theta)
    return left


@helper
def _any_far(mine, theirs, between, roots, below):
    """Say whether two sums may lie further apart than the threshold at any window of a row."""
    far = 0
    for j in range(len(roots)):
        far += abs(between - (mine[j] - theirs[j])) > below * roots[j]
    return far > 0


@helper
def _who_stays(mine, theirs, between, roots, below, above):
    """Return which of two arms (0 or 1) surely drops the other at a window of a row; -1 if that is not clear."""
    first, second, may_be_first, may_be_second = 0, 0, 0, 0
    for j in range(len(roots)):
        gap = between - (mine[j] - theirs[j])
        first += gap > above * roots[j]
        second += -gap > above * roots[j]
        may_be_first += gap > below * roots[j]
        may_be_second += -gap > below * roots[j]
    if first > 0 and may_be_second == 0:
        return 0
    return 1 if second > 0 and may_be_first == 0 else -1


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
    gap = history.last[one, 0] - rough_prefix(history, one, state.pulls[one] - h)
    gap -= history.last[other, 0] - rough_prefix(history, other, state.pulls[other] - h)
    if abs(gap) - rounding(history) <= theta * math.sqrt(h) / SHADE:
        return -1
    return 0 if gap > 0.0 else 1


@helper
def _is_spared(state, h, end, theta, ratio, who):
    """Say whether the filters at windows h..end surely do not drop the arm `who` (0 or 1) for the sake of the other."""
    history, arm, other = state.history, state.active[who], state.active[1 - who]
    stretch = 0
    while h <= end:
        after, stretch = _pass_over(state, h, end, theta, ratio, stretch, who)
        if after == h:
            size = min(ROW, end - h + 1)
            start, below, _ = thresholds(history, h, size, theta)
            stop = place_of(history, arm, state.pulls[arm] - h) + 1
            stop_other = place_of(history, other, state.pulls[other] - h) + 1
            mine, theirs = history.high[stop - size : stop], history.high[stop_other - size : stop_other]
            between = history.last[arm, 0] - history.last[other, 0]
            if _any_below(mine, theirs, between, state.rows[start : start + size], below):
                return False
            after = h + size
        h = after
    return True


@helper
def _any_below(mine, theirs, between, roots, below):
    """Say whether the first of two sums may lie below the second by more than the threshold at any window of a row."""
    far = 0
    for j in range(len(roots)):
        far += (mine[j] - theirs[j]) - between > below * roots[j]
    return far > 0


@helper
def _clock(state):
    """Return the pulls of the two active arms, which is how time is told here."""
    return state.pulls[state.active[0]] + state.pulls[state.active[1]]


@helper
def _forget_if_stale(state):
    """Start with no stretches if those that are known belong to other arms, are old, or count on smaller rewards."""
    duel, history = state.duel, state.history
    spread = history.extremes[2] - history.extremes[1]
    same = duel.notes[ONE] == state.active[0] and duel.notes[OTHER] == state.active[1]
    as_small = spread <= duel.scale[0] and history.extremes[0] <= 2.0 * duel.scale[1]
    if not (same and as_small and _clock(state) < duel.notes[SINCE] + FRESH and duel.notes[COUNT] < STRETCHES):
        duel.notes[ONE], duel.notes[OTHER] = state.active[0], state.active[1]
        duel.notes[COUNT], duel.notes[SINCE] = 0, _clock(state)
        duel.scale[0], duel.scale[1] = spread, history.extremes[0]


@helper
def _pass_over(state, h, shortest, theta, ratio, stretch, who):
    """Return the window after the stretch that h lies in, if the arm `who` (or BOTH) is surely spared by all of it.

    Otherwise returns h. The second result is where to start looking for the next stretch.
    """
    duel, clock = state.duel, _clock(state)
    while stretch < duel.notes[COUNT] and duel.stretches[stretch, END] < h:
        stretch += 1
    if stretch == duel.notes[COUNT] and not _add_stretch(duel, h, shortest, ratio):
        return h, stretch
    if h < _start_of(duel, stretch):
        return h, stretch
    while clock >= _spared_until(duel, stretch, who):
        if clock < duel.stretches[stretch, RETRY]:
            return h, stretch
        _prove(state, stretch, theta)
        if clock >= _spared_until(duel, stretch, who):
            if not _split(duel, stretch):
                duel.stretches[stretch, RETRY] = clock + LATER
            elif h > duel.stretches[stretch, END]:
                stretch += 1
    return duel.stretches[stretch, END] + 1, stretch + 1


@helper
def _start_of(duel, stretch):
    """Return the first window of a stretch."""
    return duel.notes[FIRST] if stretch == 0 else duel.stretches[stretch - 1, END] + 1


@helper
def _spared_until(duel, stretch, who):
    """Return the number of pulls from which on it is not known that the arm `who` (or BOTH) is spared."""
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
    facts = duel.stretches
    facts[stretch, SPARED], facts[stretch, SPARED + 1], facts[stretch, END], facts[stretch, RETRY] = 0, 0, end, 0


@helper
def _split(duel, stretch):
    """Make two stretches out of one, with nothing known about them; False if there is no room or no point."""
    count, start, end = duel.notes[COUNT], _start_of(duel, stretch), duel.stretches[stretch, END]
    if count == STRETCHES or end - start < 2 * WORTH:
        return False
    for later in range(count, stretch, -1):
        for fact in range(4):
            duel.stretches[later, fact] = duel.stretches[later - 1, fact]
    _write(duel, stretch, (start + end) // 2)
    _write(duel, stretch + 1, end)
    duel.notes[COUNT] = count + 1
    return True


@helper
def _prove(state, stretch, theta):
    """Find out how long each of the two arms is surely spared by the filters of a stretch.

    Their sums lie in bands around straight lines; for the rest see `exact_filter.quiet`.
    """
    duel, history = state.duel, state.history
    h, end, clock = _start_of(duel, stretch), duel.stretches[stretch, END], _clock(state)
    high, low, high_later, low_later = range_of_sums(history, state.active[0], h, end)
    high_other, low_other, high_other_later, low_other_later = range_of_sums(history, state.active[1], h, end)
    rooms = (
        room(history, high_other - low, high_other_later - low_later, h, end, theta),
        room(history, high - low_other, high_later - low_other_later, h, end, theta),
    )
    step = max(duel.scale[0], 2.0**-1000)
    for who in range(2):
        duel.stretches[stretch, SPARED + who] = clock + 1 + int(min(rooms[who] / step, 1e9)) if rooms[who] >= 0.0 else 0
