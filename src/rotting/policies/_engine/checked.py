"""A policy played in plain Python, with every index checked: slow, for authors of kernels.

What goes wrong in compiled code without a word (an index beyond the end of an array, or one that counts from its end)
raises an error here, with a traceback that leads to the line, also inside compiled helpers: `uncompiled` runs those as
plain Python, too.
"""

from __future__ import annotations

import operator
import traceback
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from rotting._core.randomness import word
from rotting.errors import KernelError
from rotting.policies._engine.contract import fresh_state
from rotting.policies._engine.kernel import Kernel, kernel_of

if TYPE_CHECKING:
    from rotting.policies._engine.policy import Policy


def uncompiled(function: Any, _made: dict[Any, Any] | None = None) -> Any:
    """Return a copy of a function that runs as plain Python, and so does all that it calls."""
    made = {} if _made is None else _made
    plain = getattr(function, "py_func", function)
    if plain not in made:
        own = dict(plain.__globals__)
        cells = tuple(CellType() for _ in plain.__closure__ or ())
        copied = FunctionType(plain.__code__, own, plain.__name__, plain.__defaults__, cells or None)
        made[plain] = copied  # before going on: functions may call themselves
        for cell, original in zip(cells, plain.__closure__ or (), strict=True):
            cell.cell_contents = _uncompiled_value(original.cell_contents, plain.__code__.co_names, made)
        for name in plain.__code__.co_names:
            if name in own:
                own[name] = _uncompiled_value(own[name], plain.__code__.co_names, made)
    return made[plain]


def _uncompiled_value(value: Any, names: tuple[str, ...], made: dict[Any, Any]) -> Any:
    """Return what a function calls as plain Python: a compiled function, or a module that has some."""
    if isinstance(value, Dispatcher):
        return uncompiled(value, made)
    if isinstance(value, ModuleType):
        compiled = {name: getattr(value, name, None) for name in names}
        compiled = {name: part for name, part in compiled.items() if isinstance(part, Dispatcher)}
        if compiled:
            plain = {name: uncompiled(part, made) for name, part in compiled.items()}
            return SimpleNamespace(**{**vars(value), **plain})
    return value


class CheckedArray(np.ndarray[Any, Any]):
    """An array that refuses indices below 0: compiled code takes them for ones that count from the end, or worse."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(self._checked(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(self._checked(index), value)

    def _checked(self, index: Any) -> Any:
        for axis, number in enumerate(index if isinstance(index, tuple) else (index,)):
            if isinstance(number, int | np.integer) and number < 0:
                raise IndexError(f"index {number} is below 0 for axis {axis} with size {self.shape[axis]}")
        return index


class CheckedAgent:
    """What a simulation with `check=True` plays: `select` and `update` as Python runs them."""

    def __init__(self, policy: Policy, n_arms: int, key: np.uint64):
        self.policy = policy
        self._key = key
        self._t = 0
        self._state = _checked_arrays(policy.reserve(fresh_state(policy, n_arms), 1))
        self._kernel = Kernel(*map(uncompiled, kernel_of(policy.State)))

    def select(self) -> int:
        """Return the arm for the next round."""
        with np.errstate(over="ignore"):
            random = word(self._key, self._t + 1)
        arm = self._guarded("select", self._state, self._t + 1, np.uint64(random))
        n_arms = len(self._state.pulls)
        try:
            number = operator.index(arm)
        except TypeError:
            number = -1
        if not 0 <= number < n_arms or isinstance(arm, bool):
            raise self._broken(f"select gave {arm!r} in round {self._t + 1}", f"an arm from 0 to {n_arms - 1}")
        return number

    def update(self, arm: int, reward: float) -> None:
        """Learn from a reward."""
        self._state = _checked_arrays(self.policy.reserve(self._state, 1))
        before = np.array(self._state.pulls)
        self._guarded("update", self._state, arm, reward)
        self._t += 1
        before[arm] += 1
        if not np.array_equal(before, self._state.pulls):
            counted = np.asarray(self._state.pulls).tolist()
            raise self._broken(f"update left pulls at {counted} in round {self._t}", f"{before.tolist()}")

    def _guarded(self, what: str, *arguments: Any) -> Any:
        function = getattr(self._kernel, what)
        try:
            with np.errstate(all="ignore"):
                return function(*arguments)
        except Exception as error:
            line = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__][-1]
            raise self._broken(
                f"{what} failed in round {self._t + 1}: {type(error).__name__}: {error} ({line.filename}, line "
                f"{line.lineno}: {line.line})"
            ) from error

    def _broken(self, problem: str, expected: str | None = None) -> KernelError:
        return KernelError(problem, owner=str(self.policy), expected=expected)


def _checked_arrays(state: Any) -> Any:
    """Return the state with all its arrays checked (the same memory)."""
    parts = [_checked_arrays(part) if isinstance(part, tuple) else part.view(CheckedArray) for part in state]
    return type(state)(*parts)
