"""Bands: windows of a long stretch shown to drop nobody by what happens at its two ends.

Claim: if the widest that the sums of any two active arms can be apart is within the threshold at windows h and `end`,
no window in between drops anybody.
Proof: `history.band` encloses the prefix sums of an arm on a stretch between two parallel lines, so its window sum
W(g) = S[n] - S[n - g] lies in a band of constant width around a straight line in g. The distance between the top of the
highest band and the bottom of the lowest is a maximum of straight lines: a convex function of g. The threshold,
theta sqrt(g), is concave. A convex function below a concave one at both ends is below it in between.
"""

from __future__ import annotations

import math

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting.policies._windows.history import band, rounding, total_of
from rotting.policies._windows.rows import JUST_BELOW

BAND_MINIMUM = 256  # the fewest windows for which a band pays: it costs as much as some hundred rough sums


@helper
def band_reach(settings, theta):
    """Estimate for how many windows after h a band can prove that nobody is dropped, as a multiple of h (at most 3).

    Over s windows the sums of two arms move some 6 sigma sqrt(s) apart, and theta sqrt(h) is allowed. Only speed
    depends on this.
    """
    sigma = settings[1]
    return min((theta / (6.0 * sigma)) ** 2, 3.0) if sigma > 0.0 else 0.0


@outlined
def room_in_band(state, left, h, end, theta):
    """Return how far sums of active arms are at least within the threshold at h and `end`; below 0, nothing is sure."""
    history = state.history
    high_here, low_here, high_there, low_there = -np.inf, np.inf, -np.inf, np.inf
    for place in range(left):
        high, low, high_later, low_later = _range_of_sums(history, state.active[place], h, end)
        high_here, low_here = max(high_here, high), min(low_here, low)
        high_there, low_there = max(high_there, high_later), min(low_there, low_later)
    return _room(history, high_here - low_here, high_there - low_there, h, end, theta)


@outlined
def rooms_of_pair(state, h, end, theta):
    """Return how far the one of two active arms, the other, and both are at least from being dropped at h and `end`."""
    history = state.history
    high, low, high_later, low_later = _range_of_sums(history, state.active[0], h, end)
    high_other, low_other, high_other_later, low_other_later = _range_of_sums(history, state.active[1], h, end)
    one = _room(history, high_other - low, high_other_later - low_later, h, end, theta)
    other = _room(history, high - low_other, high_later - low_other_later, h, end, theta)
    return one, other, min(one, other)


@helper
def _room(history, here, there, h, end, theta):
    """Return how far two distances between sums, at windows h and `end`, are at least below their thresholds."""
    room = JUST_BELOW * theta * math.sqrt(h) - here
    return min(room, JUST_BELOW * theta * math.sqrt(end) - there) - rounding(history)


@helper
def _range_of_sums(history, arm, h, end):
    """Return the highest and lowest that a window sum can be at h, and at `end`; straight lines connect them."""
    n = history.pulls[arm]
    height, slope, under, over = band(history, arm, n - end, n - h)
    there = total_of(history, arm) - height
    here = there - slope * (end - h)
    return here - under, here - over, there - under, there - over
