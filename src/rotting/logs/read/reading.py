"""From a log to counts: DuckDB passes over the rows, and only sums per arm and bin of exposures come to Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from rotting.logs.read.beside import dimensions, look_beside
from rotting.logs.read.checking import Checked, check_rows
from rotting.logs.read.clocks import FIRST_DATE
from rotting.logs.read.columns import Columns, choose_columns
from rotting.logs.read.counting import Arm, Counted, count_arms, is_binary
from rotting.logs.read.covariates import Covariate, fields_of, find_covariates, weighed
from rotting.logs.read.numbers import numbers_of
from rotting.logs.read.options import AS_FOUND, LogError, ReadOptions, takes_options
from rotting.logs.read.overlaps import settle_overlaps
from rotting.logs.read.reshaping import count_events, reshaped
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE, LogSource, Source, open_source
from rotting.logs.read.staging import reward_wait, stage
from rotting.logs.read.tables import Table
from rotting.logs.worth.periods import Comparison, compare_periods

# Rewards that lie this many times their range away from 0 are counted from the smallest: digits would be lost.
FAR_FROM_ZERO = 100

Step = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Log:
    """A log as counts and sums, and what was irregular about it."""

    name: str
    columns: Columns
    rows: int
    dropped: dict[str, int]
    duplicates: int
    duplicates_dropped: bool
    backwards: int
    binary: bool
    offset: float  # subtracted from every reward, and added back to what is shown
    counted: Counted
    rows_left_out: int
    notes: tuple[str, ...] = ()  # what must be said about how it was read
    currency: str = ""  # of the rewards, where they are written with one
    periods: Comparison | None = None
    reward_wait: float | None = None  # after how long nearly all rewards have arrived, if the log has their times
    covariates: tuple[Covariate, ...] = ()  # what else may change what an arm earns

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that were shown often enough."""
        return self.counted.arms

    @property
    def arms_left_out(self) -> int:
        """The number of the others."""
        return self.counted.arms_left_out

    @property
    def per_unit(self) -> bool:
        """Whether exposures were counted per unit."""
        return self.columns.unit is not None

    @property
    def copies_kept(self) -> bool:
        """Whether some of the rows may be copies of others."""
        return self.duplicates > 0 and not self.duplicates_dropped

    @property
    def exposures(self) -> int:
        """The number of exposures that were analysed; of rows, unless they stand for many exposures each."""
        return sum(arm.exposures for arm in self.arms)


@dataclasses.dataclass(frozen=True)
class Staged:
    """The rows of a log in one form, whatever it came in: arm, unit, reward, time, impressions, and columns beside."""

    table: Table
    name: str
    columns: Columns
    covariates: tuple[Covariate, ...]  # of which number i is the column beside_i
    checked: Checked
    currency: str
    notes: tuple[str, ...]


def read(source: Source, options: ReadOptions, step: Step) -> Staged:
    """Return the rows of a log in one form, without those that cannot be used."""
    step("reading rows")
    found = reshaped(source, options)
    source, columns, said = choose_columns(found.source, options, found.roles)
    said += look_beside(source, columns)
    numbered = {"reward": columns.reward} | ({"impressions": columns.impressions} if columns.impressions else {})
    numbers = numbers_of(source, numbered, options.decimal)
    covariates = [] if found.counts_events else find_covariates(source, columns, options.probability)
    fields = fields_of(source, covariates, numbers)
    beside = {f"beside_{number}": field for number, field in enumerate(fields.values())}
    rows, notes = stage(source, columns, numbers, beside, dimensions(source, columns), options)
    sums = columns.aggregated and not found.counts_events
    rows, told = settle_overlaps(rows, source.files, sums, options.drop_duplicates)
    if found.counts_events:
        rows = count_events(rows, columns)
    step("looking for irregular rows")
    segments = {f"beside_{i}": each.name for i, each in enumerate(fields) if each.role in ("segment", "campaign")}
    checked = check_rows(rows, columns, options, segments)
    notes = [*source.notes, *notes, *said, *told, *checked.notes]
    return Staged(checked.table, source.name, columns, tuple(fields), checked, numbers.currency, tuple(notes))


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
        columns, rows, checked = staged.columns, staged.table, staged.checked
        covariates = weighed(rows, staged.covariates, columns.aggregated)
        binary = is_binary(rows)
        offset = 0.0 if columns.aggregated else _offset(rows)
        counted, kept = count_arms(rows, columns, offset, covariates, binary)
        return Log(
            name=staged.name,
            columns=columns,
            rows=checked.rows,
            dropped=checked.dropped,
            duplicates=checked.duplicates,
            duplicates_dropped=options.drop_duplicates and checked.duplicates > 0,
            backwards=checked.backwards,
            binary=binary,
            offset=offset,
            counted=counted,
            rows_left_out=checked.rows - sum(checked.dropped.values()) - kept.count(),
            notes=staged.notes,
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
        rows = staged.table
        if staged.columns.aggregated:
            problem = "each row stands for many exposures, whose own rewards are not known"
            raise LogError(problem, owner=source.name, expected=ONE_ROW_PER_EXPOSURE)
        names = ["arm", "reward"]
        if staged.columns.time and not rows.count(f"time < {FIRST_DATE}"):
            names.append("time")
        for number, each in enumerate(staged.covariates):
            if each.role == "propensity":
                names.append(f"beside_{number} AS probability")
        keys = [name.rpartition(" ")[2] for name in names]
        return [
            {name: value for name, value in zip(keys, row, strict=True) if value is not None}
            for row in rows.find(f"SELECT {', '.join(names)} FROM log ORDER BY time, place")
        ]


def _offset(rows: Table) -> float:
    """Return what rewards are counted from: 0, or the smallest of them if all are far away from 0."""
    [[low, high]] = rows.find("SELECT min(reward), max(reward) FROM log")
    return float(low) if 0 < FAR_FROM_ZERO * (high - low) < min(abs(low), abs(high)) else 0.0
