"""How noisy rewards are."""

from __future__ import annotations

import math

import numpy as np

from rotting.logs.read.counting import Arm
from rotting.logs.read.reading import Log

BIN_ROWS = 32  # rows over which values hardly change


def sigma_of(log: Log) -> float:
    """Return the standard deviation of a reward around its mean, from the differences of successive rewards.

    Half the mean squared difference of neighbours is the variance of the noise, whatever slow change lies under it.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> from rotting.logs.read.reading import read_log
    >>> round(sigma_of(read_log(make_log(sigma=0.5, start=10.0, end=1.0))), 2)
    0.5
    """
    exposures = sum(arm.exposures for arm in log.arms)
    return math.sqrt(sum(arm.exposures * noise_variance(arm, log) for arm in log.arms) / exposures)


def noise_variance(arm: Arm, log: Log) -> float:
    """Return the variance of an arm's rewards around their slowly changing mean.

    Copies of rows do not differ from each other. Where the log holds any, the variance within short bins is used
    instead of the differences: copies hardly change it.
    """
    return _variance_within_bins(arm) if log.copies_kept else arm.noise_variance


def _variance_within_bins(arm: Arm) -> float:
    cells = arm.cells
    own_bin = np.minimum(np.cumsum(cells.count) - cells.count, arm.exposures - BIN_ROWS) // BIN_ROWS
    _, own_bin = np.unique(np.maximum(own_bin, 0), return_inverse=True)
    count, total, squares = (np.bincount(own_bin, values) for values in (cells.count, cells.total, cells.squares))
    degrees_of_freedom = float((count - 1).sum())
    return float((squares - total**2 / count).sum()) / degrees_of_freedom if degrees_of_freedom > 0 else 0.0


def reward_variance(arm: Arm, log: Log) -> float:
    """Return the variance of one reward of an arm; never 0, since an arm without clicks may still be worth something.

    That of 0/1 rewards follows from their mean, which is known better than the differences.
    """
    total, count = float(arm.cells.total.sum()), float(arm.cells.count.sum())
    if log.binary:
        rate = (total + 0.5) / (count + 1)
        return rate * (1 - rate)
    return max(noise_variance(arm, log), 1e-3 * sigma_of(log) ** 2, 1e-12 * (total / count) ** 2, 1e-30)
