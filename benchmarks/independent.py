"""Analyses of a log that use nothing of the package: to have something to compare its diagnosis with.

Two questions, by NumPy alone. Are the arms equal? (A permutation test.) Which arms fall with their own exposures,
beside all others in the same slices of time? (A two-way quasi-binomial regression, one arm's slope at a time.)
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas

SLICES, LEAST_REWARDS, LEAST_SLICES = 24, 20, 4


@dataclasses.dataclass(frozen=True)
class Cells:
    """Exposures, rewards and mean own exposures before, by arm and slice of time."""

    arms: list[str]
    count: np.ndarray
    total: np.ndarray
    before: np.ndarray  # as a share of the arm's exposures


def cells_of(frame: pandas.DataFrame, arm: str, reward: str, time: str, count: str | None = None) -> Cells:
    """Return the cells of a log with a row per exposure, or per sums of `count` exposures."""
    when = frame[time]
    if not pandas.api.types.is_numeric_dtype(when):
        when = (pandas.to_datetime(when, utc=True) - pandas.Timestamp(0, tz="UTC")).dt.total_seconds()
    when = when.to_numpy(dtype=float)
    order = np.argsort(when, kind="stable")
    number, names = pandas.factorize(frame[arm].astype(str).to_numpy()[order])
    shown = np.ones(len(frame)) if count is None else frame[count].to_numpy(dtype=float)[order]
    earned, when = frame[reward].to_numpy(dtype=float)[order], when[order]
    span = max(when[-1] - when[0], 1e-9)
    slices = np.minimum((SLICES * (when - when[0]) / span).astype(int), SLICES - 1)
    own = pandas.Series(shown).groupby(number).cumsum().to_numpy() - shown / 2
    place, size = number * SLICES + slices, len(names) * SLICES
    counts = np.bincount(place, shown, size).reshape(-1, SLICES)
    before = np.bincount(place, shown * own, size).reshape(-1, SLICES) / np.maximum(counts, 1e-9)
    totals = np.bincount(place, earned, size).reshape(-1, SLICES)
    return Cells([str(name) for name in names], counts, totals, before / counts.sum(axis=1, keepdims=True))


def arms_differ(cells: Cells, generator: np.random.Generator, draws: int = 1999) -> float:
    """Return the p-value of "all arms are equal", for 0/1 rewards: rewards dealt to exposures slice by slice."""
    count, total = cells.count.astype(int), cells.total.astype(int)
    expected = count.sum(axis=1) * 0.0
    for place in range(SLICES):
        expected += count[:, place] * total[:, place].sum() / max(count[:, place].sum(), 1)
    kept = expected > 0

    def apart(sums: np.ndarray) -> float:
        return float(np.sum((sums[kept] - expected[kept]) ** 2 / expected[kept]))

    dealt = np.zeros((draws, len(expected)))
    for own, earned in zip(count.T, total.sum(axis=0).tolist(), strict=True):
        dealt += generator.multivariate_hypergeometric(own, earned, size=draws, method="marginals")
    seen = apart(total.sum(axis=1))
    return (1 + sum(apart(row) >= seen for row in dealt)) / (1 + draws)


@dataclasses.dataclass(frozen=True)
class Slopes:
    """Which arms were tested, what each loses over its exposures (as a factor), its p-value, and which are found."""

    arms: list[str]
    factor: np.ndarray
    p_value: np.ndarray
    found: list[str]
    dispersion: float

    @property
    def common(self) -> float:
        """The median factor of all tested arms."""
        return float(np.median(self.factor)) if len(self.factor) else 1.0


def slopes(cells: Cells, level: float = 0.05, most: int = 120) -> Slopes:
    """Test each arm with enough rewards for a slope in its own exposures, beside free levels and free slices.

    The others keep no slope, so a fall that all share is taken up by the slices. Errors are clustered by slice where
    that is more than the dispersion over all cells. At most `most` arms, those with most rewards; the others are one.
    """
    rewards, shown = cells.total.sum(axis=1), (cells.count > 0).sum(axis=1)
    able = np.flatnonzero((rewards >= LEAST_REWARDS) & (shown >= LEAST_SLICES))
    able = able[np.argsort(-rewards[able], kind="stable")][:most]
    if len(able) < 2:
        return Slopes([], np.ones(0), np.ones(0), [], 1.0)
    rest = np.setdiff1d(np.arange(len(cells.arms)), able)
    count = np.vstack([cells.count[able], cells.count[rest].sum(axis=0)])
    total = np.vstack([cells.total[able], cells.total[rest].sum(axis=0)])
    place = np.nonzero(count)
    y, n = total[place], count[place]
    slices = np.unique(place[1])
    base = np.hstack([np.eye(len(count))[place[0]], np.eye(SLICES)[place[1]][:, slices[1:]]])
    base = base[:, base.any(axis=0)]
    steps, errors, dispersion = [], [], 1.0
    start = _fitted(base, y, n)
    for number, arm in enumerate(able):
        own = np.where(place[0] == number, cells.before[arm][place[1]], 0.0)
        step, error, dispersion = _slope(base, own, y, n, place[1], start)
        steps.append(step)
        errors.append(error)
    z = np.array(steps) / np.array(errors)
    p = np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in z])  # small where it falls
    ranked = np.argsort(p)
    passed = np.flatnonzero(p[ranked] <= level * (1 + np.arange(len(p))) / len(p))
    found = ranked[: passed[-1] + 1] if len(passed) else []
    names = [cells.arms[arm] for arm in able]
    return Slopes(names, np.exp(steps), p, [names[each] for each in found], dispersion)


def _mean(design: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))


def _fitted(design: np.ndarray, y: np.ndarray, n: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Return the coefficients of a binomial regression with logistic link (a little ridge keeps empty arms finite)."""
    weights = np.zeros(design.shape[1]) if start is None else start.copy()
    ridge = 1e-4 * np.eye(design.shape[1])
    for _ in range(30):
        mean = _mean(design, weights)
        curvature = design.T @ (design * (n * mean * (1 - mean))[:, None]) + ridge
        step = np.linalg.solve(curvature, design.T @ (y - n * mean) - 1e-4 * weights)
        weights += np.clip(step, -3, 3)
        if np.abs(step).max() < 1e-6:
            break
    return weights


def _slope(
    base: np.ndarray, own: np.ndarray, y: np.ndarray, n: np.ndarray, cluster: np.ndarray, start: np.ndarray
) -> tuple[float, float, float]:
    """Return one slope, its standard error, and the dispersion."""
    design = np.hstack([base, own[:, None]])
    weights = _fitted(design, y, n, np.append(start, 0.0))
    mean = _mean(design, weights)
    variance = n * mean * (1 - mean)
    inverse = np.linalg.inv(design.T @ (design * variance[:, None]) + 1e-4 * np.eye(design.shape[1]))
    free = max(len(y) - design.shape[1], 1)
    dispersion = max(float(np.sum((y - n * mean) ** 2 / np.maximum(variance, 1e-9)) / free), 1.0)
    scores = (design @ inverse[:, -1]) * (y - n * mean)
    sums = np.bincount(cluster, scores)
    groups = np.count_nonzero(np.bincount(cluster))
    clustered = float(np.sum(sums**2)) * groups / max(groups - 1, 1)
    return float(weights[-1]), float(np.sqrt(max(dispersion * inverse[-1, -1], clustered))), dispersion
