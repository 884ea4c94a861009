"""A problem fitted to a log: curves, how far the log covers them, and what the logged allocation earns on them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from rotting.logs.columns import LogError
from rotting.logs.driver import CALENDAR
from rotting.logs.findings import find_wear_out
from rotting.logs.noise import reward_variance, sigma_of
from rotting.logs.reading import Log, read_log
from rotting.logs.shapes import Sample, fit_curves, with_values
from rotting.logs.sources import LogSource
from rotting.logs.wearout import merged, resampled
from rotting.problems import Problem
from rotting.problems.curves import Curve, Drop, Drops, Exponential, as_curve

PER = 1000  # rewards and gains are given per so many exposures
FITTED_BINS = 128
# Times of the calendar are counted in whole ticks, from the log's beginning to its end.
TICKS = 1_000_000
# Slices of the calendar in which the logged allocation is known.
SLICES = 64
# Longer logs are played with pulls that stand for several exposures each.
MOST_ROUNDS = 5_000


@dataclasses.dataclass(frozen=True)
class Traffic:
    """The times of the rows of a log, and the arm of each: what a simulation along the calendar needs."""

    times: np.ndarray  # in ticks, increasing, of groups of rows
    rows: np.ndarray  # in each group
    arms: np.ndarray  # the arm of each group

    def time_of(self, row: np.ndarray) -> np.ndarray:
        """Return the times of rows, given their positions in the log."""
        middle = np.cumsum(self.rows) - self.rows / 2
        return np.asarray(np.interp(row, middle, self.times))

    def shares(self, slices: int, arms: int) -> np.ndarray:
        """Return which share of the rows each arm had, as [slice of the log, arm]."""
        middle = np.cumsum(self.rows) - self.rows / 2
        cell = (middle * slices / self.rows.sum()).astype(np.int64) * arms + self.arms
        counts = np.bincount(cell, self.rows, minlength=slices * arms).reshape(slices, arms)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


@dataclasses.dataclass(frozen=True)
class Fitted:
    """Curves fitted to a log, and how far the log covers them.

    Positions are exposures, or ticks of the calendar where the value follows that (then `traffic` is given).
    """

    samples: list[Sample]
    curves: list[Curve]
    pulls: np.ndarray  # exposures of each arm in the log
    binary: bool
    sigma: float
    offset: float  # what was subtracted from every reward
    traffic: Traffic | None = None

    @property
    def exposures(self) -> int:
        """The number of exposures in the log."""
        return int(self.pulls.sum())

    def refit(self, generator: np.random.Generator) -> Fitted:
        """Return the fit to another log that this fit might have produced."""
        samples = []
        for sample, curve in zip(self.samples, self.curves, strict=True):
            [mean] = resampled(sample.along(curve), sample.count, sample.variance, self.binary, generator, 1)
            samples.append(dataclasses.replace(sample, mean=mean))
        return dataclasses.replace(self, samples=samples, curves=fit_curves(samples, self.binary))


def fit_log(log: Log, driver: str) -> Fitted:
    """Return curves fitted along exposures, or along the calendar if that is what drives the values."""
    calendar = driver == CALENDAR
    samples = []
    for arm in log.arms:
        cells = merged(arm.cells, FITTED_BINS)
        x = cells.time * TICKS if calendar else cells.exposure
        width = 1.0 if calendar or log.per_unit else cells.count
        samples.append(Sample(x, cells.mean, cells.count, reward_variance(arm, log), width))
    pulls = np.array([arm.exposures for arm in log.arms])
    traffic = _traffic(log) if calendar else None
    return Fitted(samples, fit_curves(samples, log.binary), pulls, log.binary, sigma_of(log), log.offset, traffic)


def _traffic(log: Log) -> Traffic:
    times = np.concatenate([arm.cells.time for arm in log.arms]) * TICKS
    rows = np.concatenate([arm.cells.count for arm in log.arms])
    arms = np.repeat(np.arange(len(log.arms)), [len(arm.cells.time) for arm in log.arms])
    order = np.argsort(times, kind="stable")
    return Traffic(times[order], rows[order], arms[order])


def problem_of(fitted: Fitted, name: str, batch: int = 1, pessimistic: bool = False, offset: float = 0.0) -> Problem:
    """Return the problem that was fitted: arms are constant beyond the last exposure that the log holds of them.

    Parameters
    ----------
    fitted
        The fit.
    name
        What tables call the problem.
    batch
        How many exposures one pull stands for. Its reward is their mean, with as much less noise.
    pessimistic
        Whether arms go on falling along their fitted curves instead.
    offset
        Added to every value.
    """
    bernoulli = fitted.binary and batch == 1
    sigma = fitted.sigma / math.sqrt(batch)
    shown = name if batch == 1 else f"{name}, {batch} exposures per pull"
    if fitted.traffic is not None:
        curves = [as_curve(row + offset) for row in _rows_of_calendar(fitted, batch, pessimistic)]
    else:
        curves = [
            with_values(_per_pull(curve, batch), lambda value: value + offset)
            if pessimistic
            else as_curve(_known_values(curve, int(pulls), batch) + offset)
            for curve, pulls in zip(fitted.curves, fitted.pulls, strict=True)
        ]
    return Problem(
        tuple(curves),
        noise="bernoulli" if bernoulli else "gaussian",
        sigma=sigma,
        restless=fitted.traffic is not None,
        name=shown,
        horizon=_horizon(fitted, batch),
    )


def _horizon(fitted: Fitted, batch: int) -> int:
    return max(fitted.exposures // batch, 1)


def _rows_of_calendar(fitted: Fitted, batch: int, pessimistic: bool) -> list[np.ndarray]:
    """Return each arm's values round by round, at the times of the rows of the log."""
    assert fitted.traffic is not None
    times = fitted.traffic.time_of((np.arange(_horizon(fitted, batch)) + 0.5) * batch)
    rows = []
    for sample, curve in zip(fitted.samples, fitted.curves, strict=True):
        known = np.clip(times, sample.x[0], np.inf if pessimistic else sample.x[-1])
        rows.append(dataclasses.replace(sample, x=known, width=1.0).along(curve))
    return rows


def _known_values(curve: Curve, exposures: int, batch: int) -> np.ndarray:
    """Return an arm's values pull by pull, as far as the log goes: means over the exposures that a pull stands for."""
    edges = np.minimum(np.arange(-(-exposures // batch) + 1) * batch, exposures)
    values = np.clip(np.diff(_earned(curve, edges)) / np.diff(edges), curve.limit(), float(curve(0)))
    # Differences of sums may rise by a rounding error, and rotting arms never rise.
    return np.minimum.accumulate(values)


def _per_pull(curve: Curve, batch: int) -> Curve:
    """Return the curve of pulls that stand for several exposures each, without an end.

    >>> _per_pull(Drop(before=1.0, after=0.0, at=7), 5)
    Drops(values=(1.0, 0.4, 0.0), at=(1, 2))
    >>> _per_pull(Drop(before=0.3, after=0.173, at=15), 3)
    Drops(values=(0.3, 0.173, 0.173), at=(5, 6))
    """
    if isinstance(curve, Exponential):
        first = float(_earned(curve, np.array(batch))) / batch
        first = min(max(first, curve.floor), curve.start)  # a rounding error may put the mean outside
        return Exponential(start=first, rate=curve.rate * batch, floor=curve.floor)
    if isinstance(curve, Drop):
        whole, rest = divmod(curve.at, batch)
        between = (curve.before * rest + curve.after * (batch - rest)) / batch
        between = min(max(between, curve.after), curve.before)  # likewise
        return Drops(values=(curve.before, between, curve.after), at=(whole, whole + 1))
    return curve


def _earned(curve: Curve, exposures: np.ndarray) -> np.ndarray:
    """Return what a fitted curve earns in its first exposures.

    >>> _earned(Drop(before=1.0, after=0.5, at=2), np.array([0, 1, 2, 4]))
    array([0., 1., 2., 3.])
    >>> curve = Exponential(start=1.0, rate=0.5, floor=0.1)
    >>> np.allclose(_earned(curve, np.array([7])), curve(range(7)).sum())
    True
    """
    if isinstance(curve, Exponential):
        decayed = np.expm1(-curve.rate * exposures) / np.expm1(-curve.rate)
        return np.asarray(curve.floor * exposures + (curve.start - curve.floor) * decayed)
    if isinstance(curve, Drop):
        before = np.minimum(exposures, curve.at)
        return np.asarray(curve.before * before + curve.after * (exposures - before))
    return np.asarray(float(curve(0)) * exposures)


def problem_from_log(
    log: LogSource,
    pessimistic: bool = False,
    *,
    arm: str | None = None,
    reward: str | None = None,
    time: str | None = None,
    unit: str | None = None,
    drop_duplicates: bool = False,
) -> Problem:
    """Return the problem that fits a log: the one on which `rotting.diagnose` plays policies.

    Each arm is constant, exponential or one drop, whichever its rewards support, and constant beyond its last exposure
    in the log. The problem is restless where values follow the calendar. In logs of more than 5000 rows
    one pull stands for several exposures, and the name says so.

    Parameters
    ----------
    log
        What `rotting.diagnose` takes.
    pessimistic
        Whether arms go on falling beyond their last exposure.
    arm, reward, time
        Columns; guessed from their names where they are not given.
    unit
        Refused: a problem counts the pulls of all users together.
    drop_duplicates
        Whether rows that repeat another in every column are dropped.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> problem = problem_from_log(make_log(arms=3, exposures=1000, seed=2))
    >>> problem.n_arms, problem.horizon, problem.noise
    (3, 3000, 'bernoulli')
    """
    if unit is not None:
        problem = "cannot be used, since a problem counts the pulls of all users together"
        raise LogError(problem, name="unit", value=unit, expected="no unit")
    read = read_log(log, arm, reward, time, drop_duplicates=drop_duplicates)
    driver = find_wear_out(read, np.random.default_rng(0)).driver
    fitted = fit_log(read, driver.name)
    return problem_of(fitted, read.name, batch_of(fitted.exposures), pessimistic, read.offset)


def batch_of(exposures: int) -> int:
    """Return how many exposures a pull stands for, so that a simulation has at most `MOST_ROUNDS` rounds."""
    return -(-exposures // MOST_ROUNDS)


def logged_reward(fitted: Fitted, batch: int = 1, pessimistic: bool = False) -> float:
    """Return what the logged allocation earns on the fitted problem, per 1000 exposures: never more than the oracle."""
    if fitted.traffic is None:
        total = sum(float(_earned(curve, pulls)) for curve, pulls in zip(fitted.curves, fitted.pulls, strict=True))
        return total / fitted.exposures * PER
    tables = np.array(_rows_of_calendar(fitted, batch, pessimistic))
    slices = min(SLICES, tables.shape[1])
    cuts = np.arange(tables.shape[1]) * slices // tables.shape[1]
    means = np.stack([np.bincount(cuts, table) / np.bincount(cuts) for table in tables], axis=1)
    weight = np.bincount(cuts) / tables.shape[1]
    return float(weight @ (fitted.traffic.shares(slices, len(tables)) * means).sum(axis=1)) * PER
