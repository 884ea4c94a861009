"""Dynamics and noise from elsewhere, checked against the contract before compiled code trusts them.

Compiled code does not check what it is given. So a problem's arrays, and the memory of its runs, begin here; what comes
from outside the package is looked at when it is first used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core import types

from rotting._core.checking import compile_errors_in_short, refuse_truncation
from rotting._core.compiling import OPTIONS, belongs_to_package
from rotting._core.defining import check_arrays, leaves
from rotting.errors import KernelError
from rotting.problems.kernel import SHOWN_TYPES, ProblemArrays, draw_reward, dynamics_kernel_of, value_now
from rotting.problems.oracle_kernels import begin, step

if TYPE_CHECKING:
    from rotting.problems.problem import Problem

_checked: set[type] = set()


def part_of(owner: object, kind: type, given: Any, method: str) -> Any:
    """Return a NamedTuple that a method gave as an instance of the class by which compiled code knows it."""
    fields = kind._fields  # type: ignore[attr-defined]
    if not isinstance(given, tuple) or getattr(given, "_fields", None) != fields:
        raise KernelError(
            f"{method} gave {type(given).__name__}",
            owner=str(owner),
            expected=f"a NamedTuple with the fields {', '.join(fields)}",
        )
    return kind(*given)


def memory_of(owner: object, kind: type, given: Any, n_arms: int) -> Any:
    """Return a memory, checked as far as costs nothing."""
    memory = part_of(owner, kind, given, "initial_memory")
    for name, dtype in {"pulls": np.int64, **SHOWN_TYPES}.items():
        array = getattr(memory, name, None)
        if name not in memory._fields or (is_per_arm(array, dtype, n_arms) and (name != "pulls" or not np.any(array))):
            continue
        shown = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        zeros = " of zeros: np.zeros(n_arms, np.int64)" if name == "pulls" else ""
        expected = f"{np.dtype(dtype)}[{n_arms}]{zeros}"
        raise KernelError(f"memory.{name} is {shown}", owner=str(owner), expected=expected)
    return memory


def is_per_arm(array: object, dtype: Any, n_arms: int) -> bool:
    """Say whether this is an array of a type, with a place for each arm."""
    return isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == (n_arms,)


def check_thoroughly(problem: Problem, arrays: ProblemArrays) -> None:
    """Check dynamics and noise from outside the package, each class once."""
    dynamics, noise = type(problem.dynamics_model), type(problem.noise_model)
    if not belongs_to_package(dynamics) and dynamics not in _checked:
        _check_dynamics(problem, arrays)
        _checked.add(dynamics)
    if not belongs_to_package(noise) and noise not in _checked:
        _check_noise(problem, arrays)
        _checked.add(noise)


def _check_dynamics(problem: Problem, arrays: ProblemArrays) -> None:
    owner = str(problem.dynamics_model)
    memory, other = problem.new_memory(), problem.new_memory()
    check_arrays(owner, arrays.dynamics, "arrays")
    check_arrays(owner, memory, "memory")
    for (name, mine), (_, theirs) in zip(leaves(memory, "memory"), leaves(other, "memory"), strict=True):
        if mine.flags.writeable and np.shares_memory(mine, theirs):
            expected = "a new array from each call of initial_memory"
            raise KernelError(f"{name} is shared by all runs", owner=owner, expected=expected)
    kernel = dynamics_kernel_of(type(arrays.dynamics))
    if not numba.config.DISABLE_JIT:
        both = (numba.typeof(arrays), numba.typeof(memory))
        refuse_truncation(owner, "pulled", kernel.pulled, (*both, types.int64, types.int64))
        refuse_truncation(owner, "begin", kernel.begin, (*both, types.uint64))
    means = [_tried(owner, "value", _value_now, arrays, memory, arm, 1) for arm in range(min(problem.n_arms, 100))]
    for arm, mean in enumerate(means):
        if not math.isfinite(mean):
            raise KernelError(f"value gave {mean} for arm {arm} in round 1", owner=owner, expected="a finite number")
    if problem.dynamics_model.rested and problem.n_arms > 1:
        _check_rested(owner, arrays, memory, problem.horizon)


def _check_rested(owner: str, arrays: ProblemArrays, memory: Any, horizon: int) -> None:
    """Refuse arms called rested that change with the rounds, or with the pulls of others: oracles would be wrong."""
    begin(arrays, memory, np.uint64(1))
    for t in range(1, 40):
        arm = t % 2
        others = [_value_now(arrays, memory, other, t) for other in (0, 1) if other != arm]
        step(arrays, memory, arm, t)
        if others != [_value_now(arrays, memory, other, t + 1) for other in (0, 1) if other != arm]:
            said = f"arm {1 - arm} changes in round {t}, when arm {arm} is pulled"
            raise KernelError(said, owner=owner, expected="no change, as rested=True says")
    rounds = np.linspace(40, max(horizon, 40), 50).astype(int).tolist()
    for arm in (0, 1):
        means = [_tried(owner, "value", _value_now, arrays, memory, arm, t) for t in rounds]
        if changed := [t for t, mean in zip(rounds, means, strict=True) if mean != means[0]]:
            said = f"arm {arm} changes until round {changed[0]}, when nothing is pulled"
            raise KernelError(said, owner=owner, expected="no change, as rested=True says")


def _check_noise(problem: Problem, arrays: ProblemArrays) -> None:
    owner = str(problem.noise_model)
    check_arrays(owner, arrays.noise, "arrays")
    mean = min(max(0.5, problem.noise_model.lowest), problem.noise_model.highest)
    for n in range(100):
        reward = _tried(owner, "draw", _draw_reward, arrays, 0, mean, np.uint64(1), n)
        if not math.isfinite(reward):
            raise KernelError(f"draw gave {reward} around {mean} at n = {n}", owner=owner, expected="a finite number")


@numba.njit(**OPTIONS)
def _value_now(problem, memory, arm, t):
    return value_now(problem, memory, arm, t)


@numba.njit(**OPTIONS)
def _draw_reward(problem, arm, mean, key, n):
    return draw_reward(problem, arm, mean, key, n)


def _tried(owner: str, name: str, function: Callable[..., Any], *arguments: Any) -> float:
    """Return what a function gives; say what is wrong if it gives no number."""
    with compile_errors_in_short(owner), np.errstate(all="ignore"):
        given = function(*arguments)
    if isinstance(given, bool) or not isinstance(given, int | float | np.number):
        raise KernelError(f"{name} gave {given!r}", owner=owner, expected="a number")
    return float(given)
