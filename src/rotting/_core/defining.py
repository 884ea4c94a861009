"""What classes that bring compiled functions have in common: policies, dynamics, noise, curves.

Each names plain functions and a NamedTuple of arrays in its class line. Compiled code finds the functions by the class
of the tuple, so each defining class gets a tuple class of its own.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from rotting.errors import KernelError, RottingError

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

_ALLOWED_KINDS = "biuf"
_definitions: Counter[str] = Counter()
# Curves, dynamics and noise by name: texts of problems name all three, so no two may share a name.
IN_PROBLEMS: dict[str, type] = {}


def plain_function(
    error: type[RottingError], owner: str, name: str, function: Any, arguments: tuple[str, ...]
) -> FunctionType | None:
    """Return the plain, untyped function behind what was given, which may be compiled already (None as it is)."""
    if function is None:
        return None
    function = getattr(function, "py_func", function)
    # Numba would refuse other names of arguments, too, but could not say why.
    if not isinstance(function, FunctionType) or tuple(inspect.signature(function).parameters) != arguments:
        raise error(
            "is not such a function", owner=owner, name=name, value=function, expected=f"{name}({', '.join(arguments)})"
        )
    return _without_annotations(function) if function.__annotations__ else function


def _without_annotations(function: FunctionType) -> FunctionType:
    """Return the same function, untyped: numba compares signatures to the letter, and ours have no annotations."""
    plain = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    plain.__module__, plain.__qualname__, plain.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return plain


def own_tuple_class(owner: type, base: type, role: str) -> type:
    """Return a tuple class that nothing else has: by it, numba finds the owner's functions and compiled code.

    Numba's dispatcher tells classes of NamedTuples apart by their names alone. So the name is unique, also when a
    notebook defines the same class again. `role` is the attribute of the owner that will hold it.
    """
    name = f"{owner.__module__}.{owner.__qualname__}.{role}"
    _definitions[name] += 1
    again = f"#{_definitions[name]}" if _definitions[name] > 1 else ""
    own = type(f"{name}{again}", (base,), {"__slots__": (), "__doc__": base.__doc__})
    own.__module__, own.__qualname__ = owner.__module__, f"{owner.__qualname__}.{role}"
    return own


def refuse_methods(error: type[RottingError], kind: str, owner: type, names: tuple[str, ...]) -> None:
    """Refuse kernels given as methods, which nothing would ever call."""
    for name in names:
        if hasattr(owner, name):
            raise error(
                f"{name} is a method",
                owner=owner.__name__,
                hint=f"make it a plain function and name it in the class line: class {owner.__name__}({kind}, ..., "
                f"{name}={name})",
            )


def check_name(error: type[RottingError], kind: str, owner: type, known: dict[str, Any]) -> None:
    """Refuse a name that a class from elsewhere has: texts find classes by their names."""
    other = known.get(owner.__name__)
    if other is not None and other.__module__ != owner.__module__:
        raise error(
            f"{other.__module__} has a {kind} of this name",
            owner=owner.__name__,
            hint="choose another name: texts such as plans and saved agents find it by its name",
        )


def is_tuple_class(kind: Any) -> bool:
    """Say whether something is a class of NamedTuples."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def written_first(*names: str) -> Callable[[type[Tuple]], type[Tuple]]:
    """Return a decorator that says of fields of a NamedTuple: a run writes what it reads of them first."""

    def mark(kind: type[Tuple]) -> type[Tuple]:
        kind.written_first = names  # type: ignore[attr-defined]
        return kind

    return mark


def leaves(arrays: Any, prefix: str = "state") -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a NamedTuple with their names, those of nested tuples included."""
    for name, value in zip(arrays._fields, arrays, strict=True):
        if isinstance(value, tuple):
            if not hasattr(value, "_fields"):
                raise KernelError(f"{prefix}.{name} is a plain tuple", expected="arrays and NamedTuples of arrays")
            yield from leaves(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", value


def check_arrays(owner: str, arrays: Any, prefix: str) -> None:
    """Refuse what compiled code cannot work on: only contiguous arrays of numbers are allowed."""
    for name, array in leaves(arrays, prefix):
        if not isinstance(array, np.ndarray) or array.dtype.kind not in _ALLOWED_KINDS or array.ndim == 0:
            kind = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
            expected = "arrays of numbers; a single number is an array of length one"
            raise KernelError(f"{name} is {kind}", owner=owner, expected=expected)
        if not array.flags.c_contiguous:
            raise KernelError(f"{name} is not contiguous", owner=owner, expected="np.ascontiguousarray of it")
