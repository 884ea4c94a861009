"""Logs in which no arm wears out with its exposures, though something else may make it look so: reviewers' generators.

Each takes a random generator and returns a frame as a company would have it. `kind` in log_settings.py says whether
the log can tell: "can" where a careful reader of this log alone sees that nothing wears out (a call is a false alarm),
"cannot" where another cause moves the rewards of each arm just as its exposures would (a call must name that cause).
Unless said: 28 days, arms launched one after the other in the first 60 % of them, rates near 10 %.
"""

from __future__ import annotations

import numpy as np
import pandas
from log_generators import FIRST_DAY, clicks, finished, shown

# The columns of an export: each row is a day of an arm.
DAILY = ["day", "ad", "impressions", "clicks"]


def budget(rng: np.random.Generator, arms: int = 6, days: int = 40) -> pandas.DataFrame:
    """Daily export. Each ad's budget grows fivefold over its life, and the people it then reaches are colder.

    No column tells the audience. Each arm's rate does fall with its exposures, by a third to a half: the cause is the
    reach, and the log cannot tell that from wear.
    """
    pieces = []
    for arm in range(arms):
        start = int(rng.integers(0, 15))
        day = np.arange(start, min(days, start + int(rng.integers(20, 26))))
        spent = np.linspace(1, 5, len(day)) * np.exp(0.15 * rng.standard_normal(len(day)))
        impressions = rng.poisson(200 * spent) + 1
        rate = 0.08 * np.exp(0.2 * rng.standard_normal()) * spent**-0.35
        pieces.append(daily(arm, day, impressions, rng.binomial(impressions, np.minimum(rate, 1))))
    return pandas.concat(pieces).sort_values("day", kind="stable")


def position(rng: np.random.Generator, column: bool = False) -> pandas.DataFrame:
    """Older items slide down the page; the place decides what is clicked: 16 % at the top, 5 % at the eighth."""
    frame = shown(rng)
    place = 1 + np.minimum(7, np.floor(12 * np.maximum(frame["age"].to_numpy() + 0.1 * rng.random(len(frame)), 0)))
    frame["position"] = place.astype(int)
    rate = 0.16 * place**-0.55
    return finished(frame, clicks(rng, rate), ("position",) if column else ())


def position_in_a_column(rng: np.random.Generator) -> pandas.DataFrame:
    """The same with the place in a column: within each place no arm falls."""
    return position(rng, column=True)


def slate(rng: np.random.Generator, column: bool = False) -> pandas.DataFrame:
    """Old items are shown in longer slates, of which one item is clicked at most: rates are 0.4 by the slate's size."""
    frame = shown(rng)
    size = 2 + rng.poisson(1 + 8 * np.maximum(frame["age"].to_numpy(), 0))
    frame["slate_size"] = size
    return finished(frame, clicks(rng, 0.4 / size), ("slate_size",) if column else ())


def slate_in_a_column(rng: np.random.Generator) -> pandas.DataFrame:
    """The same with the size of the slate in a column: rates times sizes are constant."""
    return slate(rng, column=True)


def replaced(rng: np.random.Generator) -> pandas.DataFrame:
    """Each creative is replaced under its name at one date: its level jumps to another one, drawn like the first.

    Levels differ by half up or down. Each arm is flat before its jump and after it; as many jump up as down.
    """
    frame = shown(rng)
    levels = 0.1 * np.exp(0.5 * rng.standard_normal((2, 5)))
    at = rng.uniform(0.65, 0.9, 5)
    later = frame["share"].to_numpy() > at[frame["arm"]]
    return finished(frame, clicks(rng, levels[later.astype(int), frame["arm"].to_numpy()]))


def overdispersed(rng: np.random.Generator, arms: int = 12, days: int = 45) -> pandas.DataFrame:
    """Daily export whose days differ by far more than chance: beta-binomial, each ad's day by itself."""
    pieces = []
    for arm in range(arms):
        start = int(rng.integers(0, 20))
        day = np.arange(start, min(days, start + int(rng.integers(12, 26))))
        impressions = rng.poisson(400 * np.exp(0.6 * rng.standard_normal(len(day)))) + 1
        level, precision = 0.03 * np.exp(0.3 * rng.standard_normal()), 40.0
        rate = rng.beta(level * precision, (1 - level) * precision, len(day))
        pieces.append(daily(arm, day, impressions, rng.binomial(impressions, rate)))
    return pandas.concat(pieces).sort_values("day", kind="stable")


def thin_archive(rng: np.random.Generator, arms: int = 1000, weeks: int = 60) -> pandas.DataFrame:
    """An archive of tests: most arms are shown on one day, one in ten on two or three; levels differ, none falls.

    Days differ by more than chance. An arm of one day has no second one to compare with.
    """
    shown_on = np.where(rng.random(arms) < 0.9, 1, rng.integers(2, 4, arms))
    arm = np.repeat(np.arange(arms), shown_on)
    number = np.arange(len(arm)) - np.repeat(np.cumsum(shown_on) - shown_on, shown_on)
    day = np.sort(rng.integers(0, weeks * 7, arms))[arm] + number
    impressions = rng.poisson(1500 * np.exp(0.4 * rng.standard_normal(len(arm)))) + 40
    rate = (0.015 * np.exp(0.5 * rng.standard_normal(arms)))[arm] * np.exp(0.15 * rng.standard_normal(len(arm)))
    dates = FIRST_DAY + pandas.to_timedelta(day, unit="D")
    columns = (dates, [f"test {each}" for each in arm], impressions, rng.binomial(impressions, np.minimum(rate, 1)))
    return pandas.DataFrame(dict(zip(DAILY, columns, strict=True))).sort_values("day", kind="stable")


def thin_archive_5000(rng: np.random.Generator) -> pandas.DataFrame:
    """The same with 5000 arms."""
    return thin_archive(rng, 5000, 150)


def better_newcomers(rng: np.random.Generator) -> pandas.DataFrame:
    """The site falls to a half, and each newer arm is better by just as much: all start at one rate, and fall.

    Only launches could tell exposures from the calendar here, and they are not alike: the log cannot tell.
    """
    frame = shown(rng)
    start = np.asarray(frame["share"] - frame["age"])
    site = 1 - 0.5 * frame["share"].to_numpy()
    level = 0.1 * np.exp(0.1 * rng.standard_normal(5))[frame["arm"]]
    return finished(frame, clicks(rng, level * site / (1 - 0.5 * start)))


def visits(rng: np.random.Generator, users: int, start: np.ndarray, counts: np.ndarray) -> pandas.DataFrame:
    """Return who saw which of five arms when: each user from a day on, on several days; arms are drawn at random."""
    user = np.repeat(np.arange(users), counts)
    begin = start[user]
    time = begin + (1 - begin) * rng.random(len(user))
    frame = pandas.DataFrame({"share": time, "user_id": user}).sort_values("share", kind="stable", ignore_index=True)
    frame["arm"] = rng.integers(0, 5, len(frame))
    frame["timestamp"] = FIRST_DAY + pandas.to_timedelta(frame["share"] * 28, unit="D")
    frame["visit"] = frame.groupby("user_id").cumcount()
    return frame


def user_novelty(rng: np.random.Generator) -> pandas.DataFrame:
    """With users. Each is keen on the first three items that he sees, whichever they are, and then as ever."""
    frame = visits(rng, 1500, 0.6 * rng.random(1500), 3 + rng.poisson(5, 1500))
    rate = np.where(frame["visit"] < 3, 0.22, 0.08) * np.exp(0.15 * rng.standard_normal(5))[frame["arm"]]
    return finished(frame, clicks(rng, rate), ("user_id",))


def closed_cohort(rng: np.random.Generator) -> pandas.DataFrame:
    """With users. All come in the first days, none later; each user's taste fades with the days, shown or not."""
    frame = visits(rng, 1200, 0.1 * rng.random(1200), 3 + rng.poisson(6, 1200))
    taste = np.exp(0.4 * rng.standard_normal(1200))[frame["user_id"]]
    return finished(frame, clicks(rng, np.minimum(0.14 * taste * np.exp(-1.2 * frame["share"]), 1)), ("user_id",))


def churn(rng: np.random.Generator) -> pandas.DataFrame:
    """With users. Tastes differ tenfold and never change; a click is a purchase, after which most users leave."""
    frame = visits(rng, 2500, 0.6 * rng.random(2500), 4 + rng.poisson(6, 2500))
    taste = rng.beta(0.8, 6, 2500)[frame["user_id"]]
    reward = clicks(rng, taste)
    leaves = reward * (rng.random(len(frame)) < 0.7)
    before = pandas.Series(leaves).groupby(frame["user_id"]).cumsum() - leaves
    stays = (before == 0).to_numpy()
    return finished(frame[stays], reward[stays], ("user_id",))


def rare_equal(rng: np.random.Generator, arms: int = 34, rows: int = 10_000) -> pandas.DataFrame:
    """Equal arms at 0.46 %, shown for a week in shares that differ tenfold: some 46 clicks."""
    arm = rng.choice(arms, rows, p=rng.dirichlet(np.full(arms, 1.5)))
    frame = pandas.DataFrame({"arm": arm, "share": np.sort(rng.random(rows))})
    frame["timestamp"] = FIRST_DAY + pandas.to_timedelta(frame["share"] * 7, unit="D")
    return finished(frame, clicks(rng, np.full(rows, 0.0046)))


def pareto_revenue(rng: np.random.Generator) -> pandas.DataFrame:
    """Sales to 3 % of the visitors, with amounts so heavy in the tail (index 1.5) that they have no variance."""
    frame = shown(rng)
    amount = np.round(10 * (1 + rng.pareto(1.5, len(frame))), 2)
    return finished(frame, amount * clicks(rng, np.full(len(frame), 0.03)))


def wandering(rng: np.random.Generator, arms: int = 8, days: int = 50, spread: float = 0.3) -> pandas.DataFrame:
    """Daily export. Each arm's rate wanders by itself, and comes back to its mean: lag one correlation 0.85."""
    pieces = []
    for arm in range(arms):
        start = int(rng.integers(0, 15))
        day = np.arange(start, days)
        state, path = rng.standard_normal(), np.empty(len(day))
        for place in range(len(day)):
            path[place] = state
            state = 0.85 * state + np.sqrt(1 - 0.85**2) * rng.standard_normal()
        impressions = rng.poisson(250, len(day)) + 1
        rate = 0.05 * np.exp(0.2 * rng.standard_normal() + spread * path)
        pieces.append(daily(arm, day, impressions, rng.binomial(impressions, np.minimum(rate, 1))))
    return pandas.concat(pieces).sort_values("day", kind="stable")


def bots(rng: np.random.Generator) -> pandas.DataFrame:
    """Crawlers visit each arm four times at random: for six hours half of its exposures are theirs, all clicked."""
    frame = shown(rng)
    theirs = np.zeros(len(frame), bool)
    for arm in range(5):
        own = frame.loc[frame["arm"] == arm, "share"].to_numpy()
        for begin in rng.uniform(own.min(), own.max(), 4):
            theirs |= ((frame["arm"] == arm) & frame["share"].between(begin, begin + 0.25 / 28)).to_numpy()
    theirs &= rng.random(len(frame)) < 0.5
    return finished(frame, clicks(rng, np.where(theirs, 1.0, 0.1)))


def generations(rng: np.random.Generator) -> pandas.DataFrame:
    """Four ads at 5 % ended on day 30; four at 1 % still run on day 60. Constant all: what ended is not on offer."""
    pieces = []
    for arm in range(8):
        day = np.arange(30) if arm < 4 else np.arange(30, 60)
        impressions = rng.poisson(150, len(day)) + 1
        pieces.append(daily(arm, day, impressions, rng.binomial(impressions, 0.05 if arm < 4 else 0.01)))
    return pandas.concat(pieces).sort_values("day", kind="stable")


def novelty_then_plateau(rng: np.random.Generator) -> pandas.DataFrame:
    """Each arm's first 150 exposures earn 25 %, all others 9 %: a bump of novelty, then a plateau without end.

    Arms do fall, once; what is asked of it is not whether one is called, but what a fresh arm is said to be worth.
    """
    frame = shown(rng)
    return finished(frame, clicks(rng, np.where(frame["before"] < 150, 0.25, 0.09)))


def mixed_audience(rng: np.random.Generator) -> pandas.DataFrame:
    """The audience drifts from desktop to mobile, for some arms sooner; the device stands in a column."""
    frame = shown(rng)
    when = rng.uniform(0.2, 0.8, 5)[frame["arm"]]
    mobile = rng.random(len(frame)) < np.where(frame["share"] > when, 0.85, 0.15)
    frame["device"] = np.where(mobile, "mobile", "desktop")
    return finished(frame, clicks(rng, np.where(mobile, 0.06, 0.14)), ("device",))


def daily(arm: int, day: np.ndarray, impressions: np.ndarray, earned: np.ndarray) -> pandas.DataFrame:
    """Return the rows of one arm in an export by day."""
    dates = FIRST_DAY + pandas.to_timedelta(day, unit="D")
    return pandas.DataFrame(dict(zip(DAILY, (dates, f"ad {arm}", impressions, earned), strict=True)))
