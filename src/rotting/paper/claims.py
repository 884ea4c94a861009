"""What a claim is: what a paper says, what we measure, and whether that agrees.

A claim is a row: what is measured in words, the rule that makes a verdict of it, and the function that measures. A
claim that one thing is larger than another `holds` if the whole 95 % interval says so, `fails` if the whole interval
says the contrary, and `differs` if the interval leaves it open. A number `holds` if our interval includes it (and is
narrow enough to tell), and `differs` if not; it `fails` if even its direction is wrong. What is large enough is said in
the claim. Intervals are over runs (Student's t for means, the bootstrap for all else, with a fixed seed: the same data,
the same interval); where there is only one run, nothing that is random holds or fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rotting.simulation.paired import LEVEL, mean_interval

if TYPE_CHECKING:
    from rotting.paper.experiment import Results

HOLDS, FAILS, DIFFERS = "holds", "fails", "differs"


class Estimate(NamedTuple):
    """What was measured, and its 95 % interval: None where there is nothing random, or only one run."""

    value: float
    low: float | None = None
    high: float | None = None


class Finding(NamedTuple):
    """What was measured, and why that says what it says about a claim."""

    measured: Estimate
    why: str
    verdict: str | None = None  # if it is not what the claim's rule says


Rule = Callable[[Estimate], str]
Check = Callable[["Results"], Finding]


@dataclass(frozen=True)
class Judgement:
    """A claim with what came out."""

    name: str
    words: str
    measure: str
    paper: str
    value: float
    low: float | None
    high: float | None
    verdict: str
    why: str
    clock: bool

    @property
    def interval(self) -> str:
        """The 95 % interval as text, empty if there is none."""
        return "" if self.low is None or self.high is None else f"{self.low:.3g} to {self.high:.3g}"


@dataclass(frozen=True)
class Claim:
    """What a paper says, and how to find out."""

    name: str
    words: str  # the paper's, in brief
    measure: str  # what our value is
    paper: str  # the paper's value, as it is given
    experiment: str  # whose results tell
    rule: Rule
    check: Check
    clock: bool  # does it depend on how fast the machine is?

    def judge(self, results: Results) -> Judgement:
        """Return the verdict, given the results of the experiment."""
        measured, why, verdict = self.check(results)
        said = self.name, self.words, self.measure, self.paper
        return Judgement(*said, *measured, verdict or self.rule(measured), why, self.clock)


class Claims(list[Claim]):
    """The claims of a module, most of them about one experiment."""

    def __init__(self, experiment: str):
        self._experiment = experiment

    def __call__(
        self,
        name: str,
        words: str,
        measure: str,
        rule: Rule,
        paper: str = "",
        clock: bool = False,
        experiment: str | None = None,
    ) -> Callable[[Check], Check]:
        """Add what the decorated function measures."""

        def add(check: Check) -> Check:
            self.append(Claim(name, words, measure, paper, experiment or self._experiment, rule, check, clock))
            return check

        return add


# Rules.


def within(least: float = -math.inf, most: float = math.inf) -> Rule:
    """Ask that a value lies between two limits, as far as its interval tells.

    >>> within(most=2)(Estimate(1.5, 1.4, 1.6)), within(most=2)(Estimate(1.8, 1.4, 2.2))
    ('holds', 'differs')
    >>> within(most=2)(Estimate(2.5, 2.4, 2.6))
    'fails'
    """

    def verdict(measured: Estimate) -> str:
        _, low, high = measured
        if low is None or high is None:
            return DIFFERS
        if least <= low and high <= most:
            return HOLDS
        return FAILS if high < least or low > most else DIFFERS

    return verdict


def equal(published: float) -> Rule:
    """Ask that an interval includes a published number > 0 and is no wider than it; a wrong sign `fails`."""

    def verdict(measured: Estimate) -> str:
        _, low, high = measured
        if low is None or high is None:
            return DIFFERS
        if high < 0:
            return FAILS
        return HOLDS if low <= published <= high and high - low <= published else DIFFERS

    return verdict


def exactly(least: float = -math.inf, most: float = math.inf) -> Rule:
    """Ask that a value in which nothing is random, so that it has no interval, lies between two limits."""
    return lambda measured: HOLDS if least <= measured.value <= most else FAILS


# Estimates, with their intervals.


def over_runs(statistic: Callable[[np.ndarray], Any], runs: np.ndarray, resamples: int = 1000) -> Estimate:
    """Return a statistic of the means of runs, which lie along the first axis, with its bootstrap interval."""
    value, count = float(statistic(runs.mean(axis=0))), len(runs)
    if count < 2:
        return Estimate(value)
    draws = np.random.default_rng(0).integers(0, count, size=(resamples, count))
    weights = np.stack([np.bincount(chosen, minlength=count) for chosen in draws]) / count
    found = [statistic(means) for means in np.tensordot(weights, runs, 1)]
    low, high = np.quantile(found, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high))


def mean_of(values: np.ndarray) -> Estimate:
    """Return a mean over runs."""
    return Estimate(float(values.mean()), *mean_interval(values))


def ratio_of(over: np.ndarray, under: np.ndarray) -> Estimate:
    """Return the ratio of two mean regrets over the same runs."""
    return over_runs(lambda means: means[0] / means[1], np.stack([over, under], axis=1))


def largest_mean(shares: Mapping[str, np.ndarray]) -> tuple[Estimate, str]:
    """Return the largest of some means over runs, and whose it is."""
    means = {name: mean_of(share) for name, share in shares.items()}
    name = max(means, key=lambda name: means[name].value)
    return means[name], name


# Published values.


class Reading(NamedTuple):
    """A published mean, ours, and how far they may be apart."""

    label: str
    published: float
    value: float
    allowed: float


def reading(label: str, values: np.ndarray, published: float, tolerance: float, runs: float = math.inf) -> Reading:
    """Compare a mean with a published one of so many runs: allowed are a tolerance, or three standard errors."""
    error = values.std(ddof=1) * math.sqrt(1 / len(values) + 1 / runs) if len(values) > 1 else math.inf
    return Reading(label, published, float(values.mean()), max(tolerance, 3 * float(error)))


def as_published(readings: Sequence[Reading], why: str) -> Finding:
    """Return the largest difference as a share of what is allowed."""
    value = max(abs(each.value - each.published) / each.allowed for each in readings)
    can_tell = all(math.isfinite(each.allowed) for each in readings)
    return Finding(Estimate(value), why, HOLDS if can_tell and value <= 1 else DIFFERS)
