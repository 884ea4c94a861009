"""From a log to counts: DuckDB passes over the rows, and only sums per arm and stretch of exposures come to Python."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.logs.columns import Columns, LogError, choose_columns
from rotting.logs.sources import open_source

if TYPE_CHECKING:
    import duckdb

# Exposures of an arm are summed in at most this many stretches, and the calendar is cut into this many slices.
MOST_BINS, SLICES = 2048, 64
# Below the first, nothing can be said about an arm; beyond the second, nobody reads on.
LEAST_EXPOSURES, MOST_ARMS = 30, 500
# Rewards whose smallest is this many times their range are counted from the smallest: digits would be lost.
FAR_FROM_ZERO = 100
# Squares and sums of larger rewards would not be numbers any more.
LARGEST = 1e50
MEMORY = "1GB"
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "U")

# Times as texts, in regular expressions.
_DATE, _CLOCK = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}", "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
_FROM_UTC = " ?[Zz]| ?[+-][0-9]{2}(:?[0-9]{2})?"
EXPECTED = {
    "reward": f"a finite number (of at most {LARGEST:g}), true or false",
    "time": "a time that can be read: expected ISO 8601 (2024-01-31, 2024-01-31 18:30, 2024-01-31T18:30:00Z) or a "
    "number such as seconds or milliseconds since 1970",
}

Step = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Cells:
    """Exposures of one arm, summed over stretches of exposure numbers and slices of time, in order."""

    exposure: np.ndarray  # mean exposure number, from 0
    time: np.ndarray  # mean time, from 0 (the log's beginning) to 1 (its end)
    count: np.ndarray
    total: np.ndarray  # of rewards, less the log's offset
    squares: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The mean reward of each cell."""
        return self.total / self.count


@dataclasses.dataclass(frozen=True)
class Arm:
    """What the log holds about one arm."""

    name: str
    exposures: int
    cells: Cells
    noise_variance: float  # from successive differences


@dataclasses.dataclass(frozen=True)
class Log:
    """A log as the rest of this room sees it: counted, summed, and with everything that was odd about it."""

    name: str
    columns: Columns
    rows: int
    dropped: dict[str, int]
    duplicates: int
    duplicates_dropped: bool
    backwards: int
    binary: bool
    offset: float  # what was taken off every reward, and is added back to what is shown
    arms: tuple[Arm, ...]
    arms_left_out: int
    rows_left_out: int

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
        """The number of rows that were analysed."""
        return sum(arm.exposures for arm in self.arms)


def read_log(
    log: Any,
    arm: str | None = None,
    reward: str | None = None,
    time: str | None = None,
    unit: str | None = None,
    drop_duplicates: bool = False,
    step: Step = lambda said: None,
) -> Log:
    """Read and count a log.

    Rows without an arm, reward or time (empty, NULL or NaN) are dropped and counted. The texts NaN, NA, NULL and None
    are missing rewards and times, too, but names of arms and units. A reward or a time that cannot be read is an error
    which names the row and the value. Rows are put in the order of time, ties in the order of the log;
    without a time column the order of the log is that of time. Rows that agree in every column are counted, and kept
    unless `drop_duplicates`: two exposures in one second look the same.

    Parameters
    ----------
    log
        A .csv, .csv.gz or .parquet file, a table in a DuckDB or SQLite file (`file.db::table`), or a frame (pandas, or
        what turns into one: Polars, Arrow).
    arm, reward, time, unit
        Columns; the first three are guessed where they are not given. With a unit, exposures are counted per unit.
    drop_duplicates
        Whether rows that repeat another in every column are dropped.
    step
        Is told what is being done.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> log = read_log(make_log(arms=2, exposures=300))
    >>> log.columns.arm, log.rows, [arm.exposures for arm in log.arms], log.binary
    ('creative', 600, [300, 300], True)
    """
    with _working_database() as folder, open_source(log, folder, step) as (database, source, name):
        _limit(database, folder)
        columns = choose_columns(source.columns, arm, reward, time, unit)
        step("reading rows")
        _stage(database, source, columns)
        rows = _count(database, "SELECT count(*) FROM log")
        if rows == 0:
            raise LogError(f"{name} has no rows; expected one per exposure")
        _refuse_unreadable(database, columns)
        step("looking for odd rows")
        duplicates, backwards = _oddities(database, columns, drop_duplicates)
        dropped = _drop(database, columns, drop_duplicates and duplicates > 0)
        step("counting exposures")
        offset = _offset(database)
        arms, left_out = _arms(database, columns, offset)
        binary = _count(database, "SELECT count(*) FROM log WHERE reward NOT IN (0, 1)") == 0
        kept = sum(arm.exposures for arm in arms)
        return Log(
            name=name,
            columns=columns,
            rows=rows,
            dropped=dropped,
            duplicates=duplicates,
            duplicates_dropped=drop_duplicates and duplicates > 0,
            backwards=backwards,
            binary=binary,
            offset=offset,
            arms=arms,
            arms_left_out=left_out,
            rows_left_out=rows - sum(dropped.values()) - kept,
        )


@contextlib.contextmanager
def _working_database() -> Iterator[Path]:
    """Yield a folder for what does not fit into memory."""
    with tempfile.TemporaryDirectory(prefix="rotting-log-") as folder:
        yield Path(folder)


def _limit(database: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Let the engine use so much memory, and the folder beyond that."""
    database.execute("SET memory_limit = $1", [MEMORY])
    database.execute("SET temp_directory = $1", [str(folder)])
    database.execute("SET enable_progress_bar = false")


def _count(database: duckdb.DuckDBPyConnection, query: str) -> int:
    found = database.execute(query).fetchone()
    return 0 if found is None else int(found[0])


def _stage(database: duckdb.DuckDBPyConnection, source: duckdb.DuckDBPyRelation, columns: Columns) -> None:
    """Fill the table `log` with the columns that matter, read as numbers; its rowid is the order of the log."""
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

    types = dict(zip(source.columns, map(str, source.types), strict=True))
    nothing = ConstantExpression(None)

    def named(column: str | None, alias: str) -> Any:
        return (nothing if column is None else ColumnExpression(column)).alias(alias)

    whole_row = FunctionExpression("hash", *[ColumnExpression(column) for column in source.columns])
    # DuckDB finds this relation by the name of the variable; a view could not be made in a file opened for reading.
    source_rows = source.project(  # noqa: F841
        named(columns.arm, "arm"),
        named(columns.reward, "reward"),
        named(columns.time, "time"),
        named(columns.unit, "unit"),
        whole_row.alias("whole_row"),
    )
    reward = _reward_of(types[columns.reward])
    beyond = f"(abs({reward}) > {LARGEST} AND NOT isnan({reward}))"
    unit_type = "" if columns.unit is None else types[columns.unit]
    time = "NULL::DOUBLE" if columns.time is None else _time_of(types[columns.time], columns.time)
    database.execute(
        f"""
        CREATE TEMP TABLE log AS
        SELECT {_name_of("arm", types[columns.arm])} AS arm, {_name_of("unit", unit_type)} AS unit,
               nullif({reward}, 'nan') AS reward, nullif({time}, 'nan') AS time, whole_row,
               CASE WHEN {reward} IS NULL OR {beyond} THEN {_number_text("reward")} END AS odd_reward,
               CASE WHEN {time} IS NULL OR isinf({time}) THEN {_number_text("time")} END AS odd_time
        FROM source_rows
        """
    )


def _name_of(column: str, kind: str) -> str:
    """Return SQL for a name, NULL where the field is empty or NaN. Texts such as "none" or "NA" are names."""
    name = f"nullif(trim({column}::VARCHAR), '')"
    return f"CASE WHEN NOT isnan({column}) THEN {name} END" if kind in ("FLOAT", "DOUBLE") else name


def _number_text(column: str) -> str:
    """Return SQL for the text of a value that should be a number, NULL where it stands for a missing one."""
    text = f"{column}::VARCHAR"
    return f"CASE WHEN lower(trim({text})) NOT IN ('', 'nan', 'na', 'null', 'none') THEN {text} END"


def _reward_of(kind: str) -> str:
    """Return SQL that reads the column `reward`, of this type, as a number."""
    if kind.startswith(_NUMBERS):
        return "reward::DOUBLE"
    known = "CASE lower(trim(reward::VARCHAR)) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END"
    return f"coalesce({known}, try_cast(trim(reward::VARCHAR) AS DOUBLE))"


def _time_of(kind: str, column: str) -> str:
    """Return SQL that reads the column `time`, of this type, as seconds (or whatever numbers it holds)."""
    if kind.startswith(_NUMBERS):
        return "time::DOUBLE"
    if kind.startswith(("TIMESTAMP", "DATE")):
        return "epoch(time::TIMESTAMP)" if "TIME ZONE" not in kind else "epoch(time)"
    if kind != "VARCHAR":
        raise LogError(f"time column {column!r} holds {kind}; expected timestamps, dates or numbers")
    # What is not of this form is refused: DuckDB would read "10:00 PM" as ten in the morning, without a word.
    said = "regexp_replace(trim(time), ' ?UTC$', 'Z')"
    iso = f"regexp_full_match({said}, '{_DATE}([ T]{_CLOCK}({_FROM_UTC})?)?')"
    # Read as a TIMESTAMP, a time with an offset from UTC would lose it as silently.
    zoned = f"regexp_matches({said}, ':.*({_FROM_UTC})$')"
    local, instant = f"epoch(try_cast({said} AS TIMESTAMP))", f"epoch(try_cast({said} AS TIMESTAMPTZ))"
    moment = f"CASE WHEN NOT {iso} THEN NULL WHEN {zoned} THEN {instant} ELSE {local} END"
    return f"coalesce(try_cast({said} AS DOUBLE), {moment})"


def _refuse_unreadable(database: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """Complain about the first reward or time that is there but no number, and say how many there are."""
    for what, column in (("reward", columns.reward), ("time", columns.time)):
        odd = f"odd_{what}"
        query = f"SELECT rowid + 1, {odd}, count(*) OVER () FROM log WHERE {odd} IS NOT NULL ORDER BY rowid LIMIT 1"
        found = database.execute(query).fetchone()
        if found is None:
            continue
        row, value, count = found
        others = f" (and {count - 1} more like it)" if count > 1 else ""
        raise LogError(
            f"{what} column {column!r}, row {row}: {value!r} is not {EXPECTED[what]}{others}; "
            f"mend the log or choose another column with --{what}; an empty value would be dropped and counted"
        )


def _oddities(database: duckdb.DuckDBPyConnection, columns: Columns, thorough: bool) -> tuple[int, int]:
    """Return how many rows repeat another in every column, and how many lie before the row above them in time."""
    # Without time or unit, rows have nothing of their own, and equal ones are no sign of anything.
    tellable = thorough or columns.time is not None or columns.unit is not None
    duplicates = _count(database, "SELECT count(*) - count(DISTINCT whole_row) FROM log") if tellable else 0
    backwards = _count(database, "SELECT count(*) FROM (SELECT time < lag(time) OVER () AS back FROM log) WHERE back")
    return duplicates, backwards


def _drop(database: duckdb.DuckDBPyConnection, columns: Columns, duplicates: bool) -> dict[str, int]:
    """Delete the rows that cannot be used and return how many, by reason."""
    dropped = {}
    for reason, query, asked in (
        ("no arm", "DELETE FROM log WHERE arm IS NULL", True),
        ("no reward", "DELETE FROM log WHERE reward IS NULL", True),
        ("no time", "DELETE FROM log WHERE time IS NULL", columns.time is not None),
        ("no unit", "DELETE FROM log WHERE unit IS NULL", columns.unit is not None),
        (
            "duplicate",
            "DELETE FROM log WHERE rowid NOT IN (SELECT min(rowid) FROM log GROUP BY whole_row)",
            duplicates,
        ),
    ):
        if asked and (count := _count(database, query)):
            dropped[reason] = count
    if _count(database, "SELECT count(*) FROM log") == 0:
        told = ", ".join(f"{reason}: {count}" for reason, count in dropped.items())
        raise LogError(f"no usable row is left ({told}); expected rows with an arm, a reward and a time")
    return dropped


def _offset(database: duckdb.DuckDBPyConnection) -> float:
    """Return what rewards are counted from: 0, or the smallest of them if all are far away from 0."""
    low, high = database.execute("SELECT min(reward), max(reward) FROM log").fetchone() or (0.0, 0.0)
    return float(low) if 0 < FAR_FROM_ZERO * (high - low) < min(abs(low), abs(high)) else 0.0


def _arms(database: duckdb.DuckDBPyConnection, columns: Columns, offset: float) -> tuple[tuple[Arm, ...], int]:
    """Return the arms that were shown often enough, as sums, and the number of the others."""
    database.execute(
        """
        CREATE TEMP TABLE arms AS
        SELECT row_number() OVER (ORDER BY exposures DESC, first) - 1 AS id, arm, exposures
        FROM (SELECT arm, count(*) AS exposures, min(rowid) AS first FROM log GROUP BY arm)
        WHERE exposures >= $1 ORDER BY exposures DESC, first LIMIT $2
        """,
        [LEAST_EXPOSURES, MOST_ARMS],
    )
    names = database.execute("SELECT arm, exposures FROM arms ORDER BY id").fetchall()
    every = _count(database, "SELECT count(DISTINCT arm) FROM log")
    if not names:
        most = database.execute("SELECT arm, count(*) FROM log GROUP BY arm ORDER BY 2 DESC LIMIT 1").fetchone()
        most = most or ("?", 0)
        raise LogError(
            f"arm column {columns.arm!r}: no arm has {LEAST_EXPOSURES} exposures (the most shown, {most[0]!r}, has "
            f"{most[1]}); expected more rows, or another column with --arm"
        )
    sums = _sums(database, columns.unit is not None, offset)
    arms = []
    for place, (name, exposures) in enumerate(names):
        own = {column: values[sums["id"] == place] for column, values in sums.items()}
        differences = own["differences"].sum()
        variance = own["squared_differences"].sum() / (2 * differences) if differences else 0.0
        cells = Cells(own["exposure"], own["time"], own["count"], own["total"], own["squares"])
        arms.append(Arm(name, int(exposures), cells, float(variance)))
    return tuple(arms), every - len(arms)


def _sums(database: duckdb.DuckDBPyConnection, per_unit: bool, offset: float) -> dict[str, np.ndarray]:
    """Return sums per arm, stretch of exposures and slice of time. This is the pass that takes the time."""
    unit = ", unit" if per_unit else ""
    # Per unit, exposure numbers are small and hold many rows each; otherwise every arm has each number once.
    stretch = "least(exposure, $1 - 1)" if per_unit else "exposure * least($1, exposures) // exposures"
    found = database.execute(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last, max(rowid) AS rows FROM log),
        numbered AS (
            SELECT id, exposures, reward - $3 AS reward,
                coalesce((time - first) / nullif(last - first, 0), log.rowid / nullif(rows, 0), 0) AS time,
                row_number() OVER places - 1 AS exposure,
                log.reward - lag(log.reward) OVER places AS difference
            FROM log JOIN arms USING (arm), bounds
            WINDOW places AS (PARTITION BY id{unit} ORDER BY time, log.rowid)
        )
        SELECT id, avg(exposure) AS exposure, avg(time) AS time, count(*)::DOUBLE AS count, sum(reward) AS total,
            sum(reward * reward) AS squares, coalesce(sum(difference * difference), 0) AS squared_differences,
            count(difference)::DOUBLE AS differences
        FROM numbered
        GROUP BY id, {stretch}, least(floor(time * $2), $2 - 1)
        ORDER BY id, exposure, time
        """,
        [MOST_BINS, SLICES, offset],
    ).fetchnumpy()
    return {column: np.ma.getdata(values) for column, values in found.items()}
