"""R-UCBE: which arm will be best of arms that improve, by optimism about what they come to after T pulls."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.policies._contract.told import horizon_parameter
from rotting.policies.red_ucb import REdUCBState, RisingWindows, index_with, update

HORIZON, WIDTH = 2, 3  # of `settings`; share comes before them, as in R-ed-UCB


def select(state, t, word):
    """Return the arm with the largest index; first, arms are pulled in turn until each has a window."""
    least = 0
    for arm in range(1, len(state.pulls)):
        if state.pulls[arm] < state.pulls[least]:
            least = arm
    if state.window[least] == 0:
        return least
    return _best(state, state.settings[WIDTH])


def recommend(state):
    """Return the arm with the largest estimate, without what is added for uncertainty; one without a window last."""
    return _best(state, 0.0)


@helper
def _best(state, width):
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.window[arm] > 0:
            index = index_with(state, arm, state.settings[HORIZON], width)
            if index > best_index:
                best, best_index = arm, index
    return best


@dataclass(frozen=True)
class RUCBE(
    RisingWindows,
    knows=("horizon",),
    state=REdUCBState,
    select=select,
    update=update,
    recommend=recommend,
    keeps_history=True,
    noise="sigma",
    made_for="arms that rise",
):
    """Identify the arm that will be best: pull the one with the largest optimistic value at round T.

    The index is R-ed-UCB's estimate with T in the place of t, plus sigma (T - N + h - 1) sqrt(a / h^3). It recommends
    the arm with the largest estimate. Arms are pulled in turn until each has h >= 1. From the default a on, the paper's
    bound 2 T K exp(-a / 10) of the error says something; `rotting.theory.rucbe_exploration` is the largest a for which
    the paper proves it, given the problem. In a simulation `horizon=None` is filled in.

    References
    ----------
    Mussi, Montenegro, Trovo, Restelli, Metelli (2024), "Best arm identification for stochastic rising bandits".

    Examples
    --------
    >>> agent = RUCBE(sigma=0.01, a=1.0, horizon=200).start(n_arms=2)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, agent.pulls[1] / (agent.pulls[1] + 10.0)][arm])
    >>> agent.recommend()
    1
    """

    a: float | None = parameter(None, minimum=0, optional=True, doc="how much to explore; none: 10 ln(2 T K)")
    horizon: int | None = horizon_parameter()

    def settings(self, n_arms: int) -> list[float]:
        """Return the horizon, and the width of the confidence."""
        horizon = self.told("horizon")
        a = 10 * math.log(2 * horizon * n_arms) if self.a is None else self.a
        return [horizon, self.told("sigma") * math.sqrt(a)]
