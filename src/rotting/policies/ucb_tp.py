"""UCB-TP: stay with an arm until it is surely not among the good ones any more, then try a new one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.one_by_one import check_place, move_on, place_of_current
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import horizon_parameter


class UCBTPState(NamedTuple):
    """Where it is, and what it knows of that arm."""

    settings: np.ndarray  # [rho, delta, 8 ln T]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    here: np.ndarray  # int64 [the number of the current arm]
    tried: np.ndarray  # int64 [its pulls since it was come to]
    level: np.ndarray  # float64 [what it was worth then, as estimated]


def select(state, t, word):
    """Return the current arm."""
    return place_of_current(state.numbers, state.here)


def update(state, arm, reward):
    """Learn of the current arm (other rewards say nothing), and leave it if it is surely below 1 - delta."""
    state.pulls[arm] += 1
    if state.numbers[arm] == state.here[0]:
        learn(state, reward, state.settings[0], state.settings[1], state.settings[2])


@helper
def learn(state, reward, rho, delta, width):
    """Take in a reward of the current arm, and leave it if its upper confidence bound is below 1 - delta."""
    n = state.tried[0] + 1
    level = (state.level[0] * (n - 1) + reward + rho * (n - 1)) / n
    state.tried[0], state.level[0] = n, level
    if level - rho * n + math.sqrt(width / n) < 1.0 - delta:
        move_on(state.numbers, state.here)
        state.tried[0], state.level[0] = 0, 0.0


@dataclass(frozen=True)
class UCBTP(
    Policy, knows=("horizon",), state=UCBTPState, select=select, update=update, shared_memory=True, made_for="many arms"
):
    """Stay with an arm until m - rho n + sqrt(8 ln T / n) < 1 - delta, then go on to the next one.

    n counts the arm's pulls and m estimates what it was worth at first: the mean of r + rho (n - 1) over its pulls,
    each of which costs it rho. Without a delta, it is max(rho^(1/3), 1 / sqrt(T)). For more arms than can be tried,
    worth at most 1; after the last of them it begins again with the first. In a simulation `horizon=None` is filled in.

    References
    ----------
    Kim, Vojnovic, Yun (2022), "Rotting infinitely many-armed bandits", algorithm 1.

    Examples
    --------
    >>> agent = UCBTP(rho=0.001, horizon=1000).start(n_arms=3)
    >>> for _ in range(1000):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.5, 0.95][arm])
    >>> agent.pulls
    array([112, 215, 673])
    """

    rho: float = parameter(0.01, minimum=0, doc="what a pull costs the arm, at most")
    delta: float | None = parameter(None, above=0, optional=True, doc="how far below 1 an arm may be; none: by theory")
    horizon: int | None = horizon_parameter()

    def initial_state(self, n_arms: int) -> UCBTPState:
        """Begin with the first arm."""
        horizon = self.told("horizon")
        delta = self.delta or max(self.rho ** (1 / 3), 1 / math.sqrt(horizon))
        return UCBTPState(
            settings=np.array([self.rho, delta, 8 * math.log(horizon)]),
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            here=np.zeros(1, np.int64),
            tried=np.zeros(1, np.int64),
            level=np.zeros(1),
        )

    def check_state(self, state: UCBTPState) -> None:
        """Check where it is."""
        check_place(state.numbers, state.here)
        if not 0 <= state.tried[0] <= state.pulls.sum() or not np.isfinite(state.level[0]):
            raise DamagedFile("what it knows of its arm is not what its pulls told it")
