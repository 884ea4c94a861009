"""Arms that improve with their own pulls."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rotting.errors import BadValue
from rotting.problems.curve import Curve
from rotting.problems.rested import ClockArrays, FollowsClock


@dataclasses.dataclass(frozen=True)
class Rising(FollowsClock, rested=True):
    """An arm's value follows its own pulls, as with `Rested`, and never falls: the oracle is the best constant arm.

    Policies for this setting also want it concave, which is not checked.

    References
    ----------
    Metelli, Trovo, Pirola, Restelli (2022), "Stochastic rising bandits"; Heidari, Kearns, Roth (2016).

    Examples
    --------
    >>> from rotting.problems import Growth, Problem
    >>> problem = Problem([0.5, Growth(start=0.0, rate=0.1, top=0.9)], dynamics=Rising())
    >>> problem.oracle(horizon=10).pulls, problem.oracle(horizon=100).pulls
    (array([10,  0]), array([  0, 100]))
    """

    rots: ClassVar[bool] = False

    def arrays(self, n_arms: int) -> ClockArrays:
        """Return what its values follow."""
        return ClockArrays(np.zeros(1, np.int64))

    def check(self, curves: Sequence[Curve]) -> None:
        """Refuse curves that fall."""
        for arm, curve in enumerate(curves):
            if not curve.is_nondecreasing():
                raise BadValue(
                    "falls, and rising arms never do", owner=f"Problem: arm {arm}", name="curve", value=curve
                )

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the best constant arm: an arm's total is convex in its pulls, so it is best not to divide them."""
        return "constant arm", "optimal"
