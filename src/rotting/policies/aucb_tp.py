"""AUCB-TP: UCB-TP that finds out how fast arms wear, by Exp3 over guesses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.randomness import uniform
from rotting.errors import DamagedFile
from rotting.policies._contract.one_by_one import check_place, place_of_current
from rotting.policies._contract.policy import Policy, StateTuple
from rotting.policies._contract.probable import mixed
from rotting.policies._contract.told import horizon_parameter
from rotting.policies.ucb_tp import learn

LOG_HORIZON, ALPHA, SCALE = range(3)  # of `settings`
LENGTH, PASSED, GUESS = range(3)  # of `block`


class AUCBTPState(NamedTuple):
    """UCB-TP's state, the weights of the guesses, and the block."""

    settings: np.ndarray  # [8 ln T, Exp3's alpha, what a block's rewards are divided by]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    here: np.ndarray  # int64 [the number of the current arm]
    tried: np.ndarray  # int64 [its pulls since it was come to, in this block]
    level: np.ndarray  # float64 [what it was worth then, as estimated]
    log_weights: np.ndarray  # float64 (B,): of the guesses 2^-3, 2^-4, ...
    block: np.ndarray  # int64 [rounds in a block, rounds of this one that are over, the guess in use]
    earned: np.ndarray  # float64 [the rewards of this block]


def select(state, t, word):
    """Return the current arm; at the beginning of a block, draw the guess for it."""
    if state.block[PASSED] == 0:
        state.block[GUESS] = _drawn(state, uniform(word, 0))
    return place_of_current(state.numbers, state.here)


def probabilities(state, t, out):
    """Give the current arm probability 1: chance decides about guesses only."""
    mixed(out, place_of_current(state.numbers, state.here), 0.0)


@helper
def _drawn(state, u):
    """Return the guess at which the probabilities, added up, pass u."""
    last = len(state.log_weights) - 1
    for guess in range(last):
        u -= _probability(state, guess)
        if u < 0.0:
            return guess
    return last


@helper
def _probability(state, guess):
    """Return the probability of a guess."""
    alpha, logs, total = state.settings[ALPHA], state.log_weights, 0.0
    for other in range(len(logs)):
        total += math.exp(logs[other] - logs[guess])
    return (1.0 - alpha) / total + alpha / len(logs)


def update(state, arm, reward):
    """Learn as UCB-TP does with the guess; at the end of the block, weigh the guess by what it has earned."""
    state.pulls[arm] += 1
    if state.numbers[arm] == state.here[0]:
        rho = 2.0 ** -(state.block[GUESS] + 3.0)
        learn(state, reward, rho, rho ** (1.0 / 3.0), state.settings[LOG_HORIZON])
    state.earned[0] += reward
    state.block[PASSED] += 1
    if end_block(state):
        state.tried[0], state.level[0] = 0, 0.0


@helper
def end_block(state):
    """If the block is over, weigh its guess by what it has earned, and begin another; say whether it was over."""
    if state.block[PASSED] < state.block[LENGTH]:
        return False
    guess, guesses = state.block[GUESS], len(state.log_weights)
    gain = state.settings[ALPHA] / (guesses * _probability(state, guess))
    state.log_weights[guess] += gain * (0.5 + state.earned[0] / state.settings[SCALE])
    state.block[PASSED], state.earned[0] = 0, 0.0
    return True


@dataclass(frozen=True)
class AUCBTP(
    Policy,
    knows=("horizon",),
    state=AUCBTPState,
    select=select,
    update=update,
    probabilities=probabilities,
    randomised=True,
    shared_memory=True,
    made_for="many arms",
):
    """Play UCB-TP in blocks of H = ceil(sqrt(T)) rounds, each with a rho drawn by Exp3 from 2^-3, 2^-4, ...

    There are B = ceil(1.5 log2 H) - 2 such guesses (at least one), and delta = rho^(1/3). A block keeps the arm of the
    block before, and forgets what was known of it. At its end the weight of its guess is multiplied by
    exp(alpha / (B p) (1/2 + rewards / (186 H ln T + 4 sqrt(H ln T)))), p being the probability of the guess and
    alpha = min(1, sqrt(B ln B / ((e - 1) ceil(T / H)))). In a simulation `horizon=None` is filled in.

    B and the constants are those of the authors' program.

    References
    ----------
    Kim, Vojnovic, Yun (2022), "Rotting infinitely many-armed bandits", algorithm 2.

    Examples
    --------
    >>> agent = AUCBTP(horizon=1000).start(n_arms=100, seed=1)
    >>> for _ in range(1000):
    ...     arm = agent.select()
    ...     agent.update(arm, (arm * 0.37) % 1.0)
    >>> (agent.pulls > 0).sum()
    np.int64(7)
    """

    horizon: int | None = horizon_parameter()

    def sizes(self) -> tuple[int, int, int]:
        """Return the horizon, the length of a block and the number of guesses."""
        horizon = self.told("horizon")
        block = math.ceil(math.sqrt(horizon))
        return horizon, block, max(math.ceil(1.5 * math.log2(block)) - 2, 1)

    def rate(self) -> float:
        """Return Exp3's alpha."""
        horizon, block, guesses = self.sizes()
        return min(1.0, math.sqrt(guesses * math.log(guesses) / ((math.e - 1) * math.ceil(horizon / block))))

    def initial_state(self, n_arms: int) -> StateTuple:
        """Begin with the first arm and equal weights."""
        horizon, block, guesses = self.sizes()
        scale = 186 * block * math.log(horizon) + 4 * math.sqrt(block * math.log(horizon))
        return AUCBTPState(
            settings=np.array([8 * math.log(horizon), self.rate(), max(scale, 1.0)]),
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            here=np.zeros(1, np.int64),
            tried=np.zeros(1, np.int64),
            level=np.zeros(1),
            log_weights=np.zeros(guesses),
            block=np.array([block, 0, 0], np.int64),
            earned=np.zeros(1),
        )

    def check_state(self, state: StateTuple) -> None:
        """Check where it is, and in which block."""
        check_place(state.numbers, state.here)
        self.check_block(state)
        if not np.isfinite(state.level).all():
            raise DamagedFile("what it knows of its arm is not a number")

    def check_block(self, state: StateTuple) -> None:
        """Check the block and the weights of the guesses."""
        _, block, guesses = self.sizes()
        length, passed, guess = state.block.tolist()
        if length != block or not 0 <= passed < block or not 0 <= guess < guesses:
            raise DamagedFile("its block is none")
        numbers = (state.log_weights, state.earned)
        if not all(np.isfinite(each).all() for each in numbers) or not 0 <= state.tried[0] <= passed:
            raise DamagedFile("what it knows of its arm and of its guesses is not what its pulls told it")
