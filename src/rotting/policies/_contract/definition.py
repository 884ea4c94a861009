"""What a policy's class line says, checked when the class is defined: the parts of its kernel, and its traits."""

from __future__ import annotations

import dis
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from rotting._core import defining
from rotting.errors import PolicyDefinitionError
from rotting.policies._contract.kernel import RANGE, Kernel, register
from rotting.policies._contract.suited import KINDS

# The arguments of the two functions, by which number they are known here.
_SELECT_ARGUMENTS, _UPDATE_ARGUMENTS = ("state", "t", "word"), ("state", "arm", "reward")
_WORD = 2
# What a state must have for `filters=True`: the arms that passed the filter, how many they are, and by which window
# each of the others was dropped.
_FILTER_FIELDS = ("active", "left", "dropped")


def define_kernel(
    policy: type,
    base_state: type | None,
    inherited: Kernel | None,
    given: dict[str, Any],
    maps_rewards: bool,
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
    maps_rewards
        Whether the state gets a field more, for the range that rewards are mapped from.
    """
    owner = policy.__name__
    state = given["state"] or base_state

    def plain(name: str, function: Any, arguments: tuple[str, ...]) -> Any:
        return defining.plain_function(PolicyDefinitionError, owner, name, function, arguments)

    select = plain("select", given["select"] or (inherited and inherited.select), _SELECT_ARGUMENTS)
    update = plain("update", given["update"] or (inherited and inherited.update), _UPDATE_ARGUMENTS)
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
    if not defining.is_tuple_class(state) or "pulls" not in state._fields:  # type: ignore[union-attr]
        raise PolicyDefinitionError(
            "is not a class of states",
            owner=owner,
            name="state",
            value=state,
            expected="a NamedTuple with a field pulls",
        )
    fields = state._fields  # type: ignore[union-attr]
    if maps_rewards and RANGE not in fields:
        state = namedtuple(state.__name__, (*fields, RANGE))  # type: ignore[misc, no-redef]
    return defining.own_tuple_class(policy, state, "State"), Kernel(select, update)


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
    _check_what_it_is_made_for(policy)
    for trait, method in (("knows", "informed"), ("keeps_history", "reserve")):
        declared = bool(getattr(policy, trait))
        if getattr(policy, trait) == ("horizon",) and "horizon" in _parameters(policy):
            continue  # filled in by `Policy.informed`
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


def _check_what_it_is_made_for(policy: type) -> None:
    """Refuse what cannot be compared with problems."""
    owner, rewards = policy.__name__, policy.takes_rewards  # type: ignore[attr-defined]
    noise, made_for = policy.noise_parameter, policy.made_for  # type: ignore[attr-defined]
    if rewards is not None:
        pair = isinstance(rewards, tuple) and len(rewards) == 2
        named = pair and all(end in _parameters(policy) for end in rewards)
        numbers = pair and all(isinstance(end, int | float) for end in rewards)
        if not named and not (numbers and rewards[0] < rewards[1]):
            expected = "two numbers, such as (0.0, 1.0), or the names of two of its parameters"
            raise PolicyDefinitionError(owner=owner, name="rewards", value=rewards, expected=expected)
    if policy.maps_rewards and rewards is None:  # type: ignore[attr-defined]
        expected = "with rewards=, the range that they are mapped from"
        raise PolicyDefinitionError(owner=owner, name="maps_rewards", value=True, expected=expected)
    if noise is not None and noise not in _parameters(policy):
        raise PolicyDefinitionError(owner=owner, name="noise", value=noise, expected="the name of a parameter")
    if made_for is not None and made_for not in KINDS:
        expected = f"one of {', '.join(map(repr, KINDS))}"
        raise PolicyDefinitionError(owner=owner, name="made_for", value=made_for, expected=expected)


def _parameters(policy: type) -> set[str]:
    """Return the names of a class's fields, also before it is made a dataclass."""
    return {name for each in policy.__mro__ for name in vars(each).get("__annotations__", {})}


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
    defining.check_name(PolicyDefinitionError, "policy", policy, known)
