"""KL-UCB: the index for rewards in [0, 1] that knows how little a mean close to 0 or 1 can vary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter
from rotting.policies._windows.bernoulli import bound_height, entropy, height_above, peak_at


class KLUCBState(NamedTuple):
    """Running totals of each arm, and what the bounds need of them."""

    settings: np.ndarray  # [c]
    pulls: np.ndarray
    totals: np.ndarray
    means: np.ndarray
    spreads: np.ndarray  # the entropies of the means


def select(state, t, word):
    """Return the arm with the largest bound (lowest number on ties); arms never pulled come first."""
    pulls, explored = state.pulls, exploration(t, state.settings[0])
    best = 0
    for arm in range(len(pulls)):
        if pulls[arm] == 0:
            return arm
        if pulls[arm] > pulls[best]:
            best = arm
    # Beginning with the most-pulled arm, few of the others have to be computed.
    first, peak = best, peak_at(bound_height(state.means[best], state.spreads[best], explored / pulls[best]))
    for arm in range(len(pulls)):
        if arm == first:
            continue
        height = height_above(state.means[arm], state.spreads[arm], explored / pulls[arm], peak)
        if height > peak[0] or (height == peak[0] and arm < best):
            best, peak = arm, peak_at(height)
    return best


def update(state, arm, reward):
    """Add the reward, clipped to [0, 1], to the arm's total."""
    state.pulls[arm] += 1
    state.totals[arm] += min(max(reward, 0.0), 1.0)
    state.means[arm] = min(state.totals[arm] / state.pulls[arm], 1.0)
    state.spreads[arm] = entropy(state.means[arm])


@helper
def exploration(t, c):
    """Return ln t + c ln ln t, 0 at least."""
    if c == 0.0 or t < 2:
        return math.log(t)
    return max(0.0, math.log(t) + c * math.log(math.log(t)))


def check_means(pulls: np.ndarray, totals: np.ndarray, means: np.ndarray, spreads: np.ndarray) -> None:
    """Refuse means and entropies (from a file) that are not those of the totals."""
    right = np.minimum(totals / np.maximum(pulls, 1), 1.0)
    entropies = np.array([entropy(mean) for mean in right.tolist()])
    if right.min() < 0 or not np.array_equal(means, right) or not np.allclose(spreads, entropies, 1e-12):
        raise DamagedFile("its means are not those of its totals")


@dataclass(frozen=True)
class KLUCB(Policy, state=KLUCBState, select=select, update=update, rewards=("low", "high"), maps_rewards=True):
    """Pull the arm with the largest q such that N kl(mean, q) <= ln t + c ln ln t, kl being that of Bernoulli laws.

    For rewards in [0, 1]; one below 0 counts as 0, and one above 1 as 1, as for `BetaThompson`. Theory asks for c = 3;
    c = 0 does better in practice. Where ln t + c ln ln t is negative (in round 2) it counts as 0.

    A round takes about as long as one of `UCB1`, and one or two equations to solve by Newton's method (200 ns each).

    References
    ----------
    Garivier, Cappe (2011), "The KL-UCB algorithm for bounded stochastic bandits and beyond".

    Examples
    --------
    >>> agent = KLUCB().start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 4, 96])
    """

    c: float = parameter(0.0, minimum=0, doc="weight of ln ln t: 0 in practice, 3 in theory")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> KLUCBState:
        """Return empty totals."""
        empty = np.zeros((3, n_arms))
        return KLUCBState(np.array([self.c]), np.zeros(n_arms, np.int64), *empty.copy())

    def check_state(self, state: KLUCBState) -> None:
        """Check that means are those of the totals."""
        check_means(state.pulls, state.totals, state.means, state.spreads)
