"""UCBT-ASW: stay with an arm until one of its latest windows says that it is not good any more."""

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
from rotting.policies._windows.history import History, append, check_history, empty_history, reserve, window_sum


class UCBTASWState(NamedTuple):
    """Where it is, and the rewards of all arms that it has been at, one after the other."""

    settings: np.ndarray  # [delta, 12 ln T]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    here: np.ndarray  # int64 [the number of the current arm]
    tried: np.ndarray  # int64 [its pulls since it was come to]
    history: History  # of "one arm": the current ones


def select(state, t, word):
    """Return the current arm."""
    return place_of_current(state.numbers, state.here)


def update(state, arm, reward):
    """Learn of the current arm (other rewards say nothing), and leave it if a window is surely below 1 - delta."""
    state.pulls[arm] += 1
    if state.numbers[arm] != state.here[0]:
        return
    append(state.history, 0, reward)
    state.tried[0] += 1
    if has_low_window(state.history, state.tried[0], state.settings[1], 1.0 - state.settings[0]):
        move_on(state.numbers, state.here)
        state.tried[0] = 0


@helper
def has_low_window(history, tried, logs, least):
    """Say whether the mean of the last n = 1, 2, 4, ... <= tried rewards + sqrt(logs / n) is below `least` for some."""
    window = np.int64(1)
    while window <= tried:
        if window_sum(history, 0, window) / window + math.sqrt(logs / window) < least:
            return True
        window *= 2
    return False


@dataclass(frozen=True)
class UCBTASW(
    Policy,
    knows=("horizon",),
    state=UCBTASWState,
    select=select,
    update=update,
    keeps_history=True,
    shared_memory=True,
    made_for="many arms",
):
    """Stay with an arm until min over n = 1, 2, 4, ... of (mean of its last n + sqrt(12 ln T / n)) < 1 - delta.

    Without a delta, it is the largest of (V / T)^(1 / (beta + 2)), T^(-1 / (beta + 1)), (V / T)^(1/3) and T^(-1/2),
    where V is how much arms wear in T rounds and a new arm's mean is within x of 1 with probability x^beta. For more
    arms than can be tried, worth at most 1; after the last of them it begins again with the first. In a simulation
    `horizon=None` is filled in.

    References
    ----------
    Kim, Vojnovic, Yun (2024), "An adaptive approach for infinitely many-armed bandits under generalized rotting
    constraints", algorithm 1.

    Examples
    --------
    >>> agent = UCBTASW(horizon=2000).start(n_arms=3)
    >>> for _ in range(2000):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.0, 0.3, 0.95][arm])
    >>> agent.pulls
    array([ 128,  256, 1616])
    """

    variation: float = parameter(1.0, minimum=0, doc="how much arms wear in all the rounds (V)")
    beta: float = parameter(1.0, above=0, doc="how rare good arms are: P(1 - mean < x) = x^beta")
    delta: float | None = parameter(None, above=0, optional=True, doc="how far below 1 an arm may be; none: by theory")
    horizon: int | None = horizon_parameter()

    def threshold(self) -> float:
        """Return delta."""
        horizon = self.told("horizon")
        if self.delta is not None:
            return self.delta
        worn = self.variation / horizon
        return float(
            max(worn ** (1 / (self.beta + 2)), horizon ** (-1 / (self.beta + 1)), worn ** (1 / 3), horizon ** (-1 / 2))
        )

    def initial_state(self, n_arms: int) -> UCBTASWState:
        """Begin with the first arm."""
        horizon = self.told("horizon")
        return UCBTASWState(
            settings=np.array([self.threshold(), 12 * math.log(horizon)]),
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            here=np.zeros(1, np.int64),
            tried=np.zeros(1, np.int64),
            history=empty_history(1),
        )

    def reserve(self, state: UCBTASWState, pulls: int) -> UCBTASWState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: UCBTASWState) -> None:
        """Check where it is, and the rewards."""
        check_place(state.numbers, state.here)
        check_history(state.history)
        if not 0 <= state.tried[0] <= state.history.pulls[0] <= state.pulls.sum():
            raise DamagedFile("its rewards are not those of its pulls")
