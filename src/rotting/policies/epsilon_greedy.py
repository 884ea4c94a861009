"""Epsilon-greedy: the best mean so far, and now and then any arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting._core.randomness import uniform
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.probable import mixed
from rotting.policies.uniform import uniform_arm


class EpsilonGreedyState(NamedTuple):
    """Running totals of each arm."""

    settings: np.ndarray  # [epsilon]
    pulls: np.ndarray
    totals: np.ndarray


def select(state, t, word):
    """Return any arm with probability epsilon, else the best mean; arms never pulled come first."""
    if uniform(word, 0) < state.settings[0]:
        return uniform_arm(word, 1, len(state.pulls))
    return _best(state)


def probabilities(state, t, out):
    """Give all arms their share of epsilon, and the best mean the rest."""
    mixed(out, _best(state), state.settings[0])


@helper
def _best(state):
    """Return the arm with the best mean."""
    best, best_mean = 0, -np.inf
    for arm in range(len(state.pulls)):
        n = state.pulls[arm]
        if n == 0:
            return arm
        mean = state.totals[arm] / n
        if mean > best_mean:
            best, best_mean = arm, mean
    return best


def update(state, arm, reward):
    """Add the reward to the arm's total."""
    state.pulls[arm] += 1
    state.totals[arm] += reward


@dataclass(frozen=True)
class EpsilonGreedy(
    Policy, state=EpsilonGreedyState, select=select, update=update, probabilities=probabilities, randomised=True
):
    """Pull any arm with probability epsilon, else the arm with the best mean (arms never pulled first).

    References
    ----------
    Sutton, Barto (2018), "Reinforcement learning: an introduction", section 2.2.

    Examples
    --------
    >>> agent = EpsilonGreedy(epsilon=0.2).start(n_arms=2, seed=1)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 8, 92])
    """

    epsilon: float = parameter(0.1, minimum=0, maximum=1, doc="probability of pulling an arm at random")

    def initial_state(self, n_arms: int) -> EpsilonGreedyState:
        """Return empty totals."""
        return EpsilonGreedyState(np.array([self.epsilon]), np.zeros(n_arms, np.int64), np.zeros(n_arms))
