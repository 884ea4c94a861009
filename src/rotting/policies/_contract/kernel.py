"""The kernel contract: what a policy brings, and the compiled code that calls it.

A policy brings a state, a NamedTuple of NumPy arrays (or of such tuples), and plain functions over it that allocate
nothing. Of the state's fields two have a meaning for everybody:

| field | meaning |
|---|---|
| `pulls` | int64, one count per arm: how often each was pulled. Every state has it |
| `settings` | what the policy was told; never changes |

* `select(state, t, word) -> arm`: the arm for round t = 1, 2, ...; `word` is a random 64-bit number, fresh in every
  round, from which a randomised policy derives as many uniform numbers as it needs (`rotting.randomness.uniform`);
* `update(state, arm, reward)`: learn from the reward of one pull, and count it in `state.pulls`;
* `recommend(state) -> arm`, which may be left out: the arm for all pulls to come, if there were nothing more to learn.
  By default it is the most pulled one (lowest number on ties).
* `probabilities(state, t, out)`, of randomised policies that have a closed form: fill `out` with the probability that
  `select(state, t, word)` gives each arm, over random words. It writes to nothing else.

A policy that `sees` something of each round, such as which arms are eligible, has fields of these names, too: who plays
it writes there what the problem shows (`rotting.problems.kernel`) before `select` and `update` are called. Where a
problem shows nothing, they keep what `initial_state` and `update` write. Rewards of such a policy cannot be late.

A kernel belongs to its policy. Each policy class has a class of states of its own (`Policy.State`, derived from the
NamedTuple it was given), and compiled code finds the policy's functions by that class. So policies that share a
NamedTuple, subclasses, and notebook cells that are run again never get each other's functions. Compiled code calls the
generic `select` and `update` of this module: one compiled loop, kept on disk, serves every policy. `probable` has the
generic form of `probabilities`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from rotting._core.compiling import INLINED, entry, helper
from rotting._core.randomness import word

# The field that the state of a policy with `maps_rewards` gets besides its own: [low, high].
RANGE = "reward_range"


class Kernel(NamedTuple):
    """The functions of a policy, uncompiled."""

    select: Callable[..., Any]
    update: Callable[..., Any]
    recommend: Callable[..., Any]
    probabilities: Callable[..., Any] | None = None  # `certain` where the word is not used


# Never shrinks: numba recognises classes by their addresses, which must not be used again for other classes.
_KERNELS: dict[type, Kernel] = {}
_SEES: dict[type, tuple[str, ...]] = {}


def register(state_class: type, kernel: Kernel, sees: tuple[str, ...] = ()) -> None:
    """Make these the functions for states of this class, and the fields that are written before they are called."""
    _KERNELS[state_class], _SEES[state_class] = kernel, sees


def sees(state_class: type) -> tuple[str, ...]:
    """Return the fields of states of this class that a player writes in every round."""
    return _SEES.get(state_class, ())


def kernel_of(state_class: type) -> Kernel:
    """Return the functions for states of this class."""
    return _KERNELS[state_class]


def select(state, t, word):
    """Return the arm to pull in round t (compiled code resolves this by the state's class; so does plain Python)."""
    return _KERNELS[type(state)].select(state, t, word)


def update(state, arm, reward):
    """Learn from a reward (compiled code resolves this by the state's class; so does plain Python)."""
    _KERNELS[type(state)].update(state, arm, mapped(state, reward) if RANGE in state._fields else reward)


def recommend(state):
    """Return the arm to stay with from now on (compiled code resolves this by the state's class; so does Python)."""
    return _KERNELS[type(state)].recommend(state)


def most_pulled(state):
    """Return the arm with the most pulls, the lowest number on ties: what a policy recommends that does not say."""
    most = 0
    for arm in range(len(state.pulls)):
        if state.pulls[arm] > state.pulls[most]:
            most = arm
    return most


def certain(state, t, out):
    """Fill in the probabilities of a policy that is not randomised: 1 for its choice."""
    out[:] = 0.0
    arm = select(state, t, np.uint64(0))
    if 0 <= arm < len(out):
        out[arm] = 1.0


def mapped(state, reward):
    """Return a reward on the scale on which the policy's range is [0, 1]; one that is there already keeps its bits."""
    low = state.reward_range[0]
    return (reward - low) / (state.reward_range[1] - low)


_mapped = helper(mapped)


def _update_mapped(state, arm, reward):
    _own_update(state, arm, _mapped(state, reward))


def _own_update(state, arm, reward):
    """Learn from a mapped reward."""


def registered(state: Any) -> Kernel | None:
    """Return the kernel for this numba type, or None (numba then reports that nothing fits)."""
    return _KERNELS.get(getattr(state, "instance_class", type(None)))


@overload(select, jit_options=INLINED)
def _select(state, t, word):
    kernel = registered(state)
    return None if kernel is None else kernel.select


@overload(update, jit_options=INLINED)
def _update(state, arm, reward):
    kernel = registered(state)
    if kernel is not None and RANGE in state.fields:
        return _update_mapped
    return None if kernel is None else kernel.update


@overload(recommend, jit_options=INLINED)
def _recommend(state):
    kernel = registered(state)
    return None if kernel is None else kernel.recommend


@overload(_own_update, jit_options=INLINED)
def _overloaded_own_update(state, arm, reward):
    kernel = registered(state)
    return None if kernel is None else kernel.update


@entry
def decide(state, t, key):
    """Return the arm for round t of an agent whose random stream starts at `key`; -1 if it is none of the arms."""
    arm = select(state, t, word(key, t))
    if arm < 0 or arm >= len(state.pulls) or state.pulls[arm] < 0:
        return -1
    return arm


@entry
def advise(state):
    """Return the arm to stay with from now on; -1 if it is none of the arms."""
    arm = recommend(state)
    return arm if 0 <= arm < len(state.pulls) else -1


@entry
def learn(state, arm, reward):
    """Give an agent's state one reward; say whether it counted one pull of the arm."""
    before = state.pulls[arm]
    update(state, arm, reward)
    return state.pulls[arm] == before + 1


@entry
def learn_many(state, arms, rewards):
    """Give an agent's state many rewards, one after the other; say whether each was counted once."""
    for place in range(len(arms)):
        before = state.pulls[arms[place]]
        update(state, arms[place], rewards[place])
        if state.pulls[arms[place]] != before + 1:
            return False
    return True
