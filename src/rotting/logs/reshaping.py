"""Tables that are no list of exposures, made into one: events one below the other, and arms side by side."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.columns import USUAL_NAMES, Columns, LogError
from rotting.logs.sources import ONE_ROW_PER_EXPOSURE, Source

if TYPE_CHECKING:
    import duckdb

EVENT_COLUMNS = ("event", "event_type", "event_name", "eventtype", "type", "action", "action_type", "interaction")
# Columns that say what the number beside them counts, in tables with a row per measure.
MEASURE_COLUMNS = ("metric", "metric_name", "metrics", "measure", "measure_name", "kpi", "variable")
MOST_EVENTS = 50
SHOWN_EVENTS = frozenset(
    {"impression", "impressions", "view", "shown", "show", "display", "sent", "delivered", "exposure", "served"}
)
EARNED_EVENTS = frozenset(
    {"click", "clicks", "clicked", "conversion", "purchase", "open", "opened", "order", "sale", "signup", "install"}
)
# Columns that say which click belongs to which impression.
LINKS = ("impression_id", "exposure_id", "request_id", "decision_id", "display_id", "serve_id", "view_id", "message_id")
LEAST_LINKED = 0.9  # of the rewards must have their impression, or the column is no link
# Slices of time in which events without a link are counted.
SLICES = 200
WIDE_ARM, WIDE_SHOWN = "arm", "impressions"


@dataclasses.dataclass(frozen=True)
class Reshaped:
    """The rows to read, the columns that are known from how they were made, and whether events must be counted."""

    source: Source
    roles: dict[str, str] = dataclasses.field(default_factory=dict)
    counts_events: bool = False


def reshaped(source: Source, given: dict[str, str | None]) -> Reshaped:
    """Return a log with one row per exposure, or with sums, if it is one of events or has arms side by side."""
    _refuse_measures(source.rows)
    column = _event_column(source.rows)
    if column is not None and given.get("impressions") is None and given.get("reward") not in source.rows.columns:
        return _of_events(source, column, given.get("reward"))
    if given.get("arm") is None and (pairs := wide_pairs(source.rows.columns)):
        return _of_wide(source, pairs)
    return Reshaped(source)


def _event_column(rows: duckdb.DuckDBPyRelation) -> tuple[str, set[str]] | None:
    """Return the column that tells impressions from clicks, and its values, if there is one."""
    for column in rows.columns:
        if column.lower() in EVENT_COLUMNS:
            found = _values(rows, column)
            if found & SHOWN_EVENTS and found & EARNED_EVENTS:
                return column, found
    return None


def _values(rows: duckdb.DuckDBPyRelation, column: str) -> set[str]:
    from duckdb import ColumnExpression

    text = ColumnExpression(column).cast("VARCHAR").alias("event")
    return {str(row[0]).strip().lower() for row in rows.project(text).distinct().limit(MOST_EVENTS).fetchall()}


def _refuse_measures(rows: duckdb.DuckDBPyRelation) -> None:
    """Refuse a row per measure: impressions and clicks in one column would be added up as if both were rewards."""
    for column in rows.columns:
        if re.sub(r"[^a-z]+", "_", column.strip().lower()) in MEASURE_COLUMNS:
            found = _values(rows, column)
            if any(value.startswith(("impr", "display", "exposure")) for value in found):
                listed = ", ".join(map(quoted, sorted(found)[:4]))
                raise LogError(
                    f"column {quoted(column)} tells impressions from other measures ({listed})",
                    expected="a column of its own for each",
                    hint="turn the table so that impressions and clicks of an arm and day stand in one row",
                )


def _of_events(source: Source, column: tuple[str, set[str]], wanted: str | None) -> Reshaped:
    name, values = column
    earned = {wanted.lower()} & values if wanted is not None else values & EARNED_EVENTS
    if len(earned) != 1:
        kinds = ", ".join(map(quoted, sorted(values - SHOWN_EVENTS)))
        raise LogError(
            f"column {quoted(name)} holds different events ({kinds})",
            expected=ONE_ROW_PER_EXPOSURE,
            hint="name the event that counts as the reward with {reward}",
        )
    [event] = earned
    link = next((each for each in source.rows.columns if each.lower() in LINKS), None)
    number = None if link is None else _linked(source, name, event, link)
    if number is not None:
        said = f"Events were joined by column {link!r}: {number:,} of {event!r} belong to impressions."
        return Reshaped(_with(source, source.database.table("linked_events"), said), {"reward": event})
    source_rows = source.rows  # noqa: F841 (found by name)
    source.database.execute(
        f"CREATE TEMP TABLE counted_events AS SELECT * EXCLUDE ({_named(name)}), {_is(name, SHOWN_EVENTS)}::INTEGER AS "
        f"{_named(WIDE_SHOWN)}, {_is(name, {event})}::INTEGER AS {_named(event)} FROM source_rows "
        f"WHERE {_is(name, SHOWN_EVENTS | {event})}"
    )
    said = (
        f"Events were counted, impressions and {event!r} of each arm in {SLICES} slices of time: no column links them."
    )
    roles = {"reward": event, "impressions": WIDE_SHOWN}
    return Reshaped(_with(source, source.database.table("counted_events"), said), roles, counts_events=True)


def _linked(source: Source, name: str, event: str, link: str) -> int | None:
    """Fill the table linked_events, impressions with whether they earned; return how many did, None without a link."""
    source_rows = source.rows  # noqa: F841 (found by name)
    key, is_shown, is_earned = _named(link), _is(name, SHOWN_EVENTS), _is(name, {event})
    source.database.execute(
        f"""
        CREATE TEMP TABLE linked_events AS
        WITH numbered AS (SELECT *, row_number() OVER () AS number_of_row FROM source_rows),
        earned AS (SELECT DISTINCT {key} AS link FROM numbered WHERE {is_earned})
        SELECT numbered.* EXCLUDE ({_named(name)}, number_of_row), (link NOT NULL)::INTEGER AS {_named(event)}
        FROM numbered LEFT JOIN earned ON {key} = link WHERE {is_shown} ORDER BY number_of_row
        """
    )
    # All of a result is fetched: DuckDB 2 lets no relation be read beside one that is not finished.
    [[is_link, linked]] = source.database.execute(
        f"SELECT count({key}) = count(DISTINCT {key}) AND count({key}) = count(*), sum({_named(event)}) "
        "FROM linked_events"
    ).fetchall()
    [[total]] = source.database.execute(f"SELECT count(DISTINCT {key}) FROM source_rows WHERE {is_earned}").fetchall()
    return int(linked) if is_link and linked >= LEAST_LINKED * total else None


def count_events(database: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """Replace the rows of the table `log`, one per event, by sums per arm and slice of time.

    A reward counts where the arm was last shown before it.
    """
    if columns.time is None:
        raise LogError("events cannot be counted without a time", hint="name the column of times with {time}")
    others = [row[0] for row in database.execute("DESCRIBE log").fetchall()]
    kept = {"arm": "arm", "impressions": "sum(impressions)", "reward": "sum(reward)", "time": "avg(time)"}
    kept |= {"whole_row": "hash(arm, avg(time))", "is_total": "false", "pointed": "false"}
    fields = ", ".join(f"{kept.get(name, 'any_value(' + name + ')')} AS {name}" for name in others)
    database.execute(
        f"""
        CREATE TEMP TABLE counted AS
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last FROM log),
        sliced AS (
            SELECT log.*, rowid AS place, floor((time - first) / greatest(last - first, 1e-9) * {SLICES}) AS slice
            FROM log, bounds WHERE arm NOT NULL AND time NOT NULL
        ),
        placed AS (
            SELECT *, coalesce(max(CASE WHEN impressions > 0 THEN slice END) OVER (
                PARTITION BY arm ORDER BY time, place ROWS UNBOUNDED PRECEDING), slice) AS shown_in FROM sliced
        )
        SELECT {fields} FROM placed GROUP BY arm, shown_in ORDER BY min(time), arm
        """
    )
    database.execute("DROP TABLE log")
    database.execute("CREATE TEMP TABLE log AS SELECT * FROM counted")


def wide_pairs(columns: list[str]) -> dict[str, tuple[str, str]]:
    """Return, for each arm whose impressions and rewards have columns of their own, these two columns.

    >>> wide_pairs(["date", "red impressions", "red clicks", "blue impressions", "blue clicks"])
    {'red': ('red impressions', 'red clicks'), 'blue': ('blue impressions', 'blue clicks')}
    >>> wide_pairs(["date", "ad", "impressions", "clicks", "link_clicks"])
    {}
    """
    rewards = ("clicks", "conversions", "purchases", "sales", "revenue", "opens")
    shown = _by_rest(columns, ("impressions", "impr", "exposures", "displays"))
    for name in rewards:
        earned = _by_rest(columns, (name,))
        both = {arm: (column, earned[arm]) for arm, column in shown.items() if arm in earned}
        if len(both) > 1 and len(both) == len(shown):
            return both
    return {}


def _by_rest(columns: list[str], words: tuple[str, ...]) -> dict[str, str]:
    """Return the columns that begin or end with one of these words, by the rest of their names."""
    found = {}
    for column in columns:
        for word in words:
            mark = r"[\s_.:|/\-()\[\]]+"
            match = re.fullmatch(rf"(?:{word}{mark}(.+?)|(.+?){mark}{word}){mark[:-1]}*", column.strip(), re.IGNORECASE)
            rest = match and (match[1] or match[2])
            if rest and rest.lower() not in ("total", "all", "sum"):
                found[rest.strip()] = column
    return found


def _of_wide(source: Source, pairs: dict[str, tuple[str, str]]) -> Reshaped:
    """Return one row per arm and row of a table with columns for each arm."""
    used = {column for pair in pairs.values() for column in pair}
    rest = [column for column in source.rows.columns if column not in used and column.lower() != WIDE_ARM]
    words = re.split(r"[^a-z]+", next(iter(pairs.values()))[1].lower())
    reward = next((word for word in words if word in USUAL_NAMES["reward"].split()), "clicks")
    source_rows = source.rows  # noqa: F841 (found by name)
    parts = []
    for arm, (shown, earned) in pairs.items():
        kept = "".join(f"{_named(column)}, " for column in rest)
        name = arm.replace("'", "''")
        sums = f"{_named(shown)} AS impressions, {_named(earned)} AS {reward}"
        parts.append(f"SELECT {kept}'{name}' AS arm, {sums} FROM source_rows")
    source.database.execute(f"CREATE TEMP TABLE long_form AS {' UNION ALL '.join(parts)}")
    said = f"Arms stand side by side in this table: {len(pairs)} of them, each with its impressions and {reward}."
    roles = {"arm": "arm", "impressions": "impressions", "reward": reward}
    return Reshaped(_with(source, source.database.table("long_form"), said), roles)


def _with(source: Source, rows: duckdb.DuckDBPyRelation, said: str) -> Source:
    return dataclasses.replace(source, rows=rows, notes=(*source.notes, said))


def _named(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _is(column: str, values: frozenset[str] | set[str]) -> str:
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in sorted(values))
    return f"lower(trim({_named(column)}::VARCHAR)) IN ({listed})"
