"""Event logs and wide tables, turned into one row per exposure or sums with their number of exposures."""

from __future__ import annotations

import dataclasses
import re

from rotting.errors import quoted
from rotting.logs.read.columns import NO_IMPRESSIONS, Columns
from rotting.logs.read.names import REWARDS, is_called, mentions, plain_words
from rotting.logs.read.options import LogError, ReadOptions
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE, Source
from rotting.logs.read.tables import Table, in_sql, text_in_sql

MOST_EVENTS = 50
LEAST_LINKED = 0.9  # of the rewards must have their impression, or the column is no link
# Slices of time in which events without a link are counted.
SLICES = 200
WIDE_ARM, WIDE_SHOWN = "arm", "impressions"
# Names of columns that are dates: then it is times that stand side by side.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2}|^[0-9]{8}$|[A-Z][a-z]{2,8} [0-9]{1,4}")
_WIDE_REWARDS = ("clicks", "conversions", "purchases", "sales", "revenue", "opens")
_WIDE_SHOWN = ("impressions", "impr", "exposures", "displays")


@dataclasses.dataclass(frozen=True)
class Reshaped:
    """The log to read, the columns that are known from how it was made, and whether events must be counted."""

    source: Source
    roles: dict[str, str] = dataclasses.field(default_factory=dict)
    counts_events: bool = False


def reshaped(source: Source, options: ReadOptions) -> Reshaped:
    """Return a log with one row per exposure, or with sums, if it is one of events or has arms side by side."""
    _refuse_measures(source)
    events = _events(source)
    if events is not None and options.impressions not in (*source.columns, NO_IMPRESSIONS):
        return _of_events(source, events, options)
    if options.arm is None and (pairs := wide_pairs(source.columns)):
        return _of_wide(source, pairs)
    return Reshaped(source)


@dataclasses.dataclass(frozen=True)
class _Events:
    """The column that tells impressions from what they earned, its values, and which of them are which."""

    column: str
    values: set[str]
    shown: set[str]
    earned: set[str]

    def one(self, what: str, role: str, wanted: str | None, likely: set[str]) -> str:
        """Return the event that is an exposure, or a reward: the one asked for, or the only one that sounds so."""
        found = likely if wanted is None else {wanted.strip().lower()} & self.values
        if len(found) != 1:
            kinds = ", ".join(map(quoted, sorted(likely if wanted is None else self.values)))
            raise LogError(
                f"column {quoted(self.column)} holds different events ({kinds})",
                expected=ONE_ROW_PER_EXPOSURE,
                hint=f"name the event that counts as the {what} with {{{role}}}",
            )
        return next(iter(found))

    def are(self, event: str) -> str:
        """Return SQL that says whether a row is such an event."""
        return f"lower(trim({in_sql(self.column)}::VARCHAR)) = {text_in_sql(event)}"


def _events(source: Source) -> _Events | None:
    for column in source.columns:
        if is_called(column, "event"):
            found = {value.lower() for value in source.values(column, MOST_EVENTS)}
            for matches in (is_called, mentions):
                earned = {value for value in found if matches(value, "earned event")}
                shown = {value for value in found if matches(value, "shown event")} - earned
                if shown and earned:
                    return _Events(column, found, shown, earned)
    return None


def _refuse_measures(source: Source) -> None:
    """Refuse a row per measure: impressions and clicks in one column would be added up as if both were rewards."""
    for column in source.columns:
        if is_called(column, "measure"):
            found = source.values(column, MOST_EVENTS)
            if any(mentions(value, "impressions") for value in found):
                listed = ", ".join(map(quoted, found[:4]))
                raise LogError(
                    f"column {quoted(column)} tells impressions from other measures ({listed})",
                    expected="a column of its own for each",
                    hint="turn the table so that impressions and clicks of an arm and day stand in one row",
                )


def _of_events(source: Source, events: _Events, options: ReadOptions) -> Reshaped:
    """Return impressions with what they earned: whether another event followed, or the sum of an amount."""
    shown = events.one("exposure", "impressions", options.impressions, events.shown)
    amount = options.reward if options.reward in source.columns else None
    if amount is None:
        called = events.one("reward", "reward", options.reward, events.earned)
        earned, value = events.are(called), "1"
    else:
        _refuse_amounts_of_impressions(source, events, shown, amount)
        called, earned, value = amount, f"NOT {events.are(shown)}", in_sql(amount)
    others = ", ".join(dict.fromkeys(in_sql(each) for each in (events.column, called) if each in source.columns))
    link = next((each for each in source.columns if is_called(each, "link")), None)
    linked = (
        None if link is None else _linked(source.rows, in_sql(link), (events.are(shown), earned, value), others, called)
    )
    if linked is not None:
        rows, number = linked
        followed = f"{number:,} of {shown!r} were followed by others"
        said = f"Events were joined by column {link!r}: {followed}, of which {called!r} counts."
        # Every row is one exposure.
        return Reshaped(source.with_rows(rows, said), {"reward": called, "impressions": NO_IMPRESSIONS})
    rows = source.rows.select(
        f"SELECT * EXCLUDE ({others}), ({events.are(shown)})::INTEGER AS {in_sql(WIDE_SHOWN)}, "
        f"CASE WHEN {earned} THEN coalesce({value}::VARCHAR, '0') ELSE '0' END AS {in_sql(called)} "
        f"FROM log WHERE {events.are(shown)} OR {earned}"
    )
    said = (
        f"Events were counted, {shown!r} and {called!r} of each arm in {SLICES} slices of time: no column links them."
    )
    return Reshaped(source.with_rows(rows, said), {"reward": called, "impressions": WIDE_SHOWN}, counts_events=True)


def _refuse_amounts_of_impressions(source: Source, events: _Events, shown: str, amount: str) -> None:
    """Refuse amounts beside impressions as well: they may be prices, or copies of what a later event earned."""
    column = in_sql(amount)
    worth = f"coalesce(try_cast({column} AS DOUBLE), 1) != 0 AND trim({column}::VARCHAR) != ''"
    if source.rows.find(f"SELECT 1 FROM log WHERE {events.are(shown)} AND {worth} LIMIT 1"):
        raise LogError(
            f"column {quoted(amount)} has amounts in rows of {quoted(shown)} and of other events",
            hint="name the event that counts as the reward with {reward}, or leave one kind of rows",
        )


def _linked(rows: Table, key: str, parts: tuple[str, str, str], others: str, called: str) -> tuple[Table, int] | None:
    """Return impressions with what they earned, and how many earned something; None if the key is no link."""
    is_shown, is_earned, value = parts
    summed, earned = ("max(1)", "1") if value == "1" else (f"sum(try_cast({value} AS DOUBLE))", value)
    [[total, unread]] = rows.find(
        f"SELECT count(DISTINCT {key}), count(*) FILTER (try_cast({earned} AS DOUBLE) IS NULL AND "
        f"trim({earned}::VARCHAR) != '') FROM log WHERE {is_earned}"
    )
    if unread:  # such as "$3.20", which is read later
        return None
    joined = rows.select(
        f"""
        WITH numbered AS (SELECT *, row_number() OVER () AS number_of_row FROM log),
        earned AS (SELECT {key} AS link, {summed} AS worth FROM numbered WHERE {is_earned} GROUP BY {key})
        SELECT numbered.* EXCLUDE ({others}, number_of_row), coalesce(worth, 0) AS {in_sql(called)},
            link NOT NULL AS is_linked
        FROM numbered LEFT JOIN earned ON {key} = link WHERE {is_shown} ORDER BY number_of_row
        """
    ).stored()
    [[is_link, linked]] = joined.find(
        f"SELECT count({key}) = count(DISTINCT {key}) AND count({key}) = count(*), count(*) FILTER (is_linked) FROM log"
    )
    if not is_link or linked < LEAST_LINKED * total:
        return None
    return joined.select("SELECT * EXCLUDE (is_linked) FROM log"), int(linked)


def count_events(rows: Table, columns: Columns) -> Table:
    """Return sums per arm and slice of time of rows that are one event each.

    A reward counts where the arm was last shown before it.
    """
    if columns.time is None:
        raise LogError("events cannot be counted without a time", hint="name the column of times with {time}")
    kept = {"arm": "arm", "impressions": "sum(impressions)", "reward": "sum(reward)", "time": "avg(time)"}
    kept |= {"whole_row": "hash(arm, avg(time))", "place": "min(place)"}
    fields = ", ".join(f"{kept.get(name, f'any_value({name})')} AS {name}" for name in rows.columns)
    return rows.select(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last FROM log),
        sliced AS (
            SELECT log.*, floor((time - first) / greatest(last - first, 1e-9) * {SLICES}) AS slice
            FROM log, bounds WHERE arm NOT NULL AND time NOT NULL
        ),
        placed AS (
            SELECT *, coalesce(max(CASE WHEN impressions > 0 THEN slice END) OVER (
                PARTITION BY arm ORDER BY time, place ROWS UNBOUNDED PRECEDING), slice) AS shown_in FROM sliced
        )
        SELECT {fields} FROM placed GROUP BY arm, shown_in ORDER BY min(time), arm
        """
    ).stored()


def wide_pairs(columns: list[str]) -> dict[str, tuple[str, str]]:
    """Return, for each arm whose impressions and rewards have columns of their own, these two columns.

    >>> wide_pairs(["date", "red impressions", "red clicks", "blue impressions", "blue clicks"])
    {'red': ('red impressions', 'red clicks'), 'blue': ('blue impressions', 'blue clicks')}
    >>> wide_pairs(["date", "ad", "impressions", "clicks", "link_clicks"])
    {}
    """
    shown = _by_rest(columns, _WIDE_SHOWN)
    for name in _WIDE_REWARDS:
        earned = _by_rest(columns, (name,))
        both = {arm: (column, earned[arm]) for arm, column in shown.items() if arm in earned}
        if len(both) > 1 and len(both) == len(shown):
            return both
    return {}


def _by_rest(columns: list[str], words: tuple[str, ...]) -> dict[str, str]:
    """Return the columns that begin or end with one of these words, by the rest of their names."""
    found, mark = {}, r"[\s_.:|/\-()\[\]]+"
    for column in columns:
        for word in words:
            match = re.fullmatch(rf"(?:{word}{mark}(.+?)|(.+?){mark}{word}){mark[:-1]}*", column.strip(), re.IGNORECASE)
            rest = match and (match[1] or match[2])
            if rest and rest.lower() not in ("total", "all", "sum"):
                found[rest.strip()] = column
    return found


def _of_wide(source: Source, pairs: dict[str, tuple[str, str]]) -> Reshaped:
    """Return one row per arm and row of a table with columns for each arm."""
    used = {column for pair in pairs.values() for column in pair}
    role = "time" if all(_DATE.search(name) for name in pairs) else WIDE_ARM
    rest = "".join(f"{in_sql(each)}, " for each in source.rows.columns if each not in used and each.lower() != role)
    words = plain_words(next(iter(pairs.values()))[1])
    reward = next((word for word in words if is_called(word, *REWARDS)), "clicks")
    parts = (
        source.rows.select(
            f"SELECT {rest}{text_in_sql(arm)} AS {role}, {in_sql(shown)} AS impressions, "
            f"{in_sql(earned)} AS {reward} FROM log"
        ).query
        for arm, (shown, earned) in pairs.items()
    )
    rows = Table(source.rows.database, " UNION ALL ".join(f"({part})" for part in parts)).stored()
    what = "Times" if role == "time" else "Arms"
    said = f"{what} stand side by side in this table: {len(pairs)} of them, each with its impressions and {reward}."
    return Reshaped(source.with_rows(rows, said), {role: role, "impressions": "impressions", "reward": reward})
