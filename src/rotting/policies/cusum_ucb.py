"""CUSUM-UCB: an upper confidence bound whose arms start over when their rewards have moved away from the first ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting._core.randomness import uniform
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.probable import mixed
from rotting.policies._contract.told import USUAL_HORIZON, high_parameter, low_parameter, usual_horizon_parameter


class CUSUMUCBState(NamedTuple):
    """What was learnt of each arm since its last restart."""

    settings: np.ndarray  # [xi, alpha, first, drift, threshold]
    pulls: np.ndarray
    counted: np.ndarray  # int64 (K,): pulls since the last restart
    totals: np.ndarray  # float64 (K,): rewards since then
    firsts: np.ndarray  # float64 (K,): the first `first` of them
    moved: np.ndarray  # float64 (K, 2): how far rewards have moved up and down since those


def select(state, t, word):
    """Return a random arm with probability alpha, and else the one with the largest index."""
    n_arms = len(state.pulls)
    if uniform(word, 0) < state.settings[1]:
        return min(np.int64(uniform(word, 1) * n_arms), n_arms - 1)
    return _best(state)


def probabilities(state, t, out):
    """Give all arms their share of alpha, and the largest index the rest."""
    mixed(out, _best(state), state.settings[1])


@helper
def _best(state):
    """Return the arm with the largest index."""
    n_arms, rounds = len(state.pulls), 0
    for arm in range(n_arms):
        if state.counted[arm] == 0:
            return arm
        rounds += state.counted[arm]
    width = math.sqrt(state.settings[0] * math.log(rounds))
    best, best_index = 0, -np.inf
    for arm in range(n_arms):
        n = state.counted[arm]
        index = state.totals[arm] / n + width / math.sqrt(n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Add the reward, and let the arm start over if its rewards have moved too far."""
    first, drift, threshold = state.settings[2], state.settings[3], state.settings[4]
    state.pulls[arm] += 1
    state.counted[arm] += 1
    state.totals[arm] += reward
    if state.counted[arm] <= first:
        state.firsts[arm] += reward
        return
    gap = reward - state.firsts[arm] / first
    state.moved[arm, 0] = max(0.0, state.moved[arm, 0] + (gap - drift))
    state.moved[arm, 1] = max(0.0, state.moved[arm, 1] + (-gap - drift))
    if max(state.moved[arm, 0], state.moved[arm, 1]) >= threshold:
        state.counted[arm] = 0
        state.totals[arm] = 0.0
        state.firsts[arm] = 0.0
        state.moved[arm, 0] = state.moved[arm, 1] = 0.0


@dataclass(frozen=True)
class CUSUMUCB(
    Policy,
    knows=("horizon",),
    state=CUSUMUCBState,
    select=select,
    update=update,
    probabilities=probabilities,
    randomised=True,
    shared_memory=True,
    rewards=("low", "high"),
    maps_rewards=True,
):
    """Pull the arm with the largest mean + sqrt(xi ln n / N), or any with probability alpha; arms start over on change.

    N is an arm's pulls since its own last restart, and n the sum of them all. An arm's first rewards, `first` of them,
    give the level u. Each later reward x moves g+ to max(0, g+ + x - u - drift) and g- to max(0, g- + u - x - drift),
    and when one of them reaches `threshold` all that is known of the arm is forgotten. Arms of which nothing is known
    come first.

    Without a threshold it is ln(T / changes), without an alpha sqrt(changes / T ln(T / changes)), for rewards in
    [0, 1] (T / changes counts as e if it is less); the paper's alpha has constants besides, and its xi is left to the
    user (1/2 here).

    References
    ----------
    Liu, Lee, Shroff (2018), "A change-detection based framework for piecewise-stationary multi-armed bandit problem".

    Examples
    --------
    >>> agent = CUSUMUCB(first=20, threshold=5, alpha=0.1).start(n_arms=2, seed=1)
    >>> for t in range(400):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, 0.9 if t < 200 else 0.1][arm])
    >>> agent.pulls
    array([190, 210])
    """

    first: int = parameter(200, whole=True, minimum=1, doc="rewards of an arm that give its level (M)")
    drift: float = parameter(0.1, minimum=0, doc="distance from the level that is no change (epsilon)")
    threshold: float | None = parameter(
        None,
        above=0,
        optional=True,
        doc="how far rewards move until it is a change (h); none: as the theory has it",
    )
    alpha: float | None = parameter(
        None, minimum=0, maximum=1, optional=True, doc="probability of a random arm; none: as the theory has it"
    )
    changes: int = parameter(1, whole=True, minimum=1, doc="changes expected over the horizon")
    horizon: int | None = usual_horizon_parameter()
    xi: float = parameter(0.5, minimum=0, doc="how wide the confidence bound is")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> CUSUMUCBState:
        """Return empty totals."""
        threshold, alpha = self.threshold, self.alpha
        between = max((self.horizon or USUAL_HORIZON) / self.changes, math.e)
        threshold = math.log(between) if threshold is None else threshold
        alpha = math.sqrt(math.log(between) / between) if alpha is None else alpha
        return CUSUMUCBState(
            settings=np.array([self.xi, alpha, self.first, self.drift, threshold]),
            pulls=np.zeros(n_arms, np.int64),
            counted=np.zeros(n_arms, np.int64),
            totals=np.zeros(n_arms),
            firsts=np.zeros(n_arms),
            moved=np.zeros((n_arms, 2)),
        )

    def check_state(self, state: CUSUMUCBState) -> None:
        """Check that what is counted fits the pulls."""
        if not np.all((state.counted >= 0) & (state.counted <= state.pulls)):
            raise DamagedFile("its counts do not fit its pulls")
