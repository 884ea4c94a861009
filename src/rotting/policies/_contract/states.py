"""States checked against the kernel contract, before compiled code trusts them.

Compiled code does not check what it is given: a `pulls` of the wrong length would be written beyond its end. So every
state begins here. What costs nothing is checked each time, the rest when a policy class is first used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core import types

from rotting._core.checking import refuse_truncation
from rotting._core.compiling import belongs_to_package
from rotting._core.defining import check_arrays, leaves
from rotting.errors import BadValue, KernelError, RottingError, literal
from rotting.policies._contract.kernel import kernel_of
from rotting.problems.contract import is_per_arm
from rotting.problems.curve_kernels import CurveArrays
from rotting.problems.kernel import SHOWN_TYPES, ProblemArrays

if TYPE_CHECKING:
    from rotting.policies._contract.policy import Policy

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
    mapped = (np.array(policy.reward_limits()),) if policy.maps_rewards else ()
    named = own._fields[: -1 if mapped else None]  # type: ignore[attr-defined]
    if not isinstance(state, tuple) or getattr(state, "_fields", None) != named:
        fields = ", ".join(named)
        raise _broken(policy, f"initial_state gave {type(state).__name__}", f"a NamedTuple with the fields {fields}")
    pulls = state.pulls  # type: ignore[attr-defined]
    right = isinstance(pulls, np.ndarray) and pulls.dtype == np.int64 and pulls.shape == (n_arms,)
    if not right or pulls.any():
        shown = f"{pulls.dtype}{list(pulls.shape)}" if isinstance(pulls, np.ndarray) else type(pulls).__name__
        raise _broken(policy, f"pulls is {shown}", f"int64[{n_arms}] of zeros: np.zeros(n_arms, np.int64)")
    for name in policy.sees:
        if not is_per_arm(getattr(state, name), SHOWN_TYPES[name], n_arms):
            raise _broken(policy, f"{name} has another form", f"{np.dtype(SHOWN_TYPES[name])}[{n_arms}]")
    state = own(*state, *mapped)
    if own not in _checked:
        _check_thoroughly(policy, state, n_arms)
        _checked.add(own)
    return state


def _check_thoroughly(policy: Policy, state: Any, n_arms: int) -> None:
    """Check every array, and that two states share none that can be written."""
    check_arrays(str(policy), state, "state")
    _refuse_overlaps(policy, state)
    for name, array in _shared(state, policy.initial_state(n_arms)):
        if array.flags.writeable:
            raise _broken(policy, f"{name} is shared by all states", "a new array from each call of initial_state")
    if not belongs_to_package(policy.State) and not numba.config.DISABLE_JIT:
        arguments = (numba.typeof(state), types.int64, types.float64)
        refuse_truncation(str(policy), "update", kernel_of(policy.State).update, arguments)


def _refuse_overlaps(policy: Policy, state: Any) -> None:
    """Refuse two arrays of one state that share memory without being the same array: saved and loaded, they part."""
    arrays = list(leaves(state))
    for place, (name, array) in enumerate(arrays):
        for other, earlier in arrays[:place]:
            if array is not earlier and np.may_share_memory(array, earlier) and array.flags.writeable:
                raise _broken(policy, f"{name} and {other} overlap", "the very same array, or arrays of their own")


def _shared(one: Any, other: Any, prefix: str = "state") -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays that two states share; problems and curves, which nobody changes, may be shared."""
    for name, mine, theirs in zip(other._fields, one, other, strict=False):
        if isinstance(mine, CurveArrays | ProblemArrays):
            continue
        if isinstance(mine, tuple):
            yield from _shared(mine, theirs, f"{prefix}.{name}")
        elif np.shares_memory(mine, theirs):
            yield f"{prefix}.{name}", mine


def _broken(policy: Policy, problem: str, expected: str) -> KernelError:
    return KernelError(problem, owner=str(policy), expected=expected)
