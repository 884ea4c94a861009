"""A run of a problem in plain Python, with every index checked: slow, for authors of dynamics, noise and curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting._core.checking import checked_arrays, guarded, locked, uncompiled
from rotting.errors import KernelError
from rotting.problems.kernel import draw_of, dynamics_kernel_of

if TYPE_CHECKING:
    from rotting.problems.problem import Problem


class CheckedRun:
    """What a simulation with `check=True` pulls arms of: the problem's functions as Python runs them."""

    def __init__(self, problem: Problem, memory: Any):
        self._problem = problem
        self._arrays = locked(checked_arrays(problem.arrays), "problems never change")
        checked = checked_arrays(memory)
        self._memory = checked._replace(pulls=locked(checked.pulls, "memory.pulls is counted by the loop"))
        self._seen = locked(checked, "value changes nothing; pulled does")
        kernel = dynamics_kernel_of(type(problem.arrays.dynamics))
        self._value, self._pulled, self._begin = map(uncompiled, kernel)
        self._draw = uncompiled(draw_of(type(problem.arrays.noise)))

    def begin(self, key: np.uint64) -> None:
        """Begin the run."""
        guarded(str(self._problem.dynamics_model), "begin", 0, self._begin, self._arrays, self._memory, key)

    def pull(self, key: np.uint64, arm: int, t: int) -> tuple[float, float]:
        """Return the mean and the reward of an arm in round t, and take the pull down (counting it is for the loop)."""
        before = np.array(self._memory.pulls)
        dynamics, noise = str(self._problem.dynamics_model), str(self._problem.noise_model)
        mean = guarded(dynamics, "value", t, self._value, self._arrays, self._seen, arm, t)
        self._refuse_endless(dynamics, "value", mean, t)
        of_draw = self._draw, self._arrays, arm, mean, key, int(before[arm])
        reward = guarded(noise, "draw", t, *of_draw)
        self._refuse_endless(noise, "draw", reward, t)
        if guarded(noise, "draw", t, *of_draw) != reward:
            raise KernelError(
                f"draw gives another reward when it is asked again in round {t}",
                owner=noise,
                expected="all randomness to come from key and n (rotting.randomness)",
            )
        guarded(dynamics, "pulled", t, self._pulled, self._arrays, self._memory, arm, t)
        if not np.array_equal(before, self._memory.pulls):
            raise KernelError(
                f"pulled changed memory.pulls in round {t}", owner=dynamics, expected="the loop to count pulls"
            )
        return float(mean), float(reward)

    def _refuse_endless(self, owner: str, what: str, number: float, t: int) -> None:
        if not math.isfinite(number):
            raise KernelError(f"{what} gave {number} in round {t}", owner=owner, expected="a finite number")
