"""Arms whose curves each run draws from a set."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting._core.randomness import uniform
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import CurveArrays, curve_arrays, mean_at
from rotting.problems.curves import curve_set
from rotting.problems.dynamics import Dynamics


class DrawnArrays(NamedTuple):
    """What is drawn from."""

    curves: CurveArrays
    largest: npt.NDArray[np.float64]  # [the largest constant]


class DrawnMemory(NamedTuple):
    """What was drawn."""

    pulls: npt.NDArray[np.int64]
    curve: npt.NDArray[np.int64]  # (K,): which of the set
    constant: npt.NDArray[np.float64]  # (K,)


def begin(problem, memory, key):
    """Draw the curve and the constant of each arm."""
    for arm in range(len(memory.curve)):
        memory.curve[arm] = np.int64(uniform(key, 2 * arm) * len(problem.dynamics.curves.family))
        memory.constant[arm] = uniform(key, 2 * arm + 1) * problem.dynamics.largest[0]


def value(problem, memory, arm, t):
    """Return the drawn curve, plus the constant, plus the arm's own curve."""
    n = memory.pulls[arm]
    drawn = memory.constant[arm] + mean_at(problem.dynamics.curves, memory.curve[arm], n)
    return drawn + mean_at(problem.curves, arm, n)


@dataclasses.dataclass(frozen=True)
class Drawn(Dynamics, arrays=DrawnArrays, memory=DrawnMemory, value=value, begin=begin, rested=True):
    """Each run draws the curve of each arm from a set, with replacement, and a constant from [0, `largest`] to add.

    Arms are rested. An arm's own curve is added to what is drawn (0 in the paper).

    References
    ----------
    Levine, Crammer, Mannor (2017), "Rotting bandits", Section 5.

    Examples
    --------
    >>> from rotting.problems import Power, Problem
    >>> problem = Problem([0.0] * 3, dynamics=Drawn(curves=(Power(0.1), Power(0.4))), noise="none")
    >>> [problem.oracle(horizon=100, run=run).pulls.tolist() for run in range(2)]
    [[3, 94, 3], [3, 3, 94]]
    """

    curves: tuple[Curve, ...] = parameter(raw=True, doc="the curves that each run draws from")
    largest: float = parameter(0.0, minimum=0, doc="the largest constant that is added")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "curves", curve_set("Drawn", self.curves))

    def arrays(self, n_arms: int) -> DrawnArrays:
        """Return the set, and the largest constant."""
        return DrawnArrays(curve_arrays(self.curves), np.array([self.largest]))

    def initial_memory(self, n_arms: int) -> DrawnMemory:
        """Return arms that are not drawn yet."""
        return DrawnMemory(np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64), np.zeros(n_arms))

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return bounds: those of the set, plus the constant, plus the arm's curve."""
        highs, lows = zip(*(curve.highest_and_lowest() for curve in self.curves), strict=True)
        return [(min(lows) + low, max(highs) + self.largest + high) for low, high in super().lowest_and_highest(curves)]

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the greedy oracle, as for rested arms."""
        falling = all(curve.is_nonincreasing() for curve in (*curves, *self.curves))
        return "greedy", "optimal" if falling else "a reference"
