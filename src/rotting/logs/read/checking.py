"""What a log says about itself before it is counted: rows that are sums, totals, missing rewards, copies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from rotting.logs.read.clocks import FIRST_DATE
from rotting.logs.read.columns import NO_IMPRESSIONS, Columns, is_money
from rotting.logs.read.options import LogError, ReadOptions
from rotting.logs.read.overlaps import FIRST_COPIES
from rotting.logs.read.rules import Rule, abiding
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE
from rotting.logs.read.tables import Source, text_in_sql

# So many rewards may be missing without a question, if those that are there are never 0.
FEW_MISSING = 0.05
# Sums of which none is below this are of exposures that surely earn something.
FEWEST_OF_MANY = 10
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
_ASK = f"name the column of impressions with {{impressions}}, or {NO_IMPRESSIONS!r} if every row is one exposure"


@dataclasses.dataclass(frozen=True)
class Irregular:
    """What was irregular about the rows of a log, and what was done about it."""

    rows: int
    dropped: dict[str, int]
    duplicates: int
    copies_kept: bool  # whether some of the rows may be copies of others
    backwards: int


def check_rows(
    rows: Source, columns: Columns, reading: ReadOptions, segments: Mapping[str, str]
) -> tuple[Source, Irregular]:
    """Refuse what cannot be told, leave out the rows that cannot be used, and say so.

    `segments` are columns of the table, and what they are called in the log.
    """
    if not (number := rows.count()):
        raise LogError("there are no rows", expected=ONE_ROW_PER_EXPOSURE)
    names, totals = vars(columns) | dict(segments), 0
    if columns.aggregated:
        if totals := rows.count("is_total"):
            rows = abiding(rows, [_TOTALS], names).where("NOT is_total")
        rules = [*_sums_of_others(segments), _UNCOUNTED, *(() if is_money(columns.reward) else _CLICKS)]
        rules += _RUNNING_TOTALS
    else:
        rules = list(_single_exposures(columns))
    rows = _settle_missing_rewards(rows, columns, reading)
    rows = abiding(rows, [*rules, *_ANY_ROWS], names)
    # Without time or unit, rows have nothing of their own, and equal ones are no sign of anything.
    comparable = reading.drop_duplicates or columns.time is not None or columns.unit is not None
    duplicates = rows.find("SELECT count(*) - count(DISTINCT whole_row) FROM log")[0][0] if comparable else 0
    # The rows of an export are sorted by arm, or by day: their order says nothing.
    back = "SELECT count(*) FROM (SELECT time < lag(time) OVER () AS back FROM log) WHERE back"
    backwards = 0 if columns.aggregated else rows.find(back)[0][0]
    rows, dropped = _drop_rows(rows, columns, reading.drop_duplicates and duplicates > 0)
    if totals:
        dropped["total of other rows"] = totals
    if columns.aggregated:
        rows = abiding(rows, [_ONE_TIME], names)
    copies_kept = duplicates > 0 and not reading.drop_duplicates
    return rows, Irregular(number, dropped, duplicates, copies_kept, backwards)


def _single_exposures(columns: Columns) -> Iterator[Rule]:
    """Yield what may be wrong with rows of one exposure each: they hold sums, or the times at which arms were made."""
    if columns.possible_impressions is not None:
        problem = "column {possible_impressions} may hold how many exposures each row stands for"
        yield Rule("SELECT 1", problem, hint=_ASK)
    if columns.time is None:
        yield _SORTED
    if columns.time is not None and not columns.every_row:
        yield Rule(
            f"""
            SELECT 1 FROM log WHERE arm NOT NULL AND reward NOT NULL AND time NOT NULL
            HAVING min(time) >= {FIRST_DATE} AND bool_and(time % {HOUR} = 0) AND NOT bool_and(reward IN (0, 1))
                AND count(DISTINCT CASE WHEN time % {HOUR} = 0 THEN (arm, time) END) = count(*)
                AND count(*) > count(DISTINCT arm)
            """,
            "column {reward} seems to hold sums: there is one row per arm and day or hour",
            hint=_ASK,
        )
    if columns.time is not None and "time" in columns.guessed:
        yield Rule(
            """
            SELECT 1 FROM (SELECT arm, min(time) AS first, max(time) AS last, count(*) AS shown FROM log
                WHERE arm NOT NULL AND time NOT NULL GROUP BY arm)
            HAVING count(DISTINCT first) > 1 AND max(shown) > 1 AND NOT bool_or(first != last)
            """,
            "never changes within an arm: it seems to be when arms were made, and not when they were shown",
            "time column {time!r}",
            hint="name the times of exposures with {time} (this column, if each arm was shown at one time only)",
        )


# Without a time, the order of rows stands for it: not that of a table that was sorted by its outcome.
_SORTED = Rule(
    f"""
    WITH stretches AS (SELECT avg(reward) AS mean, count(*) AS rows FROM (SELECT reward,
        ntile({SLICES}) OVER (ORDER BY place) AS stretch FROM log WHERE reward NOT NULL) GROUP BY stretch)
    SELECT 1 FROM stretches HAVING min(rows) >= {SLICES} AND max(mean) > 3 * avg(mean)
        AND max(mean) >= 0.5 * (SELECT max(reward) FROM log)
    """,
    "rows seem to be sorted by {reward}, so their order is not time",
    hint="name the times of exposures with {time}, or put the rows into the order in which arms were shown",
)
# Without a time of its own a row called total can be nothing else; with one, it has to add up.
_TOTALS = Rule(
    """
    WITH rest AS (SELECT * FROM log WHERE NOT (is_total AND (time IS NULL OR arm IS NULL)))
    SELECT (SELECT arm FROM rest WHERE is_total ORDER BY place LIMIT 1) AS name FROM rest GROUP BY time
    HAVING sum(impressions) FILTER (is_total) != sum(impressions) FILTER (NOT is_total) LIMIT 1
    """,
    "rows of {name} look like totals, but are not the sums of the others",
    "arm column {arm!r}",
    hint="remove these rows, or give the arm another name",
)
# Sums of a whole campaign: with one time per arm, differences of arms would look like changes.
_ONE_TIME = Rule(
    "SELECT 1 FROM (SELECT count(DISTINCT coalesce(time, place)) AS own FROM log GROUP BY arm) HAVING max(own) = 1",
    "each arm has sums of one time only, which show no change",
    expected="a row per arm and day or hour",
    hint="export the log by day",
)


def _sums_of_others(segments: Iterable[str]) -> Iterator[Rule]:
    """Yield what may be wrong with parts of a whole: merged cells, and a value that is the sum of all others.

    Such as a campaign above its ads, or "All" beside "mobile" and "desktop".
    """
    for role, other in (("arm", "time"), ("time", "arm")):
        # Unless these are totals, cells may be merged.
        yield Rule(
            f"""
            WITH parts AS (SELECT {other}, count(*) AS rows, count(*) FILTER ({role} IS NULL) AS empty,
                sum(impressions) FILTER ({role} IS NULL) AS shown, sum(impressions) FILTER ({role} NOT NULL) AS named
                FROM log GROUP BY {other})
            SELECT sum(empty) AS empty_rows, sum(rows) AS all_rows, coalesce(sum(shown), 0) AS lost FROM parts
            HAVING sum(empty) > {MOST_EMPTY}::DOUBLE * sum(rows) AND
                bool_and(coalesce(shown = named, false)) FILTER (empty > 0 AND {other} NOT NULL) IS NOT TRUE
            """,
            "is empty in {empty_rows:,} of {all_rows:,} rows, with {lost:,.0f} impressions",
            f"{role} column {{{role}!r}}",
            hint="if cells are merged, write the value into each row; otherwise remove these rows",
        )
    hint = "leave these rows out, or the others: all exposures would count several times"
    for name in ("arm", *segments):
        if name != "arm":
            # The same exposures broken down twice, by device and again by country, told apart by a column.
            twice = f"""
                WITH sums AS (SELECT arm, time, {name}, sum(impressions) AS shown, sum(reward) AS earned FROM log
                    GROUP BY ALL),
                cells AS (SELECT count(*) AS parts, min(shown) = max(shown) AND min(earned) = max(earned) AS alike,
                    any_value(shown) AS shown FROM sums GROUP BY arm, time)
                SELECT 1 FROM cells HAVING count(*) >= {ENOUGH_TIMES} AND
                    count(*) FILTER (alike AND parts > 1) = count(*) AND 2 * count(DISTINCT shown) > count(*)
                """
            problem = "each of its values has the same sums in all rows of an arm and time"
            yield Rule(twice, problem, f"column {{{name}!r}}", hint=hint)
        beside = "time" if name == "arm" else "arm, time"
        whole = f"""
            WITH cells AS (SELECT {beside}, {name} AS value, sum(impressions) AS shown, sum(reward) AS earned FROM log
                WHERE arm NOT NULL AND time NOT NULL GROUP BY ALL),
            beside AS (SELECT *, sum(shown) OVER at_once AS all_shown, sum(earned) OVER at_once AS all_earned,
                count(*) OVER at_once AS parts FROM cells WINDOW at_once AS (PARTITION BY {beside}))
            SELECT value FROM beside GROUP BY value HAVING count(*) >= {ENOUGH_TIMES} AND max(parts) > 2
                AND bool_and(2 * shown = all_shown AND abs(2 * earned - all_earned) <= 1e-9 * abs(all_earned))
            """
        yield Rule(whole, "{value} is the sum of all others at all times", f"column {{{name}!r}}", hint=hint)


_UNCOUNTED = Rule(
    """
    SELECT sum(reward) FILTER (coalesce(impressions, 0) = 0) / nullif(sum(reward), 0) AS share FROM log
    WHERE arm NOT NULL AND reward NOT NULL HAVING share != 0
    """,
    "Rows without impressions have rewards, which cannot be counted: {share:.1%} of all rewards were left out with "
    "them.",
    refused=False,
)
_CLICKS = (
    Rule(
        "SELECT min(reward) AS least FROM log WHERE arm NOT NULL HAVING least < 0",
        "has {least:g} as a number of clicks",
        "reward column {reward!r}",
        "numbers from 0 on",
        "add corrections to the rows that they correct, or leave them out",
    ),
    Rule(
        """
        SELECT sum(reward) AS clicks, coalesce(sum(impressions), 0) AS shown FROM log
        WHERE arm NOT NULL AND reward NOT NULL HAVING clicks > shown
        """,
        "has {clicks:,.0f} clicks of {shown:,.0f} impressions",
        "reward column {reward!r}",
        hint="are the columns swapped? name them with {reward} and {impressions}",
    ),
    Rule(
        "SELECT count(*) AS more FROM log WHERE arm NOT NULL AND reward > impressions AND impressions > 0 "
        "HAVING more > 0",
        "More clicks than impressions: {more:,} rows. Look at them before believing the rest.",
        refused=False,
    ),
)
# Sums since the launch instead of sums of the day never fall.
_NEVER_FALLS = f"""
    WITH cells AS (SELECT arm, time, sum(impressions) AS shown, sum(reward) AS earned FROM log
        WHERE arm NOT NULL AND time NOT NULL AND reward NOT NULL AND impressions > 0 GROUP BY ALL),
    steps AS (SELECT arm, shown, shown - lag(shown) OVER past AS more, earned - lag(earned) OVER past AS earned_more
        FROM cells WINDOW past AS (PARTITION BY arm ORDER BY time)),
    arms AS (SELECT count(more) AS steps, count(*) FILTER (more < 0 OR earned_more < 0) AS falls,
        count(*) FILTER (earned_more > 0) AS earned_more, min(shown) AS low, max(shown) AS high
        FROM steps GROUP BY arm)
    SELECT 1 FROM arms HAVING sum(steps) >= {ENOUGH_STEPS} AND sum(falls) = 0 AND
        10 * sum(earned_more) >= sum(steps) AND sum(high) / sum(low) >= {ENOUGH_GROWTH}
    """
_RUNNING_TOTALS = (
    Rule(
        f"{_NEVER_FALLS} AND max(steps) >= {ENOUGH_STEPS - 1}",
        "never fall from one time to the next, in any arm: they seem to be sums since the launch",
        "impressions and {reward!r}",
        "sums of each day or hour alone",
        "export them by day, or subtract the row before",
    ),
    Rule(
        _NEVER_FALLS,
        "Impressions and {reward} never fall from one time to the next, in any arm: if these are sums since the "
        "launch, all is wrong.",
        refused=False,
    ),
)
_ANY_ROWS = (
    Rule(
        "SELECT arm AS rounded FROM (SELECT DISTINCT arm FROM log WHERE arm NOT NULL) "
        "WHERE regexp_full_match(arm, '[0-9]([.,][0-9]+)?[eE][+][0-9]{2,}') LIMIT 1",
        "{rounded} is an identifier that a spreadsheet has rounded: several may have become one",
        "arm column {arm!r}",
        hint="export the log again, and do not save it from the spreadsheet; or choose another column with {arm}",
    ),
    Rule(
        "SELECT min(arm) AS one, max(arm) AS other FROM (SELECT DISTINCT arm FROM log WHERE arm NOT NULL) "
        "GROUP BY lower(arm) HAVING count(*) > 1 ORDER BY 1 LIMIT 1",
        "Arms that differ in capital letters only are different arms, such as {one} and {other}.",
        refused=False,
    ),
    Rule(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last FROM log),
        slices AS (SELECT count(*) AS own FROM log, bounds WHERE time NOT NULL AND last > first
            GROUP BY least(floor((time - first) / (last - first) * {SLICES}), {SLICES} - 1))
        SELECT sum(own) - max(own) AS far FROM slices HAVING far > 0 AND max(own) >= {NEARLY_ALL}::DOUBLE * sum(own)
        """,
        "Nearly all rows lie in a twentieth of the log's time, and {far:,} far from them: are these right?",
        refused=False,
    ),
)


def _settle_missing_rewards(rows: Source, columns: Columns, reading: ReadOptions) -> Source:
    """Decide what a missing reward means: nothing earned, as after a left join, or not known."""
    [[missing, number, low, high]] = rows.find(
        "SELECT count(*) FILTER (reward IS NULL), count(*), min(reward), max(reward) FROM log WHERE arm NOT NULL"
    )
    if not missing or low is None or reading.missing_reward == "drop":
        return rows
    unsure = low != high and not columns.aggregated
    if reading.missing_reward is None:
        # Nothing earned is written as 0; and where even the worst day has several, another without any is not likely.
        if low <= 0 or (columns.aggregated and low >= FEWEST_OF_MANY) or (unsure and missing <= FEW_MISSING * number):
            return rows
        if unsure:
            raise LogError(
                f"{missing} of {number} rewards are missing, and no other is 0: nothing earned, or not known?",
                owner=f"reward column {columns.reward!r}",
                hint="say which with {missing_reward}: '0' or 'drop'",
            )
    why = "as asked for" if reading.missing_reward else "since no reward is written as 0"
    option = "" if reading.missing_reward else " (the option missing_reward drops them instead)"
    said = f"Missing rewards were taken to be 0, {why}: {missing:,} of {number:,} rows{option}."
    return rows.select("SELECT * REPLACE (coalesce(reward, 0) AS reward) FROM log").saying(said)


def _drop_rows(rows: Source, columns: Columns, duplicates: bool) -> tuple[Source, dict[str, int]]:
    """Leave out the rows that cannot be used, and return how many, by reason."""
    roles = ("arm", "reward", "time", "unit")
    usable = {f"no {role}": f"{role} NOT NULL" for role in roles if getattr(columns, role)}
    if columns.aggregated:
        usable["no impressions"] = "impressions > 0"
        # A few rows with more clicks than impressions are mistakes, if the others are counts.
        impossible = rows.count("reward > impressions AND impressions > 0")
        if impossible <= FEW_IMPOSSIBLE * rows.count() and not is_money(columns.reward):
            usable["more rewards than impressions"] = "reward <= impressions"
    if duplicates:
        usable["duplicate"] = FIRST_COPIES
    whys = (f"WHEN ({condition}) IS NOT TRUE THEN {text_in_sql(reason)}" for reason, condition in usable.items())
    why = f"CASE {' '.join(whys)} END"
    counts = dict(rows.find(f"SELECT {why}, count(*) FROM log GROUP BY 1"))
    dropped = {reason: counts[reason] for reason in usable if reason in counts}
    if None not in counts:
        reasons = ", ".join(f"{reason}: {number}" for reason, number in dropped.items())
        raise LogError(f"no usable row is left ({reasons})", expected="rows with an arm, a reward and a time")
    return rows.where(f"{why} IS NULL") if dropped else rows, dropped
