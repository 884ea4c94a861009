"""Arms that people have enough of, and want again after a while."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.curves import Linear
from rotting.problems.dynamics import Dynamics


class SatiationMemory(NamedTuple):
    """How satiated people were with each arm after its last pull."""

    pulls: npt.NDArray[np.int64]
    satiation: npt.NDArray[np.float64]  # (K,): in round `last` + 1
    last: npt.NDArray[np.int64]  # (K,): the round of the last pull


def value(problem, memory, arm, t):
    """Return mu(s)."""
    gamma = problem.dynamics.numbers[0]
    return mean_at(problem.curves, arm, memory.satiation[arm] * gamma ** (t - 1 - memory.last[arm]))


def pulled(problem, memory, arm, t):
    """Satiate: s becomes gamma (s + 1)."""
    gamma = problem.dynamics.numbers[0]
    now = memory.satiation[arm] * gamma ** (t - 1 - memory.last[arm])
    memory.satiation[arm] = gamma * (now + 1.0)
    memory.last[arm] = t


@dataclasses.dataclass(frozen=True)
class Satiation(Dynamics, memory=SatiationMemory, value=value, pulled=pulled):
    """An arm's value follows its satiation s: in each round s becomes gamma (s + 1) if it is pulled, else gamma s.

    With the curve `Linear(b, slope, floor)` the mean is b - slope s (as long as it is above the floor). For such arms
    that are alike the greedy oracle is the best possible, unless the floor can be reached: then it pays to leave one
    arm there while the others rest. s stays below gamma / (1 - gamma).

    References
    ----------
    Leqi, Kilinc-Karzan, Lipton, Montgomery (2021), "Rebounding bandits for modeling satiation effects".

    Examples
    --------
    >>> from rotting.problems import Linear, Problem
    >>> problem = Problem([Linear(1.0, 0.5, floor=-9.0)] * 2, dynamics=Satiation(gamma=0.5))
    >>> problem.oracle(horizon=4).pulls
    array([2, 2])
    """

    gamma: float = parameter(0.9, minimum=0, maximum=1, doc="how much of the satiation is left in the next round")

    def initial_memory(self, n_arms: int) -> SatiationMemory:
        """Return arms that nobody has had yet."""
        return SatiationMemory(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(n_arms, np.int64))

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the greedy oracle for arms that are alike and fall in a straight line, else look-ahead."""
        line = curves[0]
        if len(set(curves)) == 1 and isinstance(line, Linear) and self._stays_straight(line):
            return "greedy", "optimal"
        return super().best_oracle(curves)

    def _stays_straight(self, line: Linear) -> bool:
        """Say whether greedy is optimal: no floor in reach; or all satiation stays, so that arms are rested."""
        return self.gamma == 1 or line.start - line.slope * self.gamma / (1 - self.gamma) >= line.floor
