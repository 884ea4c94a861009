"""More arms than can be tried: each run draws what they are worth."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting._core.randomness import uniform
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics


class ManyArmsMemory(NamedTuple):
    """What each arm is worth now."""

    pulls: npt.NDArray[np.int64]
    level: npt.NDArray[np.float64]  # (K,)


def begin(problem, memory, key):
    """Draw the levels: P(1 - level < x) = x^beta."""
    for arm in range(len(memory.level)):
        memory.level[arm] = 1.0 - uniform(key, arm) ** (1.0 / problem.dynamics.numbers[0])


def value(problem, memory, arm, t):
    """Return the level, plus the curve."""
    return memory.level[arm] + mean_at(problem.curves, arm, memory.pulls[arm])


def pulled(problem, memory, arm, t):
    """Lower the arm by rho, or by rho / t."""
    rho, falling = problem.dynamics.numbers[1], problem.dynamics.numbers[2]
    memory.level[arm] -= rho / t if falling else rho


@dataclasses.dataclass(frozen=True)
class ManyArms(Dynamics, memory=ManyArmsMemory, value=value, pulled=pulled, begin=begin):
    """Each run draws the level of each arm, P(1 - level < x) = x^beta; each pull in round t lowers the arm by rho_t.

    An arm's curve is added to its level (0 in the papers). The oracle is 1 per round: with enough arms there is always
    one as good.

    References
    ----------
    Kim, Vojnovic, Yun (2022), "Rotting infinitely many-armed bandits"; (2024), "An adaptive approach for infinitely
    many-armed bandits under generalized rotting constraints".

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> problem = Problem([0.0] * 100, dynamics=ManyArms(rho=0.01), noise="none")
    >>> problem.oracle(horizon=50).reward
    array([50.])
    """

    beta: float = parameter(1.0, above=0, doc="how rare good arms are: P(1 - level < x) = x^beta")
    rho: float = parameter(0.0, minimum=0, doc="what a pull costs the arm")
    falling: bool = parameter(False, choices=(False, True), doc="whether it costs rho / t in round t")

    def initial_memory(self, n_arms: int) -> ManyArmsMemory:
        """Return arms whose levels are not drawn yet."""
        return ManyArmsMemory(np.zeros(n_arms, np.int64), np.zeros(n_arms))

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return bounds: levels are below 1, and fall without end where pulls cost anything."""
        lowest = 0.0 if self.rho == 0 else -math.inf
        bounds = super().lowest_and_highest(curves)
        return [(lowest + low, 1.0 + high) for low, high in bounds]

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return 1 per round: a bound unless curves add something to levels below 1."""
        adds = any(curve.highest_and_lowest()[0] > 0 for curve in curves)
        return "1 per round", "a reference" if adds else "an upper bound"
