"""Arms that recover while they rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics
from rotting.problems.kernel import Numbers


class RecoveringMemory(NamedTuple):
    """When each arm was pulled last."""

    pulls: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]  # (K,): the round of the last pull; -start before the first


def value(problem, memory, arm, t):
    """Return f(z)."""
    return mean_at(problem.curves, arm, min(t - 1 - memory.last[arm], np.int64(problem.dynamics.numbers[0])))


def pulled(problem, memory, arm, t):
    """Note the round."""
    memory.last[arm] = t


@dataclasses.dataclass(frozen=True)
class Recovering(Dynamics, memory=RecoveringMemory, value=value, pulled=pulled):
    """An arm's value follows the rounds it has rested: f_i(z), with f_i its curve.

    z is 0 in the round after a pull, grows by one in each round without one, and stops at `z_max`. Arms begin at
    `start`.

    References
    ----------
    Pike-Burke, Grunewalder (2019), "Recovering bandits".

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> problem = Problem([0.5, [0.0, 0.2, 0.9]], dynamics=Recovering(z_max=2))
    >>> problem.cycle().arms, round(problem.cycle().value, 6)
    ((0, 0, 1), 0.633333)
    """

    rots: ClassVar[bool] = False
    z_max: int = parameter(30, minimum=1, maximum=10**9, doc="after so many rounds of rest nothing changes any more")
    start: int | None = parameter(None, optional=True, minimum=0, doc="z in the first round (None: z_max)")

    def arrays(self, n_arms: int) -> Numbers:
        """Return z_max."""
        return Numbers(np.array([float(self.z_max)]))

    def initial_memory(self, n_arms: int) -> RecoveringMemory:
        """Return arms that have rested for so long."""
        first = self.z_max if self.start is None else min(self.start, self.z_max)
        return RecoveringMemory(np.zeros(n_arms, np.int64), np.full(n_arms, -first, np.int64))

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return the bounds of each curve up to z_max."""
        if self.z_max > 10**4:
            return super().lowest_and_highest(curves)
        values = [curve.values_at(np.arange(self.z_max + 1)) for curve in curves]
        return [(float(each.min()), float(each.max())) for each in values]

    def situation(self, curves: Sequence[Curve], memory: Any, t: int) -> Hashable:
        """Return z of each arm."""
        return tuple(np.minimum(t - 1 - memory.last, self.z_max).tolist())
