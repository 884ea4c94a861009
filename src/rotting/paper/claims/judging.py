"""The paper's claims, one by one: what it says, what we measure, and whether that agrees.

A claim that one thing is larger than another `holds` if the whole 95 % interval says so, `fails` if the whole interval
says the contrary, and `differs` if the interval leaves it open. A number `holds` if our interval includes it (and is
narrow enough to tell), and `differs` if not; it `fails` if even its direction is wrong. What is large enough is said in
the claim. Intervals are over runs (Student's t for means, the bootstrap for all else, with a fixed seed: the same data,
the same interval); where there is only one run, nothing that is random holds or fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.paper.experiment import Results
from rotting.simulation.paired import LEVEL

HOLDS, FAILS, DIFFERS = "holds", "fails", "differs"
RESAMPLES = 1000
AllResults = Mapping[str, Results]  # by experiment


class Finding(NamedTuple):
    """What was measured, and what it says about a claim."""

    value: float
    low: float | None  # the 95 % interval; None where there is nothing random, or only one run
    high: float | None
    verdict: str
    why: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, and how to find out."""

    name: str
    words: str  # the paper's, in brief
    measure: str  # what our value is
    paper: str  # the paper's value, as it is given
    needs: tuple[str, ...]  # experiments
    check: Callable[[AllResults], Finding]
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
    for claim in claims:
        finding = claim.check(results)._asdict()
        judgements.append(Judgement(claim.name, claim.words, claim.measure, claim.paper, clock=claim.clock, **finding))
    return judgements


def claim(
    name: str, words: str, measure: str, needs: Sequence[str], paper: str = "", clock: bool = False
) -> Callable[[Callable[[AllResults], Finding]], Callable[[AllResults], Finding]]:
    """Add a function to the list of claims, with what it is about."""

    def add(check: Callable[[AllResults], Finding]) -> Callable[[AllResults], Finding]:
        CLAIMS.append(Claim(name, words, measure, paper, tuple(needs), check, clock))
        return check

    return add


# How intervals and verdicts come about.


def resampled(
    statistic: Callable[[np.ndarray], float], runs: int, resamples: int = RESAMPLES
) -> tuple[float, float] | tuple[None, None]:
    """Return the bootstrap interval of a statistic of the runs, which are given by their numbers."""
    if runs < 2:
        return None, None
    draws = np.random.default_rng(0).integers(0, runs, size=(resamples, runs))
    values = [statistic(chosen) for chosen in draws]
    low, high = np.quantile(values, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)


def verdict_within(low: float | None, high: float | None, least: float, most: float) -> str:
    """Return whether a value lies between two limits, as far as its interval tells.

    >>> verdict_within(1.4, 1.6, least=0, most=2), verdict_within(1.4, 2.2, least=0, most=2)
    ('holds', 'differs')
    >>> verdict_within(2.4, 2.6, least=0, most=2)
    'fails'
    """
    if low is None or high is None:
        return DIFFERS
    if least <= low and high <= most:
        return HOLDS
    return FAILS if high < least or low > most else DIFFERS


def verdict_equal(low: float | None, high: float | None, published: float) -> str:
    """Return whether an interval includes a published number and is no wider than it; `fails` if the sign is wrong."""
    if low is None or high is None:
        return DIFFERS
    if high < 0 < published:
        return FAILS
    return HOLDS if low <= published <= high and high - low <= published else DIFFERS


def ratio_of(over: np.ndarray, under: np.ndarray) -> tuple[float, float | None, float | None]:
    """Return the ratio of two mean regrets over the same runs, with its interval."""
    low, high = resampled(lambda chosen: over[chosen].mean() / under[chosen].mean(), len(over))
    return float(over.mean() / under.mean()), low, high
