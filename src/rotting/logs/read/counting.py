"""The rows of a log as counts and sums: the internal form of everything after reading.

It starts from the table `log` of DuckDB with the columns arm, unit, reward and time (and rowid, the order of the log),
and passes only sums to Python.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting._core.noise import variance_from_differences
from rotting.errors import quoted
from rotting.logs.model.users import WithinUsers, within_users
from rotting.logs.read.aggregates import SLICES, sums_of_aggregates
from rotting.logs.read.columns import Columns, LogError
from rotting.logs.read.segments import choose_segment, segment_code, segment_values

if TYPE_CHECKING:
    import duckdb

# Exposures of an arm are summed in at most this many bins (fewer where there are many arms).
MOST_BINS = 2048
MOST_CELLS = 1_000_000
# Arms with fewer exposures say too little; more arms than this are beyond what is computed at once.
LEAST_EXPOSURES, MOST_ARMS = 30, 5000
# Numbers above this many times the mean of the positive ones are cut to it before arms are tested: one sale must not
# decide. Only where single rewards carry much of the whole spread.
CAP, HEAVY_SHARE = 1.5, 0.5
LARGEST = 1e300


@dataclasses.dataclass(frozen=True)
class Cells:
    """Exposures of one arm, summed over bins of exposure numbers and slices of time, in order of exposures."""

    exposure: np.ndarray  # mean exposure number, from 0
    time: np.ndarray  # mean time, from 0 (the log's beginning) to 1 (its end)
    count: np.ndarray
    total: np.ndarray  # of rewards, less the log's offset
    squares: np.ndarray
    capped: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))  # the total of rewards cut to the cap
    segment: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))  # a number per segment

    def __post_init__(self) -> None:
        if len(self.capped) != len(self.count):
            object.__setattr__(self, "capped", self.total)
        if len(self.segment) != len(self.count):
            object.__setattr__(self, "segment", np.zeros(len(self.count), np.int64))

    @property
    def mean(self) -> np.ndarray:
        """The mean reward of each cell."""
        return np.asarray(self.total / self.count)

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


@dataclasses.dataclass(frozen=True)
class Counted:
    """All arms as counts and sums."""

    arms: tuple[Arm, ...]
    arms_left_out: int
    first_time: float | None  # seconds since 1970, or whatever numbers the time column holds
    last_time: float | None
    cap: float | None = None  # what rewards are cut to before arms are tested; None where they are not
    capped_rows: int = 0
    segment: str | None = None  # the column of segments that is adjusted for
    segments: tuple[str, ...] = ()  # its values
    users: WithinUsers | None = None  # users compared with themselves, where exposures are counted per unit

    @property
    def seconds(self) -> float | None:
        """How long the log is, in the unit of its time column."""
        return None if self.first_time is None or self.last_time is None else self.last_time - self.first_time


def is_binary(database: duckdb.DuckDBPyConnection, columns: Columns) -> bool:
    """Say whether every exposure earned 0 or 1, as far as the rows tell."""
    fits = "reward = floor(reward) AND reward BETWEEN 0 AND impressions" if columns.aggregated else "reward IN (0, 1)"
    found = database.execute(f"SELECT count(*) FROM log WHERE NOT ({fits})").fetchone()
    return found is not None and found[0] == 0


def count_arms(
    database: duckdb.DuckDBPyConnection, columns: Columns, offset: float, candidates: Sequence[str], binary: bool
) -> Counted:
    """Return the arms that were shown often enough, as sums, the most shown first.

    `candidates` are columns of users or places whose values stand in the table as segment_0, segment_1, ...; what
    matters most of them, if any does, is kept apart in the sums.
    """
    shown = "sum(impressions)::BIGINT" if columns.aggregated else "count(*)"
    database.execute(
        f"""
        CREATE TEMP TABLE arms AS
        SELECT row_number() OVER (ORDER BY exposures DESC, first) - 1 AS id, arm, exposures
        FROM (SELECT arm, {shown} AS exposures, min(rowid) AS first FROM log GROUP BY arm)
        WHERE exposures >= $1 ORDER BY exposures DESC, first LIMIT $2
        """,
        [LEAST_EXPOSURES, MOST_ARMS],
    )
    names = database.execute("SELECT arm, exposures FROM arms ORDER BY id").fetchall()
    if not names:
        _refuse_thin(database, columns, shown)
    # How single exposures spread is not known from sums of numbers, so neither segments nor large ones are looked for.
    known = binary or not columns.aggregated
    chosen = choose_segment(database, len(candidates), columns.aggregated) if known else None
    cap, capped_rows = (None, 0) if columns.aggregated else _cap(database)
    bins = int(np.clip(MOST_CELLS // len(names), SLICES, MOST_BINS))
    if columns.aggregated:
        sums = sums_of_aggregates(database, len(names), bins, binary, chosen)
    else:
        sums = _sums(database, columns.unit is not None, offset, bins, cap, chosen)
    limits = np.searchsorted(sums["id"], np.arange(len(names) + 1))
    arms = []
    for index, (name, exposures) in enumerate(names):
        own = {column: values[limits[index] : limits[index + 1]] for column, values in sums.items()}
        variance = variance_from_differences(float(own["squared_differences"].sum()), float(own["differences"].sum()))
        cells = Cells(
            own["exposure"], own["time"], own["count"], own["total"], own["squares"], own["capped"], own["segment"]
        )
        arms.append(Arm(name, int(exposures), cells, variance))
    found = database.execute("SELECT min(time), max(time), count(DISTINCT arm) FROM log").fetchone()
    assert found is not None
    values = segment_values(database, chosen)
    return Counted(
        arms=tuple(arms),
        arms_left_out=int(found[2]) - len(arms),
        first_time=found[0],
        last_time=found[1],
        cap=cap,
        capped_rows=capped_rows,
        segment=None if chosen is None else candidates[chosen],
        segments=values,
        users=None if columns.unit is None else within_users(database, len(arms)),
    )


def _cap(database: duckdb.DuckDBPyConnection) -> tuple[float | None, int]:
    """Return what rewards are cut to, and how many are, if a few large ones carry much of the whole spread."""
    positive = database.execute("SELECT avg(reward), min(reward) FROM log WHERE reward > 0").fetchone()
    least = database.execute("SELECT min(reward) FROM log").fetchone()
    if positive is None or least is None or positive[0] is None or least[0] < 0:
        return None, 0
    cap = CAP * float(positive[0])
    found = database.execute(
        "SELECT sum(reward * reward) FILTER (reward > $1) / sum(reward * reward), count(*) FILTER (reward > $1) "
        "FROM log",
        [cap],
    ).fetchone()
    assert found is not None
    return (cap, int(found[1])) if (found[0] or 0.0) > HEAVY_SHARE else (None, 0)


def _refuse_thin(database: duckdb.DuckDBPyConnection, columns: Columns, shown: str) -> None:
    most = database.execute(f"SELECT arm, {shown} FROM log GROUP BY arm ORDER BY 2 DESC LIMIT 1").fetchone()
    most = most or ("?", 0)
    raise LogError(
        f"no arm has {LEAST_EXPOSURES} exposures (the most shown, {quoted(most[0])}, has {most[1]})",
        owner=f"arm column {columns.arm!r}",
        hint="give more rows, or another column with {arm}",
    )


def _sums(
    database: duckdb.DuckDBPyConnection,
    per_unit: bool,
    offset: float,
    bins: int,
    cap: float | None,
    segment: int | None,
) -> dict[str, np.ndarray]:
    """Return sums per arm, bin of exposures and slice of time. This query takes most of the time of reading."""
    unit = ", unit" if per_unit else ""
    # Per unit, exposure numbers are small and hold many rows each; otherwise every arm has each number once.
    exposure_bin = "least(exposure, $1 - 1)" if per_unit else "exposure * least($1, exposures) // exposures"
    code = segment_code(segment)
    found = database.execute(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last, max(rowid) AS rows FROM log),
        numbered AS (
            SELECT id, exposures, reward - $3 AS reward, least(reward, $4) - $3 AS capped, {code} AS segment,
                coalesce((time - first) / nullif(last - first, 0), log.rowid / nullif(rows, 0), 0) AS time,
                row_number() OVER in_order - 1 AS exposure,
                log.reward - lag(log.reward) OVER in_order AS difference
            FROM log JOIN arms USING (arm), bounds
            WINDOW in_order AS (PARTITION BY id{unit} ORDER BY time, log.rowid)
        )
        SELECT id, avg(exposure) AS exposure, avg(time) AS time, count(*)::DOUBLE AS count, sum(reward) AS total,
            sum(reward * reward) AS squares, coalesce(sum(difference * difference), 0) AS squared_differences,
            count(difference)::DOUBLE AS differences, sum(capped) AS capped, segment
        FROM numbered
        GROUP BY id, {exposure_bin}, least(floor(time * $2), $2 - 1), segment
        ORDER BY id, exposure, time
        """,
        [bins, SLICES, offset, LARGEST if cap is None else cap],
    ).fetchnumpy()
    return {column: np.ma.getdata(values) for column, values in found.items()}
