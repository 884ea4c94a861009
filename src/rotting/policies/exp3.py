"""Exp3: exponential weights, for rewards that may do anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting._core.randomness import uniform
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter

# When a log-weight exceeds this, the largest one is subtracted from all: e^100 is far from overflowing.
_LARGEST_LOG_WEIGHT = 100.0


class Exp3State(NamedTuple):
    """The weight of each arm, up to a common factor.

    The logarithms are what counts: an arm whose weight is 0 in floating point still has one from which it can
    come back. The weights themselves are kept only to save taking K exponentials in every round.
    """

    settings: np.ndarray  # [gamma, low, high]; of Exp3.S alpha, too
    pulls: np.ndarray
    log_weights: np.ndarray
    weights: np.ndarray  # exp(log_weights)


def select(state, t, word):
    """Draw an arm from the mixture of the weights and the uniform distribution."""
    total = state.weights.sum()
    left = uniform(word, 0)
    last = len(state.pulls) - 1
    for arm in range(last):
        left -= _probability(state, arm, total)
        if left < 0.0:
            return arm
    return last


def probabilities(state, t, out):
    """Give each arm its share of the mixture."""
    total = state.weights.sum()
    for arm in range(len(out)):
        out[arm] = _probability(state, arm, total)


def update(state, arm, reward):
    """Raise the arm's weight by its reward over the probability of pulling it."""
    gamma, low, high = state.settings[0], state.settings[1], state.settings[2]
    # Nothing changed since `select`, so this is the probability with which it drew the arm.
    probability = _probability(state, arm, state.weights.sum())
    gain = min(max((reward - low) / (high - low), 0.0), 1.0)
    state.log_weights[arm] += gamma * gain / (probability * len(state.pulls))
    state.weights[arm] = math.exp(state.log_weights[arm])
    if state.log_weights[arm] > _LARGEST_LOG_WEIGHT:
        _subtract(state, state.log_weights[arm])
    state.pulls[arm] += 1


@helper
def _probability(state, arm, total):
    """Return the probability of drawing the arm."""
    gamma = state.settings[0]
    return (1.0 - gamma) * state.weights[arm] / total + gamma / len(state.pulls)


@helper
def _subtract(state, largest):
    """Divide all weights by the largest one."""
    for arm in range(len(state.pulls)):
        state.log_weights[arm] -= largest
        state.weights[arm] = math.exp(state.log_weights[arm])


def check_weights(log_weights: np.ndarray, weights: np.ndarray) -> None:
    """Refuse weights (from a file) that no arms can be drawn by."""
    if not np.isfinite(log_weights).all() or not np.allclose(weights, np.exp(log_weights)):
        raise DamagedFile("its weights are inconsistent")


@dataclass(frozen=True)
class Exp3(
    Policy,
    state=Exp3State,
    select=select,
    update=update,
    probabilities=probabilities,
    randomised=True,
    shared_memory=True,
    rewards=("low", "high"),
):
    """Draw arms by exponential weights, mixed with a share gamma of uniform draws.

    Rewards are mapped from [low, high] to [0, 1]; what lies outside is clipped. The weight of the
    rewarded arm is multiplied by exp(gamma x / (K p)), x being the mapped reward and p the probability of
    drawing the arm.

    References
    ----------
    Auer, Cesa-Bianchi, Freund, Schapire (2002), "The nonstochastic multiarmed bandit problem".

    Examples
    --------
    >>> agent = Exp3(gamma=0.2).start(n_arms=2, seed=1)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 30, 170])
    """

    gamma: float = parameter(0.1, above=0, maximum=1, doc="share of uniform draws, and learning rate")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> Exp3State:
        """Return equal weights."""
        settings = np.array([self.gamma, self.low, self.high])
        return Exp3State(settings, np.zeros(n_arms, np.int64), np.zeros(n_arms), np.ones(n_arms))

    def check_state(self, state: Exp3State) -> None:
        """Check that arms can be drawn by the weights."""
        check_weights(state.log_weights, state.weights)
