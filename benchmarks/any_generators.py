"""A third family of logs with a known truth: everything that is not said is drawn at random, for every log again.

Written after the method was settled, and only to validate it. Each function takes a random generator and returns a
frame and, for each arm, whether it wears out.
"""

from __future__ import annotations

import numpy as np
import pandas
from other_generators import clicks, levels, log_of


def paces(rng: np.random.Generator, arms: int, exposures: int) -> tuple[np.ndarray, np.ndarray]:
    """Return when arms were shown, and which: launched at different times, at a pace that changes by the day."""
    time = []
    for _ in range(arms):
        first, last = 0.7 * rng.random(), rng.uniform(0.8, 1.0)
        shape = rng.choice([0.3, 1.0, 50.0])  # from a few busy days to a steady pace
        busy = np.cumsum(np.append(0.0, rng.gamma(shape, size=20) + 0.01))
        shown = int(exposures * rng.uniform(0.4, 1.6))
        time.append(first + (last - first) * np.interp(rng.random(shown) * busy[-1], busy, np.linspace(0, 1, 21)))
    return np.concatenate(time), np.repeat(np.arange(arms), [len(own) for own in time])


def site(rng: np.random.Generator, time: np.ndarray) -> np.ndarray:
    """Return what a site does to all arms: it loses 20 to 70 % slowly, at once, and back, or in waves."""
    lost, at = rng.uniform(0.2, 0.7), rng.uniform(0.2, 0.8)
    shapes = (
        1 - lost * time,
        (1 - lost) ** time,
        np.where(time > at, 1 - lost, 1.0),
        1 - lost / (1 + np.exp(-(time - at) / 0.05)),
        1 - lost * np.exp(-(((time - at) / 0.15) ** 2)),
        1 + 0.5 * lost * np.sin(2 * np.pi * (rng.uniform(0.5, 3) * time + rng.random())),
    )
    return np.asarray(shapes[rng.integers(len(shapes))])


def any_site(rng: np.random.Generator) -> tuple:
    """A site that changes, and arms that do not wear out."""
    arms = int(rng.integers(4, 11))
    time, arm = paces(rng, arms, int(rng.choice([800, 2000, 4000])))
    level = levels(rng, arms, rng.choice([0.03, 0.1, 0.2]), rng.choice([0.0, 0.15, 0.4]))
    return log_of(time, arm, clicks(rng, level[arm] * site(rng, time)), rng.choice([20, 60, 200]), set())


def any_clock(rng: np.random.Generator) -> tuple:
    """Hours of the day and days of the week matter, arms are shown at all paces, and none wears out."""
    arms, days = int(rng.integers(4, 9)), float(rng.choice([2, 5, 10, 30]))
    time, arm = paces(rng, arms, 2000)
    day = time * days
    hour = 1 + rng.uniform(0.2, 0.5) * np.sin(2 * np.pi * (day + rng.random()))
    week = np.where((day + rng.integers(7)) % 7 < 2, rng.uniform(0.6, 1.5), 1.0)
    return log_of(time, arm, clicks(rng, levels(rng, arms, 0.08)[arm] * hour * week), days, set())


def any_quiet_arms(rng: np.random.Generator) -> tuple:
    """Numbers with hardly any noise: half of the arms lose 20 to 80 % in some way, the others are steady."""
    arms = 6
    time, arm = paces(rng, arms, 600)
    order = np.argsort(time, kind="stable")
    number = np.empty(len(time))
    number[order] = pandas.Series(arm[order]).groupby(arm[order]).cumcount() / 600
    lost = rng.uniform(0.2, 0.8)
    curves = (
        1 - lost * np.minimum(number, 1),
        1 - lost * -np.expm1(-5 * number),
        np.where(number > 0.4, 1 - lost, 1.0),
    )
    value = levels(rng, arms, 5.0)[arm] * np.where(arm < 3, curves[rng.integers(3)], 1.0)
    noise = 5.0 * 10 ** rng.uniform(-3, -1) * rng.standard_normal(len(time))
    return log_of(time, arm, np.round(value + noise, 6), 40, {0, 1, 2})


def any_wear(rng: np.random.Generator) -> tuple:
    """All arms lose 30 to 80 % over their exposures, at levels that differ."""
    arms = int(rng.integers(4, 11))
    time, arm = paces(rng, arms, int(rng.choice([2000, 4000])))
    order = np.argsort(time, kind="stable")
    number = np.empty(len(time))
    number[order] = pandas.Series(arm[order]).groupby(arm[order]).cumcount()
    fallen = (1 - rng.uniform(0.3, 0.8)) ** (number / number.max())
    return log_of(time, arm, clicks(rng, levels(rng, arms, 0.1)[arm] * fallen), 60, set(range(arms)))


ANY = (any_site, any_clock, any_quiet_arms, any_wear)
