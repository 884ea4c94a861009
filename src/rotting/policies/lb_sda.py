"""LB-SDA: the most pulled arm duels with each other on as many of its latest rewards as the other has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._windows.history import (
    History,
    append,
    check_history,
    empty_history,
    reserve,
    total_of,
    window_sum,
)


class LBSDAState(NamedTuple):
    """All rewards, and what is left of this round of duels."""

    settings: np.ndarray  # [forced: arms with fewer than sqrt(forced ln r) pulls are pulled]
    pulls: np.ndarray
    history: History
    due: np.ndarray  # int64 (K,): 1 for arms that are still to be pulled in this round of duels
    duels: np.ndarray  # int64 [r, the rounds of duels so far]


def select(state, t, word):
    """Return the first arm that is due; among arms none of which is, the most pulled."""
    most = 0
    for arm in range(len(state.pulls)):
        if state.due[arm] == 1:
            return arm
        if state.pulls[arm] > state.pulls[most]:
            most = arm
    return most


def update(state, arm, reward):
    """Add the reward; when all that were due have been pulled, duel again."""
    append(state.history, arm, reward)
    state.due[arm] = 0
    for other in range(len(state.pulls)):
        if state.due[other] == 1:
            return
    _duel(state)


@helper
def _duel(state):
    """Say which arms are pulled next: those that win against the leader, or are pulled too rarely; else the leader."""
    leader = _leader(state)
    state.duels[0] += 1
    forced = math.sqrt(state.settings[0] * math.log(float(state.duels[0])))
    someone = False
    for arm in range(len(state.pulls)):
        n = state.pulls[arm]
        if arm == leader or n == state.pulls[leader]:
            continue
        # Means of n rewards each are compared by their sums.
        if n < forced or total_of(state.history, arm) >= window_sum(state.history, leader, n):
            state.due[arm], someone = 1, True
    if not someone:
        state.due[leader] = 1


@helper
def _leader(state):
    """Return the arm with the most pulls; of several, that with the largest sum of rewards, the lowest number first."""
    leader = 0
    for arm in range(1, len(state.pulls)):
        more = state.pulls[arm] > state.pulls[leader]
        same = state.pulls[arm] == state.pulls[leader]
        if more or (same and total_of(state.history, arm) > total_of(state.history, leader)):
            leader = arm
    return leader


@dataclass(frozen=True)
class LBSDA(Policy, state=LBSDAState, select=select, update=update, keeps_history=True, shared_memory=True):
    """In rounds of duels r = 1, 2, ..., pull each arm that beats the leader's last rewards, or the leader if none does.

    The leader is the arm with the most pulls. An arm with N pulls, fewer than the leader has, wins its duel if its mean
    is at least that of the leader's last N rewards; and it is pulled anyway while N < sqrt(forced ln r). Needs no
    scale of the noise. All arms are pulled first; those of a round are pulled in order (in the authors' program by
    chance).

    References
    ----------
    Baudry, Russac, Cappe (2021), "On limited-memory subsampling strategies for bandits".

    Examples
    --------
    >>> agent = LBSDA().start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([ 3, 97])
    """

    forced: float = parameter(1.0, minimum=0, doc="arms with fewer than sqrt(forced ln r) pulls are pulled anyway")

    def initial_state(self, n_arms: int) -> LBSDAState:
        """Return an empty history; all arms are due."""
        history = empty_history(n_arms)
        return LBSDAState(
            np.array([self.forced]), history.pulls, history, np.ones(n_arms, np.int64), np.zeros(1, np.int64)
        )

    def reserve(self, state: LBSDAState, pulls: int) -> LBSDAState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: LBSDAState) -> None:
        """Check the history and who is due."""
        check_history(state.history)
        if not np.isin(state.due, (0, 1)).all() or not state.due.any():
            raise DamagedFile("nobody is due to be pulled")
        if not 0 <= state.duels[0] <= state.pulls.sum():
            raise DamagedFile("its duels are not those of its pulls")
