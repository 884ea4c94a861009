"""What a policy's class line says, checked when the class is defined: the parts of its kernel, and its traits."""

from __future__ import annotations

import dis
import inspect
from collections import Counter
from collections.abc import Callable
from types import FunctionType
from typing import Any

from rotting.errors import PolicyDefinitionError
from rotting.policies._engine.kernel import Kernel, register

# The arguments of the two functions, by which number they are known here.
_SELECT_ARGUMENTS, _UPDATE_ARGUMENTS = ("state", "t", "word"), ("state", "arm", "reward")
_WORD = 2
# What a state must have for `filters=True`: the arms that passed the filter, how many they are, and by which window
# each of the others was dropped.
_FILTER_FIELDS = ("active", "left", "dropped")


_definitions: Counter[str] = Counter()


def define_kernel(
    policy: type,
    base_state: type | None,
    inherited: Kernel | None,
    given: dict[str, Any],
) -> tuple[type, Kernel]:
    """Return the state class and the functions of a new policy class: those given, and else those inherited.

    Parameters
    ----------
    policy
        The class that is being defined.
    base_state, inherited
        What its parent has.
    given
        `state`, `select` and `update` of the class line; None where they are not given.
    """
    owner = policy.__name__
    state = given["state"] or base_state
    select = _plain(owner, "select", given["select"] or (inherited and inherited.select), _SELECT_ARGUMENTS)
    update = _plain(owner, "update", given["update"] or (inherited and inherited.update), _UPDATE_ARGUMENTS)
    missing = [name for name, part in (("state", state), ("select", select), ("update", update)) if part is None]
    if missing:
        raise PolicyDefinitionError(
            f"{' and '.join(missing)} missing in the class line",
            owner=owner,
            expected=f"class {owner}(Policy, state=..., select=..., update=...)",
            hint="abstract=True is for classes that only others are derived from",
        )
    assert state is not None
    assert select is not None
    assert update is not None
    fields = getattr(state, "_fields", ())
    if not (isinstance(state, type) and issubclass(state, tuple)) or "pulls" not in fields:
        raise PolicyDefinitionError(
            "is not a class of states",
            owner=owner,
            name="state",
            value=state,
            expected="a NamedTuple with a field pulls",
        )
    return _own_state_class(policy, state), Kernel(select, update)


def _plain(owner: str, name: str, function: Any, arguments: tuple[str, ...]) -> FunctionType | None:
    """Return the plain function behind what was given, which may be compiled already."""
    if function is None:
        return None
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType) or len(inspect.signature(function).parameters) != len(arguments):
        raise PolicyDefinitionError(
            "is not such a function", owner=owner, name=name, value=function, expected=f"{name}({', '.join(arguments)})"
        )
    return function


def _own_state_class(policy: type, state: type) -> type:
    """Return a class of states that no other policy has: by it, numba finds the policy's functions and compiled code.

    Numba's dispatcher tells classes of NamedTuples apart by their names alone. So the name is unique, also when a
    notebook defines the same policy again.
    """
    name = f"{policy.__module__}.{policy.__qualname__}"
    _definitions[name] += 1
    again = f"#{_definitions[name]}" if _definitions[name] > 1 else ""
    own = type(f"{name}.State{again}", (state,), {"__slots__": (), "__doc__": state.__doc__})
    own.__module__, own.__qualname__ = policy.__module__, f"{policy.__qualname__}.State"
    return own


def register_kernel(state: type, kernel: Kernel) -> None:
    """Let compiled code find the functions by the class of states."""
    register(state, kernel)


def check_traits(policy: type, state: type, kernel: Kernel, base: type) -> None:
    """Refuse traits that contradict the class itself."""
    owner = policy.__name__
    randomised, filters = policy.randomised, policy.filters  # type: ignore[attr-defined]
    if randomised != _uses_argument(kernel.select, _WORD):
        raise PolicyDefinitionError(
            "select uses its random word" if not randomised else "select never uses its random word",
            owner=owner,
            name="randomised",
            value=randomised,
            expected=f"randomised={not randomised} in the class line",
        )
    if filters and not set(_FILTER_FIELDS) <= set(state._fields):  # type: ignore[attr-defined]
        raise PolicyDefinitionError(
            "needs a state that says what was filtered",
            owner=owner,
            name="filters",
            value=True,
            expected=f"a state with the fields {', '.join(_FILTER_FIELDS)}",
        )
    for trait, method in (("knows", "informed"), ("keeps_history", "reserve")):
        declared = bool(getattr(policy, trait))
        overridden = getattr(policy, method) is not getattr(base, method)
        if declared != overridden:
            raise PolicyDefinitionError(
                f"is declared, but {method}() is not overridden" if declared else f"is not declared, but {method}() is",
                owner=owner,
                name=trait,
                value=getattr(policy, trait),
                expected=f"both {trait} in the class line and a method {method}, or neither",
            )
    if policy.initial_state is base.initial_state:  # type: ignore[attr-defined]
        raise PolicyDefinitionError(
            "initial_state is missing",
            owner=owner,
            expected="a method initial_state(n_arms) that makes the first state",
        )


def _uses_argument(function: Callable[..., Any], place: int) -> bool:
    """Say whether a function ever looks at its argument number `place`."""
    name = function.__code__.co_varnames[place]
    return any(
        name == instruction.argval or (isinstance(instruction.argval, tuple) and name in instruction.argval)
        for instruction in dis.get_instructions(function)
        if instruction.opname.startswith("LOAD_")
    )


def refuse_shadowing(policy: type, base: type) -> None:
    """Refuse names that mean something else here: kernels as methods, which nothing would call; taken parameters."""
    owner = policy.__name__
    for name in vars(policy).get("__annotations__", {}):
        if hasattr(base, name) or name in ("select", "update", "state"):
            raise PolicyDefinitionError(
                f"{name} cannot be the name of a parameter: every policy has it already",
                owner=owner,
                hint="choose another name",
            )
    if "State" in vars(policy) and "_kernel" not in vars(policy):
        raise PolicyDefinitionError(
            "State is made from the class line", owner=owner, expected=f"class {owner}(Policy, state=..., ...)"
        )
    for name in ("select", "update"):
        if hasattr(policy, name):
            raise PolicyDefinitionError(
                f"{name} is a method",
                owner=owner,
                hint=f"make it a plain function and name it in the class line: class {owner}(Policy, ..., "
                f"{name}={name})",
            )


def check_name(policy: type, known: dict[str, Any]) -> None:
    """Refuse a name that a policy from elsewhere has: texts and saved agents find policies by their names."""
    other = known.get(policy.__name__)
    if other is not None and other.__module__ != policy.__module__:
        raise PolicyDefinitionError(
            f"{other.__module__} has a policy of this name",
            owner=policy.__name__,
            hint="choose another name: texts such as plans and saved agents find policies by it",
        )
