"""What a problem shows of each round before an arm is chosen.

A problem shows what its memory holds under the names in `SHOWN`. A policy that `sees` a name gets it written to the
field of that name in its state; where either is missing, nothing is left of this in the compiled code.
"""

from __future__ import annotations

from numba.extending import overload

from rotting._core.compiling import INLINED, helper
from rotting.policies._contract.kernel import sees
from rotting.problems.kernel import SHOWN


def show(state, memory):
    """Write to the state what the memory shows of the next round."""
    for name in _shared(type(state), memory._fields):
        getattr(state, name)[:] = getattr(memory, name)


def _shared(state: type, fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in SHOWN if name in sees(state) and name in fields)


@helper
def _copy(target, source):
    for arm in range(len(source)):
        target[arm] = source[arm]


def _show_nothing(state, memory):
    pass


def _show_eligible(state, memory):
    _copy(state.eligible, memory.eligible)


def _show_rest(state, memory):
    _copy(state.rest, memory.rest)


def _show_both(state, memory):
    _copy(state.eligible, memory.eligible)
    _copy(state.rest, memory.rest)


_SHOWING = {(): _show_nothing, SHOWN[:1]: _show_eligible, SHOWN[1:]: _show_rest, SHOWN: _show_both}


@overload(show, jit_options=INLINED)
def _overloaded_show(state, memory):
    return _SHOWING[_shared(getattr(state, "instance_class", type(None)), getattr(memory, "fields", ()))]
