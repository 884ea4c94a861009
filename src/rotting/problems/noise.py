"""Noise around the means: all that a kind of noise is, in one file.

A new kind is an entry of `NOISES` and a branch of `draw_reward`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rotting._core.compiling import helper
from rotting._core.randomness import normal_quantile, uniform

_GAUSSIAN, _BERNOULLI, _NONE = range(3)


@dataclass(frozen=True)
class Noise:
    """One kind of noise."""

    code: int  # what compiled code calls it
    scale: float | None  # the sub-Gaussian scale; None: the problem's sigma
    lowest: float = -math.inf  # the means it can be drawn around
    highest: float = math.inf


NOISES = {
    "gaussian": Noise(_GAUSSIAN, scale=None),
    "bernoulli": Noise(_BERNOULLI, scale=0.5, lowest=0.0, highest=1.0),
    "none": Noise(_NONE, scale=0.0),
}


@helper
def draw_reward(problem, key, mean, n):
    """Return the reward of an arm's pull number n (0, 1, ...), whose noise stream starts at `key`."""
    noise = problem.noise[0]
    if noise == _GAUSSIAN:
        return mean + problem.sigma[0] * normal_quantile(uniform(key, n))
    if noise == _BERNOULLI:
        return 1.0 if uniform(key, n) < mean else 0.0
    return mean
