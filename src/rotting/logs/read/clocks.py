"""Times as logs write them: ISO 8601, days and months in either order, AM and PM, seconds or milliseconds since 1970.

The rows of a log hold each time as a number, its `clock` (one of the kinds below), and in `unreadable_time` the text of
what is none of them. One log has one clock: what could be read in two ways, or needs two, is refused.
"""

from __future__ import annotations

import itertools

from rotting.errors import quoted
from rotting.logs.read.names import mentions, month_of
from rotting.logs.read.numbers import KINDS_OF_NUMBERS
from rotting.logs.read.options import LogError
from rotting.logs.read.tables import Table, list_in_sql

NUMBER, LOCAL, INSTANT = 0, 1, 2  # kinds of times: a number, without an offset from UTC, with one

# Times as texts, in regular expressions.
_DATE, _CLOCK = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}", "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
_FROM_UTC = " ?[Zz]| ?[+-][0-9]{2}(:?[0-9]{2})?"
# Other ways to write a date, and what may follow it. Where several dates fit, they must agree.
_DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%d-%b-%Y", "%Y%m%d", "%a, %b %d, %Y", "%A, %B %d, %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y", "%a, %d %b %Y", "%d. %b %Y"),
    *("%b %Y", "%B %Y", "%Y-%m", "%Y/%m", "%m/%Y", "%G-W%V", "%GW%V", "%Y-%b-%d", "%Y %b %d", "%b-%y", "%b-%Y"),
)
# Of two files of one log, one may put the day first and the other the month.
_SWAPPED = {
    date: date.translate(str.maketrans("dm", "md")) for date in _DATES if date[:2] in ("%d", "%m") and "b" not in date
}
_RANGE = "^(\\S.*?)\\s+(?:[-~\u2013\u2014]|to|bis)\\s+\\S.*$"  # of days
_TIMES_OF_DAY = ("%H", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p", "%I %p")
_FOLLOWING = ("", "T%H", *(f"{mark}{clock}" for mark in (" ", ", ") for clock in _TIMES_OF_DAY))
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BETWEEN = dict.fromkeys("年月년월", "-") | dict.fromkeys(("日", "일", "de", "del", "г", "г.", "года"), " ")
SAMPLE, MOST_WORDS = 1000, 100
# Seconds since 1970 that are dates between 1990 and 2100, and the units in which they come.
FIRST_DATE, LAST_DATE = 631_152_000.0, 4_102_444_800.0
# Days since 1900, as spreadsheets count them, that are such dates; and the day 1970-01-01 among them.
FIRST_SERIAL, LAST_SERIAL, SERIAL_1970 = 32_874, 73_050, 25_569
UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
GAP = 100.0  # times that are so many times as large as all smaller ones are of another clock
# Texts that are not read yet, with the file they are from.
_SOME = "SELECT unreadable_time AS text, file FROM log WHERE unreadable_time NOT NULL AND NOT is_total"
READABLE = (
    "a time that can be read: expected ISO 8601 (2024-01-31, 2024-01-31 18:30, 2024-01-31T18:30:00Z) or a number such "
    "as seconds or milliseconds since 1970"
)


def time_of(kind: str, column: str, date_format: str | None, role: str = "time") -> tuple[str, str]:
    """Return SQL for a time of this type, as seconds (or whatever numbers it holds), and for its clock.

    Where a form of dates was given, texts and numbers are read later, in that form only.
    """
    if date_format is not None and (kind == "VARCHAR" or kind.startswith(KINDS_OF_NUMBERS)):
        return "NULL::DOUBLE", str(LOCAL)
    if kind.startswith(KINDS_OF_NUMBERS):
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


def settle_times(rows: Table, column: str, date_format: str | None) -> tuple[Table, list[str]]:
    """Put all times of the log on one clock, in seconds where they are dates; return what must be said about it."""
    rows, said = _read_other_texts(rows, column, date_format)
    kinds = {row[0] for row in rows.find("SELECT DISTINCT clock FROM log WHERE time NOT NULL")}
    if NUMBER in kinds:
        rows, told = _settle_numbers(rows, column, alone=len(kinds) == 1)
        said += told
    if len(kinds) > 1 and LOCAL in kinds:
        other = INSTANT if INSTANT in kinds else NUMBER
        first, second = (
            rows.find("SELECT min(place) + 1 FROM log WHERE clock = $1 AND time NOT NULL", kind)[0][0]
            for kind in (LOCAL, other)
        )
        raise LogError(
            f"some times are in UTC or have an offset from it, and others have none (rows {first} and {second})",
            owner=f"time column {column!r}",
            hint="write all of them in UTC, such as 2024-01-31T18:30:00Z, or none with an offset",
        )
    _refuse_odd_years(rows, column)
    if len(kinds) > 1:
        said.append(f"Times in column {column!r} are partly texts and partly numbers since 1970: all were put in UTC.")
    return rows, said


def _refuse_odd_years(rows: Table, column: str) -> None:
    """Refuse dates such as 1970-01-01 and 9999-12-31, which stand for no date, and the year 24."""
    found = rows.first(
        "SELECT place + 1, make_timestamp((time * 1e6)::BIGINT)::DATE::VARCHAR FROM log "
        f"WHERE clock != {NUMBER} AND time NOT BETWEEN {FIRST_DATE} AND {LAST_DATE} ORDER BY place LIMIT 1"
    )
    if found is not None:
        raise LogError(
            f"{found[1]} is no time of a log",
            owner=f"time column {column!r}, row {found[0]}",
            expected="years from 1990 to 2099",
            hint="correct the log or remove such rows",
        )


def _read_other_texts(rows: Table, column: str, date_format: str | None) -> tuple[Table, list[str]]:
    """Read the texts that are neither ISO 8601 nor numbers, if one way to write dates fits them all."""
    if not rows.find(f"{_SOME} LIMIT 1"):
        return rows, []
    said: list[str] = []
    if _reads_all(rows, f"CASE WHEN regexp_matches(text, '{_RANGE}') THEN 1 END"):
        rows = rows.replaced(unreadable_time=f"regexp_extract(unreadable_time, '{_RANGE}', 1)")
        said = [f"Column {column!r} holds ranges of days: each row was put on the first."]
    fitting = _fitting(rows, (date_format,) if date_format else _DATES, date_format)
    if not fitting and date_format is None:
        english = _in_english(rows)
        fitting = _fitting(english, _DATES, None)
        rows = english if fitting else rows
    if not fitting or (date_format is None and rows.count("time NOT NULL AND unreadable_time IS NULL")):
        return rows, []  # refused with its row, as any other text
    if len(fitting) > 1:
        [[text]] = rows.find(f"SELECT text FROM ({_SOME}) LIMIT 1")
        raise LogError(
            f"{quoted(text)} and all others can be read in two ways ({' or '.join(fitting[:2])})",
            owner=f"time column {column!r}",
            value=text,
            hint=f"say which with {{date_format}}, such as {fitting[0]!r}",
        )
    if date_format is None:
        _refuse_swapped_files(rows, column, fitting[0])
        said.append(f"Dates in column {column!r} were read as {fitting[0]}, the only way that fits all.")
    unread = "unreadable_time NOT NULL AND NOT is_total"
    moment = _reader(fitting[0], date_format, "unreadable_time")
    read = rows.replaced(
        time=f"CASE WHEN {unread} THEN epoch({moment}) ELSE time END",
        clock=f"CASE WHEN {unread} THEN {LOCAL} ELSE clock END",
        unreadable_time=f"CASE WHEN NOT ({unread}) THEN unreadable_time END",
    )
    return read.stored(), said


def _in_english(rows: Table) -> Table:
    """Return texts with the months of other languages in English."""
    words = rows.find(
        f"SELECT DISTINCT unnest(regexp_extract_all(text, '[\\p{{L}}]+[.]?')) AS word FROM ({_SOME}) LIMIT {MOST_WORDS}"
    )
    known = {
        word: _BETWEEN.get(word.lower()) or _MONTHS[month_of(word) or 0]
        for (word,) in words
        if word.lower() in _BETWEEN or month_of(word)
    }
    if len(words) >= MOST_WORDS or not known:
        return rows
    text = "unreadable_time"
    for word in sorted(known, key=len, reverse=True):
        edge = "\\b" if word.isascii() else ""
        form = f"{edge}{word.replace('.', '[.]')}{edge if word.isalpha() else ''}"
        text = f"regexp_replace({text}, '{form}', '{known[word]}', 'g')"
    tidy = f"regexp_replace(regexp_replace(trim({text}, ' -'), ' +', ' ', 'g'), '- ', '-', 'g')"
    return rows.replaced(unreadable_time=tidy).stored()


def _fitting(rows: Table, dates: tuple[str, ...], date_format: str | None) -> list[str]:
    """Return the ways to write dates that fit all texts; of those that give the same dates, the first."""
    texts = [row[0] for row in rows.find(f"SELECT DISTINCT text FROM ({_SOME} LIMIT {SAMPLE})")]
    sample = Table(
        rows.database, f"SELECT unnest([{list_in_sql(texts)}]) AS unreadable_time, 0 AS file, false AS is_total"
    )
    readers = {date: _reader(date, date_format, "text") for date in dates}
    found: list[str] = []
    for date in dates:
        if all(_reads_all(table, readers[date]) for table in (sample, rows)):
            agree = (f"CASE WHEN {readers[date]} = {readers[other]} THEN 1 END" for other in found)
            if not any(_reads_all(rows, same) for same in agree):
                found.append(date)
    return found


def _refuse_swapped_files(rows: Table, column: str, date: str) -> None:
    """Refuse files that may put the month first where the others put the day first, or the other way round.

    A file that fits both ways must not be shorter, or nearer to the files that fit one way only, if read the other way.
    """
    if date not in _SWAPPED:
        return
    own, swapped = (f"epoch({_reader(each, None, 'text')})" for each in (date, _SWAPPED[date]))
    found = rows.find(
        f"SELECT count(*) FILTER ({swapped} IS NULL) = 0, min({own}), max({own}), min({swapped}), max({swapped}), "
        f"any_value(text) FROM ({_SOME}) GROUP BY file"
    )
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
    moment = f"try_strptime(trim({text}), [{list_in_sql(formats)}])"
    if "%V" in date and given is None:  # a week is its Monday
        moment = f"try_strptime(trim({text}) || '-1', '{date}-%u')"
    # "24" would be read as the year 24.
    return f"CASE WHEN year({moment}) BETWEEN 1900 AND 2200 THEN {moment} END"


def _reads_all(rows: Table, reader: str) -> bool:
    return not rows.find(f"SELECT 1 FROM ({_SOME}) WHERE {reader} IS NULL LIMIT 1")


def _settle_numbers(rows: Table, column: str, alone: bool) -> tuple[Table, list[str]]:
    """Turn numbers that are dates into seconds since 1970. Row numbers and the like stay as they are, if alone."""
    if alone and (found := _settle_digits(rows, column)):
        return found[0], [f"Numbers in column {column!r} were read as dates: {found[1]}."]
    unit = unit_of("time")
    units = rows.find(
        f"SELECT {unit} AS unit, min(time), max(time), min(place) + 1 FROM log "
        f"WHERE clock = {NUMBER} AND time NOT NULL GROUP BY 1"
    )
    dates = {factor: low for factor, low, _, _ in units if factor is not None}
    others = [(high, row) for factor, _, high, row in units if factor is None]
    if others and alone and (not dates or min(dates.values()) < GAP * max(others[0][0], 1.0)):
        _refuse_counters(rows, column)
        return rows, []
    if others:
        raise LogError(
            f"{others[0][0]:g} does not belong to the clock of the other times",
            owner=f"time column {column!r}, row {others[0][1]}",
            expected="one clock for all rows",
            hint="correct the log or choose another column with {time}",
        )
    if set(dates) != {1.0}:
        rows = rows.replaced(time=f"CASE WHEN clock = {NUMBER} THEN time / {unit} ELSE time END")
    if len(dates) < 2:
        return rows, []
    names = " and ".join(name for name, factor in UNITS.items() if factor in dates)
    return rows, [f"Times in column {column!r} are partly in {names} since 1970: all were turned into seconds."]


def _refuse_counters(rows: Table, column: str) -> None:
    """Refuse numbers that begin again: hours of the day, and files that each count from 0."""
    owner = f"time column {column!r}"
    [[low, high, files, back]] = rows.find(
        "SELECT min(time), max(time), count(DISTINCT file), bool_or(back) FROM "
        "(SELECT time, file, time < lag(time) OVER () AS back FROM log)"
    )
    if mentions(column, "hour") and low >= 0 and high <= 23 and back:
        raise LogError("holds hours of the day", owner=owner, expected="dates with hours, such as 2024-01-31 18:00")
    if files < 2:
        return
    spans = rows.find("SELECT min(time), max(time) FROM log GROUP BY file ORDER BY 1, 2")
    if any(low is not None and low < high for (_, high), (low, _) in itertools.pairwise(spans)):
        hint = "write times that go on from file to file, such as dates"
        raise LogError("holds numbers that begin again in other files", owner=owner, expected="one clock", hint=hint)


def _settle_digits(rows: Table, column: str) -> tuple[Table, str] | None:
    """Read numbers such as 20240131, 2024013118, 202401 or 45322 as dates, if all of them are; return an example."""
    [[least, most]] = rows.find("SELECT min(time), max(time) FROM log")
    digits = "time::BIGINT::VARCHAR"
    serial = f"make_timestamp(((time - {SERIAL_1970}) * 86400e6)::BIGINT)"
    dated = mentions(column, "date", "day", "week", "month", "reported")
    for low, high, example, moment, fits in (
        (19_900_101, 21_001_231, "20240131", f"try_strptime({digits}, '%Y%m%d')", True),
        (1_990_010_100, 2_035_123_123, "2024013118", f"try_strptime({digits}, '%Y%m%d%H')", True),
        (199_001, 209_912, "202401 as a month", f"try_strptime({digits}, '%Y%m')", mentions(column, "month")),
        (199_001, 209_953, "202401 as a week", f"try_strptime({digits} || '1', '%G%V%u')", mentions(column, "week")),
        (FIRST_SERIAL, LAST_SERIAL, "45322 as a day since 1900", serial, dated),
    ):
        whole = "" if moment is serial else "time != floor(time) OR "
        if fits and low <= least <= most <= high and not rows.count(f"time NOT NULL AND ({whole}{moment} IS NULL)"):
            return rows.replaced(time=f"epoch({moment})", clock=str(LOCAL)), example
    if 199_001 <= least < most <= 209_953 and not rows.count("time % 100 NOT BETWEEN 1 AND 53 OR time != floor(time)"):
        raise LogError(
            f"{least:.0f} and all others may be months or weeks",
            owner=f"time column {column!r}",
            hint="say that they are months with {date_format}: '%Y%m'; write weeks as 2024-W05",
        )
    return None
