"""Rexp3: Exp3 that forgets everything from time to time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies import exp3
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter

# A larger T / V counts as this: a restart every 10^16 rounds never comes, and still fits into 64 bits.
_LARGEST_RATIO = 1e24


class Rexp3State(NamedTuple):
    """The state of Exp3, and when to restart it."""

    settings: np.ndarray  # [gamma, low, high]
    pulls: np.ndarray
    log_weights: np.ndarray
    weights: np.ndarray
    batch: np.ndarray  # int64 [rounds between restarts, rounds since the last one]


_learn = helper(exp3.update)


def update(state, arm, reward):
    """Learn as Exp3 does, and forget it all at the end of the batch."""
    _learn(state, arm, reward)
    state.batch[1] += 1
    if state.batch[1] == state.batch[0]:
        state.batch[1] = 0
        state.log_weights[:] = 0.0
        state.weights[:] = 1.0


@dataclass(frozen=True)
class Rexp3(
    Policy,
    state=Rexp3State,
    select=exp3.select,
    update=update,
    probabilities=exp3.probabilities,
    randomised=True,
    shared_memory=True,
    rewards=("low", "high"),
):
    """Play Exp3, restarted every ceil((K ln K)^(1/3) (T / V)^(2/3)) rounds.

    V is how much the means may vary in T rounds (the sum over rounds of the largest change of any arm),
    rewards being mapped from [low, high] to [0, 1]. Without a gamma, it is
    min(1, sqrt(K ln K / ((e - 1) batch))), where batch is the number of rounds between restarts.

    References
    ----------
    Besbes, Gur, Zeevi (2014), "Stochastic multi-armed-bandit problem with non-stationary rewards".

    Examples
    --------
    >>> policy = Rexp3(variation=2.0, horizon=1000)
    >>> policy.batch(n_arms=2)
    71
    >>> agent = policy.start(n_arms=2, seed=1)
    >>> for _ in range(1000):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([282, 718])
    """

    gamma: float | None = parameter(
        None, above=0, maximum=1, optional=True, doc="share of uniform draws; none: as the theory has it"
    )
    variation: float = parameter(1.0, above=0, doc="how much the means vary over the horizon (V)")
    horizon: int = parameter(10000, whole=True, minimum=1, doc="number of rounds T")
    low: float = low_parameter()
    high: float = high_parameter()

    def batch(self, n_arms: int) -> int:
        """Return the number of rounds between restarts: at least 1, which a single arm (K ln K = 0) needs."""
        ratio = min(self.horizon / self.variation, _LARGEST_RATIO)
        return max(1, math.ceil(float((n_arms * math.log(n_arms)) ** (1 / 3) * ratio ** (2 / 3))))

    def initial_state(self, n_arms: int) -> Rexp3State:
        """Return equal weights at the start of a batch."""
        batch = self.batch(n_arms)
        gamma = self.gamma
        if gamma is None:
            gamma = min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1.0) * batch)))
        return Rexp3State(
            settings=np.array([gamma, self.low, self.high]),
            pulls=np.zeros(n_arms, np.int64),
            log_weights=np.zeros(n_arms),
            weights=np.ones(n_arms),
            batch=np.array([batch, 0], np.int64),
        )

    def check_state(self, state: Rexp3State) -> None:
        """Check the weights and the batch."""
        exp3.check_weights(state.log_weights, state.weights)
        if state.batch[0] != self.batch(len(state.pulls)) or not 0 <= state.batch[1] < state.batch[0]:
            raise DamagedFile(f"its batch {state.batch.tolist()} is not one of {self}")
