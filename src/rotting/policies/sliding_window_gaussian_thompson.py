"""Sliding-window Gaussian Thompson sampling: posteriors of the last rounds only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rotting._core.parameters import parameter
from rotting._core.randomness import normal
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies.sliding_window_ucb import SlidingWindowState, check_ring, empty_window, update


def select(state, t, word):
    """Return the arm with the largest sampled mean; arms not seen in the window come first."""
    best, best_sample = 0, -np.inf
    for arm in range(len(state.pulls)):
        n = state.seen[arm]
        if n == 0:
            return arm
        sample = (state.past[arm] + state.present[arm]) / n + state.settings[0] / math.sqrt(n) * normal(word, arm)
        if sample > best_sample:
            best, best_sample = arm, sample
    return best


@dataclass(frozen=True)
class SlidingWindowGaussianThompson(
    Policy, state=SlidingWindowState, select=select, update=update, randomised=True, shared_memory=True, noise="sigma"
):
    """Sample each arm's mean from N(mean, sigma^2 / N) over the last tau rounds, and pull the arm that samples highest.

    Arms without a pull in the last tau rounds go first. It is the authors' gamma-SWGTS with gamma = 1 / sigma^2; their
    theory asks for gamma <= min(1 / (4 lambda^2), 1) if rewards are lambda-sub-Gaussian, so for sigma = 1 if rewards
    lie in [0, 1]. Until the window is full it is `GaussianThompson`.

    References
    ----------
    Fiandri, Metelli, Trovo (2024), "Sliding-window Thompson sampling for non-stationary settings".

    Examples
    --------
    >>> agent = SlidingWindowGaussianThompson(tau=20, sigma=0.5).start(n_arms=2, seed=1)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 9, 91])
    """

    tau: int = parameter(200, whole=True, minimum=1, doc="length of the window in rounds")
    sigma: float | None = sigma_parameter()

    def initial_state(self, n_arms: int) -> SlidingWindowState:
        """Return an empty window."""
        return empty_window(self.told("sigma"), n_arms, self.tau)

    def check_state(self, state: SlidingWindowState) -> None:
        """Check the ring: it is filled from its beginning, with arms that exist."""
        check_ring(state.arms, int(state.place[0]), len(state.pulls), state.seen)
