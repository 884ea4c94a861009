"""ISI-CombUCB1: blocks of arms that recover, chosen as a whole; in each an arm's first pull only sets its clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter

_MOST_BLOCKS = 1 << 20
ROUNDS = 0  # of `counts`


class ISICombUCB1State(NamedTuple):
    """What each arm paid after each rest, and the present block."""

    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    counts: np.ndarray  # int64 [rounds so far]
    last: np.ndarray  # int64 (K,): the place in the block of the arm's last pull, -1 before its first in the block
    seen: np.ndarray  # int64 (K, d - 1): rewards after tau = 1, ..., d - 1 rounds since the pull before ...
    totals: np.ndarray  # float64 (K, d - 1): ... and their sum
    block: np.ndarray  # int64 (d,): the arms of the present block
    bounds: np.ndarray  # float64 (K, d - 1): working memory
    trial: np.ndarray  # int64 (d,): working memory
    place: np.ndarray  # int64 (K,): working memory


def select(state, t, word):
    """Return the arm that the block has for this round; where it is missing, the next one that is there."""
    wanted = state.block[state.counts[ROUNDS] % len(state.block)]
    for arm in range(len(state.numbers)):
        if state.numbers[arm] >= wanted:
            return arm
    return 0


def update(state, arm, reward):
    """Add the reward, unless it is the arm's first in the block; after the block choose the next."""
    place = state.counts[ROUNDS] % len(state.block)
    before = state.last[arm]
    if before >= 0:
        state.seen[arm, place - before - 1] += 1
        state.totals[arm, place - before - 1] += reward
    state.last[arm] = place
    state.pulls[arm] += 1
    state.counts[ROUNDS] += 1
    if place == len(state.block) - 1:
        for other in range(len(state.pulls)):
            state.last[other] = -1
        _choose_block(state)


@outlined
def _choose_block(state):
    """Write the block with the largest sum of bounds, first pulls counting nothing; on ties the first in order."""
    d, arms, logarithm = len(state.block), len(state.pulls), math.log(float(state.counts[ROUNDS]))
    # What nobody has seen yet is worth more than anything seen, for as long as anybody plays.
    unseen = d * math.sqrt(1.5 * math.log(float(arms * d)))
    for arm in range(arms):
        for rest in range(d - 1):
            n = state.seen[arm, rest]
            state.bounds[arm, rest] = unseen if n == 0 else state.totals[arm, rest] / n + math.sqrt(1.5 * logarithm / n)
    best_value = -np.inf
    for place in range(d):
        state.trial[place] = 0
    for _ in range(arms**d):
        value = _value(state)
        if value > best_value:
            best_value = value
            for place in range(d):
                state.block[place] = state.trial[place]
        place = d - 1
        while place >= 0 and state.trial[place] == arms - 1:
            state.trial[place] = 0
            place -= 1
        if place >= 0:
            state.trial[place] += 1


@helper
def _value(state):
    """Return the sum of bounds of the block on trial."""
    value = 0.0
    for arm in range(len(state.place)):
        state.place[arm] = -1
    for place in range(len(state.trial)):
        arm = state.trial[place]
        if state.place[arm] >= 0:
            value += state.bounds[arm, place - state.place[arm] - 1]
        state.place[arm] = place
    return value


@dataclass(frozen=True)
class ISICombUCB1(
    Policy,
    state=ISICombUCB1State,
    select=select,
    update=update,
    shared_memory=True,
    scratch=("bounds", "trial", "place"),
    rewards=("low", "high"),
    maps_rewards=True,
    made_for="arms that recover",
):
    """Play blocks of d rounds, each the one that may earn most, if an arm's first pull in a block counts for nothing.

    An arm's value follows the rounds tau since its last pull, so its first pull in a block only sets its clock: what a
    block earns without these does not depend on the blocks before. A value has the bound mean + sqrt(1.5 ln t / n)
    after n rewards, d sqrt(1.5 ln(K d)) before the first. All K^d blocks are compared (at most 2^20; the authors'
    program rounds a linear program instead). In the first block all pulls are of arm 0.

    Arms are those of the paper whose value does not follow how often they were pulled in a row, as in the authors'
    program and experiments.

    References
    ----------
    Laforgue, Clerici, Cesa-Bianchi, Gilad-Bachrach (2022), "A last switch dependent analysis of satiation and
    seasonality in bandits"; Kveton, Wen, Ashkan, Szepesvari (2015), on CombUCB1.

    Examples
    --------
    >>> agent = ISICombUCB1(d=3).start(n_arms=2)
    >>> since = [1, 1]
    >>> for _ in range(3000):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.3, 0.9 * (since[1] == 2)][arm])
    ...     since = [1 if other == arm else since[other] + 1 for other in range(2)]
    >>> agent.pulls
    array([1272, 1728])
    """

    d: int = parameter(4, whole=True, minimum=2, doc="rounds in a block")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> ISICombUCB1State:
        """Return nothing seen."""
        if n_arms**self.d > _MOST_BLOCKS:
            problem = f"makes {n_arms**self.d:,} blocks of {n_arms} arms"
            raise BadValue(problem, owner="ISICombUCB1", name="d", value=self.d, expected="at most 2^20 of them")
        return ISICombUCB1State(
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            counts=np.zeros(1, np.int64),
            last=np.full(n_arms, -1, np.int64),
            seen=np.zeros((n_arms, self.d - 1), np.int64),
            totals=np.zeros((n_arms, self.d - 1)),
            block=np.zeros(self.d, np.int64),
            bounds=np.zeros((n_arms, self.d - 1)),
            trial=np.zeros(self.d, np.int64),
            place=np.zeros(n_arms, np.int64),
        )

    def check_state(self, state: ISICombUCB1State) -> None:
        """Check that the block has arms that exist, and the counts."""
        n_arms = len(state.pulls)
        if not 0 <= state.block.min() <= state.block.max() < n_arms or state.counts[0] != state.pulls.sum():
            raise DamagedFile("its block is not one of its arms")
        if not np.array_equal(state.numbers, np.arange(n_arms)) or state.last.min() < -1:
            raise DamagedFile("its arms are not those that it has pulled")
        if state.last.max() >= state.counts[0] % self.d or state.seen.min() < 0 or not np.isfinite(state.totals).all():
            raise DamagedFile("its rewards are not those of its block")
