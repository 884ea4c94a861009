"""Logs as companies have them, with a known truth: one function per row of the table in docs/logs.md.

Each takes a random generator and returns a frame. Unless said, five arms of about 2000 exposures over 28 days, with
click rates near 10 %, that do not wear out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas

FIRST_DAY = pandas.Timestamp("2024-03-01")


def shown(
    rng: np.random.Generator, arms: int = 5, exposures: int = 2000, days: float = 28.0, launches: str = "staggered"
) -> pandas.DataFrame:
    """Return which arm was shown when: all from the first day ("together") or launched one after the other."""
    start = np.zeros(arms) if launches == "together" else rng.permutation(np.linspace(0, 0.6, arms))
    time = np.concatenate([first + (1 - first) * rng.random(exposures) for first in start])
    arm = np.repeat(np.arange(arms), exposures)
    order = np.argsort(time)
    frame = pandas.DataFrame({"share": time[order], "arm": arm[order]})
    frame["timestamp"] = FIRST_DAY + pandas.to_timedelta(frame["share"] * days, unit="D")
    frame["before"] = frame.groupby("arm").cumcount()
    frame["age"] = frame["share"] - start[frame["arm"]]
    return frame


def finished(frame: pandas.DataFrame, reward: np.ndarray, extra: tuple[str, ...] = ()) -> pandas.DataFrame:
    """Return the log as a company would have it."""
    named = frame.assign(creative=[f"creative {arm + 1}" for arm in frame["arm"]], reward=reward)
    return named[["timestamp", "creative", *extra, "reward"]].reset_index(drop=True)


def clicks(rng: np.random.Generator, rate: np.ndarray) -> np.ndarray:
    return (rng.random(len(rate)) < rate).astype(int)


def constant(rng: np.random.Generator) -> pandas.DataFrame:
    frame = shown(rng)
    return finished(frame, clicks(rng, np.full(len(frame), 0.1)))


def revenue(rng: np.random.Generator) -> pandas.DataFrame:
    """Sales of 2 % of the visitors, log-normal."""
    frame = shown(rng, launches="together")
    amount = rng.lognormal(3, 1, len(frame))
    return finished(frame, np.round(amount * clicks(rng, np.full(len(frame), 0.02)), 2))


def late_rewards(rng: np.random.Generator, mean_delay: float = 4.0, launches: str = "together") -> pandas.DataFrame:
    """Conversions that arrive after days; the log is cut off today."""
    frame = shown(rng, launches=launches)
    waited = 28 * (1 - frame["share"].to_numpy())
    arrived = rng.exponential(mean_delay, len(frame)) < waited
    return finished(frame, clicks(rng, np.full(len(frame), 0.1)) * arrived)


def late_rewards_staggered(rng: np.random.Generator) -> pandas.DataFrame:
    return late_rewards(rng, 3.0, "staggered")


def test_clicks(rng: np.random.Generator) -> pandas.DataFrame:
    """The first 40 exposures of every arm are tests, all clicked."""
    frame = shown(rng)
    return finished(frame, np.where(frame["before"] < 40, 1, clicks(rng, np.full(len(frame), 0.1))))


def bot_spikes(rng: np.random.Generator) -> pandas.DataFrame:
    """Three times 40 clicks on end, in the first half of the life of an arm."""
    frame = shown(rng)
    reward = clicks(rng, np.full(len(frame), 0.1))
    for arm in rng.permutation(5)[:3]:
        own = np.flatnonzero(frame["arm"] == arm)
        first = rng.integers(0, len(own) // 2)
        reward[own[first : first + 40]] = 1
    return finished(frame, reward)


def site_trend(rng: np.random.Generator, launches: str = "staggered") -> pandas.DataFrame:
    """The whole site falls to a half; arms are launched at different times."""
    frame = shown(rng, launches=launches)
    level = 0.1 * np.exp(0.15 * rng.standard_normal(5))[frame["arm"]]
    return finished(frame, clicks(rng, level * (1 - 0.5 * frame["share"].to_numpy())))


def site_trend_together(rng: np.random.Generator) -> pandas.DataFrame:
    return site_trend(rng, "together")


def segment_drift(rng: np.random.Generator, drifting: tuple[int, ...] = (0, 1, 2, 3, 4)) -> pandas.DataFrame:
    """Mobile users click less, and there are more and more of them: for the site, or for some arms."""
    frame = shown(rng, launches="together")
    drifts = frame["arm"].isin(drifting)
    mobile = rng.random(len(frame)) < np.where(drifts, 0.2 + 0.6 * frame["share"], 0.5)
    frame["segment"] = np.where(mobile, "mobile", "desktop")
    return finished(frame, clicks(rng, np.where(mobile, 0.06, 0.14)), ("segment",))


def segment_drift_of_two(rng: np.random.Generator) -> pandas.DataFrame:
    return segment_drift(rng, (0, 1))


def autocorrelated(rng: np.random.Generator, length: float = 60.0, spread: float = 0.5) -> pandas.DataFrame:
    """The click rate of every arm wanders, and comes back to its mean."""
    frame = shown(rng)
    state = np.empty(len(frame))
    keep = np.exp(-1 / length)
    for arm in range(5):
        own = np.flatnonzero(frame["arm"] == arm)
        noise = rng.standard_normal(len(own)) * np.sqrt(1 - keep**2)
        wander = rng.standard_normal()
        for place, each in zip(own, noise, strict=True):
            wander = keep * wander + each
            state[place] = wander
    return finished(frame, clicks(rng, 0.1 * np.exp(spread * state - spread**2 / 2)))


def weekdays(rng: np.random.Generator, days: float = 28.0, launches: str = "together") -> pandas.DataFrame:
    frame = shown(rng, days=days, launches=launches)
    weekday = frame["timestamp"].dt.day_of_week.to_numpy()
    return finished(frame, clicks(rng, np.where(weekday >= 5, 0.14, 0.09)))


def weekdays_10(rng: np.random.Generator) -> pandas.DataFrame:
    return weekdays(rng, 10.0)


def hours(rng: np.random.Generator, days: float = 1.5, launches: str = "together") -> pandas.DataFrame:
    frame = shown(rng, days=days, launches=launches)
    phase = 2 * np.pi * (frame["share"].to_numpy() * days + rng.random())
    return finished(frame, clicks(rng, 0.1 * (1 + 0.4 * np.sin(phase))))


def hours_14(rng: np.random.Generator) -> pandas.DataFrame:
    return hours(rng, 14.0, "staggered")


def adaptive(rng: np.random.Generator, kind: str = "thompson", total: int = 10_000) -> pandas.DataFrame:
    """Collected by Thompson sampling or epsilon-greedy on equal arms."""
    ones, shows = np.zeros(5), np.zeros(5)
    arm, reward = np.empty(total, int), np.empty(total, int)
    uniform, explores = rng.random(total), rng.random(total) < 0.1
    for row in range(total):
        if kind == "thompson":
            choice = int(np.argmax(rng.beta(1 + ones, 1 + shows - ones)))
        else:
            choice = int(rng.integers(5)) if explores[row] else int(np.argmax((ones + 1) / (shows + 1)))
        arm[row], reward[row] = choice, uniform[row] < 0.1
        ones[choice] += reward[row]
        shows[choice] += 1
    frame = pandas.DataFrame({"arm": arm, "share": np.arange(total) / total})
    frame["timestamp"] = FIRST_DAY + pandas.to_timedelta(frame["share"] * 28, unit="D")
    return finished(frame, reward)


def epsilon_greedy(rng: np.random.Generator) -> pandas.DataFrame:
    return adaptive(rng, "epsilon")


def users(rng: np.random.Generator, effect: str) -> pandas.DataFrame:
    """Users who leave sooner if they like it more; or every user is keen at first, on whatever is shown; or tires."""
    rows = []
    for user in range(1500):
        taste = rng.beta(1.5, 8)
        count = 2 + rng.poisson(10 * (1 - 3 * taste) if effect == "leave" and taste < 1 / 3 else 5)
        seen = np.zeros(5, int)
        time = np.sort(rng.random(count) * 0.3 + 0.7 * rng.random())
        for number in range(count):
            arm = int(rng.integers(5))
            rate = {
                "leave": taste,
                "novelty": 0.06 + 0.24 * np.exp(-number / 2),
                "tire": 0.06 + 0.24 * np.exp(-seen[arm] / 1.0),
            }[effect]
            rows.append((time[number], arm, user, int(rng.random() < rate)))
            seen[arm] += 1
    frame = pandas.DataFrame(rows, columns=["share", "arm", "user_id", "reward"]).sort_values("share")
    frame["timestamp"] = FIRST_DAY + pandas.to_timedelta(frame["share"] * 28, unit="D")
    return finished(frame, frame["reward"].to_numpy(), ("user_id",))


def leaving_users(rng: np.random.Generator) -> pandas.DataFrame:
    return users(rng, "leave")


def novelty_of_users(rng: np.random.Generator) -> pandas.DataFrame:
    return users(rng, "novelty")


def tiring_users(rng: np.random.Generator) -> pandas.DataFrame:
    return users(rng, "tire")


def wearing(
    rng: np.random.Generator,
    along: str = "before",
    rate: float = 0.1,
    lost: float = 0.6,
    spread: float = 0.2,
    exposures: int = 2000,
    arms: int = 5,
) -> pandas.DataFrame:
    """Arms that wear out exponentially with their exposures ("before"), their age, or the calendar ("share")."""
    frame = shown(rng, arms=arms, exposures=exposures)
    level = rate * np.exp(spread * rng.standard_normal(arms))[frame["arm"]]
    x = frame[along].to_numpy() / (exposures if along == "before" else 1.0)
    return finished(frame, clicks(rng, level * np.exp(np.log(1 - lost) * x)))


def wearing_with_age(rng: np.random.Generator) -> pandas.DataFrame:
    return wearing(rng, "age")


def wearing_with_the_calendar(rng: np.random.Generator) -> pandas.DataFrame:
    return wearing(rng, "share")


def slow_linear(rng: np.random.Generator) -> pandas.DataFrame:
    frame = shown(rng)
    return finished(frame, clicks(rng, 0.1 * (1 - 0.25 * frame["before"].to_numpy() / 2000)))


def rare_clicks(rng: np.random.Generator) -> pandas.DataFrame:
    return wearing(rng, rate=0.01, spread=0.0)


def worn_revenue(rng: np.random.Generator) -> pandas.DataFrame:
    frame = shown(rng)
    rate = 0.05 * np.exp(np.log(0.4) * frame["before"].to_numpy() / 2000)
    return finished(frame, np.round(rng.lognormal(3, 1, len(frame)) * clicks(rng, rate), 2))


Curve = Callable[[np.ndarray], np.ndarray]  # of exposures as a share of those in the log
CURVES: dict[str, Curve] = {
    "constant": lambda x: 1.0 + 0.0 * x,
    "exponential": lambda x: np.exp(np.log(0.4) * x),
    "floor": lambda x: 0.35 + 0.65 * np.exp(-x / 0.25),
    "step": lambda x: np.where(x < 0.6, 1.0, 0.3),
}


def levels(rng: np.random.Generator, arms: int, rate: float = 0.1, spread: float = 0.2) -> np.ndarray:
    return rate * np.exp(spread * rng.standard_normal(arms))


def worth(rng: np.random.Generator, curve: Curve, arms: int, exposures: int) -> Callable[[int, np.ndarray], np.ndarray]:
    """Return the value of an arm at its exposures: each has its own level and speed."""
    level, speed = levels(rng, arms), np.exp(0.3 * rng.standard_normal(arms))

    def value(arm: int, before: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(level[arm] * curve(speed[arm] * before / exposures), 1.0))

    return value


def curved(
    rng: np.random.Generator, curve: Curve, arms: int, exposures: int
) -> tuple[pandas.DataFrame, Callable[[int, np.ndarray], np.ndarray]]:
    """Return a log whose arms follow a curve, each at its own level and speed, and the value of an arm."""
    frame = shown(rng, arms=arms, exposures=exposures)
    value = worth(rng, curve, arms, exposures)
    rate = np.empty(len(frame))
    for arm in range(arms):
        own = (frame["arm"] == arm).to_numpy()
        rate[own] = value(arm, frame["before"].to_numpy()[own])
    return finished(frame, clicks(rng, rate)), value


NOTHING_WEARS = (
    constant, hours_14, revenue, late_rewards, late_rewards_staggered, test_clicks, bot_spikes, site_trend,
    site_trend_together, segment_drift, segment_drift_of_two, autocorrelated, weekdays, weekdays_10, hours, adaptive,
    epsilon_greedy,
)  # fmt: skip
PER_USER = (leaving_users, novelty_of_users, tiring_users)
WEARING = (wearing, wearing_with_age, wearing_with_the_calendar, slow_linear, worn_revenue, rare_clicks)
