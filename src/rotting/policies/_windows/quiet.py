"""How far exact FEWA's filters surely drop nobody: what makes looking at every window cheap.

FEWA filters at every window h = 1, 2, ..., N. `skip_quiet` says from which window on that has to be done: leaving out
the ones before does not change the decision. It may always return the window that it was given, and answers more
generously by four tiers of proofs. Each works where the ones before end, and each can be switched off below (decisions
stay the same, `tests/policies/windows/test_quiet.py`).

| tier | module | claim | why |
|---|---|---|---|
| short sums | here | a window up to SHORT drops nobody | its sums, kept by `update`, are closer than the threshold |
| rows | `rows` | nor does any of 64 windows in a row | so are their rough sums, compared side by side |
| bands | `bands` | nor does any window of a long stretch | lines around prefix sums are closer at its ends |
| pairs | `pairs` | what was proved of two arms still holds | since then they have moved less than the margin |

Nanoseconds per round of a simulation (`python benchmarks/tiers.py`; docs/speed.md has all of it):

| case | all | without short sums | rows | bands | pairs |
|---|---|---|---|---|---|
| the paper's ten arms, alpha = .06 | 152 | 185 | 571 | 153 | 152 |
| the paper's two arms | 58 | 59 | 163 | 58 | 55 |
| two arms, L = .02, alpha = .1 | 129 | 129 | 1286 | 128 | 218 |
| two equal click rates | 310 | 305 | 7137 | 309 | 4364 |
| two arms, alpha = 5 | 145 | 141 | 3634 | 143 | 4627 |
| ten arms, alpha = 5 | 1665 | 1709 | 42427 | 3049 | 1615 |

Behind long windows, pairs also settle which of two arms goes without looking for the window that drops it. Up to 10^5
rounds that wins nothing; ten arms over 10^7 rounds take a quarter of the time.
"""

from __future__ import annotations

import math

import numpy as np

from rotting._core.compiling import helper
from rotting.policies._windows.bands import BAND_MINIMUM, band_reach, room_in_band
from rotting.policies._windows.history import rough_prefix, rounding, total_of, window_sum
from rotting.policies._windows.pairs import LONG, LOUD, advance, begin
from rotting.policies._windows.rows import JUST_BELOW, quiet_in_row, row_size

SHORT = 8  # windows whose rough sums are kept
# Compiled code takes these as they are when it is compiled, and holds nothing of a tier that is switched off.
SHORT_SUMS = ROWS = BANDS = PAIRS = True


@helper
def skip_quiet(state, left, h, shortest, theta):
    """Return a window, h or a later one, to filter at next: leaving out those before it changes nothing in the end.

    They surely drop nobody; or, with two arms left, only one that the filter at the window drops, too.
    """
    if SHORT_SUMS:
        while h <= min(SHORT, shortest) and (left > 2 or h == 2):
            if _may_drop(state, left, h, theta):
                return h
            h += 1
    try_band, begun = np.int64(0), False
    while left > 1 and h <= shortest:
        after = h
        if left == 2 and h >= LONG:
            if PAIRS:
                if not begun:
                    begun = True
                    begin(state)
                after, settled = advance(state, h, shortest, theta)
                if settled:
                    return after
        elif BANDS and left > 2 and h >= try_band:
            end = min(h + int(band_reach(state.settings, theta) * h), shortest)
            if end - h >= BAND_MINIMUM:
                after = end + 1 if room_in_band(state, left, h, end, theta) >= 0.0 else h
                try_band = h + BAND_MINIMUM
        if after == h:
            if not ROWS:
                return h
            size = row_size(h, shortest)
            quiet = quiet_in_row(state, left, h, size, theta)
            after = h + quiet
            if quiet < size:
                if begun and state.proofs.notes[LOUD] >= 0:
                    state.proofs.notes[LOUD] = after
                return after
        h = after
    return h


@helper
def _may_drop(state, left, h, theta):
    """Say whether the filter at a window h <= SHORT may drop somebody."""
    highest, lowest = -np.inf, np.inf
    for place in range(left):
        total = state.short[np.uint64(h - 1), np.uint64(state.active[place])]
        highest, lowest = max(highest, total), min(lowest, total)
    return highest - lowest + rounding(state.history) > JUST_BELOW * theta * math.sqrt(h)


@helper
def sums_at(state, left, h, limit):
    """Write the sums of the last h rewards of the active arms to `state.sums`; return the largest.

    They are rough if no arm is so close to `limit` below the largest that rounding could matter; else they are exact.
    """
    history, sums, highest = state.history, state.sums, -np.inf
    for place in range(left):
        arm = np.uint64(state.active[place])
        if SHORT_SUMS and h <= SHORT:
            sums[place] = state.short[np.uint64(h - 1), arm]
        else:
            sums[place] = total_of(history, arm) - rough_prefix(history, arm, state.pulls[arm] - h)
        highest = max(highest, sums[place])
    close = False
    for place in range(left):
        close |= abs(highest - sums[place] - limit) <= rounding(history)
    if close:
        highest = -np.inf
        for place in range(left):
            sums[place] = window_sum(history, state.active[place], h)
            highest = max(highest, sums[place])
    return highest
