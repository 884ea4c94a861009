"""The Candy Cane Contest: a hundred vending machines, each a little emptier after every pull."""

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

_LEVELS = 101  # whole numbers from 0 to 100


class CandyCaneArrays(NamedTuple):
    """The rule."""

    whole: npt.NDArray[np.int64]  # [1: whole levels, chances rounded up (Kaggle); 0: real ones (river)]
    kept: npt.NDArray[np.float64]  # [the share of a level that a pull leaves]


class CandyCaneMemory(NamedTuple):
    """How full each machine is."""

    pulls: npt.NDArray[np.int64]
    level: npt.NDArray[np.float64]  # (K,): from 0 to 100 (Kaggle), or to 1 (river)


def begin(problem, memory, key):
    """Draw the levels."""
    for arm in range(len(memory.level)):
        drawn = uniform(key, arm)
        memory.level[arm] = math.floor(_LEVELS * drawn) if problem.dynamics.whole[0] else drawn


def value(problem, memory, arm, t):
    """Return the chance of a candy cane, plus the curve."""
    level = memory.level[arm]
    chance = math.ceil(level) / _LEVELS if problem.dynamics.whole[0] else level
    return chance + mean_at(problem.curves, arm, memory.pulls[arm])


def pulled(problem, memory, arm, t):
    """Lower the level."""
    memory.level[arm] *= problem.dynamics.kept[0]


@dataclasses.dataclass(frozen=True)
class CandyCane(
    Dynamics, arrays=CandyCaneArrays, memory=CandyCaneMemory, value=value, pulled=pulled, begin=begin, rested=True
):
    """Each run draws the level of each arm; a pull pays 1 with a chance that follows it, and multiplies it by `kept`.

    With the rule "kaggle" levels are whole numbers from 0 to 100 and the chance is ceil(level) / 101; with "river" they
    are uniform on (0, 1) and are the chance. An arm's curve is added to the chance (0 in the contest).

    References
    ----------
    Kaggle (2020), "Santa 2020: the Candy Cane Contest"; `CandyCaneContest` of the library river.
    """

    rule: str = parameter("kaggle", choices=("kaggle", "river"), doc="how levels are drawn, and what they mean")
    kept: float = parameter(0.97, minimum=0, maximum=1, doc="the share of a level that a pull leaves")

    def arrays(self, n_arms: int) -> CandyCaneArrays:
        """Return the rule."""
        return CandyCaneArrays(np.array([int(self.rule == "kaggle")], np.int64), np.array([self.kept]))

    def initial_memory(self, n_arms: int) -> CandyCaneMemory:
        """Return machines that are not filled yet."""
        return CandyCaneMemory(np.zeros(n_arms, np.int64), np.zeros(n_arms))

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return bounds: chances, plus the curve."""
        highest = 100 / _LEVELS if self.rule == "kaggle" else 1.0
        return [(low, highest + high) for low, high in super().lowest_and_highest(curves)]

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the greedy oracle, as for rested arms."""
        return "greedy", "optimal" if all(curve.is_nonincreasing() for curve in curves) else "a reference"
