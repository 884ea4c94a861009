"""The best that can be done with rested arms of any shape: how many pulls each of them gets.

Arms that follow their own pulls alone earn F_i(n_i), whatever the order of the pulls. So the best for T rounds is the
largest sum of F_i(n_i) with sum of n_i = T, a dynamic program over arms:

    J_i(t) = max over n <= t of J_(i-1)(t - n) + F_i(n)

That takes T^2 / 2 steps for each arm that has a shape of its own. Arms that never rise need none among themselves: the
largest means come first. Nor do arms that never fall: it is best not to divide pulls between them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting.problems import oracle_kernels as kernels

if TYPE_CHECKING:
    from rotting.problems.problem import Problem

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

# Steps of the program, of which a processor takes some 3 in a nanosecond.
MOST_STEPS = 10**10
# Means that are kept meanwhile.
MOST_MEANS = 10**8


class Group(NamedTuple):
    """Arms whose pulls are shared out already."""

    arms: list[int]
    totals: Floats  # what 0, 1, 2, ... pulls of them earn at most
    pulls_of: Callable[[int], Counts]  # from their number of pulls to those of each


def can_allocate(problem: Problem, last: int) -> bool:
    """Say whether the program is small enough for so many rounds."""
    of_own_shape = sum(not curve.is_nonincreasing() and not curve.is_nondecreasing() for curve in problem.curves)
    steps = (of_own_shape + 1) * last**2 // 2
    return problem.dynamics_model.rested and steps <= MOST_STEPS and problem.n_arms * last <= MOST_MEANS


def allocate(problem: Problem, last: int, begun: Callable[[], Any]) -> tuple[Floats, Counts]:
    """Return what 0, 1, ... rounds earn at most, each by an allocation of its own, and the pulls of the last one."""
    return _program(problem, last, begun) if problem.dynamics_model.draws else _kept(problem, last)


@lru_cache(maxsize=8)
def _kept(problem: Problem, last: int) -> tuple[Floats, Counts]:
    return _program(problem, last, problem.new_memory)


def _program(problem: Problem, last: int, begun: Callable[[], Any]) -> tuple[Floats, Counts]:
    means = np.empty((problem.n_arms, last))
    for arm in range(problem.n_arms):
        kernels.means_of(problem.arrays, begun(), arm, means[arm])
    groups = _groups(means)
    best, taken = groups[0].totals, []
    for group in groups[1:]:
        before, best = best, np.empty(last + 1)
        taken.append(np.empty(last + 1, np.int64))
        kernels.share_out(before, group.totals, best, taken[-1])
    pulls, left = np.zeros(problem.n_arms, np.int64), last
    for group, of_group in zip(groups[:0:-1], taken[::-1], strict=True):
        pulls[group.arms] = group.pulls_of(int(of_group[left]))
        left -= int(of_group[left])
    pulls[groups[0].arms] = groups[0].pulls_of(left)
    return best, pulls


def _groups(means: Floats) -> list[Group]:
    """Return the arms that never rise, those that never fall, and each of the others."""
    steps = np.diff(means, axis=1)
    falling = (steps <= 0).all(axis=1)
    rising = (steps >= 0).all(axis=1) & ~falling
    groups = [_falling(np.flatnonzero(falling), means[falling])] if falling.any() else []
    groups += [_rising(np.flatnonzero(rising), means[rising])] if rising.any() else []
    return groups + [_alone(int(arm), means[arm]) for arm in np.flatnonzero(~falling & ~rising)]


def _falling(arms: Counts, means: Floats) -> Group:
    """Pull the largest means first, those of lower-numbered arms on ties."""
    order = np.argsort(-means.ravel(), kind="stable")[: means.shape[1]]
    whose = order // means.shape[1]
    return Group(arms.tolist(), _totals(means.ravel()[order]), lambda n: np.bincount(whose[:n], minlength=len(arms)))


def _rising(arms: Counts, means: Floats) -> Group:
    """Pull one of them only: the one that earns most with so many pulls."""
    totals = np.stack([_totals(each) for each in means])

    def pulls_of(n: int) -> Counts:
        pulls = np.zeros(len(arms), np.int64)
        pulls[totals[:, n].argmax()] = n
        return pulls

    return Group(arms.tolist(), totals.max(axis=0), pulls_of)


def _alone(arm: int, means: Floats) -> Group:
    return Group([arm], _totals(means), lambda n: np.array([n]))


def _totals(means: Floats) -> Floats:
    totals = np.empty(len(means) + 1)
    kernels.add_up(np.ascontiguousarray(means), totals)
    return totals
