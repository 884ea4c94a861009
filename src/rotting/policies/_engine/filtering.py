"""FEWA's filter at one window, shared by FEWA and EFF-FEWA.

The paper compares means: arm i is dropped at window h when its mean lies more than 2 c(h, delta_t) below the best. Both
sides times h, sums are compared: max_j W_j(h) - W_i(h) > theta sqrt(h), theta = sqrt(8 sigma^2 log(1 / delta_t)).
"""

from __future__ import annotations

import math

import numpy as np

from rotting._core.compiling import helper

MAX_PULLS = 1 << 62  # more pulls than there will ever be


def filter_settings(alpha: float, sigma: float, delta0: float) -> np.ndarray:
    """Return what `filter_width` needs to know."""
    return np.array([alpha, sigma, math.log(delta0)])


@helper
def filter_width(settings, t):
    """Return theta = sqrt(8 sigma^2 log(1 / delta_t)), delta_t = delta0 / t^alpha, the logarithm never below 0."""
    alpha, sigma, log_delta0 = settings[0], settings[1], settings[2]
    return sigma * math.sqrt(8.0 * max(0.0, alpha * math.log(t) - log_delta0))


@helper
def least_pulls(pulls):
    """Return the fewest pulls of any arm."""
    fewest = pulls[0]
    for arm in range(1, len(pulls)):
        fewest = min(fewest, pulls[arm])
    return fewest


@helper
def first_unpulled(pulls):
    """Return the lowest-numbered arm without a pull (there must be one)."""
    arm = 0
    while pulls[arm] > 0:
        arm += 1
    return arm


@helper
def keep_first(state, sums, limit):
    """Make active the arms whose sum is at most `limit` below the largest; `sums` has one entry per arm.

    Returns how many stay and the fewest pulls among them.
    """
    highest = sums[0]
    for arm in range(1, len(sums)):
        highest = max(highest, sums[arm])
    kept, fewest = 0, MAX_PULLS
    for arm in range(len(sums)):
        if highest - sums[arm] <= limit:
            state.active[kept] = arm
            kept += 1
            fewest = min(fewest, state.pulls[arm])
        else:
            state.dropped[arm] = 1
    return kept, fewest


@helper
def keep_best(state, left, h, highest, limit):
    """Keep those of the first `left` active arms whose sum, in `state.sums`, is at most `limit` below the highest.

    Returns how many stay and the fewest pulls among them.
    """
    kept, fewest = 0, MAX_PULLS
    for place in range(left):
        arm = state.active[place]
        if highest - state.sums[place] <= limit:
            state.active[kept] = arm
            kept += 1
            fewest = min(fewest, state.pulls[arm])
        else:
            state.dropped[arm] = h
    return kept, fewest


@helper
def least_pulled(state, left):
    """Return the arm with the fewest pulls among the first `left` active ones, the lowest-numbered on ties."""
    best = state.active[0]
    for place in range(1, left):
        arm = state.active[place]
        if state.pulls[arm] < state.pulls[best]:
            best = arm
    state.left[0] = left
    return best
