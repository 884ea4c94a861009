"""Every policy, ready to be checked: what the files tests/policies/test_every_policy*.py share.

A new policy needs no line here, unless it has parameters without a usable default: those go into `NEEDS`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rotting.policies
from rotting.policies import Agent, Policy
from rotting.problems import Problem
from rotting.problems.curves import Constant, Power

# What a policy cannot do without, as a function of the number of arms.
NEEDS: dict[str, Callable[[int], dict[str, Any]]] = {
    **dict.fromkeys(
        ("CTO", "CTOSIM", "DCTOUCB"),
        lambda n_arms: {"curves": (Power(theta=0.1), Power(theta=0.5), Constant(0.4))},
    ),
    "Oracle": lambda n_arms: {"problem": Problem([Power(theta=0.2 * (arm + 1)) for arm in range(n_arms)])},
}
# Parameters that lead to other compiled code or to another kind of state than the defaults do.
VARIANTS = [
    ("AdwinUCB", {"bonus": False}),
    ("DCTOUCB", {"m": 4}),
    ("DiscountedUCB", {"force_below_one": True}),
    ("EffFEWA", {"refresh": "blocks"}),
    ("EffFEWA", {"refresh": "printed"}),
    ("EffFEWA", {"grid": 1.3}),
    ("EffRAWUCB", {"grid": 1.3}),
    ("EffRAWUCBPlus", {"grid": 1.3}),
    ("WSWA", {"restart": True}),
]
# An oracle is the problem that it knows, and problems are not written to disk.
NOT_SAVED = {"Oracle"}

ARMS = 3
CLASSES = rotting.policies.POLICIES
CASES = [(name, {}) for name in CLASSES] + VARIANTS


def build(case: tuple[str, dict[str, Any]], n_arms: int = ARMS) -> Policy:
    """Return the policy of a case, able to start with that many arms."""
    name, chosen = case
    try:
        told = {"horizon": 500} if "horizon" in CLASSES[name].knows else {}
        policy = CLASSES[name](**{**NEEDS.get(name, lambda n_arms: told)(n_arms), **chosen})
        policy.initial_state(n_arms)
    except Exception as error:
        pytest.fail(f"{name} cannot be built for these checks ({error}); say in NEEDS what it needs")
    return policy


def title(case: tuple[str, dict[str, Any]]) -> str:
    return case[0] + "".join(f"-{key}={value}" for key, value in case[1].items())


def reward_of(arm: int, n: int) -> float:
    """Return the reward of an arm's pull number n: noisy, rotting, and the same for everybody."""
    return 1.0 / (1 + arm) - 0.01 * n + 0.3 * np.sin(12.9898 * n + 78.233 * arm)


def play(agent: Agent, rounds: int) -> list[int]:
    """Let the agent play; return its choices."""
    choices = []
    for _ in range(rounds):
        arm = agent.select()
        agent.update(arm, float(reward_of(arm, agent.pulls[arm])))
        choices.append(arm)
    return choices


def contents(state: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """Return every array of a state, bit by bit."""
    found = []
    for value in state:
        if isinstance(value, tuple):
            found.extend(contents(value))
        else:
            found.append((value.dtype.str, value.shape, value.tobytes()))
    return found
