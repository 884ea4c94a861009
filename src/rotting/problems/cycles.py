"""Cycles: sequences of arms that are repeated for ever, and the best of them.

Where few situations can arise (`Dynamics.situation`), the problem is a small graph: situations are its nodes, pulls its
edges, means their weights. The best that can be done in the long run is then the cycle of largest mean weight, which
Howard's policy iteration finds exactly (Cochet-Terrasson et al. 1998).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.defining import leaves
from rotting.errors import BadValue
from rotting.problems import oracle_kernels as kernels

if TYPE_CHECKING:
    from rotting.problems.problem import Problem

MOST_SITUATIONS = 5000
_FEW = 100  # where no more could be kept, it is not worth trying
_MOST_BYTES = 1 << 28  # of memories that are kept while situations are explored
_ROUNDING = 1e-12


class Cycle(NamedTuple):
    """Arms that are pulled over and over, and what they are worth per round."""

    arms: tuple[int, ...]  # of all its rotations the first in order
    value: float


class _Graph(NamedTuple):
    means: npt.NDArray[np.float64]  # (situations, K)
    following: npt.NDArray[np.int64]  # (situations, K): the situation after the pull


@lru_cache(maxsize=256)
def best_cycle(problem: Problem) -> Cycle | None:
    """Return the cycle of arms with the largest mean reward; None if the problem has too many situations."""
    graph = _explored(problem)
    return None if graph is None else _largest_mean(graph)


def followed_cycle(problem: Problem, choose: Callable[[Any, int], int]) -> Cycle:
    """Return the cycle that a player ends in who chooses arms by the memory and the round."""
    memory, t = problem.new_memory(), 1
    seen: dict[Hashable, int] = {}
    arms: list[int] = []
    means: list[float] = []
    while (situation := _situation(problem, memory, t)) not in seen:
        if situation is None or t > MOST_SITUATIONS:
            raise too_many_situations(problem)
        seen[situation] = t - 1
        arms.append(choose(memory, t))
        means.append(kernels.step(problem.arrays, memory, arms[-1], t))
        t += 1
    return _cycle(arms[seen[situation] :], means[seen[situation] :])


def greedy_cycle(problem: Problem) -> Cycle:
    """Return the cycle in which the arm that is worth most is always pulled."""
    return followed_cycle(problem, lambda memory, t: int(kernels.best_now(problem.arrays, memory, t)))


def constant_cycle(problem: Problem) -> Cycle:
    """Return the best arm to pull always."""
    cycles = [followed_cycle(problem, lambda memory, t, arm=arm: arm) for arm in range(problem.n_arms)]  # type: ignore
    return max(cycles, key=lambda cycle: cycle.value)


def too_many_situations(problem: Problem) -> BadValue:
    """Return the error that says so."""
    return BadValue(
        f"problem {str(problem)!r} has more than {MOST_SITUATIONS} situations, or endless ones",
        expected="few: `Dynamics.situation` says what they are",
    )


def _situation(problem: Problem, memory: Any, t: int) -> Hashable:
    return problem.dynamics_model.situation(problem.curves, memory, t)


def _explored(problem: Problem) -> _Graph | None:
    """Return all situations that can arise; None if they are too many, or endless."""
    if problem.dynamics_model.draws:
        return None
    memory = problem.new_memory()
    most = min(MOST_SITUATIONS, _MOST_BYTES // sum(array.nbytes for _, array in leaves(memory, "memory")))
    start = _situation(problem, memory, 1) if most >= _FEW else None
    if start is None:
        return None
    number, waiting = {start: 0}, [(memory, 1)]
    means: list[list[float]] = []
    following: list[list[int]] = []
    for memory, t in waiting:  # grows while it is gone through
        means.append([])
        following.append([])
        for arm in range(problem.n_arms):
            after = copy.deepcopy(memory)
            means[-1].append(kernels.step(problem.arrays, after, arm, t))
            situation = _situation(problem, after, t + 1)
            if situation not in number:
                if len(number) >= most:
                    return None
                number[situation] = len(number)
                waiting.append((after, t + 1))
            following[-1].append(number[situation])
    return _Graph(np.array(means), np.array(following, np.int64))


def _largest_mean(graph: _Graph) -> Cycle:
    """Return the cycle of largest mean, by Howard's policy iteration."""
    means, following = graph
    rows = np.arange(len(means))
    arms, bias = means.argmax(axis=1), np.zeros(len(means))
    seen: set[bytes] = set()
    while True:
        value, bias = _evaluated(means[rows, arms], following[rows, arms], bias)
        if arms.tobytes() in seen:  # only rounding can lead back: what is left to gain is none
            return _loop(graph, arms, int(value.argmax()))
        seen.add(arms.tobytes())
        reached = value[following]
        # First towards situations from which better cycles are reached; where those are equal, towards larger bias.
        better = reached.max(axis=1) > value + _ROUNDING * (1 + np.abs(value))
        gain = np.where(reached >= value[:, None] - _ROUNDING, means - value[:, None] + bias[following], -np.inf)
        richer = gain.max(axis=1) > bias + _ROUNDING * (1 + np.abs(bias))
        if better.any():
            arms = np.where(better, reached.argmax(axis=1), arms)
        elif richer.any():
            arms = np.where(richer, gain.argmax(axis=1), arms)
        else:
            return _loop(graph, arms, int(value.argmax()))


def _evaluated(
    means: npt.NDArray[np.float64], following: npt.NDArray[np.int64], before: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the mean of the cycle that each situation leads to, and its bias: how much more it collects first.

    A cycle's biases are counted from one of its situations, which keeps the one it had `before`. If it were 0, those of
    several cycles of the same mean could not be compared, and the iteration might go round them for ever.
    """
    value, bias = np.zeros(len(means)), np.zeros(len(means))
    seen_from = np.full(len(means), -1)  # from which start a situation was first seen
    for start in range(len(means)):
        path, here = [], start
        while seen_from[here] < 0:
            seen_from[here] = start
            path.append(here)
            here = following[here]
        if seen_from[here] == start and here in path:  # a new cycle; its bias counts from `here`
            loop = path[path.index(here) :]
            value[here], bias[here] = math.fsum(means[loop]) / len(loop), before[here]
            ends = value[here]
            for place in reversed(loop[1:]):
                value[place] = ends
                bias[place] = means[place] - ends + bias[following[place]]
            path = path[: path.index(here)]
        for place in reversed(path):
            value[place] = value[following[place]]
            bias[place] = means[place] - value[place] + bias[following[place]]
    return value, bias


def _loop(graph: _Graph, arms: npt.NDArray[np.int64], start: int) -> Cycle:
    """Return the cycle in which one ends who chooses these arms."""
    path: list[int] = []
    here = start
    while here not in path:
        path.append(here)
        here = int(graph.following[here, arms[here]])
    loop = path[path.index(here) :]
    return _cycle([int(arms[place]) for place in loop], [float(graph.means[place, arms[place]]) for place in loop])


def _cycle(arms: list[int], means: list[float]) -> Cycle:
    rotations = (tuple(arms[shift:] + arms[:shift]) for shift in range(len(arms)))
    return Cycle(min(rotations), math.fsum(means) / len(means))
