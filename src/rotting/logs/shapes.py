"""Smooth curves through noisy means: constant, exponential, exponential to a floor, or one drop.

Isotonic fits show what was measured, but they follow the noise at both ends, and a policy that is let loose on them
harvests it. These curves have few parameters, and what the arms have in common is learnt from all of them at once
(empirical Bayes): the speeds of wear-out and the levels are drawn towards those of the other arms, the more so the less
an arm says about itself.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from rotting.problems.curves import Constant, Curve, Drop, Drops, Exponential

RATES = 61
# A richer shape must beat the exponential by this much in BIC: "strong evidence" by Kass and Raftery (1995).
STRONG = 6.0
# How far the distribution of speeds is smeared, in log units, and how often it is refined.
SMEAR, REFINEMENTS = 0.15, 40
# What arms have in common is asked of so many at least, beginning with levels that differ by this share.
FEWEST_IN_COMMON, SPREAD = 3, 0.3


@dataclasses.dataclass(frozen=True)
class Sample:
    """Means of one arm at increasing places x (exposures, or moments), and the variance of one reward."""

    x: np.ndarray
    mean: np.ndarray
    count: np.ndarray
    variance: float
    width: np.ndarray | float = 1.0  # how many whole places, around x, each mean is over

    def decays(self, rates: np.ndarray) -> np.ndarray:
        """Return exp(-rate x), averaged over the places of each mean, as [rate, mean]."""
        # sinh(r w / 2) / (w sinh(r / 2)) is the mean of exp(r k) over w whole numbers k around 0.
        half = np.maximum(rates, 1e-12)[:, None] / 2
        return np.asarray(np.exp(-np.outer(rates, self.x)) * np.sinh(half * self.width) / (self.width * np.sinh(half)))

    def along(self, curve: Curve) -> np.ndarray:
        """Return what the means would be if there were no noise: places x need not be whole."""
        if isinstance(curve, Exponential):
            [decay] = self.decays(np.array([curve.rate]))
            return np.asarray(curve.floor + (curve.start - curve.floor) * decay)
        return np.asarray(curve(np.floor(self.x).astype(np.int64)))


def fit_curves(samples: list[Sample], binary: bool) -> list[Curve]:
    """Return a curve per arm; all together earn along the samples what the samples did.

    Examples
    --------
    >>> x = np.arange(0.0, 2000, 20)
    >>> falling = Sample(x, 0.1 * np.exp(-x / 1500), np.full(100, 20.0), 0.06)
    >>> [curve] = fit_curves([falling], binary=True)
    >>> round(curve.start, 3), round(1 / curve.rate)
    (0.099, 1524)
    """
    base = _base(samples)
    rates = _rates(samples)
    losses = np.stack([_least_squares(sample, rates, base)[2] for sample in samples])
    likelihood = np.exp(-0.5 * (losses - losses.min(axis=1, keepdims=True)))
    posterior = likelihood * _shared_prior(likelihood, rates)
    speeds = [_typical_rate(row / row.sum(), rates) for row in posterior]
    levels, errors = np.transpose([_level(sample, speed, base) for sample, speed in zip(samples, speeds, strict=True)])
    levels = _drawn_together(levels, errors)
    curves: list[Curve] = []
    for sample, level, speed in zip(samples, levels, speeds, strict=True):
        plain = _curve(level + base, speed, base, binary)
        curves.append(_richer(sample, plain, base, binary) or plain)
    return _total_kept(samples, curves, base, binary)


def _total_kept(samples: list[Sample], curves: list[Curve], base: float, binary: bool) -> list[Curve]:
    """Return the curves stretched from the base so that they earn the total of the samples.

    Drawing arms together moves reward between them, and must not make or lose any: the total is what is known best.
    """
    earned = sum(float(sample.count @ (sample.mean - base)) for sample in samples)
    fitted = sum(
        float(sample.count @ (sample.along(curve) - base)) for sample, curve in zip(samples, curves, strict=True)
    )
    factor = earned / fitted if fitted > 0 else 1.0

    def stretched(value: float) -> float:
        moved = base + factor * (value - base)
        return min(moved, 1.0) if binary else moved

    return [with_values(curve, stretched) for curve in curves]


def with_values(curve: Curve, change: Callable[[float], float]) -> Curve:
    """Return a curve of the same shape with other values.

    >>> with_values(Exponential(start=1.0, rate=0.1, floor=0.5), lambda value: value + 2)
    Exponential(start=3.0, rate=0.1, floor=2.5)
    """
    if isinstance(curve, Drops):
        return dataclasses.replace(curve, values=tuple(map(change, curve.values)))
    names = {field.name for field in dataclasses.fields(curve)} & {"value", "start", "floor", "before", "after"}
    return dataclasses.replace(curve, **{name: change(getattr(curve, name)) for name in names})


def _base(samples: list[Sample]) -> float:
    """Return what values decay to: 0, or the lowest stretch of all arms where rewards are negative."""
    lowest = min(float(np.average(part.mean, weights=part.count)) for part in samples)
    return 0.0 if lowest >= 0 else 2 * lowest


def _rates(samples: list[Sample]) -> np.ndarray:
    longest = max(float(sample.x.max()) for sample in samples)
    return np.concatenate([[0.0], np.geomspace(0.03, 300.0, RATES - 1) / max(longest, 1e-12)])


def _level(sample: Sample, rate: float, base: float) -> tuple[float, float]:
    """Return the level at which an exponential of this rate earns what the sample did, and its standard error.

    For rare clicks this is the most likely level; least squares would let a curve of the wrong shape earn more or less.
    """
    decayed = float(sample.count @ sample.decays(np.array([rate]))[0])
    level = float(sample.count @ (sample.mean - base)) / decayed
    return max(level, 0.0), math.sqrt(sample.variance * float(sample.count.sum())) / decayed


def _least_squares(sample: Sample, rates: np.ndarray, base: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for every rate, the best level, its error, and minus twice the log-likelihood of that exponential."""
    shape = sample.decays(rates)
    value = sample.mean - base
    information = (shape**2) @ sample.count
    level = np.maximum(shape @ (sample.count * value) / information, 0.0)
    residual = value - level[:, None] * shape
    variance = max(sample.variance, 1e-300)
    return level, np.sqrt(variance / information), (residual**2) @ sample.count / variance


def _shared_prior(likelihood: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the distribution of rates that fits all arms, given likelihood[arm, rate].

    Expectation-maximisation from a flat start; after each round the distribution is smeared along log(rate), since a
    few arms would otherwise make it a comb. Rate 0, no wear-out, stands apart.
    """
    place = np.log(rates[1:])
    kernel = np.exp(-0.5 * ((place[:, None] - place) / SMEAR) ** 2)
    kernel /= kernel.sum(axis=0)
    flat = np.concatenate([[0.5], np.full(len(place), 0.5 / len(place))])
    prior = flat
    for _ in range(REFINEMENTS):
        posterior = likelihood * prior
        posterior /= posterior.sum(axis=1, keepdims=True)
        # As if there were one more arm about which nothing is known.
        prior = (posterior.sum(axis=0) + flat) / (len(likelihood) + 1)
        prior[1:] = kernel @ prior[1:]
        prior /= prior.sum()
    return prior


def log_evidence(samples: list[Sample]) -> float:
    """Return the log-likelihood of exponentials whose speeds and levels are each from one distribution.

    The distribution of levels is normal, with the mean and spread that make the samples likeliest; of fewer than three
    arms nothing is asked in common.
    """
    from scipy.optimize import minimize

    rates, base = _rates(samples), _base(samples)
    levels, errors, losses = np.swapaxes([_least_squares(sample, rates, base) for sample in samples], 0, 1)
    if len(samples) < FEWEST_IN_COMMON:
        return _mixed(-0.5 * losses, rates)

    def unlikelihood(logarithms: np.ndarray) -> float:
        centre, spread = np.exp(logarithms)
        variance = errors**2 + (spread * centre) ** 2
        fit = np.log(errors) - 0.5 * np.log(variance) - 0.5 * (levels - centre) ** 2 / variance
        return -_mixed(fit - 0.5 * losses, rates)

    start = np.log([max(float(np.median(levels[:, 0])), 1e-300), SPREAD])
    found = minimize(unlikelihood, start, method="Nelder-Mead", options={"maxiter": 60, "xatol": 0.02, "fatol": 0.02})
    return -float(found.fun)


def _mixed(log_likelihood: np.ndarray, rates: np.ndarray) -> float:
    """Return the log-likelihood of all arms, given log_likelihood[arm, rate], with rates from one distribution."""
    highest = log_likelihood.max(axis=1, keepdims=True)
    likelihood = np.exp(log_likelihood - highest)
    return float(np.log(likelihood @ _shared_prior(likelihood, rates)).sum() + highest.sum())


def _typical_rate(probabilities: np.ndarray, rates: np.ndarray) -> float:
    """Return 0 for an arm that probably does not wear out, and the mean of the positive rates for others."""
    if probabilities[0] > 0.5:
        return 0.0
    return float(probabilities[1:] @ rates[1:] / probabilities[1:].sum())


def _drawn_together(levels: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return levels drawn towards their mean by as much as their scatter is noise (DerSimonian and Laird, 1986)."""
    if len(levels) < FEWEST_IN_COMMON or np.any(errors == 0):
        return levels
    weight = 1 / errors**2
    centre = float(weight @ levels / weight.sum())
    excess = float(weight @ (levels - centre) ** 2) - (len(levels) - 1)
    between = max(0.0, excess / float(weight.sum() - (weight**2).sum() / weight.sum()))
    keep = between / (between + errors**2)
    centre = float((levels / (between + errors**2)).sum() / (1 / (between + errors**2)).sum())
    return np.asarray(centre + keep * (levels - centre))


def _curve(start: float, rate: float, floor: float, binary: bool) -> Curve:
    if binary:
        start = min(max(start, 0.0), 1.0)
    if rate == 0 or start <= floor:
        return Constant(start)
    return Exponential(start=start, rate=rate, floor=floor)


def _richer(sample: Sample, plain: Curve, base: float, binary: bool) -> Curve | None:
    """Return an exponential to a floor, or a drop, if the data strongly prefer it to the plain exponential."""
    if sample.variance <= 0 or len(sample.x) < 4:
        return None
    penalty = math.log(float(sample.count.sum()))
    loss, curve = min(_floored(sample, base, binary), _dropping(sample, binary), key=lambda pair: pair[0])
    residual = sample.mean - sample.along(plain)
    before = float(sample.count @ residual**2) / sample.variance
    return curve if loss + penalty + STRONG < before else None


def _floored(sample: Sample, base: float, binary: bool) -> tuple[float, Curve]:
    """Return the best exponential to a floor, and minus twice its log-likelihood."""
    rates = _rates([sample])[1:]
    shape = sample.decays(rates)
    weight = sample.count / sample.count.sum()
    centre = shape @ weight
    spread = (shape**2) @ weight - centre**2
    level = float(weight @ sample.mean)
    fall = np.maximum((shape @ (weight * (sample.mean - level))) / np.maximum(spread, 1e-12), 0.0)
    floor = np.maximum(level - fall * centre, base)
    residual = sample.mean - floor[:, None] - fall[:, None] * shape
    losses = (residual**2) @ sample.count / sample.variance
    best = int(np.argmin(losses))
    return float(losses[best]), _curve(float(floor[best] + fall[best]), float(rates[best]), float(floor[best]), binary)


def _dropping(sample: Sample, binary: bool) -> tuple[float, Curve]:
    """Return the best single drop, and minus twice its log-likelihood."""
    count, total = np.cumsum(sample.count), np.cumsum(sample.count * sample.mean)
    before, after = total[:-1] / count[:-1], (total[-1] - total[:-1]) / (count[-1] - count[:-1])
    gained = count[:-1] * before**2 + (count[-1] - count[:-1]) * after**2
    gained[after >= before] = -np.inf
    best = int(np.argmax(gained))
    loss = (float(sample.count @ sample.mean**2) - float(gained[best])) / sample.variance
    if not math.isfinite(loss):
        return math.inf, Constant(float(total[-1] / count[-1]))
    place = math.ceil((sample.x[best] + sample.x[best + 1]) / 2)  # between the two stretches
    return loss, Drop(before=float(before[best]), after=float(after[best]), at=place)
