"""What arms are worth from now on: draws of every arm's value, as likely as the log makes them.

Each draw is one explanation of the log (a hypothesis and spreads, by their posterior probabilities) with one set of
parameters. Half-lives, values, and what policies would gain are read off the same draws.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rotting.logs.model.driver import CALENDAR, EXPOSURE, Weighed
from rotting.logs.model.hypotheses import Fit, Hypothesis, shaped
from rotting.logs.worth.drops import Drops, find_drops
from rotting.logs.worth.steady import NOTHING_FALLS, Steady, fit_steady

DRAWS, LEAST_DRAWS = 400, 20
STEADY = "nothing"  # what values follow in draws in which none falls


@dataclasses.dataclass(frozen=True)
class Draw:
    """One explanation of the log, with parameters: the value of each arm as a function of exposures and time."""

    hypothesis: Hypothesis
    driver: str
    level: np.ndarray  # of each arm
    fall: np.ndarray  # along the axis, from 0 to 1
    trend: float
    typical_exposures: float
    typical_age: float
    launch: np.ndarray  # of each arm
    pace: np.ndarray  # exposures of each arm per unit of its age
    shown: np.ndarray  # exposures of each arm in the log
    multiplicative: bool
    scale: float
    highest: float  # no value is more
    drop_at: np.ndarray  # exposures after which an arm drops; infinite if it never does
    drop_to: np.ndarray  # what is left then, as a share

    def values(self, arm: int | np.ndarray, exposures: np.ndarray, time: np.ndarray | float = 1.0) -> np.ndarray:
        """Return what an arm is worth after so many exposures, at a time; beyond the log it does not rise."""
        z, now = {
            "exposure": (np.asarray(exposures) / self.typical_exposures, self.shown / self.typical_exposures),
            "age": (
                np.maximum(np.asarray(time) - self.launch[arm], 0.0) / self.typical_age,
                (1 - self.launch) / self.typical_age,
            ),
            "time": (np.asarray(time), np.ones(len(self.launch))),
        }[self.hypothesis.axis]
        z = np.where(self.fall[arm] < 0, np.minimum(z, now[arm]), z)
        u = self.level[arm] - self.fall[arm] * shaped(z, self.hypothesis.shape) - self.trend * (np.asarray(time) - 0.5)
        value = np.exp(np.minimum(u, 8.0)) if self.multiplicative else 1 + u
        value = value * np.where(np.asarray(exposures) >= self.drop_at[arm], self.drop_to[arm], 1.0)
        return np.asarray(np.minimum(self.scale * value, self.highest) + 0.0 * np.asarray(exposures))

    def half_lives(self) -> np.ndarray:
        """Return after how many exposures half of each arm's first value is lost; infinite if never."""
        lost = np.full(len(self.level), np.log(2.0)) if self.multiplicative else (1 + self.level) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.fall > 0, lost / self.fall, np.inf)
            shape = self.hypothesis.shape
            inside = np.maximum(1 + share * np.expm1(-1 / shape), 0.0) if np.isfinite(shape) else None
            z = share if inside is None else -shape * np.log(inside)
        per_z = {"exposure": self.typical_exposures, "age": self.typical_age * self.pace, "time": np.inf}
        smooth = z * per_z[self.hypothesis.axis]
        return np.asarray(np.where((self.drop_to <= 0.5) & np.isfinite(self.drop_at), self.drop_at, smooth))


def draw_values(
    weighed: Weighed, generator: np.random.Generator, binary: bool, ratio: float, times: int = DRAWS
) -> list[Draw]:
    """Return draws of the values of all arms: nothing falls, or arms fall smoothly, or at once.

    `ratio` is what a reward is worth in units of the capped rewards that the model was fitted to.
    """
    panel = weighed.panel
    launch = panel.time[panel.first] - panel.age[panel.first]
    ages = np.maximum(np.maximum.reduceat(panel.age, panel.first), 1e-9)
    exposures = np.add.reduceat(panel.count, panel.first)
    steady = fit_steady(panel)
    drops = find_drops(weighed, steady)
    chances = np.append(*_chances(weighed, steady, drops))
    draws = []
    for index in np.sort(generator.choice(len(chances), size=times, p=chances)):
        own = _nothing_drawn(panel.arms)
        if index < len(weighed.fits):
            own |= _smooth_drawn(weighed.fits[index], weighed.drivers[index], generator)
        elif index == len(weighed.fits) or drops is None:
            own |= {"level": steady.draw(generator), "driver": STEADY}
        else:
            own |= dict(zip(("level", "drop_at", "drop_to"), drops.draw(generator), strict=True))
        draw = Draw(
            **own,
            typical_exposures=panel.typical_exposures,
            typical_age=panel.typical_age,
            launch=launch,
            pace=exposures / ages,
            shown=exposures,
            multiplicative=panel.multiplicative,
            scale=panel.scale * ratio,
            highest=1.0 if binary else np.inf,
        )
        draws.append(draw)
    return draws


def _chances(weighed: Weighed, steady: Steady, drops: Drops | None) -> tuple[np.ndarray, np.ndarray]:
    """Return how likely each smooth explanation is, and that nothing falls, and that arms drop at once."""
    smooth = np.log(1 - NOTHING_FALLS) + weighed.logs
    logs = np.append(smooth, np.log(NOTHING_FALLS) + steady.log_evidence)
    chances = np.exp(logs - np.logaddexp.reduce(logs))
    dropping = 0.0 if drops is None else drops.probability
    chances *= 1 - dropping
    return chances / (chances.sum() + dropping), np.array([dropping / (chances.sum() + dropping)])


def _nothing_drawn(arms: int) -> dict[str, Any]:
    """Return what a draw has unless it is said: no fall, no trend and no drop."""
    return {
        "hypothesis": Hypothesis("exposure", np.inf),
        "driver": EXPOSURE,
        "fall": np.zeros(arms),
        "trend": 0.0,
        "drop_at": np.full(arms, np.inf),
        "drop_to": np.ones(arms),
    }


def _smooth_drawn(fit: Fit, driver: str, generator: np.random.Generator) -> dict[str, Any]:
    """Return a level and a fall of each arm, and the common trend, drawn together."""
    member = int(generator.choice(len(fit.weight), p=fit.weight))
    common, own = fit.solution.draw(member, generator)
    return {
        "hypothesis": fit.hypothesis,
        "driver": driver,
        "level": common[0] + own[:, 0],
        "fall": common[1] + own[:, 1],
        "trend": float(common[2]) if fit.hypothesis.trend else 0.0,
    }


def without_calendar(draws: list[Draw]) -> list[Draw]:
    """Return the draws in which the calendar changes nothing, or all if there are too few of those."""
    return _if_enough([draw for draw in draws if draw.driver != CALENDAR], draws)


def wearing_out(draws: list[Draw]) -> list[Draw]:
    """Return the draws in which arms wear out by themselves, or all if there are too few of those."""
    return _if_enough([draw for draw in draws if draw.driver not in (CALENDAR, STEADY)], draws)


def _if_enough(some: list[Draw], draws: list[Draw]) -> list[Draw]:
    return some if len(some) >= LEAST_DRAWS else draws
