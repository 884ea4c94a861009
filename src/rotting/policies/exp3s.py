"""Exp3.S: Exp3 whose weights never fall so low that an arm that has become the best could not come back soon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies import exp3
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import USUAL_HORIZON, high_parameter, low_parameter, usual_horizon_parameter

# When the sum of the weights exceeds this, all are divided by it: 1e100 is far from overflowing.
_LARGEST_TOTAL = 1e100

_learn_without_sharing = helper(exp3.update)


def update(state, arm, reward):
    """Raise the arm's weight as Exp3 does, and all weights by a share of their sum."""
    gamma, low, high, alpha = state.settings[0], state.settings[1], state.settings[2], state.settings[3]
    if alpha == 0.0:
        _learn_without_sharing(state, arm, reward)
        return
    n_arms, weights, total = len(state.pulls), state.weights, state.weights.sum()
    # Nothing changed since `select`, so this is the probability with which it drew the arm.
    probability = (1.0 - gamma) * weights[arm] / total + gamma / n_arms
    gain = min(max((reward - low) / (high - low), 0.0), 1.0)
    weights[arm] *= math.exp(gamma * gain / (probability * n_arms))
    share, unit = math.e * alpha / n_arms * total, total if total > _LARGEST_TOTAL else 1.0
    for other in range(n_arms):
        weights[other] = (weights[other] + share) / unit
    state.pulls[arm] += 1


@dataclass(frozen=True)
class Exp3S(
    Policy,
    knows=("horizon",),
    state=exp3.Exp3State,
    select=exp3.select,
    update=update,
    probabilities=exp3.probabilities,
    randomised=True,
    shared_memory=True,
    rewards=("low", "high"),
):
    """Draw arms by exponential weights as `Exp3` does; every weight also grows by e alpha / K of the sum of all.

    Rewards are mapped from [low, high] to [0, 1]; what lies outside is clipped. Without an alpha it is 1 / T, and
    without a gamma min(1, sqrt(K ((changes + 1) ln(K T) + e) / ((e - 1) T))), as in the reference's corollary 8.3. With
    alpha = 0 it is `Exp3`. A round takes as long as one of `Exp3` and another look at all weights.

    References
    ----------
    Auer, Cesa-Bianchi, Freund, Schapire (2002), "The nonstochastic multiarmed bandit problem".

    Examples
    --------
    >>> agent = Exp3S(gamma=0.2, alpha=0.001).start(n_arms=2, seed=1)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 33, 167])
    """

    gamma: float | None = parameter(
        None, above=0, maximum=1, optional=True, doc="share of uniform draws; none: as the theory has it"
    )
    alpha: float | None = parameter(
        None, minimum=0, maximum=1, optional=True, doc="share of the weights that is given to all; none: 1 / T"
    )
    changes: int = parameter(1, whole=True, minimum=0, doc="changes of the best arm expected, for gamma=None")
    horizon: int | None = usual_horizon_parameter()
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> exp3.Exp3State:
        """Return equal weights."""
        rounds = self.horizon or USUAL_HORIZON
        alpha, gamma = 1.0 / rounds if self.alpha is None else self.alpha, self.gamma
        if gamma is None:
            log_term = (self.changes + 1) * math.log(n_arms * rounds) + math.e
            gamma = min(1.0, math.sqrt(n_arms * log_term / ((math.e - 1.0) * rounds)))
        settings = np.array([gamma, self.low, self.high, alpha])
        return exp3.Exp3State(settings, np.zeros(n_arms, np.int64), np.zeros(n_arms), np.ones(n_arms))

    def check_state(self, state: exp3.Exp3State) -> None:
        """Check that arms can be drawn by the weights."""
        if state.settings[3] == 0.0:
            exp3.check_weights(state.log_weights, state.weights)
        elif not np.all((state.weights > 0) & (state.weights < 1e200)):
            raise DamagedFile("its weights are inconsistent")
