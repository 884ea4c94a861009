"""The rows of a log as the table `log` of DuckDB: arm, unit, reward, time and, where rows are sums, impressions.

What is read at once is what machines write. Other texts stay beside it, in unreadable_..., until all of them are known:
what they mean is decided together, and what they cannot mean is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.read import clocks
from rotting.logs.read.columns import FILE, Columns, LogError, names_rate
from rotting.logs.read.numbers import MISSING, WORDS, Written, read_numbers
from rotting.logs.read.options import ReadOptions

if TYPE_CHECKING:
    import duckdb

# Squares and sums of larger rewards would overflow.
LARGEST_REWARD = 1e50
# The share of rewards after whose delay the log counts as complete, and of those that may come before their exposure.
ARRIVED, MOST_BEFORE = 0.95, 0.05
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "U")
READABLE = {
    "reward": f"a finite number (of at most {LARGEST_REWARD:g}), true or false",
    "impressions": "a whole number of exposures",
    "time": clocks.READABLE,
}
# Rows that ad platforms add to a table. Arms may be called so: only rows that are sums of the others are left out.
TOTAL = "(?i)(grand |sub-?)?totals?( *[:\u2013\u2014-].*)?|gesamt(summe|ergebnis)?|summe|totale|total general"
# The same among other words, as in "Red Total" and "Total of 80 results".
TOTAL_AMONG_WORDS = "(?i)(.* )?(sub-?)?totals?( .*)?"


@dataclasses.dataclass(frozen=True)
class Staged:
    """What must be said about how values were read, and the currency of rewards, if they have one."""

    notes: tuple[str, ...]
    currency: str


def count(database: duckdb.DuckDBPyConnection, query: str) -> int:
    """Return the number that a query finds, or how many rows it changes."""
    found = database.execute(query).fetchone()
    return 0 if found is None else int(found[0] or 0)


def stage(
    database: duckdb.DuckDBPyConnection,
    source: duckdb.DuckDBPyRelation,
    columns: Columns,
    segments: list[str],
    reading: ReadOptions,
    dimensions: Sequence[str] = (),
) -> Staged:
    """Fill the table `log`; its rowid is the order of the log.

    `dimensions` are the columns that say, with arm and time, what a row of sums is about.
    """
    _fill(database, source, columns, segments, reading, dimensions)
    said = _drop_headers(database)
    _open_guards(database)
    decimal = reading.decimal
    if columns.impressions is not None:
        _read_texts(database, "impressions", columns.impressions, decimal)
        decimal = decimal or _mark_seen(database)
        _refuse_rates(database, columns)
    currency = _read_texts(database, "reward", columns.reward, decimal)
    if columns.time is not None:
        said += clocks.settle_times(database, columns.time, reading.date_format)
    _refuse_unreadable(database, columns)
    return Staged(tuple(said), currency)


def _fill(
    database: duckdb.DuckDBPyConnection,
    source: duckdb.DuckDBPyRelation,
    columns: Columns,
    segments: list[str],
    reading: ReadOptions,
    dimensions: Sequence[str],
) -> None:
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

    types = dict(zip(source.columns, map(str, source.types), strict=True))
    roles = {"arm": columns.arm, "reward": columns.reward, "time": columns.time, "unit": columns.unit}
    roles |= {"impressions": columns.impressions, "reward_time": reading.reward_time}
    if reading.reward_time is not None and (columns.time is None or reading.reward_time not in types):
        problem = "needs the time of the exposure as well" if columns.time is None else "is not a column of the log"
        raise LogError(problem, name="reward_time", value=reading.reward_time)

    def named(column: str | None, alias: str) -> duckdb.Expression:
        return (ConstantExpression(None) if column is None else ColumnExpression(column)).alias(alias)

    own = [ColumnExpression(column) for column in source.columns if column != FILE]
    whole_row = FunctionExpression("hash", *own)
    # DuckDB finds this relation by the name of the variable; a file opened read-only can have no new view.
    source_rows = source.project(  # noqa: F841
        *[named(column, role) for role, column in roles.items()],
        whole_row.alias("whole_row"),
        (ColumnExpression(FILE) if FILE in types else ConstantExpression(0)).alias("file"),
        FunctionExpression(
            "hash", *(map(ColumnExpression, dimensions) if dimensions else [ConstantExpression(0)])
        ).alias("cell"),
        *[
            ColumnExpression(column).cast("VARCHAR").alias(f"segment_{number}")
            for number, column in enumerate(segments)
        ],
    )
    kinds = {role: "" if column is None else types[column] for role, column in roles.items()}
    fields = _fields(columns, roles, kinds, reading) + [f"segment_{number}" for number in range(len(segments))]
    database.execute(f"CREATE TEMP TABLE log AS SELECT {', '.join(fields)} FROM source_rows")


def _fields(columns: Columns, roles: dict[str, str | None], kinds: dict[str, str], reading: ReadOptions) -> list[str]:
    """Return SQL for the fields of the table, from columns that are called by their roles."""
    numbers = ["reward", *(["impressions"] if columns.aggregated else [])]
    time, clock = (
        ("NULL::DOUBLE", "0")
        if columns.time is None
        else clocks.time_of(kinds["time"], columns.time, reading.date_format)
    )
    fields = [
        f"{_name_of(role, kinds[role], reading.null)} AS {role}" if roles[role] else f"NULL::VARCHAR AS {role}"
        for role in ("arm", "unit")
    ]
    for role in numbers:
        number, text = _number_of(role, kinds[role]), _text_of(role, reading.null)
        unsure = f"{number} IS NULL OR (abs({number}) > {LARGEST_REWARD} AND NOT isnan({number}))"
        fields += [f"nullif({number}, 'nan') AS {role}", f"CASE WHEN {unsure} THEN {text} END AS unreadable_{role}"]
    pointed = "strpos(reward, '.') > 0" if kinds["reward"] == "VARCHAR" else "false"
    unread = f"CASE WHEN {time} IS NULL OR isinf({time}) THEN {_text_of('time', reading.null)} END"
    is_total = _is_total(kinds["time"], columns) if columns.aggregated else "false"
    fields += [
        f"CASE WHEN isfinite({time}) THEN {time} END AS time",
        f"{unread} AS unreadable_time",
        f"({clock})::UTINYINT AS clock",
    ]
    arrived = "NULL::DOUBLE"
    if reading.reward_time is not None:
        arrived = clocks.time_of(kinds["reward_time"], reading.reward_time, None, "reward_time")[0]
    fields += [
        f"{arrived} AS reward_time",
        f"{arrived} IS NULL AND {_text_of('reward_time', None)} NOT NULL AS lost_time",
    ]
    fields += [f"{pointed} AS pointed", f"{is_total} AS is_total", "whole_row", "cell", "file::INTEGER AS file"]
    fields += [f"{_is_header(roles, kinds)} AS is_header"]
    return fields


def _is_total(time_kind: str, columns: Columns) -> str:
    """Return SQL that says whether a row calls itself a total: one named so, or one without a time that sounds so."""
    texts = {"arm": columns.arm, **({"time": columns.time} if time_kind == "VARCHAR" else {})}
    checks = [f"coalesce(regexp_full_match(trim({role}::VARCHAR), '{TOTAL}'), false)" for role in texts]
    if "time" in texts:
        timeless = "coalesce(length(trim(time)) < 3, true)"  # empty, "-" or "--"
        checks += [f"coalesce(regexp_full_match(trim(arm::VARCHAR), '{TOTAL_AMONG_WORDS}'), false) AND {timeless}"]
        checks += [f"coalesce(regexp_full_match(trim(time), '{TOTAL_AMONG_WORDS}'), false)"]
    return " OR ".join(f"({check})" for check in checks)


def _is_header(roles: dict[str, str | None], kinds: dict[str, str]) -> str:
    """Return SQL that says whether a row is the header once more, as where files were put one below the other."""
    texts = {role: column for role, column in roles.items() if column is not None and role in ("arm", "reward", "time")}
    if any(kinds[role] != "VARCHAR" for role in texts):
        return "false"
    return " AND ".join(f"coalesce(trim({role}) = {_quoted(column.strip())}, false)" for role, column in texts.items())


def _drop_headers(database: duckdb.DuckDBPyConnection) -> list[str]:
    number = count(database, "DELETE FROM log WHERE is_header")
    return [f"Lines that repeat the header were left out: {number:,}."] if number else []


def _open_guards(database: duckdb.DuckDBPyConnection) -> None:
    """Take names out of ="...", which keeps spreadsheets from changing them."""
    database.execute("UPDATE log SET arm = arm[3:-2] WHERE arm LIKE '=\"%\"'")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name_of(column: str, kind: str, null: str | None) -> str:
    """Return SQL for a name, NULL where the field is empty or NaN. Texts such as "none" or "NA" are names."""
    texts = ", ".join(map(_quoted, ["", "\\N", *([] if null is None else [null])]))
    name = f"trim({column}::VARCHAR)"
    given = f"{name} NOT IN ({texts})" + (f" AND NOT isnan({column})" if kind in ("FLOAT", "DOUBLE") else "")
    return f"CASE WHEN {given} THEN {name} END"


def _text_of(column: str, null: str | None) -> str:
    """Return SQL for the text of a value that should be a number or a time, NULL where it stands for a missing one."""
    text = f"{column}::VARCHAR"
    missing = ", ".join(_quoted(each.lower()) for each in [*MISSING, *([] if null is None else [null])])
    return f"CASE WHEN lower(trim({text})) NOT IN ({missing}) THEN {text} END"


def _number_of(column: str, kind: str) -> str:
    """Return SQL that reads a column of this type as a number, NULL where that could mean two things."""
    if kind.startswith(_NUMBERS):
        return f"{column}::DOUBLE"
    text = f"trim({column}::VARCHAR)"
    known = " ".join(f"WHEN '{word}' THEN {value}" for word, value in WORDS.items())
    # "1.234" may be a thousand and more.
    unsure = f"substr({text}, -4, 1) = '.' AND length({text}) < 9 AND substr(ltrim({text}, '+-'), 1, 1) != '0'"
    number = f"CASE WHEN {unsure} THEN NULL ELSE try_cast({text} AS DOUBLE) END"
    return f"coalesce({number}, CASE lower({text}) {known} END)"


def _read_texts(database: duckdb.DuckDBPyConnection, role: str, column: str, decimal: str | None) -> str:
    """Read what is no plain number: currencies, thousands, decimal commas, percentages. Return the currency."""
    import pandas

    unread = f"unreadable_{role}"
    found = database.execute(f"SELECT DISTINCT {unread}, file FROM log WHERE {unread} NOT NULL").fetchall()
    if not found:
        return ""
    texts = list(dict.fromkeys(text for text, _ in found))
    pointed = {
        row[0]
        for row in database.execute(f"SELECT DISTINCT file FROM log WHERE pointed AND {unread} IS NULL").fetchall()
        if role == "reward"
    }
    numbers = read_numbers(texts, role, column, decimal, bool(pointed), whole=role == "impressions")
    numbers = {text: number for text, number in numbers.items() if abs(number) <= LARGEST_REWARD}
    if decimal is None and role == "reward":
        _refuse_files_in_doubt(found, pointed, column)
    read = pandas.DataFrame({"text": list(numbers), "number": list(numbers.values())})  # noqa: F841 (found by name)
    database.execute("CREATE OR REPLACE TEMP TABLE read_texts AS SELECT text::VARCHAR AS text, number FROM read")
    currency = next((written.currency for text in numbers if (written := Written(text)).currency), "")
    if currency:
        _refuse_bare_amounts(database, role, column, currency, [text for text in numbers if not Written(text).currency])
    keep = f"unreadable_{role}" if role == "impressions" else "NULL"
    database.execute(
        f"UPDATE log SET {role} = number, {unread} = {keep} FROM read_texts WHERE {unread} = read_texts.text"
    )
    return currency


def _refuse_files_in_doubt(found: list[tuple[str, int]], pointed: set[int], column: str) -> None:
    """Refuse a file that does not tell its own decimal mark beside others that do: tools may differ."""
    by_file: dict[int, list[Written]] = {}
    for text, file in found:
        by_file.setdefault(file, []).append(Written(text))
    for file, written in by_file.items() if len(by_file | dict.fromkeys(pointed)) > 1 else ():
        unsure = [each for each in written if len(each.marks()) == 2 and each.value(".") != each.value(",")]
        if unsure and file not in pointed and not any(len(each.marks()) == 1 for each in written):
            problem = f"{quoted(unsure[0].text)} could be two numbers, and only other files tell which"
            hint = "say which mark stands before decimals with {decimal}: '.' or ','"
            raise LogError(problem, owner=f"reward column {column!r}", value=unsure[0].text, hint=hint)


def _refuse_bare_amounts(
    database: duckdb.DuckDBPyConnection, role: str, column: str, currency: str, bare: list[str]
) -> None:
    """Refuse amounts without a currency beside others with one; nothing is nothing in any currency."""
    plain = count(database, f"SELECT count(*) FROM log WHERE unreadable_{role} IS NULL AND {role} != 0")
    if plain or any(set(Written(text).digits) & set("123456789") for text in bare):
        problem = f"holds amounts with a currency ({quoted(currency)}) and others without"
        hint = "write all of them in one currency"
        raise LogError(problem, owner=f"{role} column {column!r}", expected="one currency", hint=hint)


def _refuse_rates(database: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """Refuse a click rate where the number of clicks is needed."""
    percent = "SELECT count(*) FROM log WHERE trim(unreadable_reward) LIKE '%\\%' ESCAPE '\\'"
    if names_rate(columns.reward) or count(database, percent):
        hint = "choose the column of clicks, conversions or revenue with {reward}"
        raise LogError("holds rates, not sums", owner=f"reward column {columns.reward!r}", hint=hint)


def _mark_seen(database: duckdb.DuckDBPyConnection) -> str | None:
    """Return the decimal mark that goes with how impressions were written; then drop their texts."""
    found = database.execute(
        "SELECT unreadable_impressions, impressions FROM log WHERE unreadable_impressions NOT NULL "
        "AND impressions NOT NULL AND impressions >= 1000 LIMIT 1"
    ).fetchone()
    database.execute("UPDATE log SET unreadable_impressions = NULL WHERE impressions NOT NULL")
    if found is None:
        return None
    written = Written(found[0])
    marks = [mark for mark in ".," if mark in written.marks() and written.value(mark) == found[1]]
    return marks[0] if len(marks) == 1 else None


def _refuse_unreadable(database: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """Raise an error with the first value that is there but cannot be read, and the number of such values."""
    roles = {"reward": columns.reward, "time": columns.time}
    if columns.aggregated:
        roles["impressions"] = columns.impressions
        database.execute(
            "UPDATE log SET unreadable_impressions = impressions::VARCHAR "
            "WHERE impressions < 0 OR impressions != floor(impressions)"
        )
    for role, column in roles.items():
        texts = f"unreadable_{role}"
        query = (
            f"SELECT rowid + 1, {texts}, count(*) OVER () FROM log WHERE {texts} NOT NULL AND NOT is_total "
            "ORDER BY rowid LIMIT 1"
        )
        found = database.execute(query).fetchone()
        if found is None:
            continue
        row, value, number = found
        say = "give the form of all with {date_format}" if role == "time" else "or say with {null} that it is none"
        others = f" (and {number - 1} more like it)" if number > 1 else ""
        raise LogError(
            f"{quoted(value)} is not {READABLE[role]}{others}",
            owner=f"{role} column {column!r}, row {row}",
            value=value,
            hint=f"correct the log, choose another column with {{{role}}}, {say}; "
            "empty values would be dropped and counted",
        )


def reward_wait(database: duckdb.DuckDBPyConnection, reading: ReadOptions) -> float | None:
    """Return after how long nearly all rewards have arrived, from their times; None without them.

    Of the end of the log only quick rewards are known, so those of its first half are looked at.
    """
    if reading.reward_time is None:
        return None
    owner = f"column {reading.reward_time!r}"
    if count(database, "SELECT count(*) FROM log WHERE lost_time"):
        raise LogError("holds times that cannot be read", owner=owner, expected=clocks.READABLE)
    found = database.execute(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last FROM log),
        rewards AS (SELECT time, reward, reward_time / CASE WHEN first < {clocks.FIRST_DATE} THEN 1
            ELSE coalesce({clocks.unit_of("reward_time")}, 1) END AS reward_time FROM log, bounds)
        SELECT quantile_cont(reward_time - time, $1), avg((reward_time < time)::INTEGER), any_value(last - first)
        FROM rewards, bounds WHERE reward > 0 AND reward_time NOT NULL AND time < (first + last) / 2
        """,
        [ARRIVED],
    ).fetchone()
    if found is None or found[0] is None:
        raise LogError("holds no time of a reward", owner=owner, expected="times where there are rewards")
    if found[1] > MOST_BEFORE or found[0] > found[2]:
        problem = "holds times before those of the exposures, or long after the log"
        raise LogError(problem, owner=owner, expected="the clock of the exposures")
    return max(float(found[0]), 0.0)
