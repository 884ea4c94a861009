"""Policies that identify the best arm in phases: pull those that are left in turn, then leave fewer of them.

A subclass says how many arms each phase keeps, and up to how many pulls each of them gets; its kernel, which arms.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import horizon_parameter
from rotting.policies._windows.history import History, append, check_history, empty_history, reserve, window_sum

PULLS, KEPT = range(2)  # columns of `plan`
# After the phases there is one without end. That makes as many rows as arms where each phase drops one arm, and what
# has a place per arm is seen from its shape: so there are two.
END = [(0, 0), (0, 0)]
_MANY = np.iinfo(np.int64).max


class PhasesState(NamedTuple):
    """All rewards, the arms that are left, and what is planned."""

    settings: np.ndarray  # what scores need
    pulls: np.ndarray
    history: History
    left: np.ndarray  # int64 (K,): 1 for arms that are left
    before: np.ndarray  # int64 (K,): pulls before this phase
    plan: np.ndarray  # int64 (phases + 2, 2): pulls of each arm in a phase, arms kept after it; see `END`
    phase: np.ndarray  # int64 [the present one]
    scores: np.ndarray  # float64 (K,): working memory


def select(state, t, word):
    """Return the arm with the fewest pulls in this phase among those left, the lowest number on ties."""
    best, fewest = 0, _MANY
    for arm in range(len(state.pulls)):
        made = state.pulls[arm] - state.before[arm]
        if state.left[arm] == 1 and made < fewest:
            best, fewest = arm, made
    return best


@helper
def is_over(state):
    """Say whether each arm that is left has the pulls of this phase."""
    for arm in range(len(state.pulls)):
        made = state.pulls[arm] - state.before[arm]
        if state.left[arm] == 1 and made < state.plan[state.phase[0], PULLS]:
            return False
    return state.phase[0] < len(state.plan) - 2


@helper
def begin_phase(state):
    """Keep, of the arms whose score is above -infinity, as many as planned: those with the largest scores."""
    for arm in range(len(state.pulls)):
        state.left[arm], state.before[arm] = 0, state.pulls[arm]
    for _ in range(state.plan[state.phase[0], KEPT]):
        state.left[best_unmarked(state)] = 1
    state.phase[0] += 1


@helper
def best_unmarked(state):
    """Return the arm with the largest score among those that are not marked as left, the lowest number on ties."""
    best = -1
    for arm in range(len(state.pulls)):
        if state.left[arm] == 0 and (best < 0 or state.scores[arm] > state.scores[best]):
            best = arm
    return best


@helper
def mean_of_last(state, arm, share, since):
    """Return the mean of the last floor(share N) rewards, one at least; with share 0, of those since pull `since`."""
    n = state.pulls[arm]
    h = n - since
    if share > 0.0:
        h = max(np.int64(math.floor(share * n)), np.int64(1))
    return window_sum(state.history, arm, h) / h if 0 < h <= n else -np.inf


def update(state, arm, reward):
    """Add the reward; at the end of a phase keep the arms with the largest means."""
    append(state.history, arm, reward)
    if not is_over(state):
        return
    for other in range(len(state.pulls)):
        dropped = state.left[other] == 0
        mean = mean_of_last(state, other, state.settings[0], state.before[other])
        state.scores[other] = -np.inf if dropped else mean
    begin_phase(state)


def recommend(state):
    """Return the arm with the largest mean among those that are left, one never pulled last of all."""
    best, best_mean = -1, -np.inf
    for arm in range(len(state.pulls)):
        if state.left[arm] == 1:
            mean = mean_of_last(state, arm, state.settings[0], state.before[arm])
            if best < 0 or mean > best_mean:
                best, best_mean = arm, mean
    return best


@dataclasses.dataclass(frozen=True)
class Phases(Policy, abstract=True):
    """What they have in common: the plan, and the state."""

    horizon: int | None = horizon_parameter()

    def plan(self, n_arms: int) -> Sequence[tuple[int, int]]:
        """Return for each phase how often each arm that is left is pulled in it, and how many are kept after it."""
        raise NotImplementedError

    def scoring(self) -> list[float]:
        """Return what scores need."""
        raise NotImplementedError

    def initial_state(self, n_arms: int) -> PhasesState:
        """Return nothing seen, all arms left."""
        history = empty_history(n_arms)
        plan: list[tuple[int, int]] = []
        for pulls, kept in self.plan(n_arms):
            if pulls > 0:
                plan.append((pulls, kept))
            elif plan:  # a phase without pulls drops what it drops together with the phase before
                plan[-1] = plan[-1][PULLS], kept
        return PhasesState(
            settings=np.array(self.scoring()),
            pulls=history.pulls,
            history=history,
            left=np.ones(n_arms, np.int64),
            before=np.zeros(n_arms, np.int64),
            plan=np.array([*plan, *END], np.int64),
            phase=np.zeros(1, np.int64),
            scores=np.zeros(n_arms),
        )

    def reserve(self, state: PhasesState, pulls: int) -> PhasesState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: PhasesState) -> None:
        """Check the history, the plan, and who is left."""
        check_history(state.history)
        first = self.initial_state(len(state.pulls))
        if not np.array_equal(state.plan, first.plan) or not 0 <= state.phase[0] < len(state.plan) - 1:
            raise DamagedFile("its phases are not those of its horizon")
        left = len(state.pulls) if state.phase[0] == 0 else state.plan[state.phase[0] - 1, KEPT]
        if not np.isin(state.left, (0, 1)).all() or state.left.sum() != left:
            raise DamagedFile("the arms that are left are not those of its phase")
        if np.any(state.before < 0) or np.any(state.before > state.pulls):
            raise DamagedFile("its phase began after its pulls")
