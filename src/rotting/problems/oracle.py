"""The greedy oracle: it knows the curves, and in every round it pulls the arm with the largest mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.compiling import entry, helper
from rotting._core.summation import kahan_add
from rotting.problems.kernel import value_now

if TYPE_CHECKING:
    from rotting.problems.problem import Problem


class OracleResult(NamedTuple):
    """What the greedy oracle does in `horizon` rounds."""

    pulls: npt.NDArray[np.int64]  # (K,)
    reward: npt.NDArray[np.float64]  # cumulative expected reward at each of `rounds`
    rounds: npt.NDArray[np.int64]


def play_oracle(problem: Problem, rounds: npt.NDArray[np.int64]) -> OracleResult:
    """Return what the oracle has done at each of `rounds`, which increase; it plays up to the last."""
    memory, reward = problem.new_memory(), np.empty(len(rounds))
    values, heap = np.empty(problem.n_arms), np.arange(problem.n_arms, dtype=np.int64)
    _play(problem.arrays, memory, rounds, problem.restless, values, heap, reward)
    return OracleResult(memory.pulls, reward, rounds)


@entry
def _play(problem, memory, rounds, restless, values, heap, reward):
    """Play up to the last of `rounds`; fill `memory` and `reward`. `values` and `heap` are work space, K each.

    The pull of a rested arm changes no other arm's mean, so a heap of the arms finds the next one in O(log K).
    """
    total, error, recorded = 0.0, 0.0, 0
    for arm in range(len(heap)):
        values[arm] = value_now(problem, memory, arm, 1)
    for place in range(len(heap) // 2 - 1, -1, -1):
        _sift_down(heap, values, place)
    best = heap[0]
    for t in range(1, rounds[-1] + 1):
        if restless:
            best = _largest(problem, memory, t, values)
        total, error = kahan_add(total, error, values[best])
        memory.pulls[best] += 1
        while recorded < len(rounds) and rounds[recorded] == t:
            reward[recorded] = total
            recorded += 1
        if not restless:
            mean = value_now(problem, memory, best, t)
            if mean != values[best]:
                values[best] = mean
                _sift_down(heap, values, 0)
                best = heap[0]


@helper
def _largest(problem, memory, t, values):
    """Return the arm with the largest mean in round t, the lowest-numbered on ties; write all means to `values`."""
    best = 0
    for arm in range(len(values)):
        values[arm] = value_now(problem, memory, arm, t)
        if values[arm] > values[best]:
            best = arm
    return best


@helper
def _sift_down(heap, values, place):
    """Move the arm at `place` of the heap down to where no arm below it comes first."""
    arm = heap[place]
    child = 2 * place + 1
    while child < len(heap):
        if child + 1 < len(heap) and _comes_first(values, heap[child + 1], heap[child]):
            child += 1
        if not _comes_first(values, heap[child], arm):
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = arm


@helper
def _comes_first(values, one, other):
    """Say whether the oracle pulls `one` rather than `other`: the larger mean, the lower number on ties."""
    return values[one] > values[other] or (values[one] == values[other] and one < other)
