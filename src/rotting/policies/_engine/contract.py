"""States checked against the kernel contract, before compiled code trusts them.

Compiled code does not check what it is given: a `pulls` of the wrong length would be written beyond its end. So every
state begins here. What costs nothing is checked each time, the rest when a policy class is first used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core import ir, types
from numba.core.errors import NumbaError

from rotting._core.compiling import OPTIONS, belongs_to_package
from rotting.errors import BadValue, KernelError, RottingError, literal
from rotting.policies._engine.kernel import cannot_be_compiled, kernel_of
from rotting.problems.curve_kernels import CurveArrays
from rotting.problems.dynamics import ProblemArrays

if TYPE_CHECKING:
    from rotting.policies._engine.policy import Policy

_ALLOWED_KINDS = "biuf"
_checked: set[type] = set()


def fresh_state(policy: Policy, n_arms: int) -> Any:
    """Return a policy's first state, as an instance of the policy's own state class."""
    try:
        state = policy.initial_state(n_arms)
    except RottingError:
        raise
    except (MemoryError, OverflowError, ValueError) as error:  # NumPy's words for arrays that are too large
        raise BadValue(f"no state for {n_arms} arms can be made: {literal(str(error))}", owner=str(policy)) from None
    own = policy.State
    if not isinstance(state, tuple) or getattr(state, "_fields", None) != own._fields:  # type: ignore[attr-defined]
        fields = ", ".join(own._fields)  # type: ignore[attr-defined]
        raise _broken(policy, f"initial_state gave {type(state).__name__}", f"a NamedTuple with the fields {fields}")
    pulls = state.pulls  # type: ignore[attr-defined]
    right = isinstance(pulls, np.ndarray) and pulls.dtype == np.int64 and pulls.shape == (n_arms,)
    if not right or pulls.any():
        shown = f"{pulls.dtype}{list(pulls.shape)}" if isinstance(pulls, np.ndarray) else type(pulls).__name__
        raise _broken(policy, f"pulls is {shown}", f"int64[{n_arms}] of zeros: np.zeros(n_arms, np.int64)")
    state = own(*state)
    if own not in _checked:
        _check_thoroughly(policy, state, n_arms)
        _checked.add(own)
    return state


def leaves(state: Any, prefix: str = "state") -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a state with their names, those of nested tuples included."""
    for name, value in zip(state._fields, state, strict=True):
        if isinstance(value, tuple):
            if not hasattr(value, "_fields"):
                raise KernelError(f"{prefix}.{name} is a plain tuple", expected="arrays and NamedTuples of arrays")
            yield from leaves(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", value


def _check_thoroughly(policy: Policy, state: Any, n_arms: int) -> None:
    """Check every array, and that two states share none that can be written."""
    for name, array in leaves(state):
        if not isinstance(array, np.ndarray) or array.dtype.kind not in _ALLOWED_KINDS or array.ndim == 0:
            kind = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
            raise _broken(policy, f"{name} is {kind}", "arrays of numbers; a single number is an array of length one")
        if not array.flags.c_contiguous:
            raise _broken(policy, f"{name} is not contiguous", "np.ascontiguousarray of it")
    _refuse_overlaps(policy, state)
    for name, array in _shared(state, policy.initial_state(n_arms)):
        if array.flags.writeable:
            raise _broken(policy, f"{name} is shared by all states", "a new array from each call of initial_state")
    if not belongs_to_package(policy.State) and not numba.config.DISABLE_JIT:
        _refuse_truncation(policy, state)


def _refuse_overlaps(policy: Policy, state: Any) -> None:
    """Refuse two arrays of one state that share memory without being the same array: saved and loaded, they part."""
    arrays = list(leaves(state))
    for place, (name, array) in enumerate(arrays):
        for other, earlier in arrays[:place]:
            if array is not earlier and np.may_share_memory(array, earlier) and array.flags.writeable:
                raise _broken(policy, f"{name} and {other} overlap", "the very same array, or arrays of their own")


def _shared(one: Any, other: Any, prefix: str = "state") -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays that two states share; problems and curves, which nobody changes, may be shared."""
    for name, mine, theirs in zip(one._fields, one, other, strict=True):
        if isinstance(mine, CurveArrays | ProblemArrays):
            continue
        if isinstance(mine, tuple):
            yield from _shared(mine, theirs, f"{prefix}.{name}")
        elif np.shares_memory(mine, theirs):
            yield f"{prefix}.{name}", mine


def _refuse_truncation(policy: Policy, state: Any) -> None:
    """Refuse an `update` that puts floats into integer arrays: numba would cut rewards to whole numbers in silence."""
    update = numba.njit(kernel_of(policy.State).update, **OPTIONS)
    try:
        update.compile((numba.typeof(state), types.int64, types.float64))
    except NumbaError as error:
        raise cannot_be_compiled(policy, error) from error
    [compiled] = update.overloads.values()
    annotation = compiled.type_annotation
    for block in annotation.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.SetItem | ir.StaticSetItem):
                array, value = annotation.typemap[statement.target.name], annotation.typemap[statement.value.name]
                whole = isinstance(getattr(array, "dtype", None), types.Integer | types.Boolean)
                if isinstance(value, types.Float) and whole:
                    raise _broken(
                        policy,
                        f"update puts a float into an array of {array.dtype} ({statement.loc})",
                        "an array of floats, or int(...) around the value",
                    )


def _broken(policy: Policy, problem: str, expected: str) -> KernelError:
    return KernelError(problem, owner=str(policy), expected=expected)
