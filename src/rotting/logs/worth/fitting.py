"""A problem fitted to a log."""

from __future__ import annotations

from typing import Any

import numpy as np

from rotting.logs.model.findings import find_wear_out
from rotting.logs.model.launches import CALENDAR, EXPOSURE
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.columns import LogError
from rotting.logs.read.options import ReadOptions, takes_options
from rotting.logs.read.reading import read_log
from rotting.logs.read.sources import LogSource
from rotting.logs.worth.gain import batch_of, period_ahead, values_of
from rotting.logs.worth.outlook import enough
from rotting.problems import Problem
from rotting.problems.curves import as_curve


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
    draws = values_of(findings, period_ahead(read), 0)
    chosen = enough([draw for draw in draws if (not draw.falls if restless else draw.along == EXPOSURE)], draws)
    batch = batch_of(read.exposures)
    rounds = max(read.exposures // batch, 1)
    pulls = (np.arange(rounds) + 0.5) * batch
    when = pulls / read.exposures if restless else 1.0
    curves = []
    for index, each in enumerate(read.arms):
        shown = pulls if pessimistic or restless else np.minimum(pulls, each.exposures - 0.5)
        values = np.mean([draw.values(index, shown, when) for draw in chosen], axis=0)
        curves.append(as_curve(np.minimum.accumulate(np.clip(values, 0, 1) if read.binary else values) + read.offset))
    return Problem(
        tuple(curves),
        noise="bernoulli" if read.binary and batch == 1 else "gaussian",
        sigma=sigma_of(read) / batch**0.5,
        restless=restless,
        name=read.name if batch == 1 else f"{read.name}, {batch} exposures per pull",
        horizon=rounds,
    )
