"""From a log to counts: DuckDB passes over the rows, and only sums per arm and bin of exposures come to Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from rotting.logs.read.checking import Irregular, check_rows
from rotting.logs.read.clocks import FIRST_DATE
from rotting.logs.read.columns import Columns, choose_columns
from rotting.logs.read.counting import Counted, count_arms, is_binary
from rotting.logs.read.covariates import Covariate, dimensions, find_covariates, look_beside, weighed
from rotting.logs.read.numbers import numbers_of
from rotting.logs.read.options import AS_FOUND, LogError, ReadOptions, takes_options
from rotting.logs.read.overlaps import settle_overlaps
from rotting.logs.read.reshaping import SHOWN, count_events, reshaped
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE, LogSource, open_source
from rotting.logs.read.staging import reward_wait, stage
from rotting.logs.read.tables import Source
from rotting.logs.worth.periods import Comparison, compare_periods

# Rewards that lie this many times their range away from 0 are counted from the smallest: digits would be lost.
FAR_FROM_ZERO = 100

Step = Callable[[str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Log(Counted, Irregular):
    """A log as counts and sums, and what was irregular about it."""

    name: str
    columns: Columns
    binary: bool
    offset: float  # subtracted from every reward, and added back to what is shown
    rows_left_out: int
    notes: tuple[str, ...] = ()  # what must be said about how it was read
    currency: str = ""  # of the rewards, where they are written with one
    periods: Comparison | None = None
    reward_wait: float | None = None  # after how long nearly all rewards have arrived, if the log has their times
    covariates: tuple[Covariate, ...] = ()  # what else may change what an arm earns

    @property
    def per_unit(self) -> bool:
        """Whether exposures were counted per unit."""
        return self.columns.unit is not None

    @property
    def exposures(self) -> int:
        """The number of exposures that were analysed; of rows, unless they stand for many exposures each."""
        return sum(arm.exposures for arm in self.arms)


@dataclasses.dataclass(frozen=True)
class Staged:
    """The rows of a log in one form, whatever it came in: arm, unit, reward, time, impressions, and columns beside."""

    rows: Source
    columns: Columns
    covariates: tuple[Covariate, ...]
    irregular: Irregular
    currency: str


def read(source: Source, options: ReadOptions, step: Step) -> Staged:
    """Return the rows of a log in one form, without those that cannot be used."""
    step("reading rows")
    source, known = reshaped(source, options)
    counts_events = known.get("impressions") == SHOWN
    source, columns = choose_columns(source, options, known)
    source = look_beside(source, columns)
    numbered = {"reward": columns.reward} | ({"impressions": columns.impressions} if columns.impressions else {})
    numbers = numbers_of(source, numbered, options.decimal)
    fields = {} if counts_events else find_covariates(source, columns, options.probability, numbers)
    beside = {each.place: field for each, field in fields.items()}
    rows = stage(source, columns, numbers, beside, dimensions(source, columns), options)
    rows = settle_overlaps(rows, columns.aggregated and not counts_events, options.drop_duplicates)
    if counts_events:
        rows = count_events(rows)
    step("looking for irregular rows")
    segments = {each.place: each.name for each in fields if each.role in ("segment", "campaign")}
    rows, irregular = check_rows(rows, columns, options, segments)
    return Staged(rows, columns, tuple(fields), irregular, numbers.currency)


def read_log(log: LogSource, options: ReadOptions = AS_FOUND, step: Step = lambda stage: None) -> Log:
    """Read and count a log.

    Rows without an arm, reward or time (empty, NULL or NaN) are dropped and counted. The texts NaN, NA, NULL and None
    are missing rewards and times, too, but names of arms and units. A reward or a time that cannot be read is an error
    which names the row and the value. Rows are put in the order of time, ties in that of the log. Rows that agree in
    every column are counted, and kept unless `drop_duplicates`: two exposures in one second look the same.

    Parameters
    ----------
    log
        A file, a table in one (`file.db::table`), a folder, or a frame (pandas, or what turns into one: Polars, Arrow).
    options
        Columns, and how values are to be read; by default that is found out.
    step
        Called with a description of each stage as it begins.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> log = read_log(make_log(arms=2, exposures=300))
    >>> log.columns.arm, log.rows, [arm.exposures for arm in log.arms], log.binary
    ('creative', 600, [300, 300], True)
    """
    with open_source(log, options.encoding) as source:
        staged = read(source, options, step)
        step("counting exposures")
        columns, rows, irregular = staged.columns, staged.rows, staged.irregular
        covariates = weighed(rows, staged.covariates, columns.aggregated)
        binary = is_binary(rows)
        offset = 0.0 if columns.aggregated else _offset(rows)
        counted, kept = count_arms(rows, columns, offset, covariates, binary)
        return Log(
            **vars(irregular),
            name=rows.name,
            columns=columns,
            binary=binary,
            offset=offset,
            **vars(counted),
            rows_left_out=irregular.rows - sum(irregular.dropped.values()) - kept.count(),
            notes=rows.notes,
            currency=staged.currency,
            periods=compare_periods(kept, columns, options.before, options.after),
            reward_wait=reward_wait(rows, options.reward_time),
            covariates=tuple(covariates),
        )


@takes_options
def read_rows(log: LogSource, **reading: Any) -> list[dict[str, str | float]]:
    """Return the rows of any readable log in order of time, for `Bandit.open(..., warm_start=rows)`.

    Each has an arm and a reward; a time, in seconds since 1970, if the log has dates; and the probability of the arm
    when it was chosen, if the log has a column for that. `reading` are fields of `ReadOptions`.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> rows = read_rows(make_log(arms=2, exposures=300))
    >>> len(rows), sorted(rows[0])
    (600, ['arm', 'reward', 'time'])
    """
    options = dataclasses.replace(ReadOptions(**reading), drop_duplicates=False)
    with open_source(log, options.encoding) as source:
        staged = read(source, options, lambda stage: None)
        rows = staged.rows
        if staged.columns.aggregated:
            problem = "each row stands for many exposures, whose own rewards are not known"
            raise LogError(problem, owner=source.name, expected=ONE_ROW_PER_EXPOSURE)
        fields = {"arm": "arm", "reward": "reward"}
        if staged.columns.time and not rows.count(f"time < {FIRST_DATE}"):
            fields["time"] = "time"
        fields.update(("probability", each.place) for each in staged.covariates if each.role == "propensity")
        return [
            {name: value for name, value in zip(fields, row, strict=True) if value is not None}
            for row in rows.find(f"SELECT {', '.join(fields.values())} FROM log ORDER BY time, place")
        ]


def _offset(rows: Source) -> float:
    """Return what rewards are counted from: 0, or the smallest of them if all are far away from 0."""
    [[low, high]] = rows.find("SELECT min(reward), max(reward) FROM log")
    return float(low) if 0 < FAR_FROM_ZERO * (high - low) < min(abs(low), abs(high)) else 0.0
