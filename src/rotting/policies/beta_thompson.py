"""Thompson sampling for rewards that are 0 or 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.gamma import beta_sample_logit
from rotting._core.parameters import parameter
from rotting._core.randomness import word as word_at
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter


class BetaThompsonState(NamedTuple):
    """Successes and failures of each arm, the prior's included."""

    pulls: np.ndarray
    successes: np.ndarray
    failures: np.ndarray


def select(state, t, word):
    """Return the arm with the largest sampled success probability."""
    best, best_sample = 0, -np.inf
    for arm in range(len(state.pulls)):
        # The logit increases with the probability, and tells apart probabilities that round to 0 or to 1.
        sample = beta_sample_logit(word_at(word, arm), state.successes[arm], state.failures[arm])
        if sample > best_sample:
            best, best_sample = arm, sample
    return best


def update(state, arm, reward):
    """Count the reward as a (fraction of a) success and the rest as a failure."""
    success = min(max(reward, 0.0), 1.0)
    state.pulls[arm] += 1
    state.successes[arm] += success
    state.failures[arm] += 1.0 - success


@dataclass(frozen=True)
class BetaThompson(
    Policy,
    state=BetaThompsonState,
    select=select,
    update=update,
    randomised=True,
    rewards=("low", "high"),
    maps_rewards=True,
):
    """Sample each arm's success probability from its Beta posterior, and pull the arm that samples highest.

    A reward of 1 is a success and 0 a failure. A reward r in between counts as r of a success and 1 - r of a
    failure; a reward below 0 counts as 0, and one above 1 as 1.

    References
    ----------
    Thompson (1933), "On the likelihood that one unknown probability exceeds another in view of the evidence
    of two samples".
    Chapelle, Li (2011), "An empirical evaluation of Thompson sampling".
    Marsaglia, Tsang (2000), "A simple method for generating gamma variables".

    Examples
    --------
    >>> agent = BetaThompson().start(n_arms=2, seed=1)
    >>> for _ in range(20):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.0, 1.0][arm])
    >>> agent.pulls
    array([ 2, 18])
    """

    prior_successes: float = parameter(1.0, above=0, doc="successes of each arm before the first pull")
    prior_failures: float = parameter(1.0, above=0, doc="failures of each arm before the first pull")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> BetaThompsonState:
        """Return the prior's counts."""
        return BetaThompsonState(
            pulls=np.zeros(n_arms, np.int64),
            successes=np.full(n_arms, self.prior_successes),
            failures=np.full(n_arms, self.prior_failures),
        )

    def check_state(self, state: BetaThompsonState) -> None:
        """Check that probabilities can be drawn."""
        for counts in (state.successes, state.failures):
            if not np.all((counts > 0) & np.isfinite(counts)):
                raise DamagedFile("its successes and failures are no counts")
