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


def reward_variance(arm: Arm, log: Log) -> float:
    """Return the variance of one reward of an arm, never zero: one that was never clicked is not known to be worthless.

    That of 0/1 rewards follows from their mean, which is known better than the differences.
    """
    total, count = float(arm.cells.total.sum()), float(arm.cells.count.sum())
    if log.binary:
        rate = (total + 0.5) / (count + 1)
        return rate * (1 - rate)
    return max(arm.noise_variance, 1e-3 * sigma_of(log) ** 2, 1e-12 * (total / count) ** 2, 1e-30)
