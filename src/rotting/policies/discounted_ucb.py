"""D-UCB: an upper confidence bound that forgets old rewards little by little."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy

# Beyond this, the growing weight is brought back to 1.
_LARGEST_WEIGHT = 1e100
# A count that has decayed below this (0 included) is as good as this, and can be divided by.
_SMALLEST_COUNT = 1e-300


class DiscountedState(NamedTuple):
    """Discounted means and counts of each arm.

    Instead of shrinking every count in every round, each new reward weighs 1 / gamma times the one before:
    the discounted count of an arm is `counts[arm] / weight`. Means do not change with the unit of weight, so
    they survive even when the count of an arm has decayed to nothing.
    """

    settings: np.ndarray  # [gamma, 2 scale sqrt(xi), 1 to force arms whose count falls below one]
    pulls: np.ndarray
    counts: np.ndarray  # float64 (K,): sum of the weights of the arm's rewards
    means: np.ndarray  # float64 (K,): their weighted mean
    weights: np.ndarray  # float64 [weight of the last reward, sum of all weights]


def select(state, t, word):
    """Return the arm with the largest index; arms never pulled come first."""
    weight, total = state.weights[0], state.weights[1]
    force = state.settings[2] > 0.0
    width = state.settings[1] * math.sqrt(math.log(max(1.0, total / weight)))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        n = max(state.counts[arm] / weight, _SMALLEST_COUNT)
        index = np.inf if force and n < 1.0 else state.means[arm] + width / math.sqrt(n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Take in a reward that outweighs all earlier ones by 1 / gamma."""
    weight = state.weights[0] / state.settings[0]
    if weight > _LARGEST_WEIGHT:
        for other in range(len(state.counts)):
            state.counts[other] /= weight
        state.weights[1] /= weight
        weight = 1.0
    before = state.counts[arm]
    after = before + weight
    state.means[arm] = (state.means[arm] * before + reward * weight) / after
    state.counts[arm] = after
    state.weights[0] = weight
    state.weights[1] += weight
    state.pulls[arm] += 1


@dataclass(frozen=True)
class DiscountedUCB(Policy, state=DiscountedState, select=select, update=update, shared_memory=True):
    """Pull the arm with the largest discounted mean + 2 scale sqrt(xi ln(n) / N).

    The last reward weighs 1, the one s rounds before it gamma^s; N is the sum of the weights of an arm's
    rewards and n that of all rewards. `scale` is the paper's B, the range of the rewards.

    The code behind the published curve of this policy pulls every arm whose N is below 1, whatever its index;
    `force_below_one=True` does the same (lowest index first, after the arms never pulled).

    References
    ----------
    Garivier, Moulines (2011), "On upper-confidence bound policies for switching bandit problems".

    Examples
    --------
    >>> agent = DiscountedUCB(gamma=0.9).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([27, 73])
    """

    gamma: float = parameter(0.997, above=0, maximum=1, doc="factor by which rewards lose weight each round")
    xi: float = parameter(0.5, minimum=0, doc="how wide the confidence bound is")
    scale: float = parameter(1.0, minimum=0, doc="range of the rewards (B)")
    force_below_one: bool = parameter(
        False,
        choices=(False, True),
        doc="pull arms whose count is below 1, as the published code did",
    )

    def initial_state(self, n_arms: int) -> DiscountedState:
        """Return empty means."""
        width = 2.0 * self.scale * math.sqrt(self.xi)
        return DiscountedState(
            settings=np.array([self.gamma, width, float(self.force_below_one)]),
            pulls=np.zeros(n_arms, np.int64),
            counts=np.zeros(n_arms),
            means=np.zeros(n_arms),
            weights=np.array([1.0, 0.0]),
        )

    def check_state(self, state: DiscountedState) -> None:
        """Check that counts can be divided by their weight."""
        if not (np.all(state.counts >= 0) and np.isfinite(state.counts).all() and np.all(state.weights[:1] > 0)):
            raise DamagedFile("its counts are inconsistent")
