"""The rows of a log as one table: arm, unit, reward, time and, where rows are sums, impressions.

How texts are written is found out first, from all of them; then each row is read once, and what cannot be read in the
way of the others is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rotting.errors import quoted
from rotting.logs.read.clocks import READABLE, clock_of
from rotting.logs.read.columns import Columns
from rotting.logs.read.names import TOTALS, mentions
from rotting.logs.read.numbers import LARGEST, MISSING, Numbers, missing_in_sql
from rotting.logs.read.options import LogError, ReadOptions
from rotting.logs.read.tables import Source, in_sql, list_in_sql, text_in_sql

# The share of rewards after whose delay the log counts as complete, and of those that may come before their exposure.
ARRIVED, MOST_BEFORE = 0.95, 0.05
_NUMBER = f"a finite number (of at most {LARGEST:g}), true or false"
# Rows that ad platforms add to a table. Arms may be called so: only rows that are sums of the others are left out.
_WORDS = "|".join(TOTALS)
TOTAL = f"(?i)(grand |sub-?)?({_WORDS})( *[:\uff1a\u2013\u2014-].*)?"
# The same among other words, as in "Red Total" and "Total of 80 results".
TOTAL_AMONG_WORDS = f"(?i)(.* )?(sub-?)?({_WORDS})( .*)?"


def stage(
    source: Source,
    columns: Columns,
    numbers: Numbers,
    beside: Mapping[str, str],
    dimensions: Sequence[str],
    reading: ReadOptions,
) -> Source:
    """Return the rows as a table.

    Its column `place` is the order of the log. `beside` are further columns by name, in SQL; `dimensions` those that
    say, with arm and time, what a row of sums is about.
    """
    kinds, null = source.kinds, reading.null
    number = numbers.sql(columns.reward, kinds[columns.reward])
    # By role: the column, what reads it, what says whether a value that is there was read, and what is expected.
    read = {"reward": (columns.reward, number, f"abs({number}) <= {LARGEST}", _NUMBER)}
    form = ""
    if columns.time is not None:
        clock = clock_of(source, columns.time, reading.date_format)
        form = clock.form
        expected = f"a time that can be read{f', as most others are ({form})' if form else ''}: expected {READABLE}"
        fits = f"{clock.sql} NOT NULL OR {_is_dash(columns.time)}"
        read["time"] = (columns.time, clock.sql, fits, expected)
    if columns.impressions is not None:
        number = numbers.sql(columns.impressions, kinds[columns.impressions])
        fits = f"{number} >= 0 AND {number} = floor({number})"
        read["impressions"] = (columns.impressions, number, fits, "a whole number of exposures")
    fields = {
        "arm": _name_of(columns.arm, kinds, null),
        "unit": "NULL::VARCHAR" if columns.unit is None else _name_of(columns.unit, kinds, null),
        "impressions": "1::UTINYINT",
        "time": "NULL::DOUBLE",
        "is_total": _is_total(columns, kinds) if columns.aggregated else "false",
        "is_header": _is_header([columns.arm, *(column for column, *_ in read.values())], kinds),
        "whole_row": f"hash({', '.join(map(in_sql, source.columns))})",
        "cell": f"hash({', '.join(map(in_sql, dimensions)) or 0})",
        "file": source.file,
        **beside,
    }
    for role, (column, sql, fits, _) in read.items():
        fields |= {role: sql, f"unreadable_{role}": _unread(column, fits, null)}
    if reading.reward_time is not None:
        fields |= _times_of_rewards(source, reading.reward_time, columns.time, null)
    rows = source.select(f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in fields.items())} FROM log")
    rows = rows.stored("place")
    if form and not form.startswith("ISO"):
        rows = rows.saying(f"Times in column {columns.time!r} were read as {form}.")
    if headers := rows.count("is_header"):
        rows = rows.where("NOT is_header").saying(f"Lines that repeat the header were left out: {headers:,}.")
    if columns.aggregated and (mentions(columns.reward, "ratio") or numbers.rates):
        hint = "choose the column of clicks, conversions or revenue with {reward}"
        raise LogError("holds rates, not sums", owner=f"reward column {columns.reward!r}", hint=hint)
    for role, (column, _, _, expected) in read.items():
        _refuse_unreadable(rows, role, column, expected)
    return rows


def _times_of_rewards(source: Source, column: str, time: str | None, null: str | None) -> dict[str, str]:
    """Return SQL for when rewards arrived, and for the times that cannot be read."""
    if time is None or column not in source.kinds:
        problem = "needs the time of the exposure as well" if time is None else "is not a column of the log"
        raise LogError(problem, name="reward_time", value=column)
    arrived = clock_of(source, column).sql
    return {"reward_time": arrived, "lost_time": _unread(column, f"{arrived} NOT NULL", null)}


def _is_total(columns: Columns, kinds: Mapping[str, str]) -> str:
    """Return SQL that says whether a row calls itself a total: one named so, or one without a time that sounds so."""
    arm = f"trim({in_sql(columns.arm)}::VARCHAR)"
    checks = [f"regexp_full_match({arm}, '{TOTAL}')"]
    if columns.time is not None and kinds[columns.time] == "VARCHAR":
        time = f"trim({in_sql(columns.time)})"
        timeless = f"coalesce({time} = '' OR {_is_dash(columns.time)}, true)"
        checks += [f"regexp_full_match({arm}, '{TOTAL_AMONG_WORDS}') AND {timeless}"]
        checks += [f"regexp_full_match({time}, '{form}')" for form in (TOTAL, TOTAL_AMONG_WORDS)]
    return " OR ".join(f"coalesce({check}, false)" for check in checks)


def _is_header(names: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return SQL that says whether a row is the header once more, as where files were put one below the other."""
    if any(kinds[name] != "VARCHAR" for name in names):
        return "false"
    return " AND ".join(f"coalesce(trim({in_sql(name)}) = {text_in_sql(name.strip())}, false)" for name in names)


def _name_of(column: str, kinds: Mapping[str, str], null: str | None) -> str:
    """Return SQL for a name, NULL where the field is empty or NaN. Texts such as "none" or "NA" are names."""
    name = f"trim({in_sql(column)}::VARCHAR)"
    given = f"{name} NOT IN ({list_in_sql(['', MISSING[1], null or ''])})"
    if kinds[column] in ("FLOAT", "DOUBLE"):
        given += f" AND NOT isnan({in_sql(column)})"
    # Spreadsheets keep a name as it is with ="...".
    return f"CASE WHEN {name} LIKE '=\"%\"' THEN {name}[3:-2] WHEN {given} THEN {name} END"


def _unread(column: str, is_read: str, null: str | None) -> str:
    """Return SQL for the text of a value that is there and cannot be read."""
    unread = f"({is_read}) IS NOT TRUE AND NOT {missing_in_sql(in_sql(column), null)}"
    return f"CASE WHEN {unread} THEN {in_sql(column)}::VARCHAR END"


def _is_dash(column: str) -> str:
    """Return SQL that says whether a text is "-" or "--", which stands for no time beside totals."""
    return f"regexp_full_match(trim({in_sql(column)}::VARCHAR), '[-\u2013\u2014]+')"


def _refuse_unreadable(rows: Source, role: str, column: str, expected: str) -> None:
    """Raise an error with the first value that is there but cannot be read, and the number of such values."""
    found = rows.find(
        f"SELECT place + 1, unreadable_{role}, count(*) OVER () FROM log WHERE unreadable_{role} NOT NULL "
        "AND NOT is_total ORDER BY place LIMIT 1"
    )
    say = "give the form of all with {date_format}" if role == "time" else "or say with {null} that it is none"
    for row, value, number in found:
        others = f" (and {number - 1} more like it)" if number > 1 else ""
        raise LogError(
            f"{quoted(value)} is not {expected}{others}",
            owner=f"{role} column {column!r}, row {row}",
            value=value,
            hint=f"correct the log, choose another column with {{{role}}}, {say}; "
            "empty values would be dropped and counted",
        )


def reward_wait(rows: Source, reward_time: str | None) -> float | None:
    """Return after how long nearly all rewards have arrived, from their times; None without them.

    Of the end of the log only quick rewards are known, so those of its first half are looked at.
    """
    if reward_time is None:
        return None
    owner = f"column {reward_time!r}"
    if rows.count("lost_time NOT NULL"):
        raise LogError("holds times that cannot be read", owner=owner, expected=READABLE)
    [[wait, before, length]] = rows.find(
        """
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last FROM log)
        SELECT quantile_cont(reward_time - time, $1), avg((reward_time < time)::INTEGER), any_value(last - first)
        FROM log, bounds WHERE reward > 0 AND reward_time NOT NULL AND time < (first + last) / 2
        """,
        ARRIVED,
    )
    if wait is None:
        raise LogError("holds no time of a reward", owner=owner, expected="times where there are rewards")
    if before > MOST_BEFORE or wait > length:
        problem = "holds times before those of the exposures, or long after the log"
        raise LogError(problem, owner=owner, expected="the clock of the exposures")
    return max(float(wait), 0.0)
