"""Sliding-window Thompson sampling for rewards that are 0 or 1: posteriors of the last rounds only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.gamma import beta_sample_logit
from rotting._core.parameters import parameter
from rotting._core.randomness import word as word_at
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter
from rotting.policies.sliding_window_ucb import check_ring

_SUCCESSES, _FAILURES = 0, 1  # the first axis of what is counted


class SlidingWindowBetaState(NamedTuple):
    """The last tau rounds, and the successes and failures of each arm in them.

    As in `SlidingWindowUCB` the ring is filled pass after pass, and counts are those of the rest of the past pass and
    of the present one. The prior is counted with the present one.
    """

    settings: np.ndarray  # [prior successes, prior failures]
    pulls: np.ndarray
    past: np.ndarray  # float64 (2, K): successes and failures in the rest of the past pass
    present: np.ndarray  # float64 (2, K): those of the present pass, and the prior's
    arms: np.ndarray  # int64 (tau,): the ring; -1 where nothing is yet
    counts: np.ndarray  # float64 (2, tau): what each round counted; in the past pass, what it leaves behind in `past`
    place: np.ndarray  # int64 [where the ring is written next]


def select(state, t, word):
    """Return the arm with the largest sampled success probability."""
    best, best_sample = 0, -np.inf
    for arm in range(len(state.pulls)):
        successes = state.past[_SUCCESSES, arm] + state.present[_SUCCESSES, arm]
        failures = state.past[_FAILURES, arm] + state.present[_FAILURES, arm]
        # The logit increases with the probability, and tells apart probabilities that round to 0 or to 1.
        sample = beta_sample_logit(word_at(word, arm), successes, failures)
        if sample > best_sample:
            best, best_sample = arm, sample
    return best


def update(state, arm, reward):
    """Let the reward push the oldest one out of the window."""
    place = state.place[0]
    leaving = state.arms[place]
    state.arms[place] = arm
    success = min(max(reward, 0.0), 1.0)
    for side in range(2):
        if leaving >= 0:
            state.past[side, leaving] = state.counts[side, place]
        counted = success if side == _SUCCESSES else 1.0 - success
        state.counts[side, place] = counted
        state.present[side, arm] += counted
    state.pulls[arm] += 1
    state.place[0] = place + 1
    if place + 1 == len(state.arms):
        _begin_pass(state)


@helper
def _begin_pass(state):
    """Turn the present pass into the past one: every tau rounds, so O(1) per round."""
    state.place[0] = 0
    for side in range(2):
        for arm in range(len(state.pulls)):
            state.present[side, arm] = state.settings[side]
        # `past` is zero by now. From back to front, it becomes what the arm's later rounds count together.
        for place in range(len(state.arms) - 1, -1, -1):
            arm, counted = state.arms[place], state.counts[side, place]
            state.counts[side, place] = state.past[side, arm]
            state.past[side, arm] += counted


@dataclass(frozen=True)
class SlidingWindowBetaThompson(
    Policy,
    state=SlidingWindowBetaState,
    select=select,
    update=update,
    randomised=True,
    shared_memory=True,
    rewards=("low", "high"),
    maps_rewards=True,
):
    """Sample success probabilities from Beta posteriors of the last tau rounds, and pull the arm that samples highest.

    The posterior is Beta(S + 1, F + 1) for S successes and F failures of the arm in the last tau rounds (other priors
    than 1 can be chosen): the authors' Beta-SWTS. Rewards count as in `BetaThompson`: one between 0 and 1 as a
    fraction, those outside are clipped. Until the window is full it is `BetaThompson`.

    References
    ----------
    Trovo, Paladino, Restelli, Gatti (2020), "Sliding-window Thompson sampling for non-stationary settings".

    Examples
    --------
    >>> agent = SlidingWindowBetaThompson(tau=20).start(n_arms=2, seed=1)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.0, 1.0][arm])
    >>> agent.pulls
    array([ 2, 98])
    """

    tau: int = parameter(200, whole=True, minimum=1, doc="length of the window in rounds")
    prior_successes: float = parameter(1.0, above=0, doc="successes of each arm before the first pull")
    prior_failures: float = parameter(1.0, above=0, doc="failures of each arm before the first pull")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> SlidingWindowBetaState:
        """Return an empty window, and the prior's counts."""
        prior = np.array([self.prior_successes, self.prior_failures])
        return SlidingWindowBetaState(
            settings=prior,
            pulls=np.zeros(n_arms, np.int64),
            past=np.zeros((2, n_arms)),
            present=np.tile(prior[:, None], n_arms),
            arms=np.full(self.tau, -1, np.int64),
            counts=np.zeros((2, self.tau)),
            place=np.zeros(1, np.int64),
        )

    def check_state(self, state: SlidingWindowBetaState) -> None:
        """Check the ring, and that probabilities can be drawn."""
        check_ring(state.arms, int(state.place[0]), len(state.pulls))
        counts = np.concatenate([state.past, state.counts, state.present - state.settings[:, None]], axis=1)
        if not np.all((counts >= 0) & np.isfinite(counts)):
            raise DamagedFile("its successes and failures are no counts")
