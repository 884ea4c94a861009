"""The contract between a policy and the compiled code that drives it.

A policy brings a state (a NamedTuple of NumPy arrays that has a field `pulls`, int64, one count per arm) and two plain
functions over it that allocate nothing:

* `select(state, t, word) -> arm`: the arm for round t = 1, 2, ...; `word` is a random 64-bit number, fresh in every
  round, from which a randomised policy derives as many uniform numbers as it needs (`rotting.randomness.uniform`);
* `update(state, arm, reward)`: take in the reward of a pull, and count it in `state.pulls`.

Compiled code calls the generic `select` and `update` of this module; numba picks the right pair by the class of the
state. So one compiled simulation loop, kept on disk, serves every policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from rotting._core.compiling import INLINED, entry
from rotting._core.randomness import word

_SELECT: dict[Any, Callable[..., Any]] = {}
_UPDATE: dict[Any, Callable[..., Any]] = {}


def register(state_class: type, select: Callable[..., Any], update: Callable[..., Any]) -> None:
    """Make `select` and `update` the compiled functions for states of this class."""
    _SELECT[state_class] = select
    _UPDATE[state_class] = update


def select(state, t, word):
    """Return the arm to pull in round t (generic: resolved by the state's class, in compiled code only)."""
    raise NotImplementedError("only compiled code calls the generic select")


def update(state, arm, reward):
    """Take in a reward (generic: resolved by the state's class, in compiled code only)."""
    raise NotImplementedError("only compiled code calls the generic update")


def _registered(functions: dict[Any, Callable[..., Any]], state: Any) -> Callable[..., Any] | None:
    """Return the function for this numba type, or None (numba then reports that nothing fits)."""
    return functions.get(getattr(state, "instance_class", None))  # the NamedTuple's class


@overload(select, jit_options=INLINED)
def _select(state, t, word):
    return _registered(_SELECT, state)


@overload(update, jit_options=INLINED)
def _update(state, arm, reward):
    return _registered(_UPDATE, state)


@entry
def decide(state, t, key):
    """Return the arm for round t of an agent whose random stream starts at `key`."""
    return select(state, t, word(key, t))


@entry
def learn(state, arm, reward):
    """Give an agent's state one reward."""
    update(state, arm, reward)


@entry
def learn_many(state, arms, rewards):
    """Give an agent's state many rewards, one after the other."""
    for place in range(len(arms)):
        update(state, arms[place], rewards[place])
