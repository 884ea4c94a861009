"""Discounted Thompson sampling for rewards that are 0 or 1: old rewards are forgotten little by little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies import beta_thompson
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter


class DiscountedBetaState(NamedTuple):
    """Discounted successes and failures of each arm, the prior's (which are not discounted) included."""

    settings: np.ndarray  # [gamma, prior successes, prior failures]
    pulls: np.ndarray
    successes: np.ndarray
    failures: np.ndarray


_learn = helper(beta_thompson.update)


def update(state, arm, reward):
    """Forget a little of all arms, and count the reward as `BetaThompson` does."""
    gamma, successes, failures = state.settings[0], state.settings[1], state.settings[2]
    if gamma < 1.0:
        for other in range(len(state.pulls)):
            state.successes[other] = successes + gamma * (state.successes[other] - successes)
            state.failures[other] = failures + gamma * (state.failures[other] - failures)
    _learn(state, arm, reward)


@dataclass(frozen=True)
class DiscountedBetaThompson(
    Policy,
    state=DiscountedBetaState,
    select=beta_thompson.select,
    update=update,
    randomised=True,
    shared_memory=True,
    rewards=("low", "high"),
    maps_rewards=True,
):
    """Sample success probabilities from discounted Beta posteriors, and pull the arm that samples highest.

    The posterior of an arm is Beta(S + 1, F + 1) (other priors than 1 can be chosen). In every round both counts S and
    F of every arm are multiplied by gamma, then the reward r of the arm that was pulled adds r to its S and 1 - r to
    its F; rewards outside [0, 1] are clipped. With gamma = 1 it is `BetaThompson`. The authors try gamma = 0.75 to
    0.95, which forgets within a few rounds.

    References
    ----------
    Raj, Kalyani (2017), "Taming non-stationary bandits: a Bayesian approach".

    Examples
    --------
    >>> agent = DiscountedBetaThompson(gamma=0.95).start(n_arms=2, seed=1)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.0, 1.0][arm])
    >>> agent.pulls
    array([ 2, 98])
    """

    gamma: float = parameter(0.95, above=0, maximum=1, doc="factor by which counts lose weight each round")
    prior_successes: float = parameter(1.0, above=0, doc="successes of each arm before the first pull")
    prior_failures: float = parameter(1.0, above=0, doc="failures of each arm before the first pull")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> DiscountedBetaState:
        """Return the prior's counts."""
        return DiscountedBetaState(
            settings=np.array([self.gamma, self.prior_successes, self.prior_failures]),
            pulls=np.zeros(n_arms, np.int64),
            successes=np.full(n_arms, self.prior_successes),
            failures=np.full(n_arms, self.prior_failures),
        )

    def check_state(self, state: DiscountedBetaState) -> None:
        """Check that probabilities can be drawn."""
        for counts, prior in ((state.successes, self.prior_successes), (state.failures, self.prior_failures)):
            if not np.all((counts >= prior) & np.isfinite(counts)):
                raise DamagedFile("its successes and failures are no counts")
