"""Upper confidence bounds for the mean of rewards in [0, 1], by the divergence of Bernoulli laws.

kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)), and the bound of a mean p at a level d is the largest q with
kl(p, q) <= d.

Heights. A bound is given and compared by its height, y = -ln(1 - q): for a mean close to 1 the bounds of several arms
may all round to 1, their heights do not. With the entropy H(p) of the mean, which only changes with the arm's rewards,

    kl(p, q) = (1 - p) y - p ln q - H(p),

so that whether an arm's bound lies above a given one is told without a logarithm (`height_above`), and only the few
bounds that may be the largest are computed. That function is convex and increasing in y above the mean: Newton's method
from above comes down to the bound, and never passes it by more than rounding.
"""

from __future__ import annotations

import math

import numpy as np

from rotting._core.compiling import helper

# Newton's method takes 4 to 12 steps; this many are never needed.
_MOST_STEPS = 64
# Divergences are right to about 2^-52 of the terms they are made of. Newton's method stops within eight times that, and
# a comparison is sure beyond a thousand times that.
_CLOSE, _SURE = 2.0**-49, 2.0**-42


@helper
def entropy(mean):
    """Return H(p) = -p ln p - (1 - p) ln(1 - p), which is 0 at 0 and 1."""
    if mean <= 0.0 or mean >= 1.0:
        return 0.0
    return -mean * math.log(mean) - (1.0 - mean) * math.log1p(-mean)


@helper
def peak_at(height):
    """Return a bound to compare others with: its height, its q, and ln q."""
    success = -math.expm1(-height)
    return height, success, math.log(success) if success > 0.0 else -np.inf


@helper
def bound_height(mean, spread, level):
    """Return the height of the largest q with kl(mean, q) <= level; `spread` is the entropy of the mean."""
    if mean >= 1.0:
        return np.inf
    if mean <= 0.0:
        return max(level, 0.0)
    if level <= 0.0:
        return -math.log1p(-mean)
    height, close = _start(mean, spread, level), _CLOSE * (spread + level)
    for _ in range(_MOST_STEPS):
        success = -math.expm1(-height)
        excess = (1.0 - mean) * height - mean * math.log(success) - spread - level
        # The slope is (q - p) / q.
        lower = height - excess * success / (success - mean) if success > mean else height
        if excess <= close or not lower < height:
            break
        height = lower
    return height


@helper
def _start(mean, spread, level):
    """Return a height that is not below the bound's: the least that three closed forms give.

    kl(p, q) >= (1 - p) y - H(p), and kl(p, q) >= (q - p)^2 / (2 v) if x (1 - x) <= v for all x in p..q: v = 1/4,
    v = p (1 - p) if p >= 1/2, and v = q.
    """
    gap = min(math.sqrt(0.5 * level), level + math.sqrt(level * (level + 2.0 * mean)))
    if mean >= 0.5:
        gap = min(gap, math.sqrt(2.0 * mean * (1.0 - mean) * level))
    highest = (spread + level) / (1.0 - mean)
    if mean + gap < 1.0:
        highest = min(highest, -math.log1p(-(mean + gap)))
    return highest


@helper
def height_above(mean, spread, level, peak):
    """Return the height of a bound if it may be as high as the `peak`, and -inf if it is surely below."""
    height, success, log_q = peak
    if mean < 1.0 and success > mean:
        # Above the mean, the divergence grows with q.
        excess, doubt = divergence_above(mean, spread, level, height, log_q)
        if excess > doubt or height == np.inf:
            return -np.inf
    return bound_height(mean, spread, level)


@helper
def divergence_above(mean, spread, level, height, log_q):
    """Return by how much kl(mean, q) exceeds a level, and by how much rounding may be wrong there."""
    up, down = (1.0 - mean) * height, -mean * log_q if mean > 0.0 else 0.0
    return up + down - spread - level, _SURE * (up + down + spread + level)
