"""Oracles in compiled code: they know the problem, and play up to the last of the rounds to record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from rotting._core.compiling import INLINED, entry, helper
from rotting._core.summation import kahan_add
from rotting.problems.kernel import after_pull, begin_run, may_pull, value_now


@entry
def begin(problem, memory, key):
    """Begin a run."""
    begin_run(problem, memory, key)


@entry
def step(problem, memory, arm, t):
    """Pull an arm in round t; return what it was worth."""
    mean = value_now(problem, memory, arm, t)
    _pull(problem, memory, arm, t)
    return mean


@entry
def best_now(problem, memory, t):
    """Return the arm that is worth most in round t of those that may be pulled, the lowest-numbered on ties."""
    return _best(problem, memory, t)[0]


@helper
def _best(problem, memory, t):
    """Return the arm that is worth most, and what."""
    best, best_value = 0, -np.inf
    for arm in range(len(memory.pulls)):
        if may_pull(memory, arm):
            value = value_now(problem, memory, arm, t)
            if value > best_value:
                best, best_value = arm, value
    return best, best_value


@helper
def _pull(problem, memory, arm, t):
    after_pull(problem, memory, arm, t)
    memory.pulls[arm] += 1


@helper
def _record(rounds, reward, recorded, t, total):
    """Write the total down where round t is to be recorded; return how many rounds are."""
    while recorded < len(rounds) and rounds[recorded] == t:
        reward[recorded] = total
        recorded += 1
    return recorded


@entry
def play_heap(problem, memory, rounds, values, heap, reward):
    """Play greedily where a pull changes its own arm's mean only: a heap finds the next arm in O(log K).

    `values` and `heap` are work space, K each.
    """
    total, error, recorded = 0.0, 0.0, 0
    for arm in range(len(heap)):
        values[arm] = value_now(problem, memory, arm, 1)
    for place in range(len(heap) // 2 - 1, -1, -1):
        _sift_down(heap, values, place)
    best = heap[0]
    for t in range(1, rounds[-1] + 1):
        total, error = kahan_add(total, error, values[best])
        _pull(problem, memory, best, t)
        recorded = _record(rounds, reward, recorded, t, total)
        mean = value_now(problem, memory, best, t + 1)
        if mean != values[best]:
            values[best] = mean
            _sift_down(heap, values, 0)
            best = heap[0]


@entry
def play_greedily(problem, memory, rounds, reward):
    """Play greedily: look at every arm in every round."""
    total, error, recorded = 0.0, 0.0, 0
    for t in range(1, rounds[-1] + 1):
        best, best_value = _best(problem, memory, t)
        total, error = kahan_add(total, error, best_value)
        _pull(problem, memory, best, t)
        recorded = _record(rounds, reward, recorded, t, total)


@entry
def play_arms(problem, memory, arms, rounds, reward):
    """Play these arms in turn, over and over."""
    total, error, recorded = 0.0, 0.0, 0
    for t in range(1, rounds[-1] + 1):
        arm = arms[(t - 1) % len(arms)]
        total, error = kahan_add(total, error, value_now(problem, memory, arm, t))
        _pull(problem, memory, arm, t)
        recorded = _record(rounds, reward, recorded, t, total)


@entry
def play_ahead(problem, memories, rounds, depth, arms, gains, plan, reward):
    """Play in each round the first arm of the best `depth` ones, found by trying all; ties go to lower numbers.

    Parameters
    ----------
    memories
        One for each step: the first is the real one, the others are work space.
    arms, gains, plan
        Work space: the arm tried at each step, what the steps before it gain, and the best sequence.
    """
    total, error, recorded = 0.0, 0.0, 0
    memory, n_arms = memories[0], len(memories[0].pulls)
    for t in range(1, rounds[-1] + 1):
        steps = min(depth, rounds[-1] - t + 1)
        best, found = 0.0, False
        level = 0
        arms[0], gains[0] = 0, 0.0
        while level >= 0:
            if arms[level] == n_arms:
                level -= 1
                if level >= 0:
                    arms[level] += 1
                continue
            gain = gains[level] + value_now(problem, memories[level], arms[level], t + level)
            if level + 1 < steps:
                copy_into(memories[level + 1], memories[level])
                _pull(problem, memories[level + 1], arms[level], t + level)
                level += 1
                arms[level], gains[level] = 0, gain
                continue
            if not found or gain > best:
                best, found = gain, True
                plan[0] = arms[0]
            arms[level] += 1
        total, error = kahan_add(total, error, value_now(problem, memory, plan[0], t))
        _pull(problem, memory, plan[0], t)
        recorded = _record(rounds, reward, recorded, t, total)


@entry
def means_of(problem, memory, arm, means):
    """Write to `means` what each pull of an arm is worth if it alone is pulled."""
    for n in range(len(means)):
        means[n] = value_now(problem, memory, arm, n + 1)
        _pull(problem, memory, arm, n + 1)


@entry
def share_out(before, own, best, taken):
    """Write to `best` what n pulls earn at most that are shared between an arm and those before it (max-plus).

    Parameters
    ----------
    before, own
        What 0, 1, 2, ... pulls earn of those before it, and of the arm.
    best, taken
        The same of both together, and how many pulls of them are the arm's.
    """
    for n in range(len(best)):
        best[n], taken[n] = before[n], 0
    for pulls in range(1, len(best)):
        gain = own[pulls]
        for n in range(pulls, len(best)):
            total = before[n - pulls] + gain
            if total > best[n]:
                best[n], taken[n] = total, pulls


@entry
def add_up(means, totals):
    """Write to `totals` what 0, 1, 2, ... of them come to."""
    total, error = 0.0, 0.0
    totals[0] = 0.0
    for n in range(len(means)):
        total, error = kahan_add(total, error, means[n])
        totals[n + 1] = total


@entry
def add_up_constant(problem, memory, arm, rounds, reward):
    """Write to `reward` what an arm alone has collected at each of `rounds`."""
    total, error, recorded = 0.0, 0.0, 0
    for t in range(1, rounds[-1] + 1):
        total, error = kahan_add(total, error, value_now(problem, memory, arm, t))
        _pull(problem, memory, arm, t)
        recorded = _record(rounds, reward, recorded, t, total)


def copy_into(target, source):
    """Copy all arrays of a NamedTuple into those of another of the same shape."""
    for own, other in zip(target, source, strict=True):
        if isinstance(own, tuple):
            copy_into(own, other)
        else:
            own[...] = other


@overload(copy_into, jit_options=INLINED)
def _copy_into(target, source):
    return _copier(target)


def _copier(target: Any) -> Any:
    if isinstance(target, types.Array) and target.ndim == 1:

        def copy_array(target, source):
            for place in range(len(target)):  # a slice would need numba's runtime
                target[place] = source[place]

        return copy_array
    if isinstance(target, types.Array):

        def copy_rows(target, source):
            for row in range(len(target)):
                copy_into(target[row], source[row])

        return copy_rows
    if len(target) == 0:

        def copy_nothing(target, source):
            pass

        return copy_nothing

    def copy_tuple(target, source):
        copy_into(target[0], source[0])
        copy_into(target[1:], source[1:])

    return copy_tuple


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
