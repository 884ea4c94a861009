"""The value of a policy's next decision, given the histories that a log has: weighted rewards, and their intervals.

With p the probability of the arm that was shown, pi that of the policy for it, q what past rewards predict, w = pi / p:

| estimator | is the mean of |
|---|---|
| `ips` | w r |
| `snips` | w r, over the mean of w |
| `dr` | q(pi) + w (r - q) |

Given what was known before each row, w r - v and w (r - q) - (v - q(pi)) have mean 0, v being the value of the
policy's decision there. So the sums are martingales, whatever the log's own policy learnt, and their variance is the
sum of squares; what is predictable does not count.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.special import ndtri, stdtrit

from rotting.logs import Estimate
from rotting.logs.arrays import Floats, Whole
from rotting.value.along import Weighed

INSIDE = 0.9  # of an interval
# Rows with probabilities below this are counted: such a row has a hundred times the weight of a usual one or more.
SMALL = 0.01


@dataclasses.dataclass(frozen=True)
class Support:
    """How much of a policy the log can see."""

    effective: float  # rows: (sum of weights)^2 / sum of squared weights
    mean_weight: float  # 1 but for chance, unless the policy wants what the log never shows
    mean_weight_error: float  # its standard error
    largest_weight: float
    largest_share: float  # of all weight: that of the heaviest row
    small: float  # the share of the rows whose probability is below `SMALL`
    closed: float  # the share of the policy's decisions that fall on rows where only one other arm was possible


def support_of(weights: Floats, chances: Floats, probability: Floats, clusters: Whole | None = None) -> Support:
    """Return what the weights say about the support."""
    total = float(weights.sum())
    single = probability > 1 - 1e-9
    return Support(
        effective=effective(by_cluster(weights, clusters)),
        mean_weight=total / len(weights),
        mean_weight_error=math.sqrt(scatter(weights, clusters)[0]),
        largest_weight=float(weights.max()),
        largest_share=float(weights.max()) / total if total else 0.0,
        small=float((probability < SMALL).mean()),
        closed=float((single * (1 - chances)).mean()),
    )


def effective(weights: Floats) -> float:
    """Return how many rows of equal weight are as good.

    >>> effective(np.array([1.0, 1.0, 0.0])), effective(np.zeros(3))
    (2.0, 0.0)
    """
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def by_cluster(values: Floats, clusters: Whole | None) -> Floats:
    """Return the sums over clusters; the values themselves where there are none."""
    return values if clusters is None else np.bincount(clusters, values).astype(np.float64)


def scatter(terms: Floats, clusters: Whole | None = None) -> tuple[float, float, float]:
    """Return the variance of a mean of terms, how many degrees of freedom tell it, and the skewness of the mean."""
    sums = by_cluster(terms - terms.mean(), clusters)
    squares, number = sums**2, len(sums)
    total = float(squares.sum())
    if number < 2 or total <= 0:
        return 0.0, 1.0, 0.0
    spread = max(float((squares**2).sum()) - total**2 / number, 1e-300)
    freedom = min(2 * total**2 / spread, number - 1.0)
    skewness = float((squares * sums).sum()) / total**1.5
    return total * number / (number - 1) / len(terms) ** 2, freedom, skewness


def interval(point: float, variance: float, freedom: float, binary: bool, rows: float) -> Estimate:
    """Return a number with its 90 % interval.

    Rates of rare events are not normal: theirs is Wilson's for as many events as have this variance; where none was
    seen, for as many rows.
    """
    z = float(stdtrit(max(freedom, 1.0), (1 + INSIDE) / 2)) if variance > 0 else float(ndtri((1 + INSIDE) / 2))
    if not binary:
        wide = z * math.sqrt(variance)
        return Estimate(point, point - wide, point + wide)
    rate = min(max(point, 0.0), 1.0)
    number = rate * (1 - rate) / variance if variance > 0 and 0 < rate < 1 else rows
    middle = (rate + z**2 / (2 * number)) / (1 + z**2 / number)
    wide = z / (1 + z**2 / number) * math.sqrt(rate * (1 - rate) / number + (z / (2 * number)) ** 2)
    return Estimate(point, min(middle - wide, point), max(middle + wide, point))


@dataclasses.dataclass(frozen=True)
class Estimators:
    """Each estimator's value of the next decision, the terms of the preferred one, and their skewness."""

    dr: Estimate
    snips: Estimate
    ips: Estimate
    terms: Floats  # whose mean is `dr`
    variance: float  # of `dr`
    skewness: float


def estimators(weighed: Weighed, weights: Floats, reward: Floats, binary: bool, clusters: Whole | None) -> Estimators:
    """Return what the rows estimate the policy's next decision to be worth.

    Where rewards are rare, heavy rows seldom have one, and the terms vary too little: a rate that is as predicted has a
    variance of its own, and the larger of both counts.
    """
    rows = max(effective(by_cluster(weights, clusters)), 1.0)
    corrections = weights * (reward - weighed.guess)
    mean = float((weights * reward).mean()) / (float(weights.mean()) or 1.0)
    rates = np.clip(weighed.guess, 0.0, 1.0)
    chance = float((weights**2 * rates * (1 - rates)).sum()) / len(reward) ** 2 if binary else 0.0
    terms = weighed.value + corrections

    def told(point: float, varying: Floats) -> tuple[Estimate, float, float]:
        variance, freedom, skewness = scatter(varying, clusters)
        variance = max(variance, chance)
        return interval(point, variance, freedom, binary, rows), variance, skewness

    dr, variance, skewness = told(float(terms.mean()), corrections)
    snips, *_ = told(mean, weights * (reward - mean))
    ips, *_ = told(float((weights * reward).mean()), weights * reward)
    return Estimators(dr, snips, ips, terms, variance, skewness)
