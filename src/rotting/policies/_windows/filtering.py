"""FEWA's filter at one window, shared by FEWA and EFF-FEWA.

The paper compares means: arm i is dropped at window h when its mean lies more than 2 c(h, delta_t) below the best. Both
sides times h, sums are compared: max_j W_j(h) - W_i(h) > theta sqrt(h), theta = sqrt(8 sigma^2 log(1 / delta_t)).

Functions here are given arrays, not states: they are compiled once for all policies, and sooner.
"""

from __future__ import annotations

import math

import numpy as np

from rotting._core.compiling import helper

MAX_PULLS = 1 << 62  # more pulls than there will ever be
MANY = 32  # arms from which on branch mispredictions cost more than branch-free code


def filter_settings(alpha: float, sigma: float, delta0: float) -> np.ndarray:
    """Return what `filter_width` needs to know."""
    return np.array([alpha, sigma, math.log(delta0)])


@helper
def filter_width(settings, t):
    """Return theta = sqrt(8 sigma^2 log(1 / delta_t)), delta_t = delta0 / t^alpha, the logarithm never below 0."""
    alpha, sigma, log_delta0 = settings[0], settings[1], settings[2]
    return sigma * math.sqrt(8.0 * max(0.0, alpha * math.log(t) - log_delta0))


@helper
def first_unpulled(pulls):
    """Return the lowest-numbered arm without a pull; -1 if there is none."""
    missing = False
    for arm in range(len(pulls)):  # no early exit, so that it is vectorised
        missing |= pulls[arm] == 0
    arm = 0 if missing else -1
    while missing and pulls[arm] > 0:
        arm += 1
    return arm


@helper
def keep_first(active, dropped, pulls, sums, limit):
    """Make active the arms whose sum is at most `limit` below the largest; `sums` has one entry per arm.

    Returns how many stay and the fewest pulls among them.
    """
    highest = sums[0]
    for arm in range(1, len(sums)):
        highest = max(highest, sums[arm])
    kept, fewest = 0, MAX_PULLS
    for arm in range(len(sums)):
        if highest - sums[arm] <= limit:
            active[kept] = arm
            kept += 1
            fewest = min(fewest, pulls[arm])
        else:
            dropped[arm] = 1
    return kept, fewest


@helper
def keep_best(active, dropped, pulls, sums, left, h, highest, limit):
    """Keep those of the first `left` active arms whose sum, in `sums`, is at most `limit` below the highest.

    Returns how many stay and the fewest pulls among them.
    """
    kept, fewest = 0, MAX_PULLS
    for place in range(left):
        arm = active[place]
        if highest - sums[place] <= limit:
            active[kept] = arm
            kept += 1
            fewest = min(fewest, pulls[arm])
        else:
            dropped[arm] = h
    return kept, fewest


@helper
def keep_many(active, dropped, pulls, sums, left, h, highest, limit):
    """Do the same without a branch, whose outcome nobody can guess where there are many arms.

    It writes to `dropped` of arms that stay, too, where that does not matter.
    """
    kept, fewest = 0, MAX_PULLS
    for place in range(left):
        arm = active[place]
        active[kept], dropped[arm] = arm, h
        kept += highest - sums[place] <= limit
    for place in range(kept):
        fewest = min(fewest, pulls[active[place]])
    return kept, fewest


@helper
def least_pulled(active, pulls, left):
    """Return the arm with the fewest pulls among the first `left` active ones, the lowest-numbered on ties."""
    best = active[0]
    for place in range(1, left):
        arm = active[place]
        if pulls[arm] < pulls[best]:
            best = arm
    return best
