"""Arms that are unavailable for a while after a pull."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting._core.validation import whole_number
from rotting.errors import BadType, BadValue
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics
from rotting.problems.rested import Rested


class BlockingArrays(NamedTuple):
    """How long each arm is blocked, and what it pays meanwhile."""

    delays: npt.NDArray[np.int64]  # (K,)
    blocked: npt.NDArray[np.float64]  # [the value of a blocked arm]


class BlockingMemory(NamedTuple):
    """When each arm is free again."""

    pulls: npt.NDArray[np.int64]
    free: npt.NDArray[np.int64]  # (K,): the first round in which the arm is available
    used: npt.NDArray[np.int64]  # (K,): its pulls while it was available


def value(problem, memory, arm, t):
    """Return mu(pulls while available), or what a blocked arm pays."""
    if t < memory.free[arm]:
        return problem.dynamics.blocked[0]
    return mean_at(problem.curves, arm, memory.used[arm])


def pulled(problem, memory, arm, t):
    """Block the arm, unless it is blocked."""
    if t >= memory.free[arm]:
        memory.free[arm] = t + problem.dynamics.delays[arm]
        memory.used[arm] += 1


@dataclasses.dataclass(frozen=True)
class Blocking(Dynamics, arrays=BlockingArrays, memory=BlockingMemory, value=value, pulled=pulled):
    """An arm that is pulled in round t is available again in round t + D_i; D_i = 1 blocks nothing.

    Policies are not told which arms are available: a pull of a blocked arm pays `blocked`, and neither blocks it for
    longer nor wears it out.

    References
    ----------
    Basu, Sen, Sanghavi, Shakkottai (2019), "Blocking bandits".

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> problem = Problem([1.0, 0.6], dynamics=Blocking(delays=[3, 2]))
    >>> problem.cycle()  # the second 0 finds the arm blocked
    Cycle(arms=(0, 1, 0, 1), value=0.55)
    """

    delays: tuple[int, ...] = parameter(raw=True, doc="D_i of each arm, or one number for all")
    blocked: float = parameter(0.0, doc="what a blocked arm pays")

    if TYPE_CHECKING:

        def __init__(self, delays: int | npt.ArrayLike, blocked: float = 0.0) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()

        def checked(delay: object) -> int:
            return whole_number("delays", delay, minimum=1, maximum=10**9, owner="Blocking", from_float=True)

        given: Any = self.delays
        if isinstance(given, str) or (hasattr(given, "__len__") and not len(given)):
            raise BadType("is not a sequence of whole numbers", owner="Blocking", name="delays", value=given)
        delays = tuple(map(checked, given)) if hasattr(given, "__len__") else (checked(given),)
        object.__setattr__(self, "delays", delays)

    def check(self, curves: Sequence[Curve]) -> None:
        """Refuse another number of arms."""
        if len(self.delays) not in (1, len(curves)):
            expected = "one number for all arms, or one for each"
            raise BadValue(
                f"does not fit {len(curves)} arms",
                owner="Blocking",
                name="delays",
                value=self.delays,
                expected=expected,
            )

    def arrays(self, n_arms: int) -> BlockingArrays:
        """Return the delay of each arm."""
        return BlockingArrays(np.array(np.broadcast_to(self.delays, n_arms), np.int64), np.array([self.blocked]))

    def initial_memory(self, n_arms: int) -> BlockingMemory:
        """Return arms that are all available."""
        return BlockingMemory(*(np.zeros(n_arms, np.int64) for _ in range(3)))

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return the bounds of each curve, and what a blocked arm pays."""
        bounds = super().lowest_and_highest(curves)
        return [(min(lowest, self.blocked), max(highest, self.blocked)) for lowest, highest in bounds]

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the best cycle of arms that do not wear out: a cycle knows nothing of what they paid before."""
        if max(self.delays) == 1:
            return Rested().best_oracle(curves)
        wears = any(curve.last_change() > 0 for curve in curves)
        return ("look-ahead", "a reference") if wears else super().best_oracle(curves)

    def situation(self, curves: Sequence[Curve], memory: Any, t: int) -> Hashable:
        """Return how long each arm is still blocked, and where it is on its curve."""
        places = [min(used, curve.last_change()) for curve, used in zip(curves, memory.used.tolist(), strict=True)]
        return (*np.maximum(memory.free - t, 0).tolist(), *places)
