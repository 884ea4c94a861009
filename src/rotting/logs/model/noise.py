"""How noisy rewards are, and cells put together until they are less so."""

from __future__ import annotations

import math

import numpy as np

from rotting.logs.arrays import Floats
from rotting.logs.read.counting import Arm, Cells
from rotting.logs.read.reading import Log

BIN_ROWS = 32  # rows over which values hardly change
ROUNDING = 1e-9  # smaller differences, as a share of the squares, come from adding numbers


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
    return math.sqrt(np.average(_noise_variances(log), weights=[arm.exposures for arm in log.arms]))


def _noise_variances(log: Log) -> list[float]:
    """Return the variance of each arm's rewards around their slowly changing mean.

    Copies of rows do not differ from each other. Where the log holds any, the variance within short bins is used
    instead of the differences: copies hardly change it. So it is where no user saw an arm twice.
    """
    copies = log.copies_kept
    return [(not copies and arm.noise_variance) or _variance_within_bins(arm) for arm in log.arms]


def _variance_within_bins(arm: Arm) -> float:
    bins = merged(arm.cells, max(arm.exposures // BIN_ROWS, 1))
    degrees_of_freedom = float((bins.count - 1).sum())
    apart = float((bins.squares - bins.total * bins.mean).sum())
    return apart / max(degrees_of_freedom, 1.0) * (apart > ROUNDING * float(bins.squares.sum()))


def reward_variances(log: Log) -> Floats:
    """Return the variance of one reward of each arm; never 0, since an arm without clicks may be worth something.

    That of 0/1 rewards follows from their mean, which is known better than the differences.
    """
    total, count = (np.array([getattr(arm.cells, kind).sum() for arm in log.arms]) for kind in ("total", "count"))
    if log.binary:
        rate = (total + 0.5) / (count + 1)
        return rate * (1 - rate)
    least = max(1e-3 * sigma_of(log) ** 2, 1e-30)
    return np.maximum(np.maximum(_noise_variances(log), least), 1e-12 * (total / count) ** 2)


def merged(cells: Cells, bins: int) -> Cells:
    """Return the cells merged along exposures into at most so many bins of about equal counts.

    >>> cells = Cells(np.arange(4.0), np.linspace(0, 1, 4), np.ones(4), np.array([1.0, 0, 1, 1]), *np.ones((3, 4)))
    >>> merged(cells, 2).mean
    array([0.5, 1. ])
    """
    # Cells with the same exposure number (of several users) stay together.
    _, level = np.unique(cells.exposure, return_inverse=True)
    before = np.cumsum(np.bincount(level, cells.count)) - np.bincount(level, cells.count)
    own_bin = np.minimum((before * bins / cells.count.sum()).astype(np.int64), bins - 1)[level]
    _, own_bin = np.unique(own_bin, return_inverse=True)
    count = np.bincount(own_bin, cells.count)
    exposure, time = (np.bincount(own_bin, cells.count * each) / count for each in (cells.exposure, cells.time))
    total, squares, capped = (np.bincount(own_bin, each) for each in (cells.total, cells.squares, cells.capped))
    return Cells(exposure, time, count, total, squares, capped, np.zeros(len(count), np.int64))
