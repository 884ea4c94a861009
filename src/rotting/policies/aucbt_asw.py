"""AUCBT-ASW: UCBT-ASW that finds out how patient to be with arms, by Exp3 over guesses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.errors import DamagedFile
from rotting.policies._contract.one_by_one import check_place, move_on
from rotting.policies._contract.policy import StateTuple
from rotting.policies._windows.history import History, append, check_history, empty_history, reserve
from rotting.policies.aucb_tp import AUCBTP, GUESS, PASSED, end_block, probabilities, select
from rotting.policies.ucbt_asw import has_low_window


class AUCBTASWState(NamedTuple):
    """UCBT-ASW's state, the weights of the guesses, and the block."""

    settings: np.ndarray  # [12 ln H, Exp3's alpha, what a block's rewards are divided by]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    here: np.ndarray  # int64 [the number of the current arm]
    tried: np.ndarray  # int64 [its pulls since it was come to, in this block]
    history: History  # of "one arm": the current ones
    log_weights: np.ndarray  # float64 (B,): of the guesses 1, 1/2, 1/4, ...
    block: np.ndarray  # int64 [rounds in a block, rounds of this one that are over, the guess in use]
    earned: np.ndarray  # float64 [the rewards of this block]


def update(state, arm, reward):
    """Learn as UCBT-ASW does with the guess; at the end of the block, weigh the guess and go to the next arm."""
    state.pulls[arm] += 1
    if state.numbers[arm] == state.here[0]:
        append(state.history, 0, reward)
        state.tried[0] += 1
        if has_low_window(state.history, state.tried[0], state.settings[0], 1.0 - 2.0 ** -float(state.block[GUESS])):
            move_on(state.numbers, state.here)
            state.tried[0] = 0
    state.earned[0] += reward
    state.block[PASSED] += 1
    if end_block(state) and state.tried[0] > 0:
        move_on(state.numbers, state.here)
        state.tried[0] = 0


@dataclass(frozen=True)
class AUCBTASW(
    AUCBTP,
    state=AUCBTASWState,
    select=select,
    update=update,
    probabilities=probabilities,
    randomised=True,
    keeps_history=True,
):
    """Play UCBT-ASW in blocks of H = ceil(sqrt(T)) rounds, each with a delta drawn by Exp3 from 1, 1/2, 1/4, ...

    There are B = ceil(log2 H) such guesses (at least one). A block begins with a new arm, and leaves arms when the
    smallest, over n = 1, 2, 4, ..., of (mean of its last n rewards + sqrt(12 ln H / n)) is below 1 - delta. At its end
    the weight of its guess is multiplied by exp(alpha / (B p) (1/2 + rewards / (100 H ln T + 4 sqrt(H ln T)))), p being
    the probability of the guess and alpha = min(1, sqrt(B ln B / ((e - 1) ceil(T / H)))). In a simulation
    `horizon=None` is filled in.

    B, the guesses and the constants are those of the authors' program (which stays, if the first block never leaves
    its arm, with that arm in the second).

    References
    ----------
    Kim, Vojnovic, Yun (2024), "An adaptive approach for infinitely many-armed bandits under generalized rotting
    constraints", algorithm 2.

    Examples
    --------
    >>> agent = AUCBTASW(horizon=1000).start(n_arms=100, seed=1)
    >>> for _ in range(1000):
    ...     arm = agent.select()
    ...     agent.update(arm, (arm * 0.37) % 1.0)
    >>> (agent.pulls > 0).sum()
    np.int64(32)
    """

    def sizes(self) -> tuple[int, int, int]:
        """Return the horizon, the length of a block and the number of guesses."""
        horizon = self.told("horizon")
        block = math.ceil(math.sqrt(horizon))
        return horizon, block, max(math.ceil(math.log2(block)), 1)

    def initial_state(self, n_arms: int) -> StateTuple:
        """Begin with the first arm and equal weights."""
        horizon, block, guesses = self.sizes()
        scale = 100 * block * math.log(horizon) + 4 * math.sqrt(block * math.log(horizon))
        return AUCBTASWState(
            settings=np.array([12 * math.log(block), self.rate(), max(scale, 1.0)]),
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            here=np.zeros(1, np.int64),
            tried=np.zeros(1, np.int64),
            history=empty_history(1),
            log_weights=np.zeros(guesses),
            block=np.array([block, 0, 0], np.int64),
            earned=np.zeros(1),
        )

    def reserve(self, state: StateTuple, pulls: int) -> StateTuple:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: StateTuple) -> None:
        """Check where it is, in which block, and the rewards."""
        check_place(state.numbers, state.here)
        self.check_block(state)
        check_history(state.history)
        if not state.tried[0] <= state.history.pulls[0] <= state.pulls.sum():
            raise DamagedFile("its rewards are not those of its pulls")
