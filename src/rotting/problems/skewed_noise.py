"""Noise that is neither Gaussian nor 0/1: shares of several trials, bounded, heavy-tailed, and revenue."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from rotting._core.gamma import beta_sample_logit, log_gamma_sample
from rotting._core.parameters import parameter
from rotting._core.randomness import normal, uniform, word
from rotting.errors import BadValue
from rotting.problems.noise import LARGEST_SIGMA, Noise, normal_outside


def draw_binomial(problem, arm, mean, key, n):
    """Return the share of successes among some trials."""
    trials = np.int64(problem.noise.numbers[0])
    own, successes = word(key, n), 0
    for trial in range(trials):
        if uniform(own, trial) < mean:
            successes += 1
    return successes / trials


@dataclasses.dataclass(frozen=True)
class Binomial(Noise, draw=draw_binomial, lowest=0.0, highest=1.0):
    """The share of successes among several trials, each with the mean as its probability.

    >>> Binomial(trials=25).scale()
    0.1
    """

    trials: int = parameter(10, minimum=1, maximum=10**6, doc="how many trials a reward is the mean of")

    def scale(self) -> float:
        """Return 1 / (2 sqrt(trials)): a mean of so many rewards between 0 and 1."""
        return 0.5 / math.sqrt(self.trials)

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Return the chance, given the number of successes."""
        from scipy.special import bdtr, bdtrc

        first, last = math.ceil(max(low, 0.0) * self.trials), math.floor(min(high, 1.0) * self.trials)
        if first > last:
            return 1.0
        return float((bdtr(first - 1, self.trials, mean) if first > 0 else 0.0) + bdtrc(last, self.trials, mean))


def draw_beta(problem, arm, mean, key, n):
    """Return low + (high - low) p, with p from Beta(c m, c (1 - m)), where m is the mean on that scale."""
    x = problem.noise.numbers
    concentration, low, high = x[0], x[1], x[2]
    share = (mean - low) / (high - low)
    if share <= 0.0 or share >= 1.0:
        return mean
    logit = beta_sample_logit(word(key, n), concentration * share, concentration * (1.0 - share))
    return low + (high - low) / (1.0 + math.exp(min(700.0, -logit)))


@dataclasses.dataclass(frozen=True)
class ScaledBeta(Noise, draw=draw_beta):
    """A reward between `low` and `high`, from a Beta distribution: the larger the concentration, the less it varies.

    >>> ScaledBeta(concentration=5.0, low=0.0, high=10.0).scale()
    5.0
    """

    concentration: float = parameter(2.0, above=0, maximum=1e9, doc="both parameters of the distribution together")
    low: float = parameter(0.0, doc="the lowest reward")
    high: float = parameter(1.0, doc="the highest reward")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            expected = f"a number > low={self.low!r}"
            raise BadValue("is too low", owner="ScaledBeta", name="high", value=self.high, expected=expected)
        object.__setattr__(self, "lowest", self.low)
        object.__setattr__(self, "highest", self.high)

    def scale(self) -> float:
        """Return half the range."""
        return (self.high - self.low) / 2

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Return the chance."""
        from scipy.special import betainc

        share, width = (mean - self.low) / (self.high - self.low), self.high - self.low
        if share <= 0.0 or share >= 1.0:
            return float(not low <= mean <= high)
        ends = [min(max((end - self.low) / width, 0.0), 1.0) for end in (low, high)]
        below = [float(betainc(self.concentration * share, self.concentration * (1.0 - share), end)) for end in ends]
        return below[0] + 1.0 - below[1]


def draw_student(problem, arm, mean, key, n):
    """Return the mean plus scale times a Student-t number."""
    df, spread = problem.noise.numbers[0], problem.noise.numbers[1]
    own = word(key, n)
    # Z / sqrt(V / df) with V = 2 Gamma(df / 2); logarithms, since V may be tiny.
    log_ratio = math.log(df / 2.0) - log_gamma_sample(word(own, 1), df / 2.0)
    return mean + spread * normal(own, 0) * math.exp(min(700.0, 0.5 * log_ratio))


@dataclasses.dataclass(frozen=True)
class StudentT(Noise, draw=draw_student):
    """The mean plus `spread` times a Student-t number with `df` degrees of freedom: heavy tails, no sub-Gaussian scale.

    >>> StudentT(df=3).scale()
    inf
    """

    df: float = parameter(3.0, above=1, maximum=1e6, doc="degrees of freedom; the variance is infinite up to 2")
    spread: float = parameter(1.0, minimum=0, maximum=LARGEST_SIGMA / 1e10, doc="what the number is multiplied with")

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Return the chance."""
        from scipy.special import stdtr

        if self.spread == 0:
            return float(not low <= mean <= high)
        return float(stdtr(self.df, (low - mean) / self.spread) + stdtr(self.df, (mean - high) / self.spread))


def draw_log_normal(problem, arm, mean, key, n):
    """Return the mean times a log-normal number of mean 1."""
    sigma = problem.noise.numbers[0]
    return mean * math.exp(sigma * normal(key, n) - 0.5 * sigma * sigma)


@dataclasses.dataclass(frozen=True)
class LogNormal(Noise, draw=draw_log_normal, lowest=0.0):
    """The mean times a log-normal number of mean 1, as revenue often is: skewed, no sub-Gaussian scale.

    >>> LogNormal(sigma=0.5).scale()
    inf
    """

    sigma: float = parameter(1.0, minimum=0, maximum=10, doc="standard deviation of the reward's logarithm")

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Return the chance."""
        if self.sigma == 0 or mean == 0:
            return float(not low <= mean <= high)
        ends = [math.log(end / mean) / self.sigma + self.sigma / 2 if end > 0 else -math.inf for end in (low, high)]
        return normal_outside(*ends)
