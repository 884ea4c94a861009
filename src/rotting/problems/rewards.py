"""What a problem pays: the range that nearly all of its rewards lie in, and how many lie outside another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rotting.problems.problem import Problem

# `Noise.outside`.
Outside = Callable[[int, float, float, float], float]
# Nearly all rewards of an arm: all but so many.
RARE = 1e-4


def extreme_means(problem: Problem) -> list[tuple[int, float, float]]:
    """Return each arm with its lowest and its highest mean: where one is endless, that after the horizon."""
    found = []
    for arm, ends in enumerate(problem.dynamics_model.lowest_and_highest(problem.curves)):
        far = float(problem.curves[arm](problem.horizon))
        low, high = (end if math.isfinite(end) else far for end in ends)
        found.append((arm, low, high))
    return found


def share_outside(problem: Problem, low: float, high: float) -> float:
    """Return the largest share of an arm's rewards outside a range, at an extreme mean; NaN if the noise does not say.

    >>> from rotting.problems import stationary
    >>> round(share_outside(stationary([0.0, 0.5]), 0.0, 1.0), 3)
    0.659
    """
    outside = problem.noise_model.outside
    return float(np.max([outside(arm, mean, low, high) for arm, *means in extreme_means(problem) for mean in means]))


def reward_range(problem: Problem) -> tuple[float, float] | None:
    """Return the range that all but one in ten thousand rewards of any arm lie in; None if the noise does not say.

    >>> from rotting.problems import Problem
    >>> reward_range(Problem([0.2, 0.5], noise="bernoulli"))
    (0.0, 1.0)
    """
    outside, means = problem.noise_model.outside, extreme_means(problem)
    if any(math.isnan(outside(arm, mean, -math.inf, math.inf)) for arm, *both in means for mean in both):
        return None
    lows = [mean - _reach(outside, arm, mean, -1) for arm, mean, _ in means]
    highs = [mean + _reach(outside, arm, mean, 1) for arm, _, mean in means]
    return min(lows), max(highs)


def _reach(outside: Outside, arm: int, mean: float, side: int) -> float:
    """Return how far below (-1) or above (1) a mean rewards lie, but for rare ones."""

    def beyond(far: float) -> bool:
        ends = (mean - far, math.inf) if side < 0 else (-math.inf, mean + far)
        return outside(arm, mean, *ends) > RARE

    if not beyond(0.0):
        return 0.0
    near, far = 0.0, 1e-6
    while beyond(far) and far < 1e300:
        near, far = far, 2 * far
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if beyond(middle) else (near, middle)
    return far
