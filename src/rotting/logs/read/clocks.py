"""Times as logs write them: ISO 8601, days and months in either order, AM and PM, seconds or milliseconds since 1970.

A column of times is written in one form. Of all that are known the one that fits most of its values is taken; two that
fit equally well must agree in every file, or it is asked which is meant. What the form does not fit is refused by row.
"""

from __future__ import annotations

import dataclasses

from rotting.errors import quoted
from rotting.logs.read.names import IN_DATES, mentions, month_of
from rotting.logs.read.numbers import KINDS_OF_NUMBERS, missing_in_sql
from rotting.logs.read.options import LogError
from rotting.logs.read.rules import Rule, abiding
from rotting.logs.read.tables import Source, in_sql, list_in_sql

# Seconds since 1970 that are dates between 1990 and 2100, and the units in which they come.
FIRST_DATE, LAST_DATE = 631_152_000.0, 4_102_444_800.0
UNITS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
SERIAL_1970 = 25_569  # days since 1900, as spreadsheets count them
_CLOCK, _FROM_UTC = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?", " ?(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)"
_DAY = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}"
_ISO, _ZONED = f"{_DAY}([ T]{_CLOCK})?", f"{_DAY}[ T]{_CLOCK}{_FROM_UTC}"
# Other ways to write a date, and what may follow it.
_DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%d-%b-%Y", "%Y%m%d", "%a, %b %d, %Y", "%A, %B %d, %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y", "%a, %d %b %Y", "%d. %b %Y"),
    *("%b %Y", "%B %Y", "%Y-%m", "%Y/%m", "%m/%Y", "%G-W%V", "%GW%V", "%Y-%b-%d", "%Y %b %d", "%b-%y", "%b-%Y"),
)
_TIMES_OF_DAY = ("%H", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p", "%I %p")
_FOLLOWING = ("", "T%H", *(f"{mark}{clock}" for mark in (" ", ", ") for clock in _TIMES_OF_DAY))
_RANGE = (
    r"^(?:(?:du|del|dal|from|von|vom|de) )?(\S.*?)\s+(?:[-~\x{2013}\x{2014}]|to|bis|au|al|a|tot|do)\s+\S.*$"  # of days
)
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SAMPLE, MOST_WORDS = 1000, 100
READABLE = (
    "ISO 8601 (2024-01-31, 2024-01-31 18:30, 2024-01-31T18:30:00Z) or a number such as seconds or milliseconds since "
    "1970, one form for all rows, and years from 1990 to 2099"
)


@dataclasses.dataclass(frozen=True)
class Clock:
    """How a column of times is read."""

    sql: str  # for seconds since 1970, or whatever numbers it holds; NULL for what is written otherwise
    form: str = "ISO 8601"  # how they are written; empty for numbers that are no dates


def clock_of(source: Source, column: str, date_format: str | None = None) -> Clock:
    """Return how the times of a column are written: the form that fits most of them."""
    name, kind = in_sql(column), source.kinds[column]
    if kind.startswith(("TIMESTAMP", "DATE")):
        return Clock(_dated(f"epoch({name}{'' if 'ZONE' in kind else '::TIMESTAMP'})"))
    numeric = kind.startswith(KINDS_OF_NUMBERS)
    if not numeric and kind != "VARCHAR":
        raise LogError(f"holds {kind}", owner=f"time column {column!r}", expected="timestamps, dates or numbers")
    number = f"try_cast({name} AS DOUBLE)"
    # Spreadsheets and frames write whole numbers as 20240131.0.
    whole = f"CASE WHEN {number} = floor({number}) AND abs({number}) < 1e15 THEN {number}::BIGINT::VARCHAR END"
    text = whole if numeric else f"trim({name})"
    known = source.select(f"SELECT {name} FROM log WHERE {name} NOT NULL AND NOT {missing_in_sql(name)}")
    few = known.select(
        f"SELECT DISTINCT {name} FROM (SELECT {name} FROM log LIMIT {10 * SAMPLE}) LIMIT {SAMPLE}"
    ).stored()
    tidy = text if numeric else _tidy(few, text)
    if date_format is not None:
        read = (_written(each, date_format) for each in (text, tidy))
        return Clock(f"coalesce({', '.join(read)})", date_format)
    stages = [
        _machine_forms(column, text, number, f"coalesce({whole}, {text})"),
        _written_forms(column, text),
        _written_forms(column, tidy, " (of ranges of days, the first)"),
    ]
    for forms in stages:
        number_of_texts, *found = few.find(
            f"SELECT count(*), {', '.join(map('count({})'.format, forms.values()))} FROM log"
        )[0]
        counts = dict(zip(forms, found, strict=True))
        form = max(counts, key=lambda form: counts[form])
        if 2 * counts[form] < number_of_texts:
            continue
        if forms is not stages[0]:
            # Of several files, each must tell by itself.
            least = 1 if source.files else counts[form]
            form = _agreed(source, column, {form: sql for form, sql in forms.items() if counts[form] >= least})
        return Clock(forms[form], form)
    spans = f"SELECT min({number}) AS low, max({number}) AS high FROM log GROUP BY {source.file}"
    again = f"SELECT 1 FROM (SELECT low < lag(high) OVER (ORDER BY low) AS again FROM ({spans})) WHERE again LIMIT 1"
    counters = Rule(
        again,
        "holds numbers that begin again in other files",
        "time column {column!r}",
        "one clock, such as dates",
        "write times that go on from file to file",
    )
    abiding(source, [counters], {"column": column})
    return Clock(number, "")


def _dated(seconds: str, when: str = "true") -> str:
    return f"CASE WHEN {when} AND {seconds} BETWEEN {FIRST_DATE} AND {LAST_DATE} THEN {seconds} END"


def _machine_forms(column: str, text: str, number: str, digits: str) -> dict[str, str]:
    """Return SQL for the forms that machines write, of which a text has one only."""
    # Read as a TIMESTAMP, a time with an offset from UTC would silently lose it.
    instant = f"try_cast(regexp_replace({text}, ' ?UTC$', 'Z') AS TIMESTAMPTZ)"
    forms = {
        "ISO 8601, without an offset from UTC": _dated(
            f"epoch(try_cast({text} AS TIMESTAMP))", f"regexp_full_match({text}, '{_ISO}')"
        ),
        "ISO 8601, with an offset from UTC": _dated(f"epoch({instant})", f"regexp_full_match({text}, '{_ZONED}')"),
        "dates such as 20240131": _written(digits, "%Y%m%d", when=f"length({digits}) = 8"),
        "dates and hours such as 2024013118": _written(
            digits, "%Y%m%d%H", when=f"length({digits}) = 10 AND {digits} < '2036'"
        ),
    }
    forms |= {f"{name} since 1970": _dated(f"({number} / {unit})") for name, unit in UNITS.items()}
    if mentions(column, "date", "day", "week", "month", "reported"):
        forms["days since 1900, as spreadsheets count them"] = _dated(f"(({number} - {SERIAL_1970}) * 86400)")
    return forms


def _written_forms(column: str, text: str, more: str = "") -> dict[str, str]:
    """Return SQL for the forms that people write. 202401 is a month or a week, as the column is called."""
    forms = {date + more: _written(text, *(date + each for each in _FOLLOWING)) for date in _DATES}
    for date, other in (("%Y%m", "week"), ("%G%V", "month")):
        if not mentions(column, other):
            forms[date + more] = _written(text, date, when=f"length({text}) = 6")
    return forms


def _written(text: str, *formats: str, when: str = "true") -> str:
    """Return SQL that reads a text as a date of this form, or with these additions; a week is its Monday."""
    moment = f"try_strptime({text}, [{list_in_sql(formats)}])"
    if "%V" in formats[0]:
        moment = f"try_strptime({text} || '-1', '{formats[0]}-%u')"
    return _dated(f"epoch({moment})", when)


def _tidy(few: Source, text: str) -> str:
    """Return SQL for texts with the months of other languages in English, and of ranges of days the first."""
    first = f"coalesce(nullif(regexp_extract({text}, '{_RANGE}', 1), ''), {text})"
    words = few.find(
        f"SELECT DISTINCT unnest(regexp_extract_all({first}, '[\\p{{L}}]+[.]?')) AS word FROM log LIMIT {MOST_WORDS}"
    )
    tidy = first
    for (word,) in sorted(words, key=lambda row: -len(row[0])):
        known = IN_DATES.get(word.lower()) or _MONTHS[month_of(word) or 0]
        if known:
            edge = "\\b" if word.isascii() else ""
            form = f"{edge}{word.replace('.', '[.]')}{edge if word.isalpha() else ''}"
            tidy = f"regexp_replace({tidy}, '{form}', '{known}', 'g')"
    return f"regexp_replace(regexp_replace(trim({tidy}, ' -'), ' +', ' ', 'g'), '- ', '-', 'g')"


def _agreed(source: Source, column: str, forms: dict[str, str]) -> str:
    """Return the form of those that fit equally well; refuse a file that can be read in two ways."""
    if len(forms) == 1:
        return next(iter(forms))
    sums = ", ".join(f"count({sql}), sum({sql})" for sql in forms.values())
    fitting = dict.fromkeys(forms, 0)
    example = f"{source.file} AS file, min({in_sql(column)}::VARCHAR)"
    for _, text, *found in source.find(f"SELECT {example}, {sums} FROM log GROUP BY file"):
        read = dict(zip(forms, zip(found[::2], found[1::2], strict=True), strict=True))
        most = max(count for count, _ in read.values())
        best = {seconds: form for form, (count, seconds) in reversed(read.items()) if count == most}
        if len(best) > 1:
            ways = list(best.values())[::-1]
            raise LogError(
                f"{quoted(text)} and all others{' of its file' if source.files else ''} can be read in two ways "
                f"({' or '.join(ways[:2])})",
                owner=f"time column {column!r}",
                value=text,
                hint=f"say which with {{date_format}}, such as {ways[0].partition(' (')[0]!r}",
            )
        fitting = {form: fitting[form] + count for form, (count, _) in read.items()}
    return max(fitting, key=lambda form: fitting[form])
