"""Smooth curves through noisy means: constant, exponential, exponential to a floor, or one drop.

Isotonic fits show what was measured, but they follow the noise at both ends, and a policy that is simulated on them
exploits it. These curves have few parameters, and what the arms have in common is estimated from all of them at once
(empirical Bayes): the speeds of wear-out and the levels are shrunk towards those of the other arms, the more so the
less is known about an arm.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from rotting.problems.curves import Constant, Curve, Drop, Drops, Exponential

RATES = 61  # on the grid of decay rates
# A richer shape must beat the exponential by this much in BIC: "strong evidence" by Kass and Raftery (1995).
STRONG_EVIDENCE = 6.0
# The bandwidth with which the distribution of rates is smoothed, in log units, and the rounds of its estimation.
BANDWIDTH, ROUNDS = 0.15, 40
# Levels of fewer arms are not pooled; the search for their relative spread starts here.
LEAST_POOLED_ARMS, INITIAL_SPREAD = 3, 0.3


@dataclasses.dataclass(frozen=True)
class Sample:
    """Means of one arm at increasing positions x (exposures, or times), and the variance of one reward."""

    x: np.ndarray
    mean: np.ndarray
    count: np.ndarray
    variance: float
    width: np.ndarray | float = 1.0  # how many whole positions, around x, each mean is over

    def decays(self, rates: np.ndarray) -> np.ndarray:
        """Return exp(-rate x), averaged over the positions of each mean, as [rate, mean]."""
        # sinh(r w / 2) / (w sinh(r / 2)) is the mean of exp(r k) over w whole numbers k around 0.
        half = np.maximum(rates, 1e-12)[:, None] / 2
        return np.asarray(np.exp(-np.outer(rates, self.x)) * np.sinh(half * self.width) / (self.width * np.sinh(half)))

    def along(self, curve: Curve) -> np.ndarray:
        """Return what the means would be without noise; positions x need not be whole."""
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
    levels = _shrunk(levels, errors)
    curves: list[Curve] = []
    for sample, level, speed in zip(samples, levels, speeds, strict=True):
        exponential = _curve(level + base, speed, base, binary)
        curves.append(_richer(sample, exponential, base, binary) or exponential)
    return _rescaled_to_total(samples, curves, base, binary)


def _rescaled_to_total(samples: list[Sample], curves: list[Curve], base: float, binary: bool) -> list[Curve]:
    """Return the curves scaled from the base so that they earn the total of the samples.

    Shrinkage moves reward between arms and must not change the total, which is what is known best.
    """
    earned = sum(float(sample.count @ (sample.mean - base)) for sample in samples)
    fitted = sum(
        float(sample.count @ (sample.along(curve) - base)) for sample, curve in zip(samples, curves, strict=True)
    )
    factor = earned / fitted if fitted > 0 else 1.0

    def scaled(value: float) -> float:
        value = base + factor * (value - base)
        return min(value, 1.0) if binary else value

    return [with_values(curve, scaled) for curve in curves]


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
    """Return what values decay to: 0, or twice the lowest mean of an arm where that is negative."""
    lowest = min(float(np.average(sample.mean, weights=sample.count)) for sample in samples)
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

    Expectation-maximisation from a flat start; after each round the distribution is smoothed along log(rate), since
    few arms would otherwise make it a set of spikes. Rate 0, no wear-out, is left out of the smoothing.
    """
    log_rates = np.log(rates[1:])
    kernel = np.exp(-0.5 * ((log_rates[:, None] - log_rates) / BANDWIDTH) ** 2)
    kernel /= kernel.sum(axis=0)
    flat = np.concatenate([[0.5], np.full(len(log_rates), 0.5 / len(log_rates))])
    prior = flat
    for _ in range(ROUNDS):
        posterior = likelihood * prior
        posterior /= posterior.sum(axis=1, keepdims=True)
        # As if there were one more arm about which nothing is known.
        prior = (posterior.sum(axis=0) + flat) / (len(likelihood) + 1)
        prior[1:] = kernel @ prior[1:]
        prior /= prior.sum()
    return prior


def log_evidence(samples: list[Sample]) -> float:
    """Return the log-likelihood of exponentials whose speeds and levels are each from one distribution.

    The distribution of levels is normal, with the mean and spread that make the samples likeliest; the levels of fewer
    than three arms are not pooled.
    """
    from scipy.optimize import minimize

    rates, base = _rates(samples), _base(samples)
    levels, errors, losses = np.swapaxes([_least_squares(sample, rates, base) for sample in samples], 0, 1)
    if len(samples) < LEAST_POOLED_ARMS:
        return _mixture_log_likelihood(-0.5 * losses, rates)

    def negative_log_likelihood(log_parameters: np.ndarray) -> float:
        centre, spread = np.exp(log_parameters)
        variance = errors**2 + (spread * centre) ** 2
        fit = np.log(errors) - 0.5 * np.log(variance) - 0.5 * (levels - centre) ** 2 / variance
        return -_mixture_log_likelihood(fit - 0.5 * losses, rates)

    start = np.log([max(float(np.median(levels[:, 0])), 1e-300), INITIAL_SPREAD])
    options = {"maxiter": 60, "xatol": 0.02, "fatol": 0.02}
    found = minimize(negative_log_likelihood, start, method="Nelder-Mead", options=options)
    return -float(found.fun)


def _mixture_log_likelihood(log_likelihood: np.ndarray, rates: np.ndarray) -> float:
    """Return the log-likelihood of all arms, given log_likelihood[arm, rate], with rates from one distribution."""
    highest = log_likelihood.max(axis=1, keepdims=True)
    likelihood = np.exp(log_likelihood - highest)
    return float(np.log(likelihood @ _shared_prior(likelihood, rates)).sum() + highest.sum())


def _typical_rate(probabilities: np.ndarray, rates: np.ndarray) -> float:
    """Return 0 for an arm that probably does not wear out, and the mean of the positive rates for others."""
    if probabilities[0] > 0.5:
        return 0.0
    return float(probabilities[1:] @ rates[1:] / probabilities[1:].sum())


def _shrunk(levels: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return levels shrunk towards their mean by as much as their scatter is noise (DerSimonian and Laird, 1986)."""
    if len(levels) < LEAST_POOLED_ARMS or np.any(errors == 0):
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


def _richer(sample: Sample, exponential: Curve, base: float, binary: bool) -> Curve | None:
    """Return an exponential to a floor, or a drop, if there is strong evidence for it against the exponential."""
    if sample.variance <= 0 or len(sample.x) < 4:
        return None
    penalty = math.log(float(sample.count.sum()))
    loss, curve = min(_floored(sample, base, binary), _dropping(sample), key=lambda pair: pair[0])
    residual = sample.mean - sample.along(exponential)
    before = float(sample.count @ residual**2) / sample.variance
    return curve if loss + penalty + STRONG_EVIDENCE < before else None


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


def _dropping(sample: Sample) -> tuple[float, Curve]:
    """Return the best single drop, and minus twice its log-likelihood."""
    count, total = np.cumsum(sample.count), np.cumsum(sample.count * sample.mean)
    before, after = total[:-1] / count[:-1], (total[-1] - total[:-1]) / (count[-1] - count[:-1])
    explained = count[:-1] * before**2 + (count[-1] - count[:-1]) * after**2
    explained[after >= before] = -np.inf
    best = int(np.argmax(explained))
    loss = (float(sample.count @ sample.mean**2) - float(explained[best])) / sample.variance
    if not math.isfinite(loss):
        return math.inf, Constant(float(total[-1] / count[-1]))
    at = math.ceil((sample.x[best] + sample.x[best + 1]) / 2)  # between the two means
    return loss, Drop(before=float(before[best]), after=float(after[best]), at=at)
