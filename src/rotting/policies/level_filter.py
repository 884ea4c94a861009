"""The level filter: for arms whose decay is known and whose level is not, as in the Candy Cane Contest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy

LEVELS = 101  # whole numbers from 0 to 100
ROUNDED_UP, WIDTH, KEPT = range(3)  # of `settings`


class LevelFilterState(NamedTuple):
    """How likely each level is for each arm, and where it has come to by now."""

    settings: np.ndarray  # [1: chances rounded up (Kaggle), 0: not (river); width; kept]
    pulls: np.ndarray
    chances: np.ndarray  # float64 (K, LEVELS): how likely each level was at the start
    levels: np.ndarray  # float64 (K, LEVELS): what is left of each by now
    indices: np.ndarray  # float64 (K,)


def select(state, t, word):
    """Return the arm with the largest index (lowest number on ties)."""
    best = 0
    for arm in range(1, len(state.indices)):
        if state.indices[arm] > state.indices[best]:
            best = arm
    return best


def update(state, arm, reward):
    """Weigh each level by how well it explains the reward, then lower them all by the known factor."""
    success = min(max(reward, 0.0), 1.0)
    chances, levels = state.chances, state.levels
    total = 0.0
    for level in range(LEVELS):
        p = payout(state.settings, levels[arm, level])
        total += chances[arm, level] * (success * p + (1.0 - success) * (1.0 - p))
    # A reward that no level explains, which the contest never pays, says nothing.
    if total > 0.0:
        for level in range(LEVELS):
            p = payout(state.settings, levels[arm, level])
            chances[arm, level] *= (success * p + (1.0 - success) * (1.0 - p)) / total
    for level in range(LEVELS):
        levels[arm, level] *= state.settings[KEPT]
    state.pulls[arm] += 1
    state.indices[arm] = index_of(state.settings, chances[arm], levels[arm])


@helper
def payout(settings, level):
    """Return the chance of a reward at a level."""
    return math.ceil(level) / LEVELS if settings[ROUNDED_UP] > 0.0 else level / (LEVELS - 1)


@helper
def index_of(settings, chances, levels):
    """Return the mean of an arm's chance of a reward now, plus `width` standard deviations."""
    mean = 0.0
    for level in range(LEVELS):
        mean += chances[level] * payout(settings, levels[level])
    variance = 0.0
    for level in range(LEVELS):
        variance += chances[level] * (payout(settings, levels[level]) - mean) ** 2
    return mean + settings[WIDTH] * math.sqrt(variance)


@entry
def _first_index(settings, chances, levels):
    """Return `index_of`, for Python."""
    return index_of(settings, chances, levels)


@dataclass(frozen=True)
class LevelFilter(
    Policy, state=LevelFilterState, select=select, update=update, rewards=(0.0, 1.0), made_for="arms that empty"
):
    """Pull the arm with the largest mean + width sd of its chance of a reward, given its rewards.

    Each arm starts at one of the levels 0, 1, ..., 100, all equally likely, and every pull multiplies its level by
    `kept`. A pull pays 1 with probability ceil(level) / 101 (rule "kaggle") or level / 100 (rule "river"; there levels
    are real numbers, so that the 101 levels are a grid). A reward r between 0 and 1 counts as a mixture of both; what
    lies outside is clipped. Arms never pulled have an index, too, so that a good arm is not left to try all others.

    References
    ----------
    Kaggle (2020), "Santa 2020: the Candy Cane Contest": the decay is the contest's; an index of this kind is common
    practice there.

    Examples
    --------
    >>> agent = LevelFilter().start(n_arms=3)
    >>> for _ in range(50):
    ...     arm = agent.select()
    ...     agent.update(arm, float(arm == 1))
    >>> agent.pulls
    array([ 4, 42,  4])
    """

    width: float = parameter(1.0, minimum=0, doc="how many standard deviations to add to the mean")
    kept: float = parameter(0.97, minimum=0, maximum=1, doc="the share of a level that a pull leaves")
    rule: str = parameter(
        "kaggle", choices=("kaggle", "river"), doc="what a level pays: ceil(level) / 101, level / 100"
    )

    def initial_state(self, n_arms: int) -> LevelFilterState:
        """Return levels that are all equally likely."""
        settings = np.array([float(self.rule == "kaggle"), self.width, self.kept])
        chances = np.full((n_arms, LEVELS), 1.0 / LEVELS)
        levels = np.tile(np.arange(float(LEVELS)), (n_arms, 1))
        indices = np.full(n_arms, _first_index(settings, chances[0], levels[0]))
        return LevelFilterState(settings, np.zeros(n_arms, np.int64), chances, levels, indices)

    def check_state(self, state: LevelFilterState) -> None:
        """Check that the chances are chances."""
        chances = state.chances
        if chances.min() < 0 or not np.allclose(chances.sum(axis=1), 1) or state.levels.min() < 0:
            raise DamagedFile("its chances are none")
        if not np.isfinite(state.levels).all() or not np.isfinite(state.indices).all():
            raise DamagedFile("its levels are no numbers")
