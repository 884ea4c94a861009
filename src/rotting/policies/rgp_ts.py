"""RGP-TS: draw a curve of each arm from what is believed of it, and follow the best plan of d rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.randomness import normal
from rotting.policies._cholesky import factorise
from rotting.policies._contract.policy import StateTuple
from rotting.policies.rgp_ucb import ADDED, NOBODY, RGPUCB, keep_plan, planned, rest_of, update, write_sequence

_JITTER = 1e-9  # of the prior's variance: neighbouring rests are nearly the same


class RGPTSState(NamedTuple):
    """RGP-UCB's state, and what is drawn."""

    settings: np.ndarray  # [variance of the noise, what is added to variances of means, jitter]
    pulls: np.ndarray
    numbers: np.ndarray
    counts: np.ndarray
    last: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    plan: np.ndarray
    trial: np.ndarray
    drawn: np.ndarray  # float64 (K, z_max + 1): working memory, curves
    factor: np.ndarray  # float64 (z_max + 1, z_max + 1): working memory


def select(state, t, word):
    """Return the next arm of the plan; make one when the last is over. Arms never pulled come first."""
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
    place = planned(state)
    return _plan(state, word) if place == NOBODY else place


@helper
def _plan(state, word):
    """Keep the sequence of d different arms that earns most on the drawn curves; return its first."""
    length = min(len(state.plan), len(state.pulls))
    for arm in range(len(state.pulls)):
        if length == 1:
            _draw_value(state, arm, word)
        else:
            _draw_curve(state, arm, word)
    best, best_total = 0, -np.inf
    for number in range(len(state.pulls) ** length):
        if write_sequence(state, number, length):
            total = 0.0
            for step in range(length):
                total += state.drawn[state.trial[0, step], state.trial[1, step]]
            if total > best_total:
                best, best_total = number, total
    write_sequence(state, best, length)
    keep_plan(state, length)
    return state.trial[0, 0]


@helper
def _draw_value(state, arm, word):
    """Draw the arm's value at its rest alone."""
    z = rest_of(state, arm, 0)
    variance = max(state.covariance[arm, z, z], 0.0) + state.settings[ADDED]
    state.drawn[arm, z] = state.mean[arm, z] + math.sqrt(variance) * normal(word, arm)


@helper
def _draw_curve(state, arm, word):
    """Draw the arm's values at all rests."""
    covariance, size = state.covariance[arm], len(state.factor)
    added = state.settings[ADDED] + state.settings[2]
    for z in range(size):
        covariance[z, z] += added
    factorise(covariance, state.factor)
    for z in range(size):
        covariance[z, z] -= added
    for z in range(size):
        value = state.mean[arm, z]
        for other in range(z + 1):
            value += state.factor[z, other] * normal(word, arm * size + other)
        state.drawn[arm, z] = value


@dataclass(frozen=True)
class RGPTS(
    RGPUCB, state=RGPTSState, select=select, update=update, randomised=True, scratch=("trial", "drawn", "factor")
):
    """Draw a curve of each arm over its rest z from the beliefs of `RGPUCB`; every d rounds, plan the best d arms.

    With d = 1 the arm with the largest drawn value at its rest is pulled. With `noisy`, what is drawn are rewards:
    the authors' program does so for d = 1. With more, a plan factorises a matrix of z_max + 1 rows for each arm: with
    ten arms and z_max = 30, a decision takes a hundred times as long.

    References
    ----------
    Pike-Burke, Grunewalder (2019), "Recovering bandits".

    Examples
    --------
    >>> from rotting import simulate
    >>> from rotting.problems import pike_burke
    >>> result = simulate(RGPTS(first_rest=0, noisy=True, sigma=0.1), pike_burke(), runs=1, progress=False)
    >>> earned = float((result.oracle_reward - result.regret).isel(round=-1).mean())
    >>> 450 < earned < 475
    True
    """

    def initial_state(self, n_arms: int) -> StateTuple:
        """Return the prior."""
        state, size = super().initial_state(n_arms), self.z_max + 1
        settings = np.append(state.settings, _JITTER * self.scale**2)
        return RGPTSState(
            **state._replace(settings=settings)._asdict(), drawn=np.zeros((n_arms, size)), factor=np.zeros((size, size))
        )
