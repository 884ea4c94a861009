"""Arms that wear each other out: a graph says whose pulls age which arm."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting.errors import BadValue
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics


class GraphArrays(NamedTuple):
    """Which arms age when an arm is pulled."""

    first: npt.NDArray[np.int64]  # (K + 1,): where each arm's list begins in `ages`
    aged: npt.NDArray[np.int64]  # the lists, one after the other


class GraphMemory(NamedTuple):
    """How old each arm is."""

    pulls: npt.NDArray[np.int64]
    age: npt.NDArray[np.int64]  # (K,): pulls of the arms that age it


def value(problem, memory, arm, t):
    """Return mu(age)."""
    return mean_at(problem.curves, arm, memory.age[arm])


def pulled(problem, memory, arm, t):
    """Age all arms that the graph names."""
    graph = problem.dynamics
    for place in range(graph.first[arm], graph.first[arm + 1]):
        memory.age[graph.aged[place]] += 1


@dataclasses.dataclass(frozen=True)
class TriggerGraph(Dynamics, arrays=GraphArrays, memory=GraphMemory, value=value, pulled=pulled):
    """An arm's value follows the pulls of all arms that wear it out: `matrix[i][j]` is 1 if pulls of j age arm i.

    The identity matrix gives rested arms, a matrix of ones restless ones, and blocks of ones groups that wear out
    together (`TriggerGraph.groups`). In general the greedy oracle is not the best possible.

    References
    ----------
    Genalti, Mussi, Gatti, Restelli, Castiglioni, Metelli (2024), "Graph-triggered rising bandits" (there for arms that
    rise; the dynamics are the same).

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> TriggerGraph.groups([0, 0, 1])
    TriggerGraph(matrix=((1, 1, 0), (1, 1, 0), (0, 0, 1)))
    >>> Problem([[1.0, 0.9, 0.2], 0.8, 0.5], dynamics=TriggerGraph.groups([0, 0, 1])).oracle(4).pulls
    array([2, 2, 0])
    """

    matrix: tuple[tuple[int, ...], ...] = parameter(raw=True, doc="matrix[i][j]: 1 if pulls of arm j age arm i, else 0")

    if TYPE_CHECKING:

        def __init__(self, matrix: npt.ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        try:
            matrix = np.array(self.matrix, dtype=float)
        except (TypeError, ValueError):
            matrix = np.zeros(0)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.all((matrix == 0) | (matrix == 1)):
            raise BadValue(
                "is not a square of zeros and ones",
                owner="TriggerGraph",
                name="matrix",
                value=self.matrix,
                expected="one row and one column per arm",
            )
        object.__setattr__(self, "matrix", tuple(map(tuple, matrix.astype(int).tolist())))

    @classmethod
    def groups(cls, group: Sequence[object]) -> TriggerGraph:
        """Return the graph of arms that wear out together: those with the same entry of `group`."""
        return cls([[int(one == other) for other in group] for one in group])

    def check(self, curves: Sequence[Curve]) -> None:
        """Refuse another number of arms."""
        if len(curves) != len(self.matrix):
            raise BadValue(
                f"is for {len(self.matrix)} arms, not {len(curves)}",
                owner="TriggerGraph",
                name="matrix",
                expected="as many",
            )

    def arrays(self, n_arms: int) -> GraphArrays:
        """Return for each arm the list of those that it ages."""
        lists = [np.flatnonzero(column) for column in np.array(self.matrix).T]
        first = np.concatenate([[0], np.cumsum([len(ages) for ages in lists])])
        return GraphArrays(first.astype(np.int64), np.concatenate(lists).astype(np.int64))

    def initial_memory(self, n_arms: int) -> GraphMemory:
        """Return arms of age 0."""
        return GraphMemory(np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64))

    def best_oracle(self, curves: Sequence[Curve]) -> tuple[str, str]:
        """Return the greedy oracle: the best possible where the graph makes arms rested or restless."""
        matrix = np.array(self.matrix)
        falling = all(curve.is_nonincreasing() for curve in curves)
        if matrix.all() or (falling and np.array_equal(matrix, np.eye(len(matrix)))):
            return "greedy", "optimal"
        return super().best_oracle(curves)
