"""Successive elimination for arms with a tally: pull an arm until it is used to that, then count its rewards."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.one_by_one import place_of_current
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import horizon_parameter, sigma_parameter
from rotting.problems.tally import Tally

if TYPE_CHECKING:
    from rotting.problems import Problem

SKIPPED, LENGTH, RUN = range(3)  # of `counts`


class TallyEliminationState(NamedTuple):
    """Which arms are left, and the rewards that count."""

    settings: np.ndarray  # [the width of a confidence interval, times sqrt(n)]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    left: np.ndarray  # int64 (K,): 1 for arms that are not dropped
    totals: np.ndarray  # float64 (K,): of the rewards that count
    counted: np.ndarray  # int64 (K,): how many they are
    here: np.ndarray  # int64 [the number of the current arm]
    counts: np.ndarray  # int64 [m, rewards of each arm that count in this phase, pulls of the current arm in a row]


def select(state, t, word):
    """Return the current arm."""
    return place_of_current(state.numbers, state.here)


def update(state, arm, reward):
    """Count the reward if the arm has been pulled m times in a row before; go on to the next arm if it has enough."""
    state.pulls[arm] += 1
    if arm != state.here[0]:
        state.counts[RUN] = 0
        return
    state.counts[RUN] += 1
    if state.counts[RUN] <= state.counts[SKIPPED]:
        return
    state.totals[arm] += reward
    state.counted[arm] += 1
    if state.counts[RUN] == state.counts[SKIPPED] + state.counts[LENGTH]:
        _go_on(state)


@helper
def _go_on(state):
    """Go to the next arm that is left; after the last one, drop arms and begin a phase of twice the length."""
    following = _first_left(state, state.here[0] + 1)
    if following < 0:
        _drop(state)
        state.counts[LENGTH] *= 2
        following = _first_left(state, 0)
    if following != state.here[0]:
        state.counts[RUN] = 0
    else:  # nobody came between: it is still used to being pulled
        state.counts[RUN] = state.counts[SKIPPED]
    state.here[0] = following


@helper
def _first_left(state, start):
    """Return the first arm from `start` on that is left; -1 if there is none."""
    for arm in range(start, len(state.pulls)):
        if state.left[arm] == 1:
            return arm
    return -1


@helper
def _drop(state):
    """Drop the arms whose mean lies more than two widths below the best."""
    best = -np.inf
    for arm in range(len(state.pulls)):
        if state.left[arm] == 1:
            best = max(best, state.totals[arm] / state.counted[arm])
    for arm in range(len(state.pulls)):
        if state.left[arm] == 1:
            n = state.counted[arm]
            if state.totals[arm] / n < best - 2.0 * state.settings[0] / math.sqrt(n):
                state.left[arm] = 0


@dataclass(frozen=True)
class TallyElimination(
    Policy,
    knows=("horizon", "problem"),
    state=TallyEliminationState,
    select=select,
    update=update,
    shared_memory=True,
    noise="sigma",
    made_for="arms with a tally",
):
    """Pull each arm that is left m + n times in a row, n = 1, 2, 4, ...; the first m rewards do not count.

    After m pulls in a row an arm pays what it pays in the long run, if its value follows its pulls among the last m
    rounds. After each phase arms are dropped whose mean is more than 2 sigma sqrt(2 ln(2 K T) / N) below the best, N
    being their rewards that count. For the best arm pulled for ever, which is optimal where being pulled often costs
    each arm something, and the arm that is best then, least. With m = 0 it is successive elimination. In a simulation
    m = None and `horizon=None` are filled in (m = 0 where arms have no tally, or one without end).

    The phases' lengths, and that rewards of earlier phases count on, are our reading.

    References
    ----------
    Malik, Li, Singh (2022), "Complete policy regret bounds for tallying bandits"; Even-Dar, Mannor, Mansour (2006).

    Examples
    --------
    >>> agent = TallyElimination(m=2, sigma=0.1, horizon=100).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 7, 93])
    """

    m: int | None = parameter(None, minimum=0, optional=True, doc="pulls in a row whose rewards do not count")
    sigma: float | None = sigma_parameter()
    horizon: int | None = horizon_parameter()

    def informed(self, problem: Problem, horizon: int) -> Policy:
        """Fill in the problem's m, if it has one."""
        told, dynamics = super().informed(problem, horizon), getattr(problem, "dynamics_model", None)
        if self.m is None and isinstance(dynamics, Tally):
            return dataclasses.replace(told, m=dynamics.m)  # type: ignore[call-arg]
        return told

    def initial_state(self, n_arms: int) -> TallyEliminationState:
        """Begin with the first arm."""
        sigma, horizon = self.told("sigma"), self.told("horizon")
        return TallyEliminationState(
            settings=np.array([sigma * math.sqrt(2 * math.log(2 * n_arms * horizon))]),
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            left=np.ones(n_arms, np.int64),
            totals=np.zeros(n_arms),
            counted=np.zeros(n_arms, np.int64),
            here=np.zeros(1, np.int64),
            counts=np.array([self.m or 0, 1, 0], np.int64),
        )

    def check_state(self, state: TallyEliminationState) -> None:
        """Check which arms are left, and counts."""
        n_arms, here = len(state.pulls), int(state.here[0])
        if not np.array_equal(state.numbers, np.arange(n_arms)) or not np.isin(state.left, (0, 1)).all():
            raise DamagedFile("its arms do not exist")
        if not 0 <= here < n_arms or state.left[here] != 1:
            raise DamagedFile("it is at an arm that is dropped")
        skipped, length, run = state.counts.tolist()
        if skipped != (self.m or 0) or length < 1 or not 0 <= run < skipped + length:
            raise DamagedFile("its counts are not those of its parameters")
        if np.any(state.counted > state.pulls) or np.any(state.counted < 0) or not np.isfinite(state.totals).all():
            raise DamagedFile("its rewards are not those of its pulls")
