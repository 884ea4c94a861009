"""UCB among the free arms: for arms that are blocked for a while after a pull."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.problems.blocking import Blocking

if TYPE_CHECKING:
    from rotting.problems import Problem


class FreeUCBState(NamedTuple):
    """Totals of the pulls in which arms were free, and when they are free again."""

    settings: np.ndarray  # [sigma]
    pulls: np.ndarray
    delays: np.ndarray  # int64 (K,)
    free: np.ndarray  # int64 (K,): the first round in which the arm is free
    used: np.ndarray  # int64 (K,): pulls while it was free
    totals: np.ndarray  # float64 (K,): their rewards
    rounds: np.ndarray  # int64 [rounds so far]


def select(state, t, word):
    """Return the free arm with the largest index, new ones first; if none is free, the one that soonest is."""
    width = state.settings[0] * math.sqrt(2.0 * math.log(t))
    now = state.rounds[0] + 1
    best, best_index, soonest = -1, -np.inf, 0
    for arm in range(len(state.pulls)):
        if state.free[arm] < state.free[soonest]:
            soonest = arm
        if state.free[arm] > now:
            continue
        n = state.used[arm]
        if n == 0:
            return arm
        index = state.totals[arm] / n + width / math.sqrt(n)
        if index > best_index:
            best, best_index = arm, index
    return soonest if best < 0 else best


def update(state, arm, reward):
    """Block the arm and add the reward to its total; a pull of a blocked arm does neither."""
    state.pulls[arm] += 1
    state.rounds[0] += 1
    if state.free[arm] <= state.rounds[0]:
        state.free[arm] = state.rounds[0] + state.delays[arm]
        state.used[arm] += 1
        state.totals[arm] += reward


@dataclass(frozen=True)
class FreeUCB(
    Policy,
    knows=("problem",),
    state=FreeUCBState,
    select=select,
    update=update,
    shared_memory=True,
    noise="sigma",
    made_for="arms that are blocked",
):
    """Pull the free arm with the largest mean + sigma sqrt(2 ln t / N).

    An arm pulled in round t is free again in round t + `delays`. In a simulation `delays=None` is filled in; else none
    is ever blocked, which is UCB1. The paper's sqrt(8 ln t / N), for rewards in [0, 1], is sigma = 2.

    References
    ----------
    Basu, Sen, Sanghavi, Shakkottai (2019), "Blocking bandits".

    Examples
    --------
    >>> agent = FreeUCB(delays=2, sigma=0.1).start(n_arms=3)
    >>> for _ in range(40):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.1, 0.6, 0.9][arm])
    >>> agent.pulls
    array([ 1, 20, 19])
    """

    delays: tuple[int, ...] | None = parameter(None, raw=True, doc="D of each arm, or one number; none: the problem's")
    sigma: float | None = sigma_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delays is not None:
            object.__setattr__(self, "delays", Blocking(self.delays).delays)

    def informed(self, problem: Problem, horizon: int) -> Policy:
        """Fill in the problem's delays, if it has some."""
        told = super().informed(problem, horizon)
        dynamics = problem.dynamics_model
        if self.delays is None and isinstance(dynamics, Blocking):
            return dataclasses.replace(told, delays=dynamics.delays)  # type: ignore[call-arg]
        return told

    def initial_state(self, n_arms: int) -> FreeUCBState:
        """Return arms that are all free."""
        delays = self.delays or (1,)
        if len(delays) not in (1, n_arms):
            problem = f"does not fit {n_arms} arms"
            expected = "one number for all arms, or one for each"
            raise BadValue(problem, owner="FreeUCB", name="delays", value=delays, expected=expected)
        zeros = np.zeros(n_arms, np.int64)
        return FreeUCBState(
            settings=np.array([self.told("sigma")]),
            pulls=zeros,
            delays=np.array(np.broadcast_to(delays, n_arms), np.int64),
            free=zeros.copy(),
            used=zeros.copy(),
            totals=np.zeros(n_arms),
            rounds=np.zeros(1, np.int64),
        )

    def check_state(self, state: FreeUCBState) -> None:
        """Check counts and delays."""
        if state.rounds[0] != state.pulls.sum() or np.any(state.used > state.pulls) or state.used.min() < 0:
            raise DamagedFile("its counts are not those of its pulls")
        if not np.array_equal(state.delays, self.initial_state(len(state.pulls)).delays):
            raise DamagedFile("its delays are not those of its parameters")
