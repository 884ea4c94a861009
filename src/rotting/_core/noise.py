"""How noisy rewards are: from their bounds, or from the differences between successive rewards of an arm.

Successive rewards of one arm differ by noise and by what the arm wore out in between, which is little. So half the mean
squared difference estimates the variance of the noise (von Neumann's estimator), whatever the arms are worth, as long
as they wear out slowly. What an arm does wear out between two rewards makes the estimate larger.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypedDict

from rotting.errors import BadValue

# `NoiseEstimate.due`: first after this many rewards, then whenever they have doubled.
FIRST_ESTIMATE = 32


def sigma_for(low: float, high: float) -> float:
    """Return the scale of the noise of rewards that lie between `low` and `high`: (high - low) / 2.

    A bounded reward is no noisier, in the sense that FEWA needs (sub-Gaussian), than this.

    >>> sigma_for(0, 1)
    0.5
    """
    try:
        sigma = (float(high) - float(low)) / 2
    except (TypeError, ValueError, OverflowError):
        sigma = math.nan
    if not (math.isfinite(sigma) and sigma > 0):
        raise BadValue(
            "are not bounds of rewards", name="low, high", value=(low, high), expected="two finite numbers, low < high"
        )
    return sigma


def variance_from_differences(squared: float, differences: float) -> float:
    """Return the variance of the noise, given the sum of squared differences of successive rewards and their number.

    It is 0 without differences.

    >>> variance_from_differences(3.0, 3)
    0.5
    """
    return squared / (2 * differences) if differences else 0.0


class NoiseRecord(TypedDict):
    """A `NoiseEstimate` as plain data."""

    last: list[tuple[int, float]]  # the latest reward of each arm that has one
    squares: float
    differences: int
    rewards: int


class NoiseEstimate:
    """Estimates the standard deviation of the noise while rewards of any number of arms come in.

    Examples
    --------
    >>> noise = NoiseEstimate()
    >>> for reward in [1.0, 0.0, 1.0, 0.0]:
    ...     noise.add(0, reward)
    >>> noise.sigma  # square root of (1 + 1 + 1) / (2 * 3)
    0.7071067811865476
    """

    def __init__(self) -> None:
        self._last: dict[int, float] = {}
        self._squares = 0.0
        self._differences = 0
        self._rewards = 0

    def add(self, arm: int, reward: float) -> None:
        """Add the next reward of an arm."""
        if arm in self._last:
            self._squares += (reward - self._last[arm]) ** 2
            self._differences += 1
        self._last[arm] = reward
        self._rewards += 1

    @property
    def sigma(self) -> float | None:
        """The estimate, or None while no two successive rewards of an arm differ."""
        if self._squares == 0.0:
            return None
        return math.sqrt(variance_from_differences(self._squares, self._differences))

    @property
    def due(self) -> bool:
        """Whether this is a moment to use a new estimate: after 32, 64, 128, ... rewards."""
        return self._rewards >= FIRST_ESTIMATE and self._rewards & (self._rewards - 1) == 0

    def to_dict(self) -> NoiseRecord:
        """Return everything as plain data."""
        return {
            "last": list(self._last.items()),
            "squares": self._squares,
            "differences": self._differences,
            "rewards": self._rewards,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> NoiseEstimate:
        """Return the estimate that `to_dict` described; ValueError if `content` describes none."""
        noise = cls()
        match content:
            case {
                "last": list(last),
                "squares": int() | float() as squares,
                "differences": int(differences),
                "rewards": int(rewards),
            } if all(map(_is_reward, last)) and 0 <= squares < math.inf and 0 <= differences <= rewards:
                noise._last = dict(last)
                noise._squares, noise._differences, noise._rewards = float(squares), differences, rewards
            case _:
                raise ValueError("not a noise estimate")
        if noise._squares > 0.0 and not differences:
            raise ValueError("squared differences without differences")
        return noise


def _is_reward(pair: object) -> bool:
    """Say whether something is an arm and its latest reward."""
    match pair:
        case [int(arm), int() | float() as reward]:
            return arm >= 0 and math.isfinite(reward)
    return False
