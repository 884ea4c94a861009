"""Elimination of rising arms: drop an arm that cannot catch up with another any more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import horizon_parameter


class RisingEliminationState(NamedTuple):
    """The last two rewards of each arm, and which arms are left."""

    settings: np.ndarray  # [highest]
    pulls: np.ndarray
    last: np.ndarray  # float64 (K,)
    before: np.ndarray  # float64 (K,)
    left: np.ndarray  # bool (K,)
    rounds: np.ndarray  # int64 [that are left]


def select(state, t, word):
    """Return the least-pulled arm of those left (lowest number on ties); of all arms, if none of them is left."""
    best, best_left = 0, False
    for arm in range(len(state.pulls)):
        better = state.left[arm] and not best_left
        if better or (state.left[arm] == best_left and state.pulls[arm] < state.pulls[best]):
            best, best_left = arm, state.left[arm]
    return best


def update(state, arm, reward):
    """Keep the reward, and drop the arms that can no longer be the best."""
    state.before[arm], state.last[arm] = state.last[arm], reward
    state.pulls[arm] += 1
    state.rounds[0] = max(state.rounds[0] - 1, 0)
    rounds, sure = state.rounds[0], -np.inf
    for other in range(len(state.pulls)):
        if state.pulls[other] < 2:
            return
        if state.left[other]:
            sure = max(sure, rounds * state.last[other])
    for other in range(len(state.pulls)):
        if optimistic_total(state, other, float(rounds)) < sure:
            state.left[other] = False


@helper
def optimistic_total(state, arm, rounds):
    """Return what an arm gives in the rounds left if it goes on growing by its last step, up to `highest`."""
    last, step, highest = state.last[arm], state.last[arm] - state.before[arm], state.settings[0]
    if step <= 0.0 or last >= highest:
        return rounds * last
    growing = min(math.floor((highest - last) / step), rounds)
    return growing * last + step * growing * (growing + 1.0) / 2.0 + (rounds - growing) * highest


@dataclass(frozen=True)
class RisingElimination(
    Policy,
    knows=("horizon",),
    state=RisingEliminationState,
    select=select,
    update=update,
    shared_memory=True,
    made_for="arms that rise",
):
    """Pull the arms in turn, and drop each one whose optimistic total lies below the pessimistic one of another.

    Both are totals of the rounds left if only that arm were pulled: pessimistically its reward stays what it was last;
    optimistically it grows with every pull by its last step, up to `highest`. For rewards without noise that increase
    with the arm's pulls, ever more slowly. Totals are compared once every arm has two pulls. In a simulation
    `horizon=None` is filled in.

    The paper's own text was not at hand: this is the rule as it is usually told, totals being those of the rounds left.

    References
    ----------
    Heidari, Kearns, Roth (2016), "Tight policy regret bounds for improving and decaying bandits", the increasing case.

    Examples
    --------
    >>> agent = RisingElimination(horizon=100).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.3, agent.pulls[1] / (agent.pulls[1] + 10.0)][arm])
    >>> agent.pulls
    array([ 6, 94])
    """

    horizon: int | None = horizon_parameter()
    highest: float = parameter(1.0, doc="the largest reward that there can be")

    def initial_state(self, n_arms: int) -> RisingEliminationState:
        """Return all arms."""
        horizon = self.told("horizon")
        return RisingEliminationState(
            settings=np.array([self.highest]),
            pulls=np.zeros(n_arms, np.int64),
            last=np.zeros(n_arms),
            before=np.zeros(n_arms),
            left=np.ones(n_arms, np.bool_),
            rounds=np.array([horizon], np.int64),
        )

    def check_state(self, state: RisingEliminationState) -> None:
        """Check the rounds that are left."""
        assert self.horizon is not None
        if state.rounds[0] != max(self.horizon - int(state.pulls.sum()), 0):
            raise DamagedFile("its rounds left are not those that its pulls leave")
