"""Arms whose value follows the round, whatever is pulled."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rotting.problems.curve import Curve
from rotting.problems.rested import ClockArrays, FollowsClock


@dataclasses.dataclass(frozen=True)
class Restless(FollowsClock):
    """An arm's value follows the round t: mu_i(t - 1).

    References
    ----------
    Seznec, Menard, Lazaric, Valko (2020), "A single algorithm for both restless and rested rotting bandits".

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> Problem([0.5, [1.0, 1.0, 0.4]], dynamics=Restless()).oracle(horizon=5).pulls
    array([3, 2])
    """

    def arrays(self, n_arms: int) -> ClockArrays:
        """Return what its values follow."""
        return ClockArrays(np.ones(1, np.int64))

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the greedy oracle: pulls change nothing, so it is the best possible."""
        return "greedy", "optimal"
