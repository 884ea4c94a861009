"""From a log to counts: DuckDB passes over the rows, and only sums per arm and bin of exposures come to Python."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.columns import Columns, LogError, choose_columns
from rotting.logs.counting import Arm, Counted, count_arms
from rotting.logs.segments import segment_candidates
from rotting.logs.sources import ONE_ROW_PER_EXPOSURE, LogSource, open_source

if TYPE_CHECKING:
    import duckdb

# Rewards that lie this many times their range away from 0 are counted from the smallest: digits would be lost.
FAR_FROM_ZERO = 100
# Squares and sums of larger rewards would overflow.
LARGEST_REWARD = 1e50
MEMORY_LIMIT = "1GB"
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "U")

# Times as texts, in regular expressions.
_DATE, _CLOCK = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}", "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
_FROM_UTC = " ?[Zz]| ?[+-][0-9]{2}(:?[0-9]{2})?"
READABLE = {
    "reward": f"a finite number (of at most {LARGEST_REWARD:g}), true or false",
    "time": "a time that can be read: expected ISO 8601 (2024-01-31, 2024-01-31 18:30, 2024-01-31T18:30:00Z) or a "
    "number such as seconds or milliseconds since 1970",
}

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
        """The number of rows that were analysed."""
        return sum(arm.exposures for arm in self.arms)


def read_log(
    log: LogSource,
    arm: str | None = None,
    reward: str | None = None,
    time: str | None = None,
    unit: str | None = None,
    drop_duplicates: bool = False,
    step: Step = lambda stage: None,
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
        Called with a description of each stage as it begins.

    Examples
    --------
    >>> from rotting.logs import make_log
    >>> log = read_log(make_log(arms=2, exposures=300))
    >>> log.columns.arm, log.rows, [arm.exposures for arm in log.arms], log.binary
    ('creative', 600, [300, 300], True)
    """
    with tempfile.TemporaryDirectory(prefix="rotting-log-") as folder, open_source(log, step) as source:
        database, name = source.database, source.name
        _limit_memory(database, folder)
        columns = choose_columns(source.rows.columns, arm, reward, time, unit)
        step("reading rows")
        candidates = segment_candidates(source.rows, columns)
        _stage(database, source.rows, columns, candidates)
        rows = _count(database, "SELECT count(*) FROM log")
        if rows == 0:
            raise LogError("there are no rows", owner=name, expected=ONE_ROW_PER_EXPOSURE)
        _refuse_unreadable(database, columns)
        step("looking for irregular rows")
        duplicates, backwards = _irregularities(database, columns, drop_duplicates)
        dropped = _drop(database, columns, drop_duplicates and duplicates > 0)
        step("counting exposures")
        offset = _offset(database)
        counted = count_arms(database, columns, offset, candidates)
        binary = _count(database, "SELECT count(*) FROM log WHERE reward NOT IN (0, 1)") == 0
        kept = sum(arm.exposures for arm in counted.arms)
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
            counted=counted,
            rows_left_out=rows - sum(dropped.values()) - kept,
        )


def _limit_memory(database: duckdb.DuckDBPyConnection, folder: str) -> None:
    """Limit DuckDB's memory; what needs more goes to the folder."""
    database.execute("SET memory_limit = $1", [MEMORY_LIMIT])
    database.execute("SET temp_directory = $1", [folder])
    database.execute("SET enable_progress_bar = false")


def _count(database: duckdb.DuckDBPyConnection, query: str) -> int:
    found = database.execute(query).fetchone()
    return 0 if found is None else int(found[0])


def _stage(
    database: duckdb.DuckDBPyConnection, source: duckdb.DuckDBPyRelation, columns: Columns, segments: list[str]
) -> None:
    """Fill the table `log` with the columns that are used, read as numbers; its rowid is the order of the log."""
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

    types = dict(zip(source.columns, map(str, source.types), strict=True))

    def named(column: str | None, alias: str) -> duckdb.Expression:
        return (ConstantExpression(None) if column is None else ColumnExpression(column)).alias(alias)

    whole_row = FunctionExpression("hash", *[ColumnExpression(column) for column in source.columns])
    # DuckDB finds this relation by the name of the variable; a file opened read-only can have no new view.
    source_rows = source.project(  # noqa: F841
        named(columns.arm, "arm"),
        named(columns.reward, "reward"),
        named(columns.time, "time"),
        named(columns.unit, "unit"),
        whole_row.alias("whole_row"),
        *[
            ColumnExpression(column).cast("VARCHAR").alias(f"segment_{number}")
            for number, column in enumerate(segments)
        ],
    )
    reward = _reward_of(types[columns.reward])
    too_large = f"(abs({reward}) > {LARGEST_REWARD} AND NOT isnan({reward}))"
    unit_type = "" if columns.unit is None else types[columns.unit]
    time = "NULL::DOUBLE" if columns.time is None else _time_of(types[columns.time], columns.time)
    kept = "".join(f", segment_{number}" for number in range(len(segments)))
    database.execute(
        f"""
        CREATE TEMP TABLE log AS
        SELECT {_name_of("arm", types[columns.arm])} AS arm, {_name_of("unit", unit_type)} AS unit,
               nullif({reward}, 'nan') AS reward, nullif({time}, 'nan') AS time, whole_row,
               CASE WHEN {reward} IS NULL OR {too_large} THEN {_number_text("reward")} END AS unreadable_reward,
               CASE WHEN {time} IS NULL OR isinf({time}) THEN {_number_text("time")} END AS unreadable_time{kept}
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
        raise LogError(f"holds {kind}", owner=f"time column {column!r}", expected="timestamps, dates or numbers")
    # What is not of this form is refused: DuckDB would silently read "10:00 PM" as ten in the morning.
    text = "regexp_replace(trim(time), ' ?UTC$', 'Z')"
    iso = f"regexp_full_match({text}, '{_DATE}([ T]{_CLOCK}({_FROM_UTC})?)?')"
    # Read as a TIMESTAMP, a time with an offset from UTC would silently lose it.
    zoned = f"regexp_matches({text}, ':.*({_FROM_UTC})$')"
    local, instant = f"epoch(try_cast({text} AS TIMESTAMP))", f"epoch(try_cast({text} AS TIMESTAMPTZ))"
    moment = f"CASE WHEN NOT {iso} THEN NULL WHEN {zoned} THEN {instant} ELSE {local} END"
    return f"coalesce(try_cast({text} AS DOUBLE), {moment})"


def _refuse_unreadable(database: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """Raise an error with the first reward or time that is there but cannot be read, and the number of such values."""
    for role, column in (("reward", columns.reward), ("time", columns.time)):
        texts = f"unreadable_{role}"
        query = f"SELECT rowid + 1, {texts}, count(*) OVER () FROM log WHERE {texts} IS NOT NULL ORDER BY rowid LIMIT 1"
        found = database.execute(query).fetchone()
        if found is None:
            continue
        row, value, count = found
        others = f" (and {count - 1} more like it)" if count > 1 else ""
        raise LogError(
            f"{quoted(value)} is not {READABLE[role]}{others}",
            owner=f"{role} column {column!r}, row {row}",
            value=value,
            hint=f"correct the log or choose another column with {{{role}}}; empty values would be dropped and counted",
        )


def _irregularities(database: duckdb.DuckDBPyConnection, columns: Columns, thorough: bool) -> tuple[int, int]:
    """Return how many rows repeat another in every column, and how many lie before the row above them in time."""
    # Without time or unit, rows have nothing of their own, and equal ones are no sign of anything.
    comparable = thorough or columns.time is not None or columns.unit is not None
    duplicates = _count(database, "SELECT count(*) - count(DISTINCT whole_row) FROM log") if comparable else 0
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
        reasons = ", ".join(f"{reason}: {count}" for reason, count in dropped.items())
        raise LogError(f"no usable row is left ({reasons})", expected="rows with an arm, a reward and a time")
    return dropped


def _offset(database: duckdb.DuckDBPyConnection) -> float:
    """Return what rewards are counted from: 0, or the smallest of them if all are far away from 0."""
    low, high = database.execute("SELECT min(reward), max(reward) FROM log").fetchone() or (0.0, 0.0)
    return float(low) if 0 < FAR_FROM_ZERO * (high - low) < min(abs(low), abs(high)) else 0.0
