"""Does an arm wear out? Permutation tests, and an isotonic fit with its band, arm by arm."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from rotting._core.isotonic import non_increasing_fit
from rotting.logs.noise import noise_variance
from rotting.logs.reading import Arm, Cells, Log

FALSE_DISCOVERIES = 0.05
# The quantiles that bound every 90 % interval and band.
TAILS = (0.05, 0.95)
# Bins of the fit that is shown and of the one that is tested; permutations of a test, resamples of a band.
SHOWN_BINS, TESTED_BINS = 32, 64
PERMUTATIONS, RESAMPLES = 999, 200
# A test stops early once so many permutations have reached the statistic.
EXCEEDANCES_TO_STOP = 20


@dataclasses.dataclass(frozen=True)
class PValues:
    """P-values of every arm, each of "constant" against an alternative."""

    falling: np.ndarray
    rising: np.ndarray
    recovering: np.ndarray  # rising over the second half of the exposures


@dataclasses.dataclass(frozen=True)
class Band:
    """A non-increasing fit to the mean rewards of one arm, and its pointwise 90 % band."""

    exposure: np.ndarray  # the middle of each bin
    mean: np.ndarray  # of the rewards in it
    fit: np.ndarray  # isotonic, non-increasing
    low: np.ndarray
    high: np.ndarray


def permutation_tests(log: Log, generator: np.random.Generator, step: Callable[[], None] = lambda: None) -> PValues:
    """Test every arm; p-values are refined where the false-discovery rate needs it.

    With 999 permutations no p-value lies below 0.001, too coarse to single out one arm of 500. Arms that no
    permutation equalled and that are still not called at the nominal rate are permuted further.
    """
    falling, rising, recovering = [], [], []
    for arm in log.arms:
        whole = merged(arm.cells, TESTED_BINS)
        falling.append(_p_value(whole, log.binary, generator))
        rising.append(_p_value(whole, log.binary, generator, sign=-1.0))
        recovering.append(_p_value(_second_half(whole), log.binary, generator, sign=-1.0))
        step()
    finest = 1 / (PERMUTATIONS + 1)
    called = discoveries(np.array(falling))
    for index, arm in enumerate(log.arms):
        if falling[index] <= finest and not called[index]:
            many = int(np.ceil(2 * len(log.arms) / FALSE_DISCOVERIES))
            falling[index] = _p_value(merged(arm.cells, TESTED_BINS), log.binary, generator, permutations=many)
    return PValues(np.array(falling), np.array(rising), np.array(recovering))


def discoveries(p_values: np.ndarray, rate: float = FALSE_DISCOVERIES) -> np.ndarray:
    """Return which hypotheses are rejected at this false-discovery rate, by the adaptive two-stage procedure.

    The first stage estimates how many hypotheses are true, and the second spends the rate on those only: where most
    arms wear out, it has more power for the others.

    References
    ----------
    Benjamini, Krieger, Yekutieli (2006), "Adaptive linear step-up procedures that control the false discovery rate".

    Examples
    --------
    >>> discoveries(np.array([0.001, 0.04, 0.3, 0.6]))
    array([ True, False, False, False])
    >>> discoveries(np.array([0.001, 0.04, 0.002, 0.003]))
    array([ True,  True,  True,  True])
    """
    reduced = rate / (1 + rate)
    first = _step_up(p_values, reduced)
    if not first.any() or first.all():
        return first
    return _step_up(p_values, reduced * len(p_values) / (~first).sum())


def _step_up(p_values: np.ndarray, rate: float) -> np.ndarray:
    """Return which hypotheses are rejected by the procedure of Benjamini and Hochberg (1995)."""
    order = np.argsort(p_values, kind="stable")
    below = np.flatnonzero(p_values[order] <= rate * np.arange(1, len(order) + 1) / len(order))
    rejected = np.zeros(len(order), dtype=bool)
    rejected[order[: below[-1] + 1 if len(below) else 0]] = True
    return rejected


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


def _second_half(cells: Cells) -> Cells:
    half = slice(len(cells.count) // 2, None)
    return Cells(*(getattr(cells, field.name)[half] for field in dataclasses.fields(Cells)))


def _p_value(
    cells: Cells,
    binary: bool,
    generator: np.random.Generator,
    sign: float = 1.0,
    permutations: int = PERMUTATIONS,
) -> float:
    """Return the p-value of "constant" against "decreasing" (sign -1: increasing) by permutation.

    The statistic is how much more the early exposures are worth than the late ones in the isotonic fit, with scores
    1 - sqrt(share of exposures before): more power than the squared distance of the fit from a constant against the
    slow declines that are usual, and still some against a short peak at the beginning. Sampling stops early where
    enough permutations have reached the statistic (Besag and Clifford, 1991): large p-values need few digits.
    """
    if len(cells.count) < 2:
        return 1.0
    share = (np.cumsum(cells.count) - cells.count / 2) / cells.count.sum()
    score = 1 - np.sqrt(share)
    weight = cells.count * (score - np.average(score, weights=cells.count))

    def statistic(mean: np.ndarray) -> float:
        return float(weight @ non_increasing_fit(sign * mean, cells.count))

    observed = statistic(cells.mean)
    # Rounding must not make equal values look smaller.
    tolerance = 1e-12 * float(np.abs(weight) @ np.abs(cells.mean))
    reached = 0
    for drawn, mean in enumerate(_permuted(cells, binary, generator, permutations), start=1):
        reached += statistic(mean) >= observed - tolerance
        if reached == EXCEEDANCES_TO_STOP:
            return reached / drawn
    return (1 + reached) / (1 + permutations)


def _permuted(cells: Cells, binary: bool, generator: np.random.Generator, times: int) -> np.ndarray:
    """Return the bins' means after permutations of the rewards.

    For 0/1 rewards this is exact: the number of ones in each bin is hypergeometric. Otherwise the bins' standardised
    deviations are permuted, which is exact for bins of one size.
    """
    if binary:
        sizes = cells.count.astype(np.int64)
        ones = generator.multivariate_hypergeometric(sizes, int(cells.total.sum()), size=times, method="marginals")
        return np.asarray(ones / cells.count)
    centre = cells.total.sum() / cells.count.sum()
    deviation = np.sqrt(cells.count) * (cells.mean - centre)
    return np.asarray(centre + generator.permuted(np.tile(deviation, (times, 1)), axis=1) / np.sqrt(cells.count))


def isotonic_band(arm: Arm, log: Log, generator: np.random.Generator) -> Band:
    """Return the isotonic fit to an arm, and the reverse-percentile (basic) bootstrap band around it."""
    cells = merged(arm.cells, SHOWN_BINS)
    fit = non_increasing_fit(cells.mean, cells.count)
    draws = resampled(fit, cells.count, noise_variance(arm, log), log.binary, generator, RESAMPLES)
    refits = np.stack([non_increasing_fit(mean, cells.count) for mean in draws])
    # Where refits tend to lie above the fit, the fit tends to lie above the truth: the quantiles are subtracted.
    low, high = np.quantile(refits - fit, TAILS, axis=0)
    # Such bounds need not be monotone, nor hold the fit.
    low, high = non_increasing_fit(fit - high, cells.count), non_increasing_fit(fit - low, cells.count)
    if log.binary:
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return Band(cells.exposure, cells.mean, fit, np.minimum(low, fit), np.maximum(high, fit))


def resampled(
    mean: np.ndarray, count: np.ndarray, variance: float, binary: bool, generator: np.random.Generator, times: int
) -> np.ndarray:
    """Return means of so many rewards, drawn `times` times around given means."""
    if binary:
        drawn = generator.binomial(count.astype(np.int64), np.clip(mean, 0, 1), size=(times, len(mean)))
        return np.asarray(drawn / count)
    return np.asarray(mean + generator.standard_normal((times, len(mean))) * np.sqrt(variance / count))
