"""Arms whose value follows how often they were pulled lately."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics
from rotting.problems.rested import Rested

_NOBODY = -1


class TallyArrays(NamedTuple):
    """How many rounds count."""

    m: npt.NDArray[np.int64]  # [m; 0 for all rounds]


class TallyMemory(NamedTuple):
    """The arms of the last m rounds."""

    pulls: npt.NDArray[np.int64]
    tally: npt.NDArray[np.int64]  # (K,): pulls among the last m rounds
    recent: npt.NDArray[np.int64]  # (m,): the arm of round t at (t - 1) mod m; _NOBODY before the first rounds


def value(problem, memory, arm, t):
    """Return mu(pulls among the last m rounds)."""
    return mean_at(problem.curves, arm, memory.tally[arm])


def pulled(problem, memory, arm, t):
    """Count the pull, and take the one that is m rounds old from the tally."""
    memory.tally[arm] += 1
    if problem.dynamics.m[0] == 0:
        return
    place = (t - 1) % problem.dynamics.m[0]
    oldest = memory.recent[place]
    if oldest != _NOBODY:
        memory.tally[oldest] -= 1
    memory.recent[place] = arm


@dataclasses.dataclass(frozen=True)
class Tally(Dynamics, arrays=TallyArrays, memory=TallyMemory, value=value, pulled=pulled):
    """An arm's value follows its pulls among the last m rounds. With m = None all rounds count: rested arms.

    References
    ----------
    Malik, Li, Singh (2022), "Complete policy regret bounds for tallying bandits".

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> problem = Problem([[1.0, 0.4], 0.6], dynamics=Tally(m=1))
    >>> problem.cycle().arms, problem.cycle().value
    ((0, 1), 0.8)
    """

    m: int | None = parameter(None, optional=True, minimum=1, maximum=10**9, doc="how many rounds count (None: all)")

    def arrays(self, n_arms: int) -> TallyArrays:
        """Return m."""
        return TallyArrays(np.array([self.m or 0], np.int64))

    def initial_memory(self, n_arms: int) -> TallyMemory:
        """Return an empty tally."""
        recent = np.full(self.m or 1, _NOBODY, np.int64)
        return TallyMemory(np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64), recent)

    def situation(self, curves: Sequence[Curve], memory: Any, t: int) -> Hashable:
        """Return the arms of the last m rounds, the oldest first (for m = None, where each arm is on its curve)."""
        if self.m is None:
            return tuple(min(n, curve.last_change()) for curve, n in zip(curves, memory.tally.tolist(), strict=True))
        return tuple(np.roll(memory.recent, -((t - 1) % self.m)).tolist())

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the best cycle; where all rounds count, arms are rested."""
        return Rested().best_oracle(curves) if self.m is None else super().best_oracle(curves)
