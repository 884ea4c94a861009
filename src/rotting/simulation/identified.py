"""Whether policies found the arm that will be best: errors, and what they cost, over the pulls to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rotting._core.validation import whole_number
from rotting._output.sheets import PLUS_MINUS, Sheet
from rotting.errors import BadValue, RottingError
from rotting.problems import Problem, Restless, parse_problem
from rotting.simulation.paired import LEVEL, mean_interval

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Identified:
    """How well a policy's recommendations after the last round were, with 95 % intervals (None: one run)."""

    policy: str
    error: float  # the share of runs in which another arm would pay more
    error_low: float  # Clopper and Pearson's exact interval
    error_high: float
    regret: float  # simple regret: what the best arm would pay more per pull
    regret_low: float | None
    regret_high: float | None
    reward: float  # what the recommended arm pays per pull
    runs: int


def values_to_come(problem: Problem, pulls: npt.ArrayLike, horizon: int, ahead: int = 1) -> np.ndarray:
    """Return what each arm would pay per pull if it alone were pulled in the next rounds, after `horizon` of them.

    Parameters
    ----------
    problem
        Rested arms, which are as worn as their pulls say, or restless ones.
    pulls
        The pulls of each arm so far, the last axis being arms.
    horizon, ahead
        How many rounds are over, and how many are to come.

    Examples
    --------
    >>> values_to_come(Problem([0.5, [1.0, 0.8, 0.2]]), [3, 1], horizon=4, ahead=2)
    array([0.5, 0.5])
    """
    dynamics, clock = problem.dynamics_model, np.asarray(pulls)
    if isinstance(dynamics, Restless):
        clock = np.full_like(clock, horizon)
    elif not dynamics.rested or dynamics.draws:
        why = f"{type(dynamics).__name__} arms have no value that pulls alone tell"
        raise BadValue(why, owner=str(problem), expected="rested arms that all runs share, or restless ones")
    next_pulls = np.arange(ahead)
    return np.stack(
        [np.asarray(curve(clock[..., arm, None] + next_pulls)).mean(-1) for arm, curve in enumerate(problem.curves)], -1
    )


def outcomes(
    dataset: xarray.Dataset, problem: Problem | None = None, ahead: int = 1, at: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the recommended arm and what the best arm would pay per pull, [policy, run] each.

    Parameters
    ----------
    dataset
        What `rotting.simulate(..., trace="recommended")` returned.
    problem
        What was played on; None: what the result's `problem` attribute describes, if it describes one.
    ahead
        How many pulls are to come.
    at
        Judge all arms as if each had been pulled so often; None: each is as worn as the policy left it.
    """
    if "recommended" not in dataset:
        raise BadValue("has no recommendations", name="result", hint='simulate with trace="recommended"')
    ahead, horizon = whole_number("ahead", ahead, minimum=1), int(dataset.attrs["horizon"])
    if int(dataset["round"][-1]) != horizon:
        raise BadValue(f"ends with round {int(dataset['round'][-1])}", expected=f"the last one, {horizon}")
    pulls = dataset["pulls"].transpose("policy", "run", "arm").values
    if at is not None:
        pulls = np.full_like(pulls, whole_number("at", at, minimum=0))
    worth = values_to_come(problem or _problem_of(dataset), pulls, horizon, ahead)
    chosen = dataset["recommended"].isel(round=-1).transpose("policy", "run").values.astype(np.int64)
    return np.take_along_axis(worth, chosen[..., None], -1)[..., 0], worth.max(-1)


def _problem_of(dataset: xarray.Dataset) -> Problem:
    """Return what the result's `problem` attribute describes."""
    try:
        return parse_problem(str(dataset.attrs["problem"]))
    except RottingError as error:
        raise BadValue(f"no text describes what was played on: {error}", hint="pass it as {problem}") from None


def identification(
    dataset: xarray.Dataset, problem: Problem | None = None, ahead: int = 1, at: int | None = None
) -> list[Identified]:
    """Return how well each policy identified the best arm; parameters as in `outcomes`.

    Examples
    --------
    >>> import rotting
    >>> policies = [rotting.SuccessiveRejects(), rotting.UCB1(sigma=0.5)]
    >>> problem = rotting.problems.stationary([0.5, 0.3, 0.1], sigma=0.5)
    >>> result = rotting.simulate(policies, problem, horizon=300, runs=20, trace="recommended")
    >>> for row in identification(result, ahead=100):
    ...     print(row.policy, row.error, round(row.regret, 3))
    SuccessiveRejects() 0.0 0.0
    UCB1(sigma=0.5) 0.0 0.0
    """
    found = []
    for label, chosen, best in zip(dataset["policy"].values, *outcomes(dataset, problem, ahead, at), strict=True):
        error, lost = error_interval(chosen < best), best - chosen
        low, high = mean_interval(lost)
        found.append(Identified(str(label), *error, float(lost.mean()), low, high, float(chosen.mean()), len(chosen)))
    return found


def error_interval(wrong: np.ndarray) -> tuple[float, float, float]:
    """Return the share of runs that are wrong, with its exact 95 % interval.

    >>> error_interval(np.array([True, False, False, False]))
    (0.25, 0.006..., 0.805...)
    """
    from scipy.special import betaincinv

    errors, runs, tail = int(wrong.sum()), len(wrong), (1 - LEVEL) / 2
    low = float(betaincinv(errors, runs - errors + 1, tail)) if errors else 0.0
    high = float(betaincinv(errors + 1, runs - errors, 1 - tail)) if errors < runs else 1.0
    return errors / runs, low, high


def identification_sheet(title: str, rows: Sequence[Identified]) -> Sheet:
    """Return the table of it, the fewest errors first."""
    numbers = ("error", "95 % interval", "simple regret", "reward")
    sheet = Sheet(title, ("policy", *numbers), numbers)
    for row in sorted(rows, key=lambda row: (row.error, row.regret)):
        width = "" if row.regret_high is None else f" {PLUS_MINUS} {row.regret_high - row.regret:.2g}"
        interval = f"{row.error_low:.3f} to {row.error_high:.3f}"
        sheet.add(row.policy, f"{row.error:.3f}", interval, f"{row.regret:.3g}{width}", f"{row.reward:.3g}")
    sheet.notes.append("error: the share of runs in which another arm than the recommended one would pay more.")
    return sheet
