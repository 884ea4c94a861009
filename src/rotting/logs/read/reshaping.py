"""Tables that are no list of exposures, made into one: events one below the other, and arms side by side."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.read.columns import NO_IMPRESSIONS, USUAL_NAMES, Columns, LogError, in_sql
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE, Source

if TYPE_CHECKING:
    import duckdb

EVENT_COLUMNS = ("event", "event_type", "event_name", "eventtype", "type", "action", "action_type", "interaction")
# Columns that say what the number beside them counts, in tables with a row per measure.
MEASURE_COLUMNS = ("metric", "metric_name", "metrics", "measure", "measure_name", "kpi", "variable")
MOST_EVENTS = 50
# Words by which events are told: an event of exactly this name, or else one with such a word ("Ad Viewed").
_SHOWN = "impression impressions view viewed shown show display displayed sent send delivered exposure served"
_EARNED = "click clicks clicked conversion converted purchase purchased open opened order ordered sale signup install"
SHOWN_EVENTS, EARNED_EVENTS = frozenset(_SHOWN.split()), frozenset([*_EARNED.split(), "select", "selected", "tapped"])
# Columns that say which click belongs to which impression.
LINKS = ("impression_id", "exposure_id", "request_id", "decision_id", "display_id", "serve_id", "view_id", "message_id")
LEAST_LINKED = 0.9  # of the rewards must have their impression, or the column is no link
# Slices of time in which events without a link are counted.
SLICES = 200
WIDE_ARM, WIDE_SHOWN = "arm", "impressions"
# Names of columns that are dates: then it is times that stand side by side.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2}|^[0-9]{8}$|[A-Z][a-z]{2,8} [0-9]{1,4}")


@dataclasses.dataclass(frozen=True)
class Reshaped:
    """The rows to read, the columns that are known from how they were made, and whether events must be counted."""

    source: Source
    roles: dict[str, str] = dataclasses.field(default_factory=dict)
    counts_events: bool = False


def reshaped(source: Source, given: dict[str, str | None]) -> Reshaped:
    """Return a log with one row per exposure, or with sums, if it is one of events or has arms side by side."""
    _refuse_measures(source.rows)
    events = _events(source.rows)
    if events is not None and given.get("impressions") not in (*source.rows.columns, NO_IMPRESSIONS):
        return _of_events(source, events, given.get("reward"), given.get("impressions"))
    if given.get("arm") is None and (pairs := wide_pairs(source.rows.columns)):
        return _of_wide(source, pairs)
    return Reshaped(source)


@dataclasses.dataclass(frozen=True)
class _Events:
    """The column that tells impressions from what they earned, its values, and which of them are which."""

    column: str
    values: set[str]
    shown: set[str]
    earned: set[str]


def _events(rows: duckdb.DuckDBPyRelation) -> _Events | None:
    for column in rows.columns:
        if column.lower() not in EVENT_COLUMNS:
            continue
        found = _values(rows, column)
        shown, earned = found & SHOWN_EVENTS, found & EARNED_EVENTS
        if not (shown and earned):
            words = {value: set(re.split(r"[^a-z]+", value)) for value in found}
            earned = {value for value, its in words.items() if its & EARNED_EVENTS}
            shown = {value for value, its in words.items() if its & SHOWN_EVENTS} - earned
        if shown and earned:
            return _Events(column, found, shown, earned)
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


def _of_events(source: Source, events: _Events, reward: str | None, impressions: str | None) -> Reshaped:
    """Return impressions with what they earned: whether another event followed, or the sum of an amount."""
    shown = _one_event(events, "exposure", "impressions", impressions, events.shown)
    amount = reward if reward in source.rows.columns else None
    if amount is None:
        event = _one_event(events, "reward", "reward", reward, events.earned)
        earned, called, value = _is(events.column, {event}), event, "1"
    else:
        _refuse_amounts_of_impressions(source, events.column, shown, amount)
        earned, called, value = f"NOT {_is(events.column, {shown})}", amount, in_sql(amount)
    is_shown = _is(events.column, {shown})
    others = ", ".join(dict.fromkeys(in_sql(each) for each in (events.column, called) if each in source.rows.columns))
    link = next((each for each in source.rows.columns if each.lower() in LINKS), None)
    number = None if link is None else _linked(source, link, (is_shown, earned, value), others, called)
    if number is not None:
        followed = f"{number:,} of {shown!r} were followed by others"
        said = f"Events were joined by column {link!r}: {followed}, of which {called!r} counts."
        roles = {"reward": called, "impressions": NO_IMPRESSIONS}  # every row is one
        return Reshaped(_with(source, source.database.table("linked_events"), said), roles)
    source_rows = source.rows  # noqa: F841 (found by name)
    source.database.execute(
        f"CREATE TEMP TABLE counted_events AS SELECT * EXCLUDE ({others}), ({is_shown})::INTEGER AS "
        f"{in_sql(WIDE_SHOWN)}, CASE WHEN {earned} THEN coalesce({value}::VARCHAR, '0') ELSE '0' END AS "
        f"{in_sql(called)} FROM source_rows WHERE {is_shown} OR {earned}"
    )
    said = (
        f"Events were counted, {shown!r} and {called!r} of each arm in {SLICES} slices of time: no column links them."
    )
    roles = {"reward": called, "impressions": WIDE_SHOWN}
    return Reshaped(_with(source, source.database.table("counted_events"), said), roles, counts_events=True)


def _one_event(events: _Events, what: str, role: str, wanted: str | None, likely: set[str]) -> str:
    """Return the event that is an exposure, or a reward: the one asked for, or the only one that sounds so."""
    found = likely if wanted is None else {wanted.strip().lower()} & events.values
    if len(found) != 1:
        kinds = ", ".join(map(quoted, sorted(likely if wanted is None else events.values)))
        raise LogError(
            f"column {quoted(events.column)} holds different events ({kinds})",
            expected=ONE_ROW_PER_EXPOSURE,
            hint=f"name the event that counts as the {what} with {{{role}}}",
        )
    return next(iter(found))


def _refuse_amounts_of_impressions(source: Source, column: str, shown: str, amount: str) -> None:
    """Refuse amounts beside impressions as well: they may be prices, or copies of what a later event earned."""
    from duckdb import SQLExpression

    worth = f"coalesce(try_cast({in_sql(amount)} AS DOUBLE), 1) != 0 AND trim({in_sql(amount)}::VARCHAR) != ''"
    if source.rows.filter(SQLExpression(f"{_is(column, {shown})} AND {worth}")).limit(1).fetchall():
        raise LogError(
            f"column {quoted(amount)} has amounts in rows of {quoted(shown)} and of other events",
            hint="name the event that counts as the reward with {reward}, or leave one kind of rows",
        )


def _linked(source: Source, link: str, parts: tuple[str, str, str], others: str, called: str) -> int | None:
    """Fill the table linked_events, impressions with what they earned; return how many did, None without a link."""
    source_rows = source.rows  # noqa: F841 (found by name)
    key, (is_shown, is_earned, value) = in_sql(link), parts
    summed, earned = ("max(1)", "1") if value == "1" else (f"sum(try_cast({value} AS DOUBLE))", value)
    # All of a result is fetched: DuckDB 2 lets no relation be read beside one that is not finished.
    [[total, unread]] = source.database.execute(
        f"SELECT count(DISTINCT {key}), count(*) FILTER (try_cast({earned} AS DOUBLE) IS NULL AND "
        f"trim({earned}::VARCHAR) != '') FROM source_rows WHERE {is_earned}"
    ).fetchall()
    if unread:  # such as "$3.20", which is read later
        return None
    source.database.execute(
        f"""
        CREATE TEMP TABLE linked_events AS
        WITH numbered AS (SELECT *, row_number() OVER () AS number_of_row FROM source_rows),
        earned AS (SELECT {key} AS link, {summed} AS worth FROM numbered WHERE {is_earned} GROUP BY {key})
        SELECT numbered.* EXCLUDE ({others}, number_of_row), coalesce(worth, 0) AS {in_sql(called)},
            link NOT NULL AS is_linked
        FROM numbered LEFT JOIN earned ON {key} = link WHERE {is_shown} ORDER BY number_of_row
        """
    )
    [[is_link, linked]] = source.database.execute(
        f"SELECT count({key}) = count(DISTINCT {key}) AND count({key}) = count(*), "
        "count(*) FILTER (is_linked) FROM linked_events"
    ).fetchall()
    source.database.execute("ALTER TABLE linked_events DROP COLUMN is_linked")
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
    role = "time" if all(_DATE.search(name) for name in pairs) else WIDE_ARM
    rest = [column for column in source.rows.columns if column not in used and column.lower() != role]
    words = re.split(r"[^a-z]+", next(iter(pairs.values()))[1].lower())
    reward = next((word for word in words if word in USUAL_NAMES["reward"].split()), "clicks")
    source_rows = source.rows  # noqa: F841 (found by name)
    parts = []
    for arm, (shown, earned) in pairs.items():
        kept = "".join(f"{in_sql(column)}, " for column in rest)
        name = arm.replace("'", "''")
        sums = f"{in_sql(shown)} AS impressions, {in_sql(earned)} AS {reward}"
        parts.append(f"SELECT {kept}'{name}' AS {role}, {sums} FROM source_rows")
    source.database.execute(f"CREATE TEMP TABLE long_form AS {' UNION ALL '.join(parts)}")
    what = "Times" if role == "time" else "Arms"
    said = f"{what} stand side by side in this table: {len(pairs)} of them, each with its impressions and {reward}."
    roles = {role: role, "impressions": "impressions", "reward": reward}
    return Reshaped(_with(source, source.database.table("long_form"), said), roles)


def _with(source: Source, rows: duckdb.DuckDBPyRelation, said: str) -> Source:
    return dataclasses.replace(source, rows=rows, notes=(*source.notes, said))


def _is(column: str, values: frozenset[str] | set[str]) -> str:
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in sorted(values))
    return f"lower(trim({in_sql(column)}::VARCHAR)) IN ({listed})"
