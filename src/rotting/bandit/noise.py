"""How noisy rewards are: from their bounds, or from the differences between successive rewards of an arm."""

from __future__ import annotations

import math
from typing import Any

from rotting.bandit.errors import BadSettings

# The first estimate, and then one whenever the rewards have doubled.
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
        raise BadSettings(
            f"low={low!r}, high={high!r} are no bounds of rewards; expected two finite numbers, low < high"
        )
    return sigma


class NoiseEstimate:
    """Estimates the standard deviation of the noise while rewards come in.

    Successive rewards of one arm differ by noise and by what the arm wore out in between, which is little. So half the
    mean squared difference, over all arms, estimates the variance of the noise (von Neumann's estimator), whatever the
    arms are worth and however they wear out slowly. What an arm does wear out between two rewards makes it larger.

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
        """Take in a reward."""
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
        return math.sqrt(self._squares / (2 * self._differences))

    @property
    def due(self) -> bool:
        """Say whether this is a moment to use a new estimate: after 32, 64, 128, ... rewards."""
        return self._rewards >= FIRST_ESTIMATE and self._rewards & (self._rewards - 1) == 0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "last": [[arm, reward] for arm, reward in self._last.items()],
            "squares": self._squares,
            "differences": self._differences,
            "rewards": self._rewards,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> NoiseEstimate:
        """Return the estimate that `to_dict` described."""
        noise = cls()
        noise._last = dict(content["last"])
        noise._squares, noise._differences = content["squares"], content["differences"]
        noise._rewards = content["rewards"]
        return noise
