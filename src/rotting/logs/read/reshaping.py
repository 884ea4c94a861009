"""Event logs, turned into one row per exposure or sums with their number of exposures."""

from __future__ import annotations

import dataclasses

from rotting.errors import quoted
from rotting.logs.read.columns import NO_IMPRESSIONS
from rotting.logs.read.names import is_called, mentions
from rotting.logs.read.options import LogError, ReadOptions
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE
from rotting.logs.read.tables import Source, in_sql, text_in_sql

MOST_EVENTS = 50
LEAST_LINKED = 0.9  # of the rewards must have their impression, or the column is no link
# Slices of time in which events without a link are counted.
SLICES = 200
SHOWN = "impressions"


def reshaped(source: Source, options: ReadOptions) -> tuple[Source, dict[str, str]]:
    """Return a log with one row per exposure if it is one of events, and the columns of roles that are known then.

    Where no column links events, each is a row, with impressions in the column `SHOWN`: they must be counted.
    """
    events = _events(source)
    if events is not None and options.impressions not in (*source.columns, NO_IMPRESSIONS):
        return _of_events(source, events, options)
    return source, {}


@dataclasses.dataclass(frozen=True)
class _Events:
    """The column that tells impressions from what they earned, its values, and which of them are which."""

    column: str
    values: set[str]
    shown: set[str]
    earned: set[str]

    def one(self, role: str, wanted: str | None, likely: set[str]) -> str:
        """Return the event that is an exposure, or a reward: the one asked for, or the only one that sounds so."""
        found = likely if wanted is None else {wanted.strip().lower()} & self.values
        if len(found) != 1:
            kinds = ", ".join(map(quoted, sorted(likely if wanted is None else self.values)))
            raise LogError(
                f"column {quoted(self.column)} holds different events ({kinds})",
                expected=ONE_ROW_PER_EXPOSURE,
                hint=f"name the event that counts as the {'exposure' if role == SHOWN else role} with {{{role}}}",
            )
        return next(iter(found))

    def are(self, event: str) -> str:
        """Return SQL that says whether a row is such an event."""
        return f"lower(trim({in_sql(self.column)}::VARCHAR)) = {text_in_sql(event)}"


def _events(source: Source) -> _Events | None:
    """Return the column of events, if there is one; refuse a row per measure, which would be added up as rewards."""
    for column in source.columns:
        if not is_called(column, "event", "measure"):
            continue
        found = {value.lower() for value in source.values(column, MOST_EVENTS)}
        if is_called(column, "measure") and any(mentions(value, "impressions") for value in found):
            raise LogError(
                f"column {quoted(column)} tells impressions from other measures ({', '.join(sorted(found)[:4])})",
                expected="a column of its own for each",
                hint="turn the table so that impressions and clicks of an arm and day stand in one row",
            )
        for matches in (is_called, mentions):
            earned = {value for value in found if matches(value, "earned event")}
            shown = {value for value in found if matches(value, "shown event")} - earned
            if shown and earned and is_called(column, "event"):
                return _Events(column, found, shown, earned)
    return None


def _of_events(source: Source, events: _Events, options: ReadOptions) -> tuple[Source, dict[str, str]]:
    """Return impressions with what they earned: whether another event followed, or the sum of an amount."""
    shown = events.one(SHOWN, options.impressions, events.shown)
    is_shown = events.are(shown)
    if options.reward in source.columns:
        reward, value, is_earned = str(options.reward), in_sql(str(options.reward)), f"NOT {is_shown}"
        worth = f"coalesce(try_cast({value} AS DOUBLE), 1) != 0 AND trim({value}::VARCHAR) != ''"
        if source.count(f"{is_shown} AND {worth}"):
            # They may be prices, or copies of what a later event earned.
            raise LogError(
                f"column {quoted(reward)} has amounts in rows of {quoted(shown)} and of other events",
                hint="name the event that counts as the reward with {reward}, or leave one kind of rows",
            )
    else:
        reward = events.one("reward", options.reward, events.earned)
        value, is_earned = "1", events.are(reward)
    others = ", ".join(dict.fromkeys(in_sql(each) for each in (events.column, reward) if each in source.columns))
    kept = source.select(
        f"SELECT * EXCLUDE ({others}), {is_shown} AS is_shown, {is_earned} AS is_earned, "
        f"{value} AS worth FROM log WHERE {is_shown} OR {is_earned}"
    )
    for link in (each for each in source.columns if is_called(each, "link")):
        if (rows := _linked(kept, in_sql(link), reward, summed=value != "1")) is not None:
            followed = f"{rows.count('is_linked'):,} of {shown!r} were followed by others"
            said = f"Events were joined by column {link!r}: {followed}, of which {reward!r} counts."
            # Every row is one exposure.
            known = {"reward": reward, "impressions": NO_IMPRESSIONS}
            return rows.select("SELECT * EXCLUDE (is_linked) FROM log").saying(said), known
    rows = kept.select(
        f"SELECT * EXCLUDE (is_shown, is_earned, worth), is_shown::INTEGER AS {in_sql(SHOWN)}, "
        f"CASE WHEN is_earned THEN coalesce(worth::VARCHAR, '0') ELSE '0' END AS {in_sql(reward)} FROM log"
    )
    said = (
        f"Events were counted, {shown!r} and {reward!r} of each arm in {SLICES} slices of time: no column links them."
    )
    return rows.saying(said), {"reward": reward, "impressions": SHOWN}


def _linked(rows: Source, key: str, reward: str, summed: bool) -> Source | None:
    """Return impressions with what they earned, and whether anything followed; None if the key is no link."""
    number = "try_cast(worth AS DOUBLE)"
    [[total, unread]] = rows.find(
        f"SELECT count(DISTINCT {key}), count(*) FILTER ({number} IS NULL AND trim(worth::VARCHAR) != '') FROM log "
        "WHERE is_earned"
    )
    if unread:  # such as "$3.20", which is read later
        return None
    joined = rows.select(
        f"""
        WITH numbered AS (SELECT *, row_number() OVER () AS number_of_row FROM log),
        earned AS (SELECT {key} AS link, {"sum" if summed else "max"}({number}) AS earned FROM numbered WHERE is_earned
            GROUP BY {key})
        SELECT numbered.* EXCLUDE (is_shown, is_earned, worth, number_of_row), coalesce(earned, 0) AS {in_sql(reward)},
            link NOT NULL AS is_linked
        FROM numbered LEFT JOIN earned ON {key} = link WHERE is_shown ORDER BY number_of_row
        """
    ).stored()
    [[is_link, linked]] = joined.find(
        f"SELECT count({key}) = count(DISTINCT {key}) AND count({key}) = count(*), count(*) FILTER (is_linked) FROM log"
    )
    return joined if is_link and linked >= LEAST_LINKED * total else None


def count_events(rows: Source) -> Source:
    """Return sums per arm and slice of time of rows that are one event each.

    A reward counts where the arm was last shown before it.
    """
    kept = {"arm": "arm", "impressions": "sum(impressions)", "reward": "sum(reward)", "time": "avg(time)"}
    kept |= {"whole_row": "hash(arm, avg(time))", "place": "min(place)"}
    fields = ", ".join(f"{kept.get(name, f'any_value({name})')} AS {name}" for name in rows.kinds)
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
