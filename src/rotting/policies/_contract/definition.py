"""What a policy's class line says, checked when the class is defined: the parts of its kernel, and its traits."""

from __future__ import annotations

import dis
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from rotting._core import defining
from rotting.errors import PolicyDefinitionError
from rotting.policies._contract.kernel import RANGE, Kernel, certain, most_pulled
from rotting.policies._contract.suited import KINDS
from rotting.problems.kernel import SHOWN

# The arguments of the functions, and the number of the random word among those of `select`.
_ARGUMENTS = {
    "select": ("state", "t", "word"),
    "update": ("state", "arm", "reward"),
    "recommend": ("state",),
    "probabilities": ("state", "t", "out"),
}
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
        `state`, `select`, `update`, `recommend` and `probabilities` of the class line; None where they are not given.
    maps_rewards
        Whether the state gets a field more, for the range that rewards are mapped from.
    """
    owner = policy.__name__
    inherits = inherited._asdict() if inherited else {}
    from_parent: dict[str, Any] = {"state": base_state, "recommend": most_pulled} | inherits
    if given["select"] is not None:
        from_parent["probabilities"] = None
    parts: dict[str, Any] = {name: from_parent.get(name) if part is None else part for name, part in given.items()}
    if missing := [name for name, part in parts.items() if part is None and name != "probabilities"]:
        raise PolicyDefinitionError(
            f"{' and '.join(missing)} missing in the class line",
            owner=owner,
            expected=f"class {owner}(Policy, state=..., select=..., update=...)",
            hint="abstract=True is for classes that only others are derived from",
        )
    functions: list[Any] = [
        defining.plain_function(PolicyDefinitionError, owner, name, parts[name], arguments)
        for name, arguments in _ARGUMENTS.items()
    ]
    select, *_, probabilities = functions
    if probabilities is None and not _uses_argument(select, _WORD):
        functions[-1] = certain
    state: Any = parts["state"]
    if not defining.is_tuple_class(state) or "pulls" not in state._fields:
        raise PolicyDefinitionError(
            "is not a class of states",
            owner=owner,
            name="state",
            value=state,
            expected="a NamedTuple with a field pulls",
        )
    fields = (RANGE,) if maps_rewards and RANGE not in state._fields else ()
    widened = namedtuple(state.__name__, (*state._fields, *fields)) if fields else state
    return defining.own_tuple_class(policy, widened, "State"), Kernel(*functions)


def check_traits(policy: Any, state: Any, kernel: Kernel, base: Any) -> None:
    """Refuse traits that contradict the class itself, or cannot be compared with problems."""

    def refuse_if(wrong: object, name: str, value: object, expected: str, problem: str = "") -> None:
        if wrong:
            raise PolicyDefinitionError(problem, owner=policy.__name__, name=name, value=value, expected=expected)

    randomised, parameters = policy.randomised, _parameters(policy)
    refuse_if(
        randomised != _uses_argument(kernel.select, _WORD),
        "randomised",
        randomised,
        f"randomised={not randomised} in the class line",
        "select never uses its random word" if randomised else "select uses its random word",
    )
    exact = None if kernel.probabilities is certain else kernel.probabilities
    expected = "nothing: without chance, the choice has probability 1"
    refuse_if(exact is not None and not randomised, "probabilities", exact, expected, "is for randomised policies")
    lacks = policy.filters and not set(_FILTER_FIELDS) <= set(state._fields)
    expected = f"a state with the fields {', '.join(_FILTER_FIELDS)}"
    refuse_if(lacks, "filters", True, expected, "needs a state that says what was filtered")
    rewards, noise, made_for = policy.takes_rewards, policy.noise_parameter, policy.made_for
    expected = "two numbers, such as (0.0, 1.0), or the names of two of its parameters"
    refuse_if(rewards is not None and not _is_range(rewards, parameters), "rewards", rewards, expected)
    expected = "with rewards=, the range that they are mapped from"
    refuse_if(policy.maps_rewards and rewards is None, "maps_rewards", True, expected)
    refuse_if(noise is not None and noise not in parameters, "noise", noise, "the name of a parameter")
    expected = f"one of {', '.join(map(repr, KINDS))}"
    refuse_if(made_for is not None and made_for not in KINDS, "made_for", made_for, expected)
    expected = f"some of {', '.join(map(repr, SHOWN))}, and fields of these names in the state"
    refuse_if(not {*policy.sees} <= {*SHOWN} & {*state._fields}, "sees", policy.sees, expected)
    for trait, method in (("knows", "informed"), ("keeps_history", "reserve")):
        value, overridden = getattr(policy, trait), getattr(policy, method) is not getattr(base, method)
        filled_in = value == ("horizon",) and "horizon" in parameters  # by `Policy.informed`
        expected = f"both {trait} in the class line and a method {method}, or neither"
        problem = f"is declared, but {method}() is not overridden" if value else f"is not declared, but {method}() is"
        refuse_if(bool(value) != overridden and not filled_in, trait, value, expected, problem)
    if policy.initial_state is base.initial_state:
        expected = "a method initial_state(n_arms) that makes the first state"
        raise PolicyDefinitionError("initial_state is missing", owner=policy.__name__, expected=expected)


def _is_range(rewards: Any, parameters: set[str]) -> bool:
    """Say whether this is a range of rewards: two numbers, or two parameters that give them."""
    if not isinstance(rewards, tuple) or len(rewards) != 2:
        return False
    if all(end in parameters for end in rewards):
        return True
    return all(isinstance(end, int | float) for end in rewards) and rewards[0] < rewards[1]


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
        if hasattr(base, name) or name in ("state", *_ARGUMENTS):
            raise PolicyDefinitionError(
                f"{name} cannot be the name of a parameter: every policy has it already",
                owner=owner,
                hint="choose another name",
            )
    if "State" in vars(policy) and "_kernel" not in vars(policy):
        raise PolicyDefinitionError(
            "State is made from the class line", owner=owner, expected=f"class {owner}(Policy, state=..., ...)"
        )
    defining.refuse_methods(PolicyDefinitionError, "Policy", policy, tuple(_ARGUMENTS))
