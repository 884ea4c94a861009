"""Several policies compared: gains over what was done, with intervals that hold for all of them together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotting.logs import Estimate
from rotting.logs.arrays import Flags, Floats, Whole
from rotting.value.weighing import INSIDE, by_cluster

DRAWS = 20_000  # of the largest of correlated deviations
_LEAST = 1e-12  # of a standard error against the larger of two, below which they are the same


class Compared(NamedTuple):
    """What is said of each policy."""

    gains: list[Estimate]  # per decision, over what was done; all intervals hold together in 90 % of logs
    p_values: list[float]  # that some policy of so many would look as different, if none differed from what was done
    best: Flags  # whether it may be the best of the policies: at most one in ten sets of such logs leaves the best out


def compare(terms: list[Floats], variances: list[float], done: Floats, clusters: Whole | None, seed: int) -> Compared:
    """Compare policies with what was done and with each other.

    Each has terms whose mean is its value, and a variance of that mean, which may be larger than the terms show.
    """
    means = np.array([each.mean() for each in (*terms, done)])
    sums = np.array([by_cluster(each - mean, clusters) for each, mean in zip((*terms, done), means, strict=True)])
    number = sums.shape[1]
    spread = sums @ sums.T / len(done) ** 2 * (number / max(number - 1, 1))
    np.fill_diagonal(spread, np.maximum(np.diag(spread), [*variances, 0.0]))
    deviations = np.random.default_rng([seed, 8]).multivariate_normal(
        np.zeros(len(means)), spread, DRAWS, check_valid="ignore", method="eigh"
    )
    last = len(terms)
    errors = np.array([_error(spread, each, last) for each in range(last)])
    gains = means[:last] - means[last]
    largest = np.max(np.abs(deviations[:, :last] - deviations[:, last:]) / errors, axis=1)
    limit = float(np.quantile(largest, INSIDE))
    found = [
        Estimate(gain, gain - limit * e, gain + limit * e)
        for gain, e in zip(gains.tolist(), errors.tolist(), strict=True)
    ]
    p_values = [float((largest >= abs(gain) / e).mean()) for gain, e in zip(gains, errors, strict=True)]
    return Compared(found, p_values, _may_be_best(means[:last], spread, deviations))


def _error(spread: Floats, one: int, other: int) -> float:
    """Return the standard error of a difference."""
    square = spread[one, one] + spread[other, other] - 2 * spread[one, other]
    return float(np.sqrt(max(square, _LEAST * (spread[one, one] + spread[other, other]), 1e-300)))


def _may_be_best(means: Floats, spread: Floats, deviations: Floats) -> Flags:
    """Say of each policy whether no other is surely better: of all pairs, the largest difference sets the limit."""
    pairs = [(one, other) for one in range(len(means)) for other in range(one)]
    if not pairs:
        return np.ones(len(means), bool)
    errors = {pair: _error(spread, *pair) for pair in pairs}
    largest = np.zeros(len(deviations))
    for one, other in pairs:
        np.maximum(largest, np.abs(deviations[:, one] - deviations[:, other]) / errors[one, other], out=largest)
    limit = float(np.quantile(largest, INSIDE))
    best = np.ones(len(means), bool)
    for one, other in pairs:
        if abs(means[one] - means[other]) > limit * errors[one, other]:
            best[one if means[one] < means[other] else other] = False
    return best
