"""A problem fitted to a log, and the periods over which policies are compared."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rotting.logs.model.findings import Findings, find_wear_out
from rotting.logs.model.launches import CALENDAR, EXPOSURE
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.columns import LogError
from rotting.logs.read.options import ReadOptions, takes_options
from rotting.logs.read.reading import Log, read_log
from rotting.logs.read.sources import LogSource
from rotting.logs.worth.gain import MOST_ROUNDS, Period
from rotting.logs.worth.outlook import DRAWS, Draw, draw_values
from rotting.problems import Problem
from rotting.problems.curves import as_curve

# The period that lies ahead is as long as this last share of the log, and goes on with the allocation of that share.
AHEAD = 0.25


def values_of(log: Log, findings: Findings, seed: int) -> list[Draw]:
    """Return draws of what the arms of a log are worth."""
    ahead = period_ahead(log)
    return [ahead.scaled(each) for each in draw_values(findings, np.random.default_rng(seed))]


def period_ahead(log: Log) -> Period:
    """Return the period after the log: a quarter of its exposures, in the shares of its last quarter."""
    late = [arm.cells.time >= 1 - AHEAD for arm in log.arms]
    recent = np.array([float(arm.cells.count[own].sum()) for arm, own in zip(log.arms, late, strict=True)])
    totals, capped = (
        np.array([float(getattr(arm.cells, kind)[own].sum()) for arm, own in zip(log.arms, late, strict=True)])
        for kind in ("total", "capped")
    )
    start = np.array([float(arm.exposures) for arm in log.arms])
    if recent.sum() == 0:
        return Period.of(start, start, time=1.0, span=AHEAD)
    period = Period.of(recent, start, time=1.0, span=AHEAD)
    chosen = period.arms
    earned, level = totals.sum() / recent.sum(), capped[chosen].sum() / recent[chosen].sum()
    return dataclasses.replace(period, earned=float(earned), capped=float(level))


@takes_options
def problem_from_log(
    log: LogSource, pessimistic: bool = False, *, reward_delay: str | float | None = None, **reading: Any
) -> Problem:
    """Return the problem that fits a log: the mean of what `rotting.diagnose` thinks its arms may be worth.

    Arms never rise, and are constant beyond their last exposure in the log. The problem is restless where values
    follow the calendar. In logs of more than 2000 rows one pull stands for several exposures, and the name says so.

    Parameters
    ----------
    log
        What `rotting.diagnose` takes.
    pessimistic
        Whether arms go on falling beyond their last exposure.
    reward_delay
        As in `rotting.diagnose`.
    reading
        Fields of `ReadOptions`; a unit is refused, since a problem counts the pulls of all users together.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> problem = problem_from_log(make_log(arms=3, exposures=600, seed=2))
    >>> problem.n_arms, problem.horizon, problem.noise
    (3, 1800, 'bernoulli')
    """
    options = ReadOptions(**reading)
    if options.unit is not None:
        problem = "cannot be used, since a problem counts the pulls of all users together"
        raise LogError(problem, name="unit", value=options.unit, expected="no unit")
    read = read_log(log, options)
    findings = find_wear_out(read, reward_delay)
    restless = findings.driver == CALENDAR
    draws = values_of(read, findings, 0)
    chosen = [draw for draw in draws if (not draw.falls if restless else draw.along == EXPOSURE)]
    chosen = chosen if len(chosen) >= DRAWS // 20 else draws
    batch = batch_of(read.exposures)
    rounds = max(read.exposures // batch, 1)
    pulls = (np.arange(rounds) + 0.5) * batch
    curves = []
    for index, each in enumerate(read.arms):
        shown = pulls if pessimistic or restless else np.minimum(pulls, each.exposures - 0.5)
        when = pulls / read.exposures if restless else 1.0
        values = np.mean([draw.values(index, shown, when) for draw in chosen], axis=0)
        curves.append(as_curve(np.minimum.accumulate(np.clip(values, 0, 1) if read.binary else values) + read.offset))
    bernoulli = read.binary and batch == 1
    return Problem(
        tuple(curves),
        noise="bernoulli" if bernoulli else "gaussian",
        sigma=sigma_of(read) / batch**0.5,
        restless=restless,
        name=read.name if batch == 1 else f"{read.name}, {batch} exposures per pull",
        horizon=rounds,
    )


def batch_of(exposures: int) -> int:
    """Return how many exposures a pull stands for, so that a simulation has at most `MOST_ROUNDS` rounds."""
    return -(-exposures // MOST_ROUNDS)
