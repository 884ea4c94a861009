"""Arms whose value follows their own pulls: the setting of the paper."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics


class ClockArrays(NamedTuple):
    """What the curves follow."""

    restless: npt.NDArray[np.int64]  # [1 if values follow the round, 0 if they follow the arm's own pulls]


def value(problem, memory, arm, t):
    """Return mu(n), or mu(t - 1) for restless arms.

    One function and one class of arrays for both, so that they share their machine code.
    """
    return mean_at(problem.curves, arm, t - 1 if problem.dynamics.restless[0] else memory.pulls[arm])


@dataclasses.dataclass(frozen=True)
class FollowsClock(Dynamics, arrays=ClockArrays, value=value, abstract=True):
    """What rested and restless arms have in common: a curve, followed in steps of one."""


@dataclasses.dataclass(frozen=True)
class Rested(FollowsClock, rested=True):
    """An arm's value follows its own pulls n: mu_i(n).

    References
    ----------
    Seznec, Locatelli, Carpentier, Lazaric, Valko (2019), "Rotting bandits are not harder than stochastic ones".

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> Problem([0.5, [1.0, 0.4]], dynamics=Rested()).oracle(horizon=5).pulls
    array([4, 1])
    """

    def arrays(self, n_arms: int) -> ClockArrays:
        """Return what its values follow."""
        return ClockArrays(np.zeros(1, np.int64))

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the greedy oracle if no arm increases, else the best allocation of pulls."""
        falling = all(curve.is_nonincreasing() for curve in curves)
        return "greedy" if falling else "best allocation", "optimal"
