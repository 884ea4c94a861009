"""What a log says about itself before it is counted: rows that are sums, totals, missing rewards, copies."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from rotting.errors import quoted
from rotting.logs.read.clocks import FIRST_DATE
from rotting.logs.read.columns import NO_IMPRESSIONS, Columns, is_money
from rotting.logs.read.options import LogError, ReadOptions
from rotting.logs.read.overlaps import FIRST_COPIES
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE
from rotting.logs.read.tables import Table

# So many rewards may be missing without a question, if those that are there are never 0.
FEW_MISSING = 0.05
# So many rows of sums may have more rewards than impressions and be left out.
FEW_IMPOSSIBLE = 0.01
HOUR = 3600
# An export of which so many rows have no arm or time is not read; an arm that is the sum of others so often is no arm.
MOST_EMPTY, ENOUGH_TIMES = 0.1, 5
# So many steps from one row of an arm to the next, none of which leads down, are no chance; nor are they growth, if
# one arm alone has nearly as many (two weeks have weekends), and the last sums are so many times the first.
ENOUGH_STEPS, ENOUGH_GROWTH = 14, 3.0
# So large a share of rows in one of so many slices of time is worth a word.
NEARLY_ALL, SLICES = 0.99, 20


@dataclasses.dataclass(frozen=True)
class Checked:
    """What was irregular about the rows, and what was done about it."""

    table: Table
    rows: int
    dropped: dict[str, int]
    duplicates: int
    backwards: int
    notes: tuple[str, ...]


def check_rows(rows: Table, columns: Columns, reading: ReadOptions, segments: Mapping[str, str]) -> Checked:
    """Refuse what cannot be told, leave out the rows that cannot be used, and say so.

    `segments` are columns of the table, and what they are called in the log.
    """
    number = rows.count()
    if number == 0:
        raise LogError("there are no rows", expected=ONE_ROW_PER_EXPOSURE)
    refuse_hidden_sums(rows, columns)
    totals = 0
    if columns.aggregated:
        rows, totals = without_totals(rows, columns)
        refuse_merged_cells(rows, columns)
        refuse_sums_of_others(rows, {"arm": columns.arm, **segments})
    else:
        refuse_launch_times(rows, columns)
    rows, notes = settle_missing_rewards(rows, columns, reading)
    if columns.aggregated:
        notes += check_clicks(rows, columns) + check_running_totals(rows, columns)
    notes += check_names(rows, columns) + far_times(rows)
    # Without time or unit, rows have nothing of their own, and equal ones are no sign of anything.
    comparable = reading.drop_duplicates or columns.time is not None or columns.unit is not None
    duplicates = rows.find("SELECT count(*) - count(DISTINCT whole_row) FROM log")[0][0] if comparable else 0
    # The rows of an export are sorted by arm, or by day: their order says nothing.
    back = "SELECT count(*) FROM (SELECT time < lag(time) OVER () AS back FROM log) WHERE back"
    backwards = 0 if columns.aggregated else rows.find(back)[0][0]
    rows, dropped = drop_rows(rows, columns, reading.drop_duplicates and duplicates > 0)
    if totals:
        dropped["total of other rows"] = totals
    if columns.aggregated:
        refuse_one_time(rows)
    return Checked(rows, number, dropped, duplicates, backwards, tuple(notes))


def refuse_hidden_sums(rows: Table, columns: Columns) -> None:
    """Refuse rows that seem to stand for many exposures each, where no column says for how many."""
    ask = f"name the column of impressions with {{impressions}}, or {NO_IMPRESSIONS!r} if every row is one exposure"
    if columns.aggregated or columns.every_row:
        return
    if columns.possible_impressions is not None:
        problem = f"column {quoted(columns.possible_impressions)} may hold how many exposures each row stands for"
        raise LogError(problem, hint=ask)
    if columns.time is None:
        return
    known = rows.where("arm NOT NULL AND reward NOT NULL AND time NOT NULL")
    [[first, hourly, binary, number, arms]] = known.find(
        f"SELECT min(time), bool_and(time % {HOUR} = 0), bool_and(reward IN (0, 1)), count(*), count(DISTINCT arm) "
        "FROM log"
    )
    if first is None or first < FIRST_DATE or not hourly or binary:
        return
    if known.find("SELECT count(DISTINCT (arm, time)) FROM log")[0][0] == number > arms:
        problem = f"column {quoted(columns.reward)} seems to hold sums: there is one row per arm and day or hour"
        raise LogError(problem, hint=ask)


def refuse_launch_times(rows: Table, columns: Columns) -> None:
    """Refuse a guessed time that each arm has only one of: when it was made, and not when it was shown."""
    if columns.time is None or "time" not in columns.guessed:
        return
    [[moves, times, number]] = rows.find(
        "SELECT bool_or(first != last), count(DISTINCT first), max(shown) FROM (SELECT arm, min(time) AS first, "
        "max(time) AS last, count(*) AS shown FROM log WHERE arm NOT NULL AND time NOT NULL GROUP BY arm)"
    )
    if times > 1 and number > 1 and not moves:
        raise LogError(
            "never changes within an arm: it seems to be when arms were made, and not when they were shown",
            owner=f"time column {columns.time!r}",
            hint="name the times of exposures with {time} (this column, if each arm was shown at one time only)",
        )


def without_totals(rows: Table, columns: Columns) -> tuple[Table, int]:
    """Return the rows that are not totals of the others, and how many are."""
    if not (number := rows.count("is_total")):
        return rows, 0
    # Without a time of its own a row called total can be nothing else; with one, it has to add up.
    sure = "is_total AND (time IS NULL OR arm IS NULL)" if columns.time is not None else "false"
    rest = rows.where(f"NOT ({sure})")
    differs = rest.find(
        "SELECT time FROM log GROUP BY time "
        "HAVING sum(impressions) FILTER (is_total) != sum(impressions) FILTER (NOT is_total) LIMIT 1"
    )
    if differs:
        [[name]] = rest.find("SELECT arm FROM log WHERE is_total ORDER BY place LIMIT 1")
        raise LogError(
            f"rows of {quoted(name)} look like totals, but are not the sums of the others",
            owner=f"arm column {columns.arm!r}",
            hint="remove these rows, or give the arm another name",
        )
    return rows.where("NOT is_total"), number


def refuse_one_time(rows: Table) -> None:
    """Refuse sums of a whole campaign: with one time per arm, differences of arms would look like changes."""
    most = "SELECT max(own) FROM (SELECT count(DISTINCT coalesce(time, place)) AS own FROM log GROUP BY arm)"
    if rows.find(most)[0][0] == 1:
        problem = "each arm has sums of one time only, which show no change"
        raise LogError(problem, expected="a row per arm and day or hour", hint="export the log by day")


def refuse_sums_of_others(rows: Table, names: Mapping[str, str]) -> None:
    """Refuse a value that is the sum of all others: a campaign above its ads, "All" beside "mobile" and "desktop".

    `names` are columns of the table, the arm or segments, and what they are called in the log.
    """
    for name, column in names.items():
        beside = "time" if name == "arm" else "arm, time"
        found = rows.first(
            f"""
            WITH cells AS (SELECT {beside}, {name} AS value, sum(impressions) AS shown, sum(reward) AS earned FROM log
                WHERE arm NOT NULL AND time NOT NULL GROUP BY ALL),
            beside AS (SELECT *, sum(shown) OVER at_once AS all_shown, sum(earned) OVER at_once AS all_earned,
                count(*) OVER at_once AS parts FROM cells WINDOW at_once AS (PARTITION BY {beside}))
            SELECT value FROM beside GROUP BY value HAVING count(*) >= {ENOUGH_TIMES} AND max(parts) > 2
                AND bool_and(2 * shown = all_shown AND abs(2 * earned - all_earned) <= 1e-9 * abs(all_earned))
            """
        )
        problem = None if found is None else f"{quoted(found[0])} is the sum of all others at all times"
        if name != "arm" and _is_repeated_by(rows, name):
            problem = "each of its values has the same sums in all rows of an arm and time"
        if problem is not None:
            hint = "leave these rows out, or the others: all exposures would count several times"
            raise LogError(problem, owner=f"column {column!r}", hint=hint)


def _is_repeated_by(rows: Table, segment: str) -> bool:
    """Say whether the same exposures are broken down twice, by device and again by country, told apart by a column."""
    [[cells, repeated, amounts]] = rows.find(
        f"""
        WITH sums AS (SELECT arm, time, {segment}, sum(impressions) AS shown, sum(reward) AS earned FROM log
            GROUP BY ALL),
        cells AS (SELECT count(*) AS parts, min(shown) = max(shown) AND min(earned) = max(earned) AS alike,
            any_value(shown) AS shown FROM sums GROUP BY arm, time)
        SELECT count(*), count(*) FILTER (alike AND parts > 1), count(DISTINCT shown) FROM cells
        """
    )
    return bool(cells >= ENOUGH_TIMES and repeated == cells and amounts > cells / 2)


def refuse_merged_cells(rows: Table, columns: Columns) -> None:
    """Refuse an export of which many rows have no arm or no time, unless these are totals: cells may be merged."""
    for role, other, column in (("arm", "time", columns.arm), ("time", "arm", columns.time)):
        if column is None:
            continue
        [[empty, number, shown, are_totals]] = rows.find(
            f"""
            WITH parts AS (SELECT {other}, count(*) AS rows, count(*) FILTER ({role} IS NULL) AS empty,
                sum(impressions) FILTER ({role} IS NULL) AS shown, sum(impressions) FILTER ({role} NOT NULL) AS named
                FROM log GROUP BY {other})
            SELECT sum(empty), sum(rows), sum(shown), bool_and(coalesce(shown = named, false)) FILTER
                (empty > 0 AND {other} NOT NULL) FROM parts
            """
        )
        if empty > MOST_EMPTY * number and not are_totals:
            raise LogError(
                f"is empty in {empty:,} of {number:,} rows, with {shown or 0:,.0f} impressions",
                owner=f"{role} column {column!r}",
                hint="if cells are merged, write the value into each row; otherwise remove these rows",
            )


def check_running_totals(rows: Table, columns: Columns) -> list[str]:
    """Refuse sums since the launch instead of sums of the day: they never fall. Say so where there are few of them."""
    if columns.time is None:
        return []
    [[steps, longest, falls, earned_more, growth]] = rows.find(
        """
        WITH cells AS (SELECT arm, time, sum(impressions) AS shown, sum(reward) AS earned FROM log
            WHERE arm NOT NULL AND time NOT NULL AND reward NOT NULL AND impressions > 0 GROUP BY ALL),
        steps AS (SELECT arm, shown, shown - lag(shown) OVER past AS more, earned - lag(earned) OVER past AS earned_more
            FROM cells WINDOW past AS (PARTITION BY arm ORDER BY time)),
        arms AS (SELECT count(more) AS steps, count(*) FILTER (more < 0 OR earned_more < 0) AS falls,
            count(*) FILTER (earned_more > 0) AS earned_more, min(shown) AS low, max(shown) AS high
            FROM steps GROUP BY arm)
        SELECT sum(steps), max(steps), sum(falls), sum(earned_more), sum(high) / sum(low) FROM arms
        """
    )
    if not steps or steps < ENOUGH_STEPS or falls or 10 * earned_more < steps or growth < ENOUGH_GROWTH:
        return []
    found = "never fall from one time to the next, in any arm"
    if longest < ENOUGH_STEPS - 1:
        return [f"Impressions and {columns.reward!r} {found}: if these are sums since the launch, all is wrong."]
    raise LogError(
        f"{found}: they seem to be sums since the launch",
        owner=f"impressions and {columns.reward!r}",
        expected="sums of each day or hour alone",
        hint="export them by day, or subtract the row before",
    )


def check_clicks(rows: Table, columns: Columns) -> list[str]:
    """Refuse more clicks than impressions on the whole, as where columns are swapped; say where a row has more."""
    [[more, lost, clicks, impressions, least]] = rows.find(
        "SELECT count(*) FILTER (reward > impressions AND impressions > 0), "
        "sum(reward) FILTER (coalesce(impressions, 0) = 0), sum(reward), sum(impressions), min(reward) FROM log "
        "WHERE arm NOT NULL AND reward NOT NULL"
    )
    said = []
    if lost and clicks:
        share = f"{lost / clicks:.1%} of all rewards"
        said.append(f"Rows without impressions have rewards, which cannot be counted: {share} were left out with them.")
    if is_money(columns.reward):
        return said
    owner = f"reward column {columns.reward!r}"
    if least is not None and least < 0:
        hint = "add corrections to the rows that they correct, or leave them out"
        raise LogError(f"has {least:g} as a number of clicks", owner=owner, expected="numbers from 0 on", hint=hint)
    if clicks and clicks > (impressions or 0):
        problem = f"has {clicks:,.0f} clicks of {impressions or 0:,.0f} impressions"
        hint = "are the columns swapped? name them with {reward} and {impressions}"
        raise LogError(problem, owner=owner, hint=hint)
    if more:
        said.append(f"More clicks than impressions: {more:,} rows. Look at them before believing the rest.")
    return said


def check_names(rows: Table, columns: Columns) -> list[str]:
    """Refuse identifiers that a spreadsheet has rounded; say which names differ in capital letters only."""
    names = rows.select("SELECT DISTINCT arm FROM log WHERE arm NOT NULL").stored()
    rounded = names.first("SELECT arm FROM log WHERE regexp_full_match(arm, '[0-9]([.,][0-9]+)?[eE][+][0-9]{2,}')")
    if rounded is not None:
        raise LogError(
            f"{quoted(rounded[0])} is an identifier that a spreadsheet has rounded: several may have become one",
            owner=f"arm column {columns.arm!r}",
            hint="export the log again, and do not save it from the spreadsheet; or choose another column with {arm}",
        )
    alike = names.first("SELECT min(arm), max(arm) FROM log GROUP BY lower(arm) HAVING count(*) > 1 ORDER BY 1 LIMIT 1")
    if alike is None:
        return []
    return [f"Arms that differ in capital letters only are different arms, such as {alike[0]!r} and {alike[1]!r}."]


def far_times(rows: Table) -> list[str]:
    """Say that nearly all rows lie in a small part of the log's time: a few times may be wrong."""
    [[number, most]] = rows.find(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last FROM log),
        slices AS (SELECT count(*) AS own FROM log, bounds WHERE time NOT NULL AND last > first
            GROUP BY least(floor((time - first) / (last - first) * {SLICES}), {SLICES} - 1))
        SELECT sum(own), max(own) FROM slices
        """
    )
    if not number or most < NEARLY_ALL * number or most == number:
        return []
    return [
        f"Nearly all rows lie in a twentieth of the log's time, and {number - most:,} far from them: are these right?"
    ]


def settle_missing_rewards(rows: Table, columns: Columns, reading: ReadOptions) -> tuple[Table, list[str]]:
    """Decide what a missing reward means: nothing earned, as after a left join, or not known; return what is said."""
    [[missing, number, low, high]] = rows.find(
        "SELECT count(*) FILTER (reward IS NULL), count(*), min(reward), max(reward) FROM log WHERE arm NOT NULL"
    )
    if not missing or low is None or reading.missing_reward == "drop":
        return rows, []
    if reading.missing_reward is None:
        if low <= 0:  # nothing earned is written as 0
            return rows, []
        if low != high and not columns.aggregated:
            if missing <= FEW_MISSING * number:
                return rows, []
            raise LogError(
                f"{missing} of {number} rewards are missing, and no other is 0: nothing earned, or not known?",
                owner=f"reward column {columns.reward!r}",
                hint="say which with {missing_reward}: '0' or 'drop'",
            )
    why = "as asked for" if reading.missing_reward else "since no reward is written as 0"
    option = "" if reading.missing_reward else " (the option missing_reward drops them instead)"
    said = f"Missing rewards were taken to be 0, {why}: {missing:,} of {number:,} rows{option}."
    return rows.replaced(reward="coalesce(reward, 0)"), [said]


def drop_rows(rows: Table, columns: Columns, duplicates: bool) -> tuple[Table, dict[str, int]]:
    """Leave out the rows that cannot be used, and return how many, by reason."""
    dropped = {}
    # A few rows with more clicks than impressions are mistakes, if the others are counts.
    impossible = rows.count("reward > impressions AND impressions > 0") if columns.aggregated else 0
    mistakes = impossible <= FEW_IMPOSSIBLE * rows.count() and not is_money(columns.reward)
    for reason, usable, asked in (
        ("no arm", "arm NOT NULL", True),
        ("no reward", "reward NOT NULL", True),
        ("no time", "time NOT NULL", columns.time is not None),
        ("no unit", "unit NOT NULL", columns.unit is not None),
        ("no impressions", "impressions > 0", columns.aggregated),
        ("more rewards than impressions", "reward <= impressions", impossible > 0 and mistakes),
        ("duplicate", FIRST_COPIES, duplicates),
    ):
        if asked and (number := rows.count(f"({usable}) IS NOT TRUE")):
            dropped[reason] = number
            rows = rows.where(usable)
    if rows.count() == 0:
        reasons = ", ".join(f"{reason}: {number}" for reason, number in dropped.items())
        raise LogError(f"no usable row is left ({reasons})", expected="rows with an arm, a reward and a time")
    return rows, dropped
