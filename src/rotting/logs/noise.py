"""How noisy rewards are."""

from __future__ import annotations

import math

from rotting.logs.reading import Arm, Log


def sigma_of(log: Log) -> float:
    """Return the standard deviation of a reward around its mean, from the differences of successive rewards.

    Half the mean squared difference of neighbours is the variance of the noise, whatever slow change lies under it.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> from rotting.logs.reading import read_log
    >>> round(sigma_of(read_log(make_log(sigma=0.5, start=10.0, end=1.0))), 2)
    0.5
    """
    exposures = sum(arm.exposures for arm in log.arms)
    return math.sqrt(sum(arm.exposures * arm.noise_variance for arm in log.arms) / exposures)


def reward_variance(arm: Arm, binary: bool) -> float:
    """Return the variance of one reward of an arm, never zero.

    That of 0/1 rewards follows from their mean, which is known better than the differences.
    """
    centre = float(arm.cells.total.sum() / arm.cells.count.sum())
    variance = centre * (1 - centre) if binary else arm.noise_variance
    return max(variance, 1e-12 * centre**2, 1e-300)
