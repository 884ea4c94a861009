"""Uniform: any arm, whatever happened so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.randomness import uniform
from rotting.policies._contract.policy import Policy


class UniformState(NamedTuple):
    """Nothing but the counts."""

    pulls: np.ndarray


@helper
def uniform_arm(word, n, n_arms):
    """Return an arm, all equally likely, from the n-th uniform number of `word`."""
    # The product may be rounded up to n_arms itself.
    return min(int(uniform(word, n) * n_arms), n_arms - 1)


def select(state, t, word):
    """Return any arm."""
    return uniform_arm(word, 0, len(state.pulls))


def probabilities(state, t, out):
    """Give all arms the same probability."""
    out[:] = 1.0 / len(out)


def update(state, arm, reward):
    """Count the pull."""
    state.pulls[arm] += 1


@dataclass(frozen=True)
class Uniform(Policy, state=UniformState, select=select, update=update, probabilities=probabilities, randomised=True):
    """Pull an arm at random, all equally likely: the floor to be better than.

    Examples
    --------
    >>> agent = Uniform().start(n_arms=4, seed=1)
    >>> for _ in range(1000):
    ...     agent.update(agent.select(), 0.0)
    >>> agent.pulls
    array([247, 246, 250, 257])
    """

    def initial_state(self, n_arms: int) -> UniformState:
        """Return counts of zero."""
        return UniformState(np.zeros(n_arms, np.int64))
