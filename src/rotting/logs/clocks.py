"""Times as logs write them: ISO 8601, days and months in either order, AM and PM, seconds or milliseconds since 1970.

The table `log` of DuckDB holds each time as a number, its `clock` (one of the kinds below), and in `unreadable_time`
the text of what is none of them. One log has one clock: what could be read in two ways, or needs two, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.columns import LogError

if TYPE_CHECKING:
    import duckdb

NUMBER, LOCAL, INSTANT = 0, 1, 2  # kinds of times: a number, without an offset from UTC, with one
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "U")

# Times as texts, in regular expressions.
_DATE, _CLOCK = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}", "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
_FROM_UTC = " ?[Zz]| ?[+-][0-9]{2}(:?[0-9]{2})?"
# Other ways to write a date, and what may follow it. Where several dates fit, they must agree.
_DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%a, %b %d, %Y"),
)
_TIMES_OF_DAY = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p", "%I %p")
_FOLLOWING = ("", *(f"{mark}{clock}" for mark in (" ", ", ") for clock in _TIMES_OF_DAY))
SAMPLE = 1000
# Seconds since 1970 that are dates between 1990 and 2100, and the units in which they come.
FIRST_DATE, LAST_DATE = 631_152_000.0, 4_102_444_800.0
UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
GAP = 100.0  # times that are so many times as large as all smaller ones are of another clock
READABLE = (
    "a time that can be read: expected ISO 8601 (2024-01-31, 2024-01-31 18:30, 2024-01-31T18:30:00Z) or a number such "
    "as seconds or milliseconds since 1970"
)


def time_of(kind: str, column: str, role: str = "time") -> tuple[str, str]:
    """Return SQL for a time of this type, as seconds (or whatever numbers it holds), and for its clock."""
    if kind.startswith(_NUMBERS):
        return f"{role}::DOUBLE", str(NUMBER)
    if kind.startswith(("TIMESTAMP", "DATE")):
        zoned = "TIME ZONE" in kind
        return (f"epoch({role})" if zoned else f"epoch({role}::TIMESTAMP)"), str(INSTANT if zoned else LOCAL)
    if kind != "VARCHAR":
        raise LogError(f"holds {kind}", owner=f"time column {column!r}", expected="timestamps, dates or numbers")
    # What is not of this form is looked at later: DuckDB would silently read "10:00 PM" as ten in the morning.
    text = f"regexp_replace(trim({role}), ' ?UTC$', 'Z')"
    iso = f"regexp_full_match({text}, '{_DATE}([ T]{_CLOCK}({_FROM_UTC})?)?')"
    # Read as a TIMESTAMP, a time with an offset from UTC would silently lose it.
    zoned_text = f"regexp_matches({text}, ':.*({_FROM_UTC})$')"
    local, instant = f"epoch(try_cast({text} AS TIMESTAMP))", f"epoch(try_cast({text} AS TIMESTAMPTZ))"
    moment = f"CASE WHEN NOT {iso} THEN NULL WHEN {zoned_text} THEN {instant} ELSE {local} END"
    number = f"try_cast(trim({role}) AS DOUBLE)"
    clock = f"CASE WHEN {number} IS NOT NULL THEN {NUMBER} WHEN {zoned_text} THEN {INSTANT} ELSE {LOCAL} END"
    return f"coalesce({number}, {moment})", clock


def settle_times(database: duckdb.DuckDBPyConnection, column: str, date_format: str | None) -> list[str]:
    """Put all times of the log on one clock, in seconds where they are dates; return what must be said about it."""
    said = _read_other_texts(database, column, date_format)
    found = database.execute("SELECT clock, count(time) FROM log WHERE time IS NOT NULL GROUP BY clock").fetchall()
    rows = {int(clock): int(count) for clock, count in found}
    if NUMBER in rows:
        said += _settle_numbers(database, column, alone=len(rows) == 1)
    if len(rows) > 1 and LOCAL in rows:
        first, other = (_example(database, clock) for clock in (LOCAL, INSTANT if INSTANT in rows else NUMBER))
        raise LogError(
            f"some times are in UTC or have an offset from it, and others have none (rows {first} and {other})",
            owner=f"time column {column!r}",
            hint="write all of them in UTC, such as 2024-01-31T18:30:00Z, or none with an offset",
        )
    if len(rows) > 1:
        said.append(f"Times in column {column!r} are partly texts and partly numbers since 1970: all were put in UTC.")
    return said


def _example(database: duckdb.DuckDBPyConnection, clock: int) -> int:
    found = database.execute("SELECT min(rowid) + 1 FROM log WHERE clock = $1 AND time IS NOT NULL", [clock]).fetchone()
    return 0 if found is None else int(found[0])


def _read_other_texts(database: duckdb.DuckDBPyConnection, column: str, date_format: str | None) -> list[str]:
    """Read the texts that are neither ISO 8601 nor numbers, if one way to write dates fits them all."""
    some = "SELECT unreadable_time AS text FROM log WHERE unreadable_time IS NOT NULL AND NOT is_total"
    texts = [row[0] for row in database.execute(f"SELECT DISTINCT text FROM ({some} LIMIT {SAMPLE})").fetchall()]
    if not texts:
        return []
    dates = _DATES if date_format is None else (date_format,)
    readers = {date: _reader(date, date_format, "text") for date in dates}
    fitting = [
        date for date in dates if _reads_all(database, f"(SELECT unnest({_list(texts)}) AS text)", readers[date])
    ]
    fitting = [date for date in fitting if _reads_all(database, f"({some})", readers[date])]
    plain = database.execute("SELECT count(*) FROM log WHERE time IS NOT NULL AND unreadable_time IS NULL").fetchone()
    if not fitting or (plain is not None and plain[0] and date_format is None):
        return []  # refused with its row, as any other text
    if len(fitting) > 1:
        readings = " or ".join(fitting[:2])
        raise LogError(
            f"{quoted(texts[0])} and all others can be read in two ways ({readings})",
            owner=f"time column {column!r}",
            value=texts[0],
            hint=f"say which with {{date_format}}, such as {fitting[0]!r}",
        )
    moment = _reader(fitting[0], date_format, "unreadable_time")
    database.execute(
        f"UPDATE log SET time = epoch({moment}), clock = {LOCAL}, "
        "unreadable_time = NULL WHERE unreadable_time IS NOT NULL AND NOT is_total"
    )
    return [] if date_format else [f"Dates in column {column!r} were read as {fitting[0]}, the only way that fits all."]


def _reader(date: str, given: str | None, text: str) -> str:
    """Return SQL that reads a column of texts as dates of this form, with any time of day unless the form was given."""
    formats = [date + following for following in _FOLLOWING] if given is None else [date]
    moment = f"try_strptime(trim({text}), {_list(formats)})"
    # "24" would be read as the year 24.
    return f"CASE WHEN year({moment}) BETWEEN 1900 AND 2200 THEN {moment} END"


def _list(texts: list[str]) -> str:
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


def _reads_all(database: duckdb.DuckDBPyConnection, texts: str, reader: str) -> bool:
    found = database.execute(f"SELECT count(*) FROM {texts} WHERE {reader} IS NULL").fetchone()
    return found is not None and found[0] == 0


def _settle_numbers(database: duckdb.DuckDBPyConnection, column: str, alone: bool) -> list[str]:
    """Turn numbers that are dates into seconds since 1970. Row numbers and the like stay as they are, if alone."""
    if alone and _settle_digits(database):
        return [f"Numbers such as 20240131 in column {column!r} were read as dates."]
    unit = "CASE " + "".join(
        f"WHEN time BETWEEN {FIRST_DATE * factor} AND {LAST_DATE * factor} THEN {factor} " for factor in UNITS.values()
    )
    found = database.execute(
        f"SELECT {unit} END AS unit, min(time), max(time), min(rowid) + 1 FROM log "
        f"WHERE clock = {NUMBER} AND time IS NOT NULL GROUP BY 1"
    ).fetchall()
    dates = {factor: low for factor, low, _, _ in found if factor is not None}
    others = [(high, row) for factor, _, high, row in found if factor is None]
    if others and alone and (not dates or min(dates.values()) < GAP * max(others[0][0], 1.0)):
        return []
    if others:
        raise LogError(
            f"{others[0][0]:g} does not belong to the clock of the other times",
            owner=f"time column {column!r}, row {others[0][1]}",
            expected="one clock for all rows",
            hint="correct the log or choose another column with {time}",
        )
    if set(dates) != {1.0}:
        database.execute(f"UPDATE log SET time = time / ({unit} END) WHERE clock = {NUMBER} AND time IS NOT NULL")
    if len(dates) < 2:
        return []
    names = " and ".join(name for name, factor in UNITS.items() if factor in dates)
    return [f"Times in column {column!r} are partly in {names} since 1970: all were turned into seconds."]


def _settle_digits(database: duckdb.DuckDBPyConnection) -> bool:
    """Read numbers such as 20240131 or 2024013118 as dates and hours, if all of them are."""
    bounds = database.execute("SELECT min(time), max(time) FROM log").fetchone()
    assert bounds is not None
    for low, high, form in ((19_900_101, 21_001_231, "%Y%m%d"), (1_990_010_100, 2_035_123_123, "%Y%m%d%H")):
        if not low <= bounds[0] <= bounds[1] <= high:
            continue
        moment = f"try_strptime(time::BIGINT::VARCHAR, '{form}')"
        wrong = f"time != floor(time) OR {moment} IS NULL"
        found = database.execute(f"SELECT count(*) FROM log WHERE time IS NOT NULL AND ({wrong})").fetchone()
        if found is not None and found[0] == 0:
            database.execute(f"UPDATE log SET time = epoch({moment}), clock = {LOCAL} WHERE time IS NOT NULL")
            return True
    return False
