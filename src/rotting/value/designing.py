"""The cheapest experiment that tells whether arms fall by being shown, or with time: rest some arms, then show all.

Some arms rest for some days while the others are shown equally often, and then all are shown equally often. If showing
wears arms out, those that rested stand better beside the others than before; if time does it, they do not.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from rotting._core.randomness import checked_seed
from rotting._core.validation import finite_number
from rotting.errors import BadValue
from rotting.logs.arrays import Floats
from rotting.logs.read.columns import LogError
from rotting.logs.read.counting import SLICES
from rotting.logs.read.options import ReadOptions, takes_options
from rotting.logs.read.reading import Log, read_log
from rotting.logs.read.sources import LogSource
from rotting.value.separating import (
    EXPOSURE,
    ODDS,
    TIME,
    Counts,
    Fitted,
    Grounds,
    Separation,
    counts_of,
    error_of,
    fitted,
    free_information,
    grounds_of,
    separated,
)

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 21, 24, 28, 35, 42)  # days
SHARES = (0.25, 0.34, 0.5)  # of the arms that rest
LONGEST = 120  # days of a uniform experiment that are looked at
SIMULATIONS, CHUNKS = 100, 8
LEAST_BEFORE = 0.1  # of a log, before an experiment
SUREST_ERROR = 0.25  # of the log's fall: a fall known less well is not one to explain
CAUSES = (EXPOSURE, TIME)


@dataclasses.dataclass(frozen=True)
class Price:
    """Rewards that an experiment gives up, against showing the arm that is best at each moment, by cause."""

    exposure: float
    time: float

    @property
    def mean(self) -> float:
        """That of both causes, each as likely."""
        return (self.exposure + self.time) / 2


@dataclasses.dataclass(frozen=True)
class Design:
    """An experiment: which arms rest for how many days, then how many days all arms are shown equally often."""

    rest: tuple[str, ...]
    arms: tuple[str, ...]
    rest_days: float
    days: float  # in which all are shown
    exposures: float  # in a day
    power: dict[str, float]  # how often the right cause was told, in simulations of each
    price: Price
    rewards: float  # that the experiment earns, the mean of both causes
    uniform_days: int | None  # of showing all arms equally often, with the same power; None: more than is reasonable
    uniform_price: Price | None

    def experiment(self, begin: datetime.datetime) -> dict[str, object]:
        """Return the setting `experiment` of a `Bandit` that runs it from a time on."""
        rested = begin + datetime.timedelta(days=self.rest_days)
        until = rested + datetime.timedelta(days=self.days)
        return {"until": until.isoformat(), "rest": list(self.rest), "rest_until": rested.isoformat()}

    @property
    def whole_days(self) -> float:
        """How long it takes."""
        return self.rest_days + self.days

    def __str__(self) -> str:
        rest, others = ", ".join(self.rest), len(self.arms) - len(self.rest)
        uniform = (
            f"Showing all arms equally often would not tell within {LONGEST} days."
            if self.uniform_days is None or self.uniform_price is None
            else f"Showing all arms equally often would take {self.uniform_days} days and cost "
            f"{self.uniform_price.mean:,.0f} rewards."
        )
        return "\n".join(
            (
                f"Rest {rest} for {self.rest_days:g} days, and show the other {others} arms equally often.",
                f"Then show all {len(self.arms)} arms equally often for {self.days:g} days.",
                f"Power: {self.power[EXPOSURE]:.0%} if exposures make arms fall, {self.power[TIME]:.0%} if time does "
                f"(odds of {ODDS:g} to 1 for a verdict).",
                f"Price: {self.price.mean:,.0f} rewards of {self.rewards + self.price.mean:,.0f} that the best arm "
                f"would earn ({self.price.exposure:,.0f} if exposures make arms fall, {self.price.time:,.0f} if time "
                "does).",
                uniform,
            )
        )


@takes_options
def design(log: LogSource, *, power: float = 0.9, seed: int = 0, **reading: object) -> Design:
    """Return the cheapest experiment that tells whether the arms of a log fall by being shown, or with time.

    Parameters
    ----------
    log
        What `rotting.diagnose` takes: of arms that all fall, for a cause that it cannot tell.
    power
        How often the experiment shall tell the right cause, whichever it is.
    seed
        Of the simulations.
    reading
        Fields of `ReadOptions`.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> found = design(make_log(arms=4, exposures=2000, pace="steady", spread=0.2))
    >>> found.rest_days > 0, min(found.power.values()) >= 0.85
    (True, True)
    """
    finite_number("power", power, above=0.5, below=1.0, owner="design")
    return designed(grounds_of(_read(log, reading)), power, checked_seed(seed))


@takes_options
def outcome(log: LogSource, since: str | datetime.datetime, **reading: object) -> Separation:
    """Return what an experiment tells of the cause of a fall; `log` goes from before it to its end.

    Parameters
    ----------
    log
        What `rotting.diagnose` takes.
    since
        When the experiment began.
    reading
        Fields of `ReadOptions`.
    """
    read = _read(log, reading)
    try:
        moment = datetime.datetime.fromisoformat(since) if isinstance(since, str) else since
    except ValueError:
        raise BadValue(
            "is not a time", owner="outcome", name="since", value=since, expected="such as '2026-01-31'"
        ) from None
    begun = (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    assert read.first_time is not None
    assert read.seconds is not None
    share = (begun - read.first_time) / read.seconds
    if not LEAST_BEFORE <= share < 1.0:
        raise BadValue("is not within the log", owner="outcome", name="since", value=since,
                       expected="a time with a tenth of the log, or more, before it")  # fmt: skip
    grounds, counts = grounds_of(read, share), counts_of(read)
    return separated(grounds, counts, counts.times * SLICES / len(grounds.counts.shown), known_fall(grounds)[EXPOSURE])


def _read(log: LogSource, reading: dict[str, object]) -> Log:
    """Return a log of which it can be asked what makes arms fall."""
    read = read_log(log, ReadOptions(**reading))  # type: ignore[arg-type]
    if read.per_unit or len(read.arms) < 2 or not read.seconds:
        problem = "cannot be asked what makes arms fall: that takes two arms or more, times, and exposures of all users"
        raise LogError(problem, hint="name the column of {time}, and leave {unit} out")
    return read


def known_fall(grounds: Grounds) -> dict[str, Fitted]:
    """Return what fits a log, by cause; refuse one without a fall that is known well."""
    fits = {EXPOSURE: fitted(grounds, along_time=False), TIME: fitted(grounds, along_time=True)}
    for fit in fits.values():
        if not fit.error <= SUREST_ERROR * fit.fall:
            raise LogError(
                f"has no fall that all arms share and that is known well enough to ask for its cause "
                f"(a loss of {-np.expm1(-fit.fall):.0%}, with a standard error of {fit.error:.0%})",
                hint="diagnose() says what the log tells",
            )
    return fits


def designed(grounds: Grounds, power: float, seed: int) -> Design:
    """Return the cheapest experiment for what a log gives."""
    search = Search(grounds, power)
    found = sorted(search.candidates(), key=lambda each: each[0])
    random = np.random.default_rng(seed)
    for _, schedule in itertools.islice(found, 6):
        for length in (each for each in LENGTHS if each >= schedule.days):
            told = dataclasses.replace(schedule, days=length)
            reached = {cause: search.power_of(told, cause, random) for cause in CAUSES}
            if min(reached.values()) >= power:
                return search.described(told, reached)
    raise BadValue(
        f"is not reached by any experiment of {LENGTHS[-1]} days of rest and as many after it",
        owner="design", name="power", value=power, expected="less, or more exposures in a day",
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Which arms rest, for how many days, and how many days all are shown."""

    rest: tuple[int, ...]
    rest_days: int
    days: int


class Search:
    """Experiments after a log, under either cause."""

    def __init__(self, grounds: Grounds, power: float):
        self.grounds = grounds
        self.fits = known_fall(grounds)
        counts = grounds.counts
        self.begun = counts.shown.sum(axis=0)
        self.known = {
            cause: self.learnt(counts, counts.times, fit.means).sum(axis=0) for cause, fit in self.fits.items()
        }
        tail = math.log(ODDS)
        normal = float(ndtri(power))
        self.needed = normal + math.sqrt(normal**2 + 2 * tail)  # standard errors between the causes
        self.order = np.argsort(-self.fits[EXPOSURE].levels, kind="stable").tolist()  # the best first

    def rests(self) -> Iterator[tuple[int, ...]]:
        """Yield sets of arms to rest: the worst, and every other one."""
        arms = len(self.order)
        for share in SHARES:
            number = min(max(round(share * arms), 1), arms - 1)
            yield tuple(sorted(self.order[-number:]))
            yield tuple(sorted(self.order[:: max(arms // number, 1)][:number]))

    def candidates(self) -> Iterator[tuple[float, Schedule]]:
        """Yield experiments with power enough, by the normal approximation, with their prices."""
        for rest, rest_days in itertools.product(dict.fromkeys(self.rests()), LENGTHS):
            longest = self.plan(Schedule(rest, rest_days, LENGTHS[-1]))
            ends = np.array(LENGTHS) + rest_days
            enough = np.all([self.separation(longest, cause)[ends - 1] >= self.needed for cause in CAUSES], axis=0)
            if enough.any():
                schedule = Schedule(rest, rest_days, LENGTHS[int(enough.argmax())])
                yield self.price(self.plan(schedule)).mean, schedule

    def plan(self, schedule: Schedule) -> Floats:
        """Return exposures by day and arm."""
        arms = len(self.order)
        resting = np.ones(arms)
        resting[list(schedule.rest)] = 0.0
        rows = [resting / resting.sum()] * schedule.rest_days + [np.full(arms, 1.0 / arms)] * schedule.days
        return self.grounds.daily * np.array(rows)

    def counts(self, plan: Floats) -> Counts:
        """Return the counts of a plan, without rewards."""
        return Counts(self.begun + np.cumsum(plan, axis=0) - plan / 2, plan, np.zeros_like(plan))

    def means(self, counts: Counts, cause: str, fit: Fitted | None = None) -> Floats:
        """Return what arms are worth in a plan, under a cause."""
        fit = self.fits[cause] if fit is None else fit
        along = counts.before / self.grounds.unit if cause == EXPOSURE else self.times(counts)[:, None]
        return self.grounds.bounded(np.exp(fit.levels - fit.falls * along))

    def times(self, counts: Counts) -> Floats:
        """Return when the days of a plan are; the log ends at 1."""
        return np.asarray(1.0 + (np.arange(len(counts.shown)) + 0.5) / self.grounds.days, np.float64)

    def learnt(self, counts: Counts, times: Floats, means: Floats) -> Floats:
        """Return what each slice of counts will tell."""
        weight, trend = self.grounds.information(means, counts.shown), np.tile(times[:, None], means.shape[1])
        return free_information(weight, -trend, -counts.before / self.grounds.unit)

    def separation(self, plan: Floats, cause: str) -> Floats:
        """Return how many standard errors lie between the two causes after each day of an experiment."""
        counts, whole = self.counts(plan), self.fits[EXPOSURE]
        learnt = np.cumsum(self.learnt(counts, self.times(counts), self.means(counts, cause)), axis=0)
        error = error_of(self.known[cause] + learnt, whole.speeds)
        return whole.fall / np.hypot(error, whole.error if cause == TIME else 0.0)

    def power_of(self, schedule: Schedule, cause: str, random: np.random.Generator) -> float:
        """Return how often the experiment tells the cause, in simulations of it."""
        counts, fit, right = self.counts(self.plan(schedule)), self.fits[cause], 0
        times = np.concatenate([self.grounds.counts.times, self.times(counts)])
        for number in range(SIMULATIONS):
            levels, falls = fit.draws[number % len(fit.draws)]
            drawn = dataclasses.replace(fit, levels=levels, falls=falls)
            means = self.means(counts, cause, drawn)
            spread = np.sqrt(self.grounds.excess * counts.shown * self.grounds.variance(means))
            earned = random.normal(counts.shown * means, spread)
            both = self.grounds.counts.with_more(dataclasses.replace(counts, earned=earned))
            right += separated(self.grounds, both, times, self.fits[EXPOSURE]).verdict == cause
        return right / SIMULATIONS

    def price(self, plan: Floats, draws: bool = False) -> Price:
        """Return what a plan gives up: by the likeliest values, or on average over draws of them."""
        given_up = []
        for cause in CAUSES:
            fit = self.fits[cause]
            values = fit.draws if draws else np.stack([fit.levels, fit.falls])[None]
            given_up.append(self.best(len(plan), cause, values) - self.earned(plan, cause, values))
        return Price(*given_up)

    def earned(self, plan: Floats, cause: str, draws: Floats) -> float:
        """Return what a plan earns, under a cause; the mean over draws of levels and falls."""
        counts = self.counts(plan)
        fits = (dataclasses.replace(self.fits[cause], levels=levels, falls=falls) for levels, falls in draws)
        return float(np.mean([(counts.shown * self.means(counts, cause, fit)).sum() for fit in fits]))

    def best(self, days: int, cause: str, draws: Floats) -> float:
        """Return what the arm that is best at each moment earns; the mean over draws."""
        levels, falls, every = draws[:, 0], draws[:, 1], np.arange(len(draws))
        shown, total, chunk = np.tile(self.begun, (len(draws), 1)), 0.0, self.grounds.daily / CHUNKS
        for step in range(days * CHUNKS):
            time = 1.0 + (step + 0.5) / CHUNKS / self.grounds.days
            along = (shown + chunk / 2) / self.grounds.unit if cause == EXPOSURE else time
            worth = self.grounds.bounded(np.exp(levels - falls * along))
            arms = worth.argmax(axis=1)
            total += chunk * float(worth[every, arms].mean())
            shown[every, arms] += chunk
        return total

    def uniform(self) -> tuple[int, Price] | tuple[None, None]:
        """Return how long all arms must be shown equally often for the same power, and the price."""
        longest = self.plan(Schedule((), 0, LONGEST))
        enough = np.all([self.separation(longest, cause) >= self.needed for cause in CAUSES], axis=0)
        days = int(enough.argmax()) + 1
        return (days, self.price(longest[:days], draws=True)) if enough.any() else (None, None)

    def described(self, schedule: Schedule, power: dict[str, float]) -> Design:
        """Return the design in words and numbers."""
        plan, names, uniform = self.plan(schedule), self.grounds.names, self.uniform()
        earned = sum(self.earned(plan, cause, self.fits[cause].draws) for cause in CAUSES) / 2
        rest = tuple(names[arm] for arm in schedule.rest)
        return Design(
            rest,
            names,
            schedule.rest_days,
            schedule.days,
            self.grounds.daily,
            power,
            self.price(plan, draws=True),
            earned,
            *uniform,
        )
