"""What would be gained: policies played on a problem that was fitted to the log."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from rotting.curves import Curve, Exponential, as_curve
from rotting.logs.columns import LogError
from rotting.logs.driver import CALENDAR, find_driver
from rotting.logs.noise import reward_variance, sigma_of
from rotting.logs.reading import Log, read_log
from rotting.logs.shapes import Sample, fit_curves
from rotting.logs.wearout import discoveries, merged, resampled, wear_out
from rotting.problems import Problem

PER = 1000
LEVEL = 0.90
FITTED_BINS = 128
# Longer logs are played with pulls that stand for several exposures each.
MOST_ROUNDS = 5_000
REFITS, RUNS, FIRST_RUNS = 60, 2, 10
LOGGED, EQUAL, ORACLE = "logged allocation", "equal split", "oracle"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number and its 90 % interval."""

    point: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Gain:
    """One way of choosing, per 1000 exposures: its reward, and what it gains over the logged allocation."""

    policy: str
    reward: Estimate
    gain: Estimate
    pessimistic: Estimate  # the gain where arms go on falling beyond what the log covers


@dataclasses.dataclass(frozen=True)
class Fitted:
    """Curves fitted to a log, and how far the log covers them.

    Places are exposures, or rounds where the value follows the calendar.
    """

    samples: list[Sample]
    curves: list[Curve]
    pulls: np.ndarray  # exposures of each arm in the log
    calendar: bool
    binary: bool
    sigma: float

    @property
    def exposures(self) -> int:
        """The number of exposures in the log."""
        return int(self.pulls.sum())

    def refit(self, generator: np.random.Generator) -> Fitted:
        """Return the fit to another log that this fit might have produced."""
        samples = []
        for sample, curve in zip(self.samples, self.curves, strict=True):
            [mean] = resampled(values(curve, sample.x), sample.count, sample.variance, self.binary, generator, 1)
            samples.append(dataclasses.replace(sample, mean=mean))
        return dataclasses.replace(self, samples=samples, curves=fit_curves(samples, self.binary))


def fit_log(log: Log, driver: str) -> Fitted:
    """Return curves fitted along exposures, or along the calendar if that is what drives the values."""
    calendar = driver == CALENDAR
    samples = []
    for arm in log.arms:
        cells = merged(arm.cells, FITTED_BINS)
        x = cells.time * log.exposures if calendar else cells.exposure
        samples.append(Sample(x, cells.mean, cells.count, reward_variance(arm, log)))
    pulls = np.array([arm.exposures for arm in log.arms])
    return Fitted(samples, fit_curves(samples, log.binary), pulls, calendar, log.binary, sigma_of(log))


def values(curve: Curve, x: np.ndarray) -> np.ndarray:
    """Return a curve's values at places that need not be whole."""
    if isinstance(curve, Exponential):
        return np.asarray(curve.floor + (curve.start - curve.floor) * np.exp(-curve.rate * x))
    return np.asarray(curve(np.floor(x).astype(np.int64)))


def problem_of(fitted: Fitted, name: str, batch: int = 1, pessimistic: bool = False) -> Problem:
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
        Arms go on falling along their fitted curves instead.
    """
    horizon = max(fitted.exposures // batch, 1)
    tables = []
    for sample, curve, pulls in zip(fitted.samples, fitted.curves, fitted.pulls, strict=True):
        covered = horizon if fitted.calendar or pessimistic else max(int(pulls) // batch, 1)
        middle = (np.arange(covered) + 0.5) * batch - 0.5
        if fitted.calendar:
            middle = np.clip(middle, sample.x[0], np.inf if pessimistic else sample.x[-1])
        table = values(curve, middle)
        tables.append(as_curve(np.clip(table, 0, 1) if fitted.binary else table))
    bernoulli = fitted.binary and batch == 1
    sigma = fitted.sigma / math.sqrt(batch)
    shown = name if batch == 1 else f"{name}, {batch} exposures per pull"
    return Problem(
        tuple(tables),
        noise="bernoulli" if bernoulli else "gaussian",
        sigma=sigma,
        restless=fitted.calendar,
        name=shown,
        horizon=horizon,
    )


def problem_from_log(log: Any, pessimistic: bool = False, **columns: Any) -> Problem:
    """Return the problem that fits a log: the one on which `rotting.diagnose` plays policies.

    Each arm is constant, exponential or one drop, whichever its rewards support, and constant beyond its last exposure
    in the log. Values follow the calendar (a restless problem) where the log says so. In logs of more than 5000 rows
    one pull stands for several exposures, and the name says so.

    Parameters
    ----------
    log
        What `rotting.diagnose` takes.
    pessimistic
        Whether arms go on falling beyond their last exposure.
    columns
        `arm`, `reward`, `time`: which columns; guessed where not given.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> problem = problem_from_log(make_log(arms=3, exposures=1000, seed=2))
    >>> problem.n_arms, problem.horizon, problem.noise
    (3, 3000, 'bernoulli')
    """
    if columns.get("unit") is not None:
        raise LogError("a problem counts the pulls of everybody; expected no unit")
    read = read_log(log, **columns)
    worn = discoveries(np.array([each.p_value for each in wear_out(read, np.random.default_rng(0))]))
    fitted = fit_log(read, find_driver(read, list(worn)).name)
    return problem_of(fitted, read.name, batch_of(fitted.exposures), pessimistic)


def batch_of(exposures: int) -> int:
    """Return how many exposures a pull must stand for, lest a simulation take too long."""
    return -(-exposures // MOST_ROUNDS)


def contestants(sigma: float, binary: bool, batch: int) -> dict[str, Any]:
    """Return the policies that make sense for such rewards, and the two references."""
    from rotting.policies import (
        FEWA,
        RAWUCB,
        UCB1,
        BetaThompson,
        EffFEWA,
        EpsilonGreedy,
        GaussianThompson,
        Oracle,
        Uniform,
    )

    noise = sigma / math.sqrt(batch)
    thompson = BetaThompson() if binary and batch == 1 else GaussianThompson(sigma=max(noise, 1e-9))
    return {
        "FEWA": FEWA(sigma=noise),
        "EFF-FEWA": EffFEWA(sigma=noise),
        "RAW-UCB": RAWUCB(sigma=noise),
        "UCB1": UCB1(sigma=noise),
        "Thompson sampling": thompson,
        "epsilon-greedy": EpsilonGreedy(),
        EQUAL: Uniform(),
        ORACLE: Oracle(),
    }


def estimate_gains(
    fitted: Fitted,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
    only: Collection[str] | None = None,
) -> list[Gain]:
    """Play every policy on the fitted problem and on problems fitted to resampled logs.

    All policies meet the same random numbers. The interval of a gain is the basic bootstrap's: refits stand to the fit
    as the fit stands to the truth, so how far they lie off, on average and at random, is taken off the estimate.
    `only` names the policies to play (default: all).
    """
    batch = batch_of(fitted.exposures)
    players = contestants(fitted.sigma, fitted.binary, batch)
    if only is not None:
        players = {name: policy for name, policy in players.items() if name in only}
    generator = np.random.default_rng(seed)

    def play(fit: Fitted, runs: int, seed: int) -> np.ndarray:
        return np.stack([_rewards(fit, players, batch, gloomy, runs, seed) for gloomy in (False, True)])

    point = play(fitted, FIRST_RUNS, seed)
    step()
    around = []
    for place in range(REFITS):
        around.append(play(fitted.refit(generator), RUNS, seed + place))
        step()
    draws = np.stack(around)
    gains = []
    for place, name in enumerate([LOGGED, *players]):
        reward = _interval(point[0, place], draws[:, 0, place])
        held, falling = (
            _interval(point[way, place] - point[way, 0], draws[:, way, place] - draws[:, way, 0]) for way in (0, 1)
        )
        gains.append(Gain(name, reward, held, falling))
    return gains


def _rewards(
    fitted: Fitted, players: dict[str, Any], batch: int, pessimistic: bool, runs: int, seed: int
) -> np.ndarray:
    """Return the mean reward per 1000 exposures of the logged allocation and of every player."""
    from rotting.simulation import simulate

    problem = problem_of(fitted, "log", batch, pessimistic)
    played = simulate(players, problem, runs=runs, seed=seed, rounds=1, progress=False)
    lost = played["regret"].isel(round=-1).mean("run").values
    earned = float(played["oracle_reward"].values[-1]) - lost
    return np.concatenate([[logged_reward(fitted)], earned / problem.horizon * PER])


def logged_reward(fitted: Fitted) -> float:
    """Return what the logged allocation earns on the fitted curves, per 1000 exposures."""
    total = sum(
        float(sample.count @ values(curve, sample.x))
        for sample, curve in zip(fitted.samples, fitted.curves, strict=True)
    )
    return total / fitted.exposures * PER


def _interval(point: float, draws: np.ndarray) -> Estimate:
    low, high = np.quantile(draws, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(float(point), float(2 * point - high), float(2 * point - low))
