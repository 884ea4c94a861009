"""Arms that bore when they come too often: the value follows the recency of the arm."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics
from rotting.problems.polynomial import Polynomial

_NOBODY = -1


class BoredomArrays(NamedTuple):
    """What a pull counts."""

    weights: npt.NDArray[np.float64]  # (w,): 1 / tau for a pull tau = 1, ..., w rounds ago


class BoredomMemory(NamedTuple):
    """The last w arms."""

    pulls: npt.NDArray[np.int64]
    recent: npt.NDArray[np.int64]  # (w,): the arm of round t at (t - 1) mod w; _NOBODY before the first rounds


def value(problem, memory, arm, t):
    """Return mu(rho): the arm's recency, summed from the latest round back."""
    weights, recent = problem.dynamics.weights, memory.recent
    place = (t - 1) % len(recent)  # of the oldest; the latest is before it
    rho = 0.0
    for tau in range(len(weights)):
        place = place - 1 if place > 0 else len(recent) - 1
        if recent[place] == arm:
            rho += weights[tau]
    return mean_at(problem.curves, arm, rho)


def pulled(problem, memory, arm, t):
    """Put the arm in the place of the oldest."""
    memory.recent[(t - 1) % len(memory.recent)] = arm


@dataclasses.dataclass(frozen=True)
class Boredom(Dynamics, arrays=BoredomArrays, memory=BoredomMemory, value=value, pulled=pulled):
    """An arm's value follows its recency rho: the sum of 1 / tau over its pulls tau = 1, ..., w rounds ago.

    Its curve is evaluated at rho; in the paper it is a polynomial.

    References
    ----------
    Warlop, Lazaric, Mary (2018), "Fighting boredom in recommender systems with linear reinforcement learning".

    Examples
    --------
    >>> from rotting.problems import Polynomial, Problem
    >>> problem = Problem([Polynomial([1, -0.3]), Polynomial([2 / 3, -0.4])], dynamics=Boredom(window=8))
    >>> round(problem.cycle().value, 6)
    0.502368
    """

    rots: ClassVar[bool] = False
    window: int = parameter(8, minimum=1, maximum=10**6, doc="w: for how many rounds a pull is remembered")

    def arrays(self, n_arms: int) -> BoredomArrays:
        """Return the weights."""
        return BoredomArrays(1.0 / np.arange(1, self.window + 1))

    def initial_memory(self, n_arms: int) -> BoredomMemory:
        """Return no arms."""
        return BoredomMemory(np.zeros(n_arms, np.int64), np.full(self.window, _NOBODY, np.int64))

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return bounds for each rho that there can be; tight for polynomials."""
        most = math.fsum(1.0 / np.arange(1, self.window + 1))
        return [
            (curve.highest_and_lowest_up_to(most) if isinstance(curve, Polynomial) else curve.highest_and_lowest())[
                ::-1
            ]
            for curve in curves
        ]

    def situation(self, curves: Sequence[Curve], memory: Any, t: int) -> Hashable:
        """Return the last w arms, the oldest first."""
        return tuple(np.roll(memory.recent, -((t - 1) % self.window)).tolist())
