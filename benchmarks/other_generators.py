"""A second family of logs with a known truth, in other shapes than those of log_generators.py: to validate on.

Each function takes a random generator and returns a frame and, for each arm, whether it wears out. Arms live for a
while, rest, or fade; weekends differ; sites fall slowly, at once or in waves; exports count by day.
"""

from __future__ import annotations

import numpy as np
import pandas

FIRST_DAY = pandas.Timestamp("2023-09-04")
Truth = dict[str, bool]


def times(rng: np.random.Generator, arms: int, exposures: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return when arms were shown, and which: arms with "lives" of their own, that "rest", or that "fade"."""
    own = []
    for _ in range(arms):
        if kind == "rest":
            start = 0.4 * rng.random()
            end = start + 0.25
            back = end + 0.6 * (1 - end) * rng.random()
            half = exposures // 2
            first, second = start + (end - start) * rng.random(half), back + (1 - back) * rng.random(exposures - half)
            own.append(np.concatenate([first, second]))
        elif kind == "lives":
            start, life = 0.75 * rng.random(), rng.uniform(0.15, 0.6)
            own.append(start + (min(1.0, start + life) - start) * rng.random(exposures))
        else:
            start = 0.5 * rng.random()
            own.append(start + (1 - start) * rng.beta(1, rng.uniform(1, 3), exposures))
    return np.concatenate(own), np.repeat(np.arange(arms), exposures)


def log_of(time: np.ndarray, arm: np.ndarray, reward: np.ndarray, days: float, worn: set[int]) -> tuple:
    order = np.argsort(time, kind="stable")
    stamps = FIRST_DAY + pandas.to_timedelta(time[order] * days, unit="D")
    frame = pandas.DataFrame({"ts": stamps, "ad": [f"ad {each}" for each in arm[order]], "clicked": reward[order]})
    return frame, {f"ad {each}": each in worn for each in range(arm.max() + 1)}


def clicks(rng: np.random.Generator, rate: np.ndarray) -> np.ndarray:
    return (rng.random(len(rate)) < rate).astype(int)


def levels(rng: np.random.Generator, arms: int, rate: float, spread: float = 0.2) -> np.ndarray:
    return rate * np.exp(spread * rng.standard_normal(arms))


def weekends_and_trend(rng: np.random.Generator, kind: str = "lives", fall: float = 0.4) -> tuple:
    time, arm = times(rng, 6, 1800, kind)
    weekend = (FIRST_DAY + pandas.to_timedelta(time * 56, unit="D")).day_of_week >= 5
    rate = levels(rng, 6, 0.08, 0.25)[arm] * (1 - fall * time) * np.where(weekend, 1.3, 0.9)
    return log_of(time, arm, clicks(rng, rate), 56, set())


def resting_arms_and_trend(rng: np.random.Generator) -> tuple:
    return weekends_and_trend(rng, "rest", 0.5)


def waves(rng: np.random.Generator) -> tuple:
    time, arm = times(rng, 6, 1800, "lives")
    rate = levels(rng, 6, 0.08)[arm] * (1 + 0.35 * np.sin(2 * np.pi * (1.3 * time + rng.random())))
    return log_of(time, arm, clicks(rng, rate), 40, set())


def site_that_drops(rng: np.random.Generator) -> tuple:
    time, arm = times(rng, 6, 1800, "lives")
    rate = levels(rng, 6, 0.08)[arm] * np.where(time > rng.uniform(0.3, 0.7), 0.55, 1.0)
    return log_of(time, arm, clicks(rng, rate), 40, set())


def unequal_constants(rng: np.random.Generator) -> tuple:
    time, arm = times(rng, 8, 1200, "lives")
    return log_of(time, arm, clicks(rng, levels(rng, 8, 0.06, 0.4)[arm]), 40, set())


def numbers_and_trend(rng: np.random.Generator) -> tuple:
    time, arm = times(rng, 6, 1500, "fade")
    value = levels(rng, 6, 5.0)[arm] * (1 - 0.4 * time) + 6 * rng.standard_normal(len(time))
    return log_of(time, arm, np.round(value, 3), 40, set())


def daily_counts(rng: np.random.Generator, wears: bool = False, arms: int = 10, days: int = 60) -> tuple:
    """An export by day with Poisson impressions; the site falls, or arms wear out."""
    pieces = []
    for arm in range(arms):
        start = rng.integers(0, 35)
        day = np.arange(start, min(days, start + rng.integers(15, 40)))
        shown = rng.poisson(90 * np.exp(0.5 * rng.standard_normal() * wears), len(day)) + 1
        fall = np.exp(-(np.cumsum(shown) - shown) / 2000) if wears else 1 - 0.45 * day / days
        dates = FIRST_DAY + pandas.to_timedelta(day, unit="D")
        earned = rng.binomial(shown, levels(rng, 1, 0.04, 0.25) * fall)
        pieces.append(pandas.DataFrame({"day": dates, "ad": f"ad {arm}", "impressions": shown, "clicks": earned}))
    return pandas.concat(pieces).sort_values("day"), {f"ad {arm}": wears for arm in range(arms)}


def daily_counts_that_wear_out(rng: np.random.Generator) -> tuple:
    return daily_counts(rng, wears=True)


def some_wear_out(
    rng: np.random.Generator, worn: tuple[int, ...] = (0, 1, 2), kind: str = "lives", trend: float = 0.0
) -> tuple:
    """Some arms lose 70 % towards a floor; the others are constant."""
    time, arm = times(rng, 6, 2000, kind)
    order = np.argsort(time, kind="stable")
    number = np.empty(len(time))
    number[order] = pandas.Series(arm[order]).groupby(arm[order]).cumcount()
    fallen = np.where(np.isin(arm, worn), 0.3 + 0.7 * np.exp(-3 * number / 2000), 1.0)
    rate = levels(rng, 6, 0.1)[arm] * fallen * (1 - trend * time)
    return log_of(time, arm, clicks(rng, rate), 40, set(worn))


def one_wears_out(rng: np.random.Generator) -> tuple:
    return some_wear_out(rng, (0,))


def some_wear_out_beside_a_trend(rng: np.random.Generator) -> tuple:
    return some_wear_out(rng, trend=0.4)


def resting_arms_wear_out(rng: np.random.Generator) -> tuple:
    return some_wear_out(rng, (0, 1, 2, 3, 4, 5), "rest")


def power_laws(rng: np.random.Generator) -> tuple:
    """All arms fall quickly at first, and ever more slowly."""
    time, arm = times(rng, 6, 2000, "lives")
    order = np.argsort(time, kind="stable")
    number = np.empty(len(time))
    number[order] = pandas.Series(arm[order]).groupby(arm[order]).cumcount()
    return log_of(time, arm, clicks(rng, levels(rng, 6, 0.1)[arm] * (1 + number / 200) ** -0.4), 40, set(range(6)))


OTHERS = (
    weekends_and_trend, resting_arms_and_trend, waves, site_that_drops, unequal_constants, numbers_and_trend,
    daily_counts, daily_counts_that_wear_out, some_wear_out, one_wears_out, some_wear_out_beside_a_trend,
    resting_arms_wear_out, power_laws,
)  # fmt: skip
