"""Which arms are called at a false-discovery rate, and the isotonic fit of an arm with its band."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rotting._core.isotonic import non_increasing_fits
from rotting.logs.model.noise import noise_variance
from rotting.logs.read.counting import Arm, Cells
from rotting.logs.read.reading import Log

# The quantiles that bound every 90 % interval and band.
TAILS = (0.05, 0.95)
# Bins of the fit that is shown, and resamples of its band.
SHOWN_BINS, RESAMPLES = 32, 200
# Rewards: 0 or 1, never negative, or any numbers.
BINARY, SUMS, NUMBERS = "binary", "sums", "numbers"
MANY_EVENTS = 1e6  # in one exposure: counts of so many are as good as normal
# Resamples of all arms together; each has the least.
MOST_RESAMPLES, LEAST_RESAMPLES = 10_000, 20


@dataclasses.dataclass(frozen=True)
class Band:
    """A non-increasing fit to the mean rewards of one arm, and its pointwise 90 % band."""

    exposure: np.ndarray  # the middle of each bin
    mean: np.ndarray  # of the rewards in it
    fit: np.ndarray  # isotonic, non-increasing
    low: np.ndarray
    high: np.ndarray


def merged(cells: Cells, bins: int) -> Cells:
    """Return the cells merged along exposures into at most so many bins of about equal counts.

    >>> cells = Cells(np.arange(4.0), np.linspace(0, 1, 4), np.ones(4), np.array([1.0, 0, 1, 1]), np.ones(4))
    >>> merged(cells, 2).mean
    array([0.5, 1. ])
    """
    # Cells with the same exposure number (of several users) stay together.
    _, level = np.unique(cells.exposure, return_inverse=True)
    before = np.cumsum(np.bincount(level, cells.count)) - np.bincount(level, cells.count)
    own_bin = np.minimum((before * bins / cells.count.sum()).astype(np.int64), bins - 1)[level]
    _, own_bin = np.unique(own_bin, return_inverse=True)
    count = np.bincount(own_bin, cells.count)

    def average(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(own_bin, cells.count * values) / count)

    total, squares = np.bincount(own_bin, cells.total), np.bincount(own_bin, cells.squares)
    return Cells(average(cells.exposure), average(cells.time), count, total, squares)


def isotonic_bands(arms: Sequence[Arm], log: Log, generator: np.random.Generator) -> list[Band]:
    """Return the isotonic fit to each arm, and the reverse-percentile (basic) bootstrap band around it."""
    binned = [merged(arm.cells, SHOWN_BINS) for arm in arms]
    nonnegative = min(float(arm.cells.total.min()) for arm in arms) >= 0
    counts = [cells.count for cells in binned]
    fits = _fits([cells.mean for cells in binned], counts)
    times = max(min(RESAMPLES, MOST_RESAMPLES // len(log.arms)), LEAST_RESAMPLES)
    kind = BINARY if log.binary else SUMS if nonnegative and not log.offset else NUMBERS
    lows, highs = [], []
    for arm, fit, count in zip(arms, fits, counts, strict=True):
        draws = resampled(fit, count, noise_variance(arm, log), kind, generator, times)
        # Where refits tend to lie above the fit, the fit tends to lie above the truth: the quantiles are subtracted.
        low, high = np.quantile(non_increasing_fits(draws, count) - fit, TAILS, axis=0)
        lows.append(fit - high)
        highs.append(fit - low)
    bands = []
    # Such bounds need not be monotone, nor hold the fit.
    for arm, cells, fit, low, high in zip(arms, binned, fits, _fits(lows, counts), _fits(highs, counts), strict=True):
        if arm.cells.total.min() >= 0:  # rewards are never negative, and neither is their mean
            low = np.maximum(low, 0.0)
        if log.binary:
            high = np.minimum(high, 1.0)
        bands.append(Band(cells.exposure, cells.mean, fit, np.minimum(low, fit), np.maximum(high, fit)))
    return bands


def _fits(rows: list[np.ndarray], weights: list[np.ndarray]) -> list[np.ndarray]:
    """Return the non-increasing fit of each row, those of one length at once."""
    fits: list[np.ndarray] = [np.zeros(0)] * len(rows)
    lengths = np.array([len(row) for row in rows])
    for length in np.unique(lengths):
        same = np.flatnonzero(lengths == length).tolist()
        together = non_increasing_fits(np.stack([rows[i] for i in same]), np.stack([weights[i] for i in same]))
        for i, fit in zip(same, together, strict=True):
            fits[i] = fit
    return fits


def resampled(
    mean: np.ndarray, count: np.ndarray, variance: float, kind: str, generator: np.random.Generator, times: int
) -> np.ndarray:
    """Return means of so many rewards, drawn `times` times around given means.

    Sums of amounts are counts of events, which are worth as much as makes the variance right.
    """
    if kind == BINARY:
        drawn = generator.binomial(count.astype(np.int64), np.clip(mean, 0, 1), size=(times, len(mean)))
        return np.asarray(drawn / count)
    overall = float(count @ mean / count.sum())
    variance = max(variance, 0.0)
    if kind == SUMS and overall > 0 and variance > overall**2 / MANY_EVENTS:
        event = variance / overall
        drawn = generator.poisson(np.maximum(mean, 0) * count / event, size=(times, len(mean)))
        return np.asarray(drawn * event / count)
    return np.asarray(mean + generator.standard_normal((times, len(mean))) * np.sqrt(variance / count))
