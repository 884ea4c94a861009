"""Compiled functions of users, checked: in plain Python with every index looked at, and before they are compiled.

What goes wrong in compiled code without a word (an index beyond the end of an array, or one that counts from its end, a
float that is cut to a whole number) raises an error here. `uncompiled` runs a function and all that it calls as plain
Python, with a traceback that leads to the line.
"""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from collections.abc import Iterator
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba.core import ir, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from rotting._core.compiling import OPTIONS
from rotting.errors import KernelError, literal

_ESCAPE_CODES = re.compile(r"\x1b\[[0-9;]*m")  # colours of a terminal
_NUMBA_FRAMES = ("Failed in", "No implementation", "-", "[", ">>>", "During:", "There are")


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

    # What is said to who writes to it (nothing: it may be written), but for one number at one place.
    refusal = ""
    allowed: tuple[int, int] | None = None

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(self._checked(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.refusal and (index, value) != self.allowed:
            raise IndexError(self.refusal)
        super().__setitem__(self._checked(index), value)

    def _checked(self, index: Any) -> Any:
        for axis, number in enumerate(index if isinstance(index, tuple) else (index,)):
            if isinstance(number, int | np.integer) and number < 0:
                raise IndexError(f"index {number} is below 0 for axis {axis} with size {self.shape[axis]}")
        return index


def checked_arrays(arrays: Any) -> Any:
    """Return a NamedTuple with all its arrays checked (the same memory)."""
    parts = [checked_arrays(part) if isinstance(part, tuple) else part.view(CheckedArray) for part in arrays]
    return type(arrays)(*parts)


def locked(arrays: Any, why: str, allowed: tuple[int, int] | None = None) -> Any:
    """Return a checked array, or a NamedTuple of them, that refuses to be written (the same memory).

    Parameters
    ----------
    why
        What is said to who writes.
    allowed
        A place and a number that may be written there all the same.
    """
    if isinstance(arrays, tuple):
        return type(arrays)(*(locked(part, why) for part in arrays))
    array = arrays.view(CheckedArray)
    array.refusal, array.allowed = why, allowed
    return array


def guarded(owner: str, what: str, t: int, function: Any, *arguments: Any) -> Any:
    """Call an uncompiled function under the rules of compiled code; say in which round and line it failed."""
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except Exception as error:
        line = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__][-1]
        raise KernelError(
            f"{what} failed in round {t}: {type(error).__name__}: {error} ({line.filename}, line {line.lineno}: "
            f"{line.line})",
            owner=owner,
        ) from error


@contextlib.contextmanager
def compile_errors_in_short(owner: object) -> Iterator[None]:
    """Turn numba's complaints about a user's kernel into a `KernelError`."""
    try:
        yield
    except NumbaError as error:
        raise cannot_be_compiled(owner, error) from error


def cannot_be_compiled(owner: object, error: NumbaError) -> KernelError:
    """Return numba's complaint about a user's kernel in a few words; the whole of it is the error's cause."""
    text = _ESCAPE_CODES.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = next((line for line in lines if not line.startswith(_NUMBA_FRAMES)), "")
    # Of the places that numba names, the last one outside the package is the user's own line.
    places = [line.rstrip(":") for line in lines if line.startswith("File ")]
    own = [place for place in places if "rotting/" not in place.replace(os.sep, "/")] or places
    where = own[-1] if own else ""
    return KernelError(
        f"cannot be compiled: {literal(said)}" + (f" ({literal(where)})" if where else ""),
        owner=str(owner),
        hint="kernels use NumPy arrays and numbers only, allocate nothing, and call functions decorated with "
        "numba.njit; NUMBA_DISABLE_JIT=1 runs them as plain Python",
    )


def refuse_truncation(owner: str, name: str, function: Any, arguments: tuple[Any, ...]) -> None:
    """Refuse a function that puts floats into integer arrays: numba would cut them to whole numbers in silence.

    Parameters
    ----------
    owner, name
        What messages call the function and what it belongs to.
    function, arguments
        The plain function, and numba's types of its arguments.
    """
    compiled = numba.njit(function, **OPTIONS)
    with compile_errors_in_short(owner):
        compiled.compile(arguments)
    [result] = compiled.overloads.values()
    annotation = result.type_annotation
    for block in annotation.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.SetItem | ir.StaticSetItem):
                array, value = annotation.typemap[statement.target.name], annotation.typemap[statement.value.name]
                whole = isinstance(getattr(array, "dtype", None), types.Integer | types.Boolean)
                if isinstance(value, types.Float) and whole:
                    raise KernelError(
                        f"{name} puts a float into an array of {array.dtype} ({statement.loc})",
                        owner=owner,
                        expected="an array of floats, or int(...) around the value",
                    )
