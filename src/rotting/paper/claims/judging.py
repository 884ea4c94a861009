"""The paper's claims, one by one: what it says, what we measure, and whether that agrees.

A claim is a row: whose experiment, what is measured in words, the rule that makes a verdict of it, and the function
that measures. A claim that one thing is larger than another `holds` if the whole 95 % interval says so, `fails` if the
whole interval says the contrary, and `differs` if the interval leaves it open. A number `holds` if our interval
includes it (and is narrow enough to tell), and `differs` if not; it `fails` if even its direction is wrong. What is
large enough is said in the claim. Intervals are over runs (Student's t for means, the bootstrap for all else, with a
fixed seed: the same data, the same interval); where there is only one run, nothing that is random holds or fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.paper.experiment import Results
from rotting.simulation.paired import LEVEL, mean_interval

HOLDS, FAILS, DIFFERS = "holds", "fails", "differs"
RESAMPLES = 1000
AllResults = Mapping[str, Results]  # by experiment


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
Check = Callable[[Results], Finding]


@dataclass(frozen=True)
class Claim:
    """What the paper says, and how to find out."""

    name: str
    words: str  # the paper's, in brief
    measure: str  # what our value is
    paper: str  # the paper's value, as it is given
    experiment: str  # whose results tell
    rule: Rule
    check: Check
    clock: bool = False  # does it depend on how fast the machine is?


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


CLAIMS: list[Claim] = []


def judge(results: AllResults, claims: Sequence[Claim] = CLAIMS) -> list[Judgement]:
    """Return a verdict on every claim."""
    judgements = []
    for each in claims:
        measured, why, verdict = each.check(results[each.experiment])
        said = each.name, each.words, each.measure, each.paper
        judgements.append(Judgement(*said, *measured, verdict or each.rule(measured), why, each.clock))
    return judgements


def claim(
    name: str, words: str, measure: str, experiment: str, rule: Rule, paper: str = "", clock: bool = False
) -> Callable[[Check], Check]:
    """Add a function to the list of claims, with what it is about."""

    def add(check: Check) -> Check:
        CLAIMS.append(Claim(name, words, measure, paper, experiment, rule, check, clock))
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


def over_runs(statistic: Callable[[np.ndarray], float], runs: int, resamples: int = RESAMPLES) -> Estimate:
    """Return a statistic of the runs, which are given by their numbers, with its bootstrap interval."""
    value = statistic(np.arange(runs))
    if runs < 2:
        return Estimate(value)
    draws = np.random.default_rng(0).integers(0, runs, size=(resamples, runs))
    low, high = np.quantile([statistic(chosen) for chosen in draws], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high))


def mean_of(values: np.ndarray) -> Estimate:
    """Return a mean over runs."""
    return Estimate(float(values.mean()), *mean_interval(values))


def ratio_of(over: np.ndarray, under: np.ndarray) -> Estimate:
    """Return the ratio of two mean regrets over the same runs."""
    return over_runs(lambda chosen: float(over[chosen].mean() / under[chosen].mean()), len(over))
