"""Does an arm wear out? The isotonic fit, its band, and a permutation test, arm by arm."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from rotting.logs.noise import noise_variance
from rotting.logs.reading import Arm, Cells, Log

FALSE_DISCOVERIES = 0.05
# The quantiles that bound every 90 % interval and band.
TAILS = (0.05, 0.95)
# Steps of the fit that is shown, of the one that is tested, and how often it is resampled.
SHOWN_BINS, TESTED_BINS = 32, 64
PERMUTATIONS, RESAMPLES = 999, 200
# Permutations that reach the statistic before a test ends early.
ENOUGH = 20


Band = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True)
class WearOut:
    """The wear-out of one arm: a decreasing fit to its mean rewards, and what the tests say."""

    exposure: np.ndarray  # the middle of each bin
    mean: np.ndarray  # of the rewards in it
    fit: np.ndarray  # isotonic, decreasing
    low: np.ndarray  # of the pointwise band
    high: np.ndarray
    p_value: float  # of "constant" against "decreasing"
    p_rising: float  # of "constant" against "increasing", over all exposures
    p_recovering: float  # the same over the second half of them


def wear_out(log: Log, generator: np.random.Generator, step: Callable[[], None] = lambda: None) -> list[WearOut]:
    """Return the wear-out of every arm; p-values are refined where the false-discovery rate needs it.

    With 999 permutations no p-value lies below 0.001, too coarse to single out one arm of 500. Arms that no
    permutation equalled and that are still not called at the nominal rate are permuted further.
    """
    falling, rising, recovering = [], [], []
    for arm in log.arms:
        whole = merged(arm.cells, TESTED_BINS)
        late = _late(whole)
        falling.append(_p_value(whole, log.binary, generator))
        rising.append(_p_value(whole, log.binary, generator, sign=-1.0))
        recovering.append(_p_value(late, log.binary, generator, sign=-1.0))
        step()
    finest = 1 / (PERMUTATIONS + 1)
    called = discoveries(np.array(falling))
    for place, arm in enumerate(log.arms):
        if falling[place] <= finest and not called[place]:
            many = int(np.ceil(2 * len(log.arms) / FALSE_DISCOVERIES))
            falling[place] = _p_value(merged(arm.cells, TESTED_BINS), log.binary, generator, permutations=many)
    return [
        WearOut(*_fit_and_band(arm, log, generator), falling[place], rising[place], recovering[place])
        for place, arm in enumerate(log.arms)
    ]


def discoveries(p_values: np.ndarray, rate: float = FALSE_DISCOVERIES) -> np.ndarray:
    """Return which hypotheses are rejected when at most this share of rejections may be false, in two stages.

    The first stage says how many hypotheses may be true at most, and the second spends the rate on those only: where
    most arms wear out, one about which less is known is not held back by their number.

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
    careful = rate / (1 + rate)
    first = _step_up(p_values, careful)
    if not first.any() or first.all():
        return first
    return _step_up(p_values, careful * len(p_values) / (~first).sum())


def _step_up(p_values: np.ndarray, rate: float) -> np.ndarray:
    """Return which hypotheses are rejected by the procedure of Benjamini and Hochberg (1995)."""
    order = np.argsort(p_values, kind="stable")
    good = np.flatnonzero(p_values[order] <= rate * np.arange(1, len(order) + 1) / len(order))
    rejected = np.zeros(len(order), dtype=bool)
    rejected[order[: good[-1] + 1 if len(good) else 0]] = True
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
    place = np.minimum((before * bins / cells.count.sum()).astype(np.int64), bins - 1)[level]
    _, place = np.unique(place, return_inverse=True)
    count = np.bincount(place, cells.count)

    def average(values: np.ndarray) -> np.ndarray:
        return np.bincount(place, cells.count * values) / count

    total, squares = np.bincount(place, cells.total), np.bincount(place, cells.squares)
    return Cells(average(cells.exposure), average(cells.time), count, total, squares)


def decreasing(mean: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the decreasing sequence nearest to the means, in squares weighted with the counts."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(mean, weights=count, increasing=False).x)


def _late(cells: Cells) -> Cells:
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
    slow declines that are usual, and still some against a short flash at the beginning. Permutations end early where
    enough of them have reached the statistic (Besag and Clifford, 1991): nobody needs the second digit of p = 0.5.
    """
    if len(cells.count) < 2:
        return 1.0
    share = (np.cumsum(cells.count) - cells.count / 2) / cells.count.sum()
    score = 1 - np.sqrt(share)
    weight = cells.count * (score - np.average(score, weights=cells.count))

    def statistic(mean: np.ndarray) -> float:
        return float(weight @ decreasing(sign * mean, cells.count))

    observed = statistic(cells.mean)
    # A shade of rounding must not make equal values look smaller.
    slack = 1e-12 * float(np.abs(weight) @ np.abs(cells.mean))
    reached = 0
    for drawn, mean in enumerate(_permuted(cells, binary, generator, permutations), start=1):
        reached += statistic(mean) >= observed - slack
        if reached == ENOUGH:
            return reached / drawn
    return (1 + reached) / (1 + permutations)


def _permuted(cells: Cells, binary: bool, generator: np.random.Generator, times: int) -> np.ndarray:
    """Return the bins' means after rewards were dealt out anew.

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


def _fit_and_band(arm: Arm, log: Log, generator: np.random.Generator) -> Band:
    """Return exposures, means, the isotonic fit and its band: refits to rewards drawn around the fit."""
    cells = merged(arm.cells, SHOWN_BINS)
    fit = decreasing(cells.mean, cells.count)
    draws = resampled(fit, cells.count, noise_variance(arm, log), log.binary, generator, RESAMPLES)
    refits = np.stack([decreasing(mean, cells.count) for mean in draws])
    # The spread of refits around the fit, turned round: where refits tend to lie too high, so does the fit.
    low, high = np.quantile(refits - fit, TAILS, axis=0)
    # Turned round as it is, such a band need not decrease, nor hold the fit.
    low, high = decreasing(fit - high, cells.count), decreasing(fit - low, cells.count)
    if log.binary:
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return cells.exposure, cells.mean, fit, np.minimum(low, fit), np.maximum(high, fit)


def resampled(
    mean: np.ndarray, count: np.ndarray, variance: float, binary: bool, generator: np.random.Generator, times: int
) -> np.ndarray:
    """Return means of so many rewards, drawn `times` times around given means."""
    if binary:
        drawn = generator.binomial(count.astype(np.int64), np.clip(mean, 0, 1), size=(times, len(mean)))
        return np.asarray(drawn / count)
    return np.asarray(mean + generator.standard_normal((times, len(mean))) * np.sqrt(variance / count))
