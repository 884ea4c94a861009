"""Which column says when an arm was shown: one of them, or several that are put together."""

from __future__ import annotations

import re

from rotting.errors import quoted
from rotting.logs.read.names import called, is_called, looks_like_time, mentions, month_of
from rotting.logs.read.options import LogError
from rotting.logs.read.tables import Source, in_sql, text_in_sql

_WHOLE = "try_cast(try_cast({0} AS DOUBLE) AS INTEGER)"
_CLOCK = "trim(regexp_extract({0}, '^[^-\u2013]*'))"
# Parts of dates: what their values look like, what reads them, and what else they may be called.
_PARTS = {
    "year": (r"(19|20)[0-9]{2}(\.0)?", _WHOLE),
    "quarter": (r"[QqTt]?[1-4](\.0)?", r"right(regexp_replace({0}, '\.0$', ''), 1)::INTEGER"),
    "month": (r"(0?[1-9]|1[0-2])(\.0)?", _WHOLE),
    "week": (r"(0?[1-9]|[1-4][0-9]|5[0-3])(\.0)?", _WHOLE),
    "day": (r"(0?[1-9]|[12][0-9]|3[01])(\.0)?", _WHOLE),
    "date": (
        r"[0-9]{4}[-/.]?[0-9]{2}[-/.]?[0-9]{2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}",
        "regexp_replace({0}, ' 00:00:00$', '')",
        "day",
        "time",
    ),
    "hour": (
        r"([01]?[0-9]|2[0-3])(\.0|:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?( ?[AaPp][Mm])?( ?[-\u2013] ?[0-9:]+)?",
        f"CASE WHEN regexp_matches({{0}}, '(?i)[:m]') THEN {_CLOCK} ELSE {_WHOLE} || ':00' END",
        "clock",
    ),
}
_WHOLE_DATE = (
    r"[0-9]{1,4}[-/. ][0-9A-Za-z]{1,9}[-/. ][0-9]{1,4}.*|[A-Za-z]+[. ]+[0-9].*[0-9]{4}.*|"
    r"(19|20)[0-9]{2}(0[1-9]|1[0-2])[0-3][0-9]([ T.].*)?"
)
_DAY = "printf('%d-%02d-%02d', {year}, {month}, {day})"
# Parts that are put together, and how: the first that a log has.
_TOGETHER = {
    ("date", "hour"): "{date} || ' ' || {hour}",
    ("year", "month", "day", "hour"): f"{_DAY} || ' ' || {{hour}}",
    ("year", "month", "day"): _DAY,
    ("year", "month"): "printf('%d-%02d-01', {year}, {month})",
    ("year", "week"): "printf('%d-W%02d', {year}, {week})",
    ("year", "quarter"): "printf('%d-%02d-01', {year}, 3 * {quarter} - 2)",
    # Without a year, the number of the day in its year.
    ("month", "day"): "dayofyear(try_strptime(printf('2000-%02d-%02d', {month}, {day}), '%Y-%m-%d'))::VARCHAR",
}


def find_time(source: Source, chosen: dict[str, str]) -> Source:
    """Add the column of times to those that are chosen, if there is one; return the log with that column.

    Columns that are called like the time of an exposure (date, shown_at) come first, then those of reports
    (reporting starts, week), then the only other one that holds dates; the times of records (created_at, uploaded,
    end_date) last. Parts of a date are put together, or refused. The rows of exports are in no order, so they need one.
    """
    free = [column for column in source.columns if column not in chosen.values() and source.sample[column]]
    parts = _parts_of(source, free)
    timed = [column for column in free if _holds_times(source, column) and column not in parts.values()]
    moments = called(timed, "time", whole=True)
    if any(_has_clock(source, column) for column in moments):
        parts = {}
    names = next((each for each in _TOGETHER if set(each) <= set(parts)), None)
    if names is not None and (names[0] == "date" or not moments):
        source, chosen["time"] = _joined(source, {name: parts[name] for name in names})
        yearless = ", as the number of a day, since no year stands there" if names == ("month", "day") else ""
        return source.saying(f"The time was put together from {_listed([parts[name] for name in names])}{yearless}.")
    # Numbers of one column may be counted on; hours of a day, or a month here and a week there, tell no order.
    worded = any(not text[0].isdigit() for column in parts.values() for text in source.sample[column])
    worded |= is_called(parts.get("hour", ""), "hour")
    alone = (len(parts) > 1 or worded) and not any(_is_dated(source, each) for each in [*moments, *parts.values()])
    tiers = [] if alone else _tiers(source, [*timed, *parts.values()])
    columns = next((each for each in tiers if each), [])
    if len(columns) > 1 and not is_called(columns[0], "time", "reported"):
        problem = f"several columns hold dates ({_listed(columns)})"
        raise LogError(problem, hint="name the one of the exposures with {time}")
    if columns:
        chosen["time"] = columns[0]
        others = [column for column in columns[1:] if _is_dated(source, column)]
        said = f"Column {columns[0]!r} was taken for the time; {_listed(others)} could be meant as well."
        return source.saying(said) if others else source
    if parts:
        raise LogError(
            f"the time seems to stand in {_listed(list(parts.values()))}",
            expected="one column of times, such as 2024-01-31 or 2024-01-31 18:00",
            hint="put them together, or name one column with {time}",
        )
    unread = [
        f"{each!r} holds {quoted(source.sample[each][0])}" for each in called(free, "time", "reported", whole=True)
    ]
    if "impressions" in chosen:
        problem = f"no column holds times that can be read{''.join(f' ({each})' for each in unread[:1])}"
        hint = "write dates as 2024-01-31, or name another column with {time}"
        raise LogError(problem, expected="a time for sums of exposures, whose rows are in no order", hint=hint)
    return source.saying(*(f"Column {each}, which is no time that can be read: not used." for each in unread))


def _tiers(source: Source, timed: list[str]) -> list[list[str]]:
    """Return the columns that may hold the times of exposures, the surest kind first."""
    varying = [column for column in timed if source.varies(column)]
    others = [column for column in varying if not mentions(column, "recorded", "outcome", "unit", "arm", "of others")]
    return [
        called(varying, "time", whole=True),
        called(varying, "reported", whole=True),
        [column for column in others if _is_dated(source, column)],
        called(varying, "recorded"),
        called(timed, "time", whole=True),
    ]


def _holds_times(source: Source, column: str) -> bool:
    texts = source.sample[column]
    return 10 * sum(map(looks_like_time, texts)) >= len(texts) > 0  # the others are refused with their rows


def _is_dated(source: Source, column: str) -> bool:
    """Say whether a column holds dates, and no mere numbers."""
    return all(re.fullmatch(_WHOLE_DATE, text) and looks_like_time(text) for text in source.sample[column])


def _has_clock(source: Source, column: str) -> bool:
    """Say whether times tell more than the day, as texts or as seconds since 1970."""
    texts = source.sample[column]
    return any(re.search(r"[0-9][ T]0?[0-9]+:[0-9]", text) and not text.endswith(" 00:00:00") for text in texts) or all(
        re.fullmatch(r"[0-9]{9,}(\.[0-9]+)?", text) for text in texts
    )


def _parts_of(source: Source, free: list[str]) -> dict[str, str]:
    """Return the columns that hold parts of dates, by what they hold: as their names and all values say."""
    found: dict[str, str] = {}
    for part, (form, _, *also) in _PARTS.items():
        for column in called(free, part, *also, whole=True):
            texts = [text.removesuffix(" 00:00:00") for text in source.sample[column]]
            fits = all(re.fullmatch(form, text) for text in texts)
            if column not in found.values() and (fits or (part == "month" and all(map(month_of, texts)))):
                found[part] = column
                break
    return found


def _joined(source: Source, parts: dict[str, str]) -> tuple[Source, str]:
    """Return the log with a column of times that was put together from parts of them, and its name."""
    text = {part: f"trim({in_sql(column)}::VARCHAR)" for part, column in parts.items()}
    sql = {part: _PARTS[part][1].format(each) for part, each in text.items()}
    if "month" in parts and all(map(month_of, source.sample[parts["month"]])):
        words = [word for word in source.values(parts["month"]) if month_of(word)]
        known = " ".join(f"WHEN {text_in_sql(each)} THEN {month_of(each)}" for each in words)
        sql["month"] = f"CASE {text['month']} {known} END"
    if tuple(parts) == ("month", "day"):
        months = {row[0] for row in source.find(f"SELECT DISTINCT {sql['month']} FROM log")}
        if {1, 12} <= months:
            raise LogError(
                f"the time stands in {_listed(list(parts.values()))}, without a year, and goes over New Year",
                expected="dates with a year",
                hint="add a column of years, or name another column with {time}",
            )
    moment, name = _TOGETHER[tuple(parts)].format(**sql), " + ".join(parts.values())
    return source.select(f"SELECT *, {moment} AS {in_sql(name)} FROM log"), name


def _listed(columns: list[str]) -> str:
    return " and ".join(map(quoted, columns[:4]))
