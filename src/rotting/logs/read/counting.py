"""The rows of a log as counts and sums: the internal form of everything after reading.

Only sums come to Python. In exports with one row per arm and day or hour each row is many exposures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rotting._core.noise import variance_from_differences
from rotting.logs.model.users import WithinUsers, within_users
from rotting.logs.read.columns import Columns
from rotting.logs.read.covariates import Covariate, strata_of
from rotting.logs.read.rules import Rule, abiding
from rotting.logs.read.tables import Source

SLICES = 64  # into which the time of the log is cut
# Exposures of an arm are summed in at most this many bins (fewer where there are many arms).
MOST_BINS = 2048
MOST_CELLS = 1_000_000
# Arms with fewer exposures say too little; more arms than this are beyond what is computed at once.
LEAST_EXPOSURES, MOST_ARMS = 30, 5000
# Numbers above this many times the mean of the positive ones are cut to it before arms are tested: one sale must not
# decide. Only where single rewards carry much of the whole spread.
CAP, HEAVY_SHARE = 1.5, 0.5
LARGEST = 1e300
_THIN = Rule(
    "SELECT arm AS name, sum(impressions)::BIGINT AS shown FROM log GROUP BY arm ORDER BY 2 DESC LIMIT 1",
    f"no arm has {LEAST_EXPOSURES} exposures (the most shown, {{name}}, has {{shown}})",
    "arm column {arm!r}",
    hint="give more rows, or another column with {arm}",
)


@dataclasses.dataclass(frozen=True)
class Cells:
    """Exposures of one arm, summed over bins of exposure numbers and slices of time, in order of exposures."""

    exposure: np.ndarray  # mean exposure number, from 0
    time: np.ndarray  # mean time, from 0 (the log's beginning) to 1 (its end)
    count: np.ndarray
    total: np.ndarray  # of rewards, less the log's offset
    squares: np.ndarray
    capped: np.ndarray  # the total of rewards cut to the cap
    segment: np.ndarray  # int64: a number per segment

    @property
    def mean(self) -> np.ndarray:
        """The mean reward of each cell."""
        return self.total / self.count

    def where(self, chosen: np.ndarray) -> Cells:
        """Return some of the cells."""
        return Cells(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))


@dataclasses.dataclass(frozen=True)
class Arm:
    """What the log holds about one arm."""

    name: str
    exposures: int
    cells: Cells
    noise_variance: float  # from successive differences
    spend: float | None = None  # as far as the log has such columns: the sum
    reach: float | None = None  # the largest of any row: people of several days may be the same
    frequency: float | None = None  # the mean over exposures


@dataclasses.dataclass(frozen=True)
class Counted:
    """All arms as counts and sums."""

    arms: tuple[Arm, ...]  # those that were shown often enough
    arms_left_out: int  # how many others there are
    first_time: float | None  # seconds since 1970, or whatever numbers the time column holds
    last_time: float | None
    cap: float | None = None  # what rewards are cut to before arms are tested; None where they are not
    capped_rows: int = 0
    strata: tuple[str, ...] = ()  # the columns that cells are told apart by: those that matter
    segments: tuple[str, ...] = ()  # the names of strata, by number
    users: WithinUsers | None = None  # users compared with themselves, where exposures are counted per unit

    @property
    def seconds(self) -> float | None:
        """How long the log is, in the unit of its time column."""
        return None if self.first_time is None or self.last_time is None else self.last_time - self.first_time


def is_binary(rows: Source) -> bool:
    """Say whether every exposure earned 0 or 1, as far as the rows tell."""
    return not rows.count("NOT (reward = floor(reward) AND reward BETWEEN 0 AND impressions)")


def count_arms(
    rows: Source, columns: Columns, offset: float, covariates: Sequence[Covariate], binary: bool
) -> tuple[Counted, Source]:
    """Return the arms that were shown often enough, as sums, the most shown first; and the rows of these arms.

    The covariates that matter most, if any does, are strata, which are kept apart in the sums.
    """
    shown = rows.select(
        "SELECT arm, sum(impressions)::BIGINT AS exposures FROM log GROUP BY arm "
        f"HAVING exposures >= {LEAST_EXPOSURES} ORDER BY exposures DESC, arm LIMIT {MOST_ARMS}"
    ).stored("id")
    names = shown.find("SELECT arm, exposures FROM log ORDER BY id")
    [[first, last, arms]] = rows.find("SELECT min(time), max(time), count(DISTINCT arm) FROM log")
    if not names:
        abiding(rows, [_THIN], vars(columns))
    # How single exposures spread is not known from sums of numbers, so neither segments nor large ones are looked for.
    known = binary or not columns.aggregated
    rows, strata, segments = strata_of(rows, covariates if known else ())
    cap, capped_rows = (None, 0) if columns.aggregated else _cap(rows)
    rows = rows.select(f"SELECT log.*, id FROM log JOIN ({shown.query}) AS shown USING (arm)")
    sums = _sums(rows, columns, binary, offset, cap, len(names))
    amounts = _amounts(rows, covariates, len(names))
    limits = np.searchsorted(sums["id"], np.arange(len(names) + 1))
    found = []
    for index, (name, exposures) in enumerate(names):
        own = {column: values[limits[index] : limits[index + 1]] for column, values in sums.items()}
        variance = variance_from_differences(float(own["squared_differences"].sum()), float(own["differences"].sum()))
        cells = Cells(**{field.name: own[field.name] for field in dataclasses.fields(Cells)})
        found.append(Arm(name, int(exposures), cells, variance, **amounts[index]))
    users = None if columns.unit is None else within_users(rows, len(found))
    return Counted(tuple(found), int(arms) - len(found), first, last, cap, capped_rows, strata, segments, users), rows


def _cap(rows: Source) -> tuple[float | None, int]:
    """Return what rewards are cut to, and how many are, if a few large ones carry much of the whole spread."""
    [[mean, least]] = rows.find("SELECT avg(reward) FILTER (reward > 0), min(reward) FROM log")
    if mean is None or least < 0:
        return None, 0
    cap = CAP * float(mean)
    [[share, number]] = rows.find(
        "SELECT sum(reward * reward) FILTER (reward > $1) / sum(reward * reward), count(*) FILTER (reward > $1) "
        "FROM log",
        cap,
    )
    return (cap, int(number)) if (share or 0.0) > HEAVY_SHARE else (None, 0)


def _amounts(rows: Source, covariates: Sequence[Covariate], arms: int) -> list[dict[str, float]]:
    """Return what was spent on each arm, whom it reached and how often, as far as there are columns for that."""
    fields = {"spend": "sum({})", "reach": "max({})", "frequency": "sum({} * impressions) / sum(impressions)"}
    places = {each.role: each.place for each in covariates if each.role in fields}
    if not places:
        return [{}] * arms
    listed = ", ".join(f"{fields[role].format(place)} AS {role}" for role, place in places.items())
    return [
        dict(zip(places, values, strict=True))
        for values in rows.find(f"SELECT {listed} FROM log GROUP BY id ORDER BY id")
    ]


def _sums(
    rows: Source, columns: Columns, binary: bool, offset: float, cap: float | None, arms: int
) -> dict[str, np.ndarray]:
    """Return sums per arm, bin of exposures and slice of time.

    The exposures of a row of n are numbered from the sum of those before it, and the row lies at their middle. What is
    not known is how they spread. Of 0/1 rewards the sum says it: n exposures with s successes hold 2 s (n - s) / n of
    squared differences in n - 1 pairs. Of numbers it is learnt from how the means m of successive rows differ:
    2 (m - m')**2 / (1/n + 1/n') has the mean of one squared difference.
    """
    bins = int(np.clip(MOST_CELLS // arms, SLICES, MOST_BINS))
    n, exposure, within, pairs, squares = "1", "row_number() OVER in_order - 1", "0", "0", "reward * reward"
    difference = "power(reward - lag(reward) OVER in_order, 2)"
    if columns.aggregated:
        n, squares = "impressions", "reward" if binary else "reward * reward / impressions"
        exposure = "sum(impressions) OVER in_order - impressions + (impressions - 1) / 2"
        means = "power(reward / impressions - lag(reward / impressions) OVER in_order, 2)"
        difference = f"2 * {means} / (1 / impressions + 1 / lag(impressions) OVER in_order)"
        if binary:
            within, pairs = "2 * reward * (impressions - reward) / impressions", "impressions - 1"
    # Per unit, exposure numbers are small and hold many rows each.
    place = "least(exposure, $1 - 1)" if columns.unit else "floor(exposure * least($1, exposures) / exposures)"
    sums = rows.arrays(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last, max(place) AS rows FROM log),
        shown AS (SELECT id, sum(impressions)::BIGINT AS exposures FROM log GROUP BY id),
        centred AS (SELECT * EXCLUDE (time, reward), reward - $3 AS reward, least(reward, $4) - $3 AS capped,
            coalesce((time - first) / nullif(last - first, 0), place / nullif(rows, 0), 0) AS time,
            time AS moment FROM log, bounds),
        numbered AS (SELECT id, segment, time, capped, reward, {n} AS n, {squares} AS squares, {exposure} AS exposure,
            {within} AS within, {pairs} AS pairs, {difference} AS difference FROM centred
            WINDOW in_order AS (PARTITION BY id{", unit" if columns.unit else ""} ORDER BY moment, place
                ROWS UNBOUNDED PRECEDING))
        SELECT id, sum(exposure * n) / sum(n) AS exposure, sum(time * n) / sum(n) AS time, sum(n)::DOUBLE AS count,
            sum(reward) AS total, sum(squares) AS squares, coalesce(sum(difference), 0) + sum(within) AS
            squared_differences, (count(difference) + sum(pairs))::DOUBLE AS differences, sum(capped) AS capped,
            segment, count(*)::DOUBLE AS rows
        FROM numbered JOIN shown USING (id) GROUP BY id, {place}, least(floor(time * $2), $2 - 1), segment
        ORDER BY id, exposure, time
        """,
        bins,
        SLICES,
        offset,
        LARGEST if cap is None else cap,
    )
    if not columns.aggregated or binary:
        return sums
    squared = np.bincount(sums["id"], sums["squared_differences"], minlength=arms)
    variance = squared / np.maximum(2 * np.bincount(sums["id"], sums["differences"], minlength=arms), 1.0)
    return sums | {"squares": sums["squares"] + (sums["count"] - sums["rows"]) * variance[sums["id"]]}
