"""Times as logs write them: ISO 8601, days and months in either order, AM and PM, seconds or milliseconds since 1970.

The table `log` of DuckDB holds each time as a number, its `clock` (one of the kinds below), and in `unreadable_time`
the text of what is none of them. One log has one clock: what could be read in two ways, or needs two, is refused.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.read.columns import LogError, words_of

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
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%d-%b-%Y", "%Y%m%d", "%a, %b %d, %Y", "%A, %B %d, %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y", "%a, %d %b %Y"),
    *("%b %Y", "%B %Y", "%Y-%m", "%Y/%m", "%m/%Y", "%G-W%V", "%GW%V"),
)
# Of two files of one log, one may put the day first and the other the month.
_SWAPPED = {
    date: date.translate(str.maketrans("dm", "md")) for date in _DATES if date[:2] in ("%d", "%m") and "b" not in date
}
_RANGE = "^(\\S.*?)\\s+(?:[-~\u2013\u2014]|to|bis)\\s+\\S.*$"  # of days
_TIMES_OF_DAY = ("%H", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p", "%I %p")
_FOLLOWING = ("", "T%H", *(f"{mark}{clock}" for mark in (" ", ", ") for clock in _TIMES_OF_DAY))
SAMPLE = 1000
# Seconds since 1970 that are dates between 1990 and 2100, and the units in which they come.
FIRST_DATE, LAST_DATE = 631_152_000.0, 4_102_444_800.0
# Days since 1900, as spreadsheets count them, that are such dates; and the day 1970-01-01 among them.
FIRST_SERIAL, LAST_SERIAL, SERIAL_1970 = 32_874, 73_050, 25_569
_DAYS = frozenset({"date", "day", "week", "month", "datum", "jour", "fecha", "start", "starts"})
UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
GAP = 100.0  # times that are so many times as large as all smaller ones are of another clock
READABLE = (
    "a time that can be read: expected ISO 8601 (2024-01-31, 2024-01-31 18:30, 2024-01-31T18:30:00Z) or a number such "
    "as seconds or milliseconds since 1970"
)


def time_of(kind: str, column: str, date_format: str | None, role: str = "time") -> tuple[str, str]:
    """Return SQL for a time of this type, as seconds (or whatever numbers it holds), and for its clock.

    Where a form of dates was given, texts and numbers are read later, in that form only.
    """
    if date_format is not None and (kind == "VARCHAR" or kind.startswith(_NUMBERS)):
        return "NULL::DOUBLE", str(LOCAL)
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


def unit_of(column: str) -> str:
    """Return SQL for how many units of a number are a second, if it is a date since 1970 in one of them."""
    ranges = (f"{FIRST_DATE * each} AND {LAST_DATE * each} THEN {each}" for each in UNITS.values())
    return f"(CASE {' '.join(f'WHEN {column} BETWEEN {each}' for each in ranges)} END)"


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
    _refuse_odd_years(database, column)
    if len(rows) > 1:
        said.append(f"Times in column {column!r} are partly texts and partly numbers since 1970: all were put in UTC.")
    return said


def _example(database: duckdb.DuckDBPyConnection, clock: int) -> int:
    found = database.execute("SELECT min(rowid) + 1 FROM log WHERE clock = $1 AND time IS NOT NULL", [clock]).fetchone()
    return 0 if found is None else int(found[0])


def _refuse_odd_years(database: duckdb.DuckDBPyConnection, column: str) -> None:
    """Refuse dates such as 1970-01-01 and 9999-12-31, which stand for no date, and the year 24."""
    found = database.execute(
        "SELECT rowid + 1, make_timestamp((time * 1e6)::BIGINT)::DATE::VARCHAR FROM log "
        f"WHERE clock != {NUMBER} AND time NOT BETWEEN {FIRST_DATE} AND {LAST_DATE} ORDER BY rowid LIMIT 1"
    ).fetchone()
    if found is not None:
        raise LogError(
            f"{found[1]} is no time of a log",
            owner=f"time column {column!r}, row {found[0]}",
            expected="years from 1990 to 2099",
            hint="correct the log or remove such rows",
        )


def _read_other_texts(database: duckdb.DuckDBPyConnection, column: str, date_format: str | None) -> list[str]:
    """Read the texts that are neither ISO 8601 nor numbers, if one way to write dates fits them all."""
    some = "SELECT unreadable_time AS text, file FROM log WHERE unreadable_time IS NOT NULL AND NOT is_total"
    if not _texts(database, some):
        return []
    said = _open_ranges(database, column, some)
    texts = _texts(database, some)
    fitting = _fitting(database, texts, some, date_format)
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
    if date_format is None:
        _refuse_swapped_files(database, column, fitting[0], some)
    moment = _reader(fitting[0], date_format, "unreadable_time")
    database.execute(
        f"UPDATE log SET time = epoch({moment}), clock = {LOCAL}, "
        "unreadable_time = NULL WHERE unreadable_time IS NOT NULL AND NOT is_total"
    )
    if date_format is not None:
        return said
    return [*said, f"Dates in column {column!r} were read as {fitting[0]}, the only way that fits all."]


def _texts(database: duckdb.DuckDBPyConnection, some: str) -> list[str]:
    return [row[0] for row in database.execute(f"SELECT DISTINCT text FROM ({some} LIMIT {SAMPLE})").fetchall()]


def _fitting(database: duckdb.DuckDBPyConnection, texts: list[str], some: str, date_format: str | None) -> list[str]:
    """Return the ways to write dates that fit all texts; of those that give the same dates, the first."""
    dates = _DATES if date_format is None else (date_format,)
    readers = {date: _reader(date, date_format, "text") for date in dates}
    sample = f"(SELECT unnest({_list(texts)}) AS text)"
    found: list[str] = []
    for date in dates:
        if all(_reads_all(database, table, readers[date]) for table in (sample, f"({some})")):
            agree = (f"CASE WHEN {readers[date]} = {readers[other]} THEN 1 END" for other in found)
            if not any(_reads_all(database, f"({some})", same) for same in agree):
                found.append(date)
    return found


def _open_ranges(database: duckdb.DuckDBPyConnection, column: str, some: str) -> list[str]:
    """Leave the first day of ranges such as 2024-01-01 - 2024-01-07, if all texts are ranges."""
    if not _reads_all(database, f"({some})", f"CASE WHEN regexp_matches(text, '{_RANGE}') THEN 1 END"):
        return []
    database.execute(
        f"UPDATE log SET unreadable_time = regexp_extract(unreadable_time, '{_RANGE}', 1) "
        "WHERE unreadable_time IS NOT NULL AND NOT is_total"
    )
    return [f"Column {column!r} holds ranges of days: each row was put on the first."]


def _refuse_swapped_files(database: duckdb.DuckDBPyConnection, column: str, date: str, some: str) -> None:
    """Refuse files that may put the month first where the others put the day first, or the other way round.

    A file that fits both ways must not be shorter, or nearer to the files that fit one way only, if read the other way.
    """
    if date not in _SWAPPED:
        return
    own, swapped = (f"epoch({_reader(each, None, 'text')})" for each in (date, _SWAPPED[date]))
    found = database.execute(
        f"SELECT count(*) FILTER ({swapped} IS NULL) = 0, min({own}), max({own}), min({swapped}), max({swapped}), "
        f"any_value(text) FROM ({some}) GROUP BY file"
    ).fetchall()
    sure = [row for row in found if not row[0]]
    if not sure:
        return
    first, last = min(row[1] for row in sure), max(row[2] for row in sure)
    for _, low, high, other_low, other_high, text in (row for row in found if row[0]):
        as_read = (max(last, high) - min(first, low), high - low)
        otherwise = (max(last, other_high) - min(first, other_low), other_high - other_low)
        if otherwise < as_read:
            raise LogError(
                f"other files are written {date}, but the one with {quoted(text)} may be written {_SWAPPED[date]}",
                owner=f"time column {column!r}",
                value=text,
                hint=f"if all are written alike, say so with {{date_format}}: {date!r}; or write dates as 2024-01-31",
            )


def _reader(date: str, given: str | None, text: str) -> str:
    """Return SQL that reads a column of texts as dates of this form, with any time of day unless the form was given."""
    formats = [date + following for following in _FOLLOWING] if given is None else [date]
    moment = f"try_strptime(trim({text}), {_list(formats)})"
    if "%V" in date and given is None:  # a week is its Monday
        moment = f"try_strptime(trim({text}) || '-1', '{date}-%u')"
    # "24" would be read as the year 24.
    return f"CASE WHEN year({moment}) BETWEEN 1900 AND 2200 THEN {moment} END"


def _list(texts: list[str]) -> str:
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


def _reads_all(database: duckdb.DuckDBPyConnection, texts: str, reader: str) -> bool:
    found = database.execute(f"SELECT count(*) FROM {texts} WHERE {reader} IS NULL").fetchone()
    return found is not None and found[0] == 0


def _settle_numbers(database: duckdb.DuckDBPyConnection, column: str, alone: bool) -> list[str]:
    """Turn numbers that are dates into seconds since 1970. Row numbers and the like stay as they are, if alone."""
    if alone and (form := _settle_digits(database, column)):
        return [f"Numbers in column {column!r} were read as dates: {form}."]
    unit = unit_of("time")
    found = database.execute(
        f"SELECT {unit} AS unit, min(time), max(time), min(rowid) + 1 FROM log "
        f"WHERE clock = {NUMBER} AND time IS NOT NULL GROUP BY 1"
    ).fetchall()
    dates = {factor: low for factor, low, _, _ in found if factor is not None}
    others = [(high, row) for factor, _, high, row in found if factor is None]
    if others and alone and (not dates or min(dates.values()) < GAP * max(others[0][0], 1.0)):
        _refuse_counters(database, column)
        return []
    if others:
        raise LogError(
            f"{others[0][0]:g} does not belong to the clock of the other times",
            owner=f"time column {column!r}, row {others[0][1]}",
            expected="one clock for all rows",
            hint="correct the log or choose another column with {time}",
        )
    if set(dates) != {1.0}:
        database.execute(f"UPDATE log SET time = time / {unit} WHERE clock = {NUMBER} AND time IS NOT NULL")
    if len(dates) < 2:
        return []
    names = " and ".join(name for name, factor in UNITS.items() if factor in dates)
    return [f"Times in column {column!r} are partly in {names} since 1970: all were turned into seconds."]


def _refuse_counters(database: duckdb.DuckDBPyConnection, column: str) -> None:
    """Refuse numbers that begin anew: hours of the day, and files that each count from 0."""
    owner = f"time column {column!r}"
    [[low, high, files]] = database.execute("SELECT min(time), max(time), count(DISTINCT file) FROM log").fetchall()
    backwards = "SELECT count(*) FROM (SELECT time < lag(time) OVER () AS back FROM log) WHERE back"
    if "hour" in words_of(column) and low >= 0 and high <= 23 and (database.execute(backwards).fetchone() or (0,))[0]:
        raise LogError("holds hours of the day", owner=owner, expected="dates with hours, such as 2024-01-31 18:00")
    if files < 2:
        return
    spans = database.execute("SELECT min(time), max(time) FROM log GROUP BY file ORDER BY 1, 2").fetchall()
    if any(low is not None and low < high for (_, high), (low, _) in itertools.pairwise(spans)):
        hint = "write times that go on from file to file, such as dates"
        raise LogError("holds numbers that begin anew in other files", owner=owner, expected="one clock", hint=hint)


def _settle_digits(database: duckdb.DuckDBPyConnection, column: str) -> str:
    """Read numbers such as 20240131, 2024013118, 202401 or 45322 as dates, if all of them are; return an example."""
    bounds = database.execute("SELECT min(time), max(time) FROM log").fetchone()
    assert bounds is not None
    whole = "time != floor(time) OR "
    digits = "time::BIGINT::VARCHAR"
    named = words_of(column)
    for low, high, example, moment, fits in (
        (19_900_101, 21_001_231, "20240131", f"try_strptime({digits}, '%Y%m%d')", True),
        (1_990_010_100, 2_035_123_123, "2024013118", f"try_strptime({digits}, '%Y%m%d%H')", True),
        (199_001, 209_912, "202401 as a month", f"try_strptime({digits}, '%Y%m')", "month" in named),
        (199_001, 209_953, "202401 as a week", f"try_strptime({digits} || '1', '%G%V%u')", "week" in named),
        (
            FIRST_SERIAL,
            LAST_SERIAL,
            "45322 as a day since 1900",
            f"make_timestamp(((time - {SERIAL_1970}) * 86400e6)::BIGINT)",
            bool(named & _DAYS),
        ),
    ):
        if not (fits and low <= bounds[0] <= bounds[1] <= high):
            continue
        wrong = f"{'' if low == FIRST_SERIAL else whole}{moment} IS NULL"
        found = database.execute(f"SELECT count(*) FROM log WHERE time IS NOT NULL AND ({wrong})").fetchone()
        if found is not None and found[0] == 0:
            database.execute(f"UPDATE log SET time = epoch({moment}), clock = {LOCAL} WHERE time IS NOT NULL")
            return example
    months = "SELECT count(*) FILTER (time % 100 NOT BETWEEN 1 AND 53 OR time != floor(time)) FROM log"
    if 199_001 <= bounds[0] < bounds[1] <= 209_953 and (database.execute(months).fetchone() or (1,))[0] == 0:
        raise LogError(
            f"{bounds[0]:.0f} and all others may be months or weeks",
            owner=f"time column {column!r}",
            hint="say that they are months with {date_format}: '%Y%m'; write weeks as 2024-W05",
        )
    return ""
