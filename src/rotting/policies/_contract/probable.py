"""The probability of each arm: exact where the policy's kernel tells it, else from draws with other random words.

A share of M + 1 draws, the actual one and M others (the replays), is C / (M + 1), never below 1 / (M + 1) for the arm
that was drawn. With p the true probability, the mean of its inverse is (1 - (1 - p)^(M + 1)) / p: weighting a reward by
it makes arms below that floor count too little, and others as they should.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from rotting._core.compiling import INLINED, entry, helper
from rotting._core.randomness import word
from rotting.policies._contract.kernel import kernel_of, registered, select

REPLAYS = 100  # unless somebody says how many
_OTHERS = np.uint64(0x452821E638D01377)  # digits of pi, so that replays have streams of their own


@helper
def replay_key(key, replay):
    """Return where the random stream of a replay (0, 1, ...) starts, for an agent whose own starts at `key`."""
    return word(key ^ _OTHERS, replay)


def fill_probabilities(state, t, key, replays, out):
    """Fill in the probability that each arm has in round t of an agent whose random stream starts at `key`.

    Exact ones use neither `key` nor `replays`. The others are shares of the draw of `key` and of so many replays, all
    from this state: where `select` keeps a plan in it, only the first is drawn (`Agent.probabilities_among` sees that).
    """
    exact = kernel_of(type(state)).probabilities
    if exact is None:
        _shares(state, t, key, replays, out)
    else:
        exact(state, t, out)


def _shares(state, t, key, replays, out):
    out[:] = 0.0
    for replay in range(-1, replays):
        arm = select(state, t, word(key if replay < 0 else replay_key(key, replay), t))
        if 0 <= arm < len(out):
            out[arm] += 1.0
    for arm in range(len(out)):
        out[arm] /= replays + 1


def _exact(state, t, key, replays, out):
    _own(state, t, out)


def _own(state, t, out):
    """Fill in exact probabilities."""


@overload(fill_probabilities, jit_options=INLINED)
def _fill(state, t, key, replays, out):
    kernel = registered(state)
    if kernel is None:
        return None
    return _shares if kernel.probabilities is None else _exact


@overload(_own, jit_options=INLINED)
def _overloaded_own(state, t, out):
    kernel = registered(state)
    return None if kernel is None else kernel.probabilities


@entry
def probabilities_of(state, t, key, replays, out):
    """Fill in the probabilities of round t; say whether they are probabilities."""
    fill_probabilities(state, t, key, replays, out)
    total, least = 0.0, 0.0
    for arm in range(len(out)):
        total += out[arm]
        least = min(least, out[arm])
    return abs(total - 1.0) <= 1e-9 and least >= 0.0


@helper
def mixed(out, arm, share):
    """Fill in the probabilities of one arm, but for a share of draws among all."""
    for each in range(len(out)):
        out[each] = share / len(out)
    out[arm] += 1.0 - share
