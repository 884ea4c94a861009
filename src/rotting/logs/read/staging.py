"""The rows of a log as one table: arm, unit, reward, time and, where rows are sums, impressions.

What is read at once is what machines write. Other texts stay beside it, in unreadable_..., until all of them are known:
what they mean is decided together, and what they cannot mean is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.read import clocks
from rotting.logs.read.columns import Columns
from rotting.logs.read.names import mentions
from rotting.logs.read.numbers import MISSING, Written, number_of, read_numbers
from rotting.logs.read.options import LogError, ReadOptions
from rotting.logs.read.sources import FILE, Source
from rotting.logs.read.tables import Table, in_sql, list_in_sql, text_in_sql

if TYPE_CHECKING:
    from collections.abc import Collection

# Squares and sums of larger rewards would overflow.
LARGEST_REWARD = 1e50
# The share of rewards after whose delay the log counts as complete, and of those that may come before their exposure.
ARRIVED, MOST_BEFORE = 0.95, 0.05
READABLE = {
    "reward": f"a finite number (of at most {LARGEST_REWARD:g}), true or false",
    "impressions": "a whole number of exposures",
    "time": clocks.READABLE,
}
# Rows that ad platforms add to a table. Arms may be called so: only rows that are sums of the others are left out.
TOTAL = "(?i)(grand |sub-?)?totals?( *[:\u2013\u2014-].*)?|gesamt(summe|ergebnis)?|summe|totale|total general"
# The same among other words, as in "Red Total" and "Total of 80 results".
TOTAL_AMONG_WORDS = "(?i)(.* )?(sub-?)?totals?( .*)?"


def stage(
    source: Source, columns: Columns, beside: Mapping[str, str], dimensions: Sequence[str], reading: ReadOptions
) -> tuple[Table, list[str], str]:
    """Return the rows as a table, what must be said about how they were read, and the currency of rewards.

    Its column `place` is the order of the log. `beside` are further columns by name, in SQL; `dimensions` those that
    say, with arm and time, what a row of sums is about.
    """
    rows = source.rows.select(_fields(source.rows.kinds, columns, beside, dimensions, reading)).stored("place")
    said = []
    if headers := rows.count("is_header"):
        rows = rows.where("NOT is_header")
        said.append(f"Lines that repeat the header were left out: {headers:,}.")
    decimal = reading.decimal
    if columns.impressions is not None:
        rows, _ = _read_texts(rows, "impressions", columns.impressions, decimal)
        decimal = decimal or _mark_seen(rows)
        rows = rows.replaced(
            unreadable_impressions="CASE WHEN impressions IS NULL THEN unreadable_impressions "
            "WHEN impressions < 0 OR impressions != floor(impressions) THEN impressions::VARCHAR END"
        )
        _refuse_rates(rows, columns.reward)
    rows, currency = _read_texts(rows, "reward", columns.reward, decimal)
    if columns.time is not None:
        rows, told = clocks.settle_times(rows, columns.time, reading.date_format)
        said += told
    _refuse_unreadable(rows, columns)
    return rows, said, currency


def _fields(
    kinds: dict[str, str],
    columns: Columns,
    beside: Mapping[str, str],
    dimensions: Collection[str],
    reading: ReadOptions,
) -> str:
    """Return the query for the fields of the table."""
    if reading.reward_time is not None and (columns.time is None or reading.reward_time not in kinds):
        problem = "needs the time of the exposure as well" if columns.time is None else "is not a column of the log"
        raise LogError(problem, name="reward_time", value=reading.reward_time)
    names = {role: getattr(columns, role) for role in ("arm", "reward", "time", "unit", "impressions")}
    roles = {role: name for role, name in (names | {"reward_time": reading.reward_time}).items() if name is not None}
    kind = {role: kinds[name] for role, name in roles.items()}
    fields = {"time": "NULL::DOUBLE", "unreadable_time": "NULL::VARCHAR", "clock": "0::UTINYINT"}
    if "time" in roles:
        time, clock = clocks.time_of(kind["time"], roles["time"], reading.date_format)
        fields["time"] = f"CASE WHEN isfinite({time}) THEN {time} END"
        text = _text_of("time", reading.null)
        fields["unreadable_time"] = f"CASE WHEN {time} IS NULL OR isinf({time}) THEN {text} END"
        fields["clock"] = f"({clock})::UTINYINT"
    for role in ("arm", "unit"):
        fields[role] = _name_of(role, kind[role], reading.null) if role in roles else "NULL::VARCHAR"
    for role in ("reward", "impressions") if columns.aggregated else ("reward",):
        number, text = number_of(role, kind[role]), _text_of(role, reading.null)
        unsure = f"{number} IS NULL OR (abs({number}) > {LARGEST_REWARD} AND NOT isnan({number}))"
        fields |= {role: f"nullif({number}, 'nan')", f"unreadable_{role}": f"CASE WHEN {unsure} THEN {text} END"}
    if not columns.aggregated:
        fields["impressions"] = "1::UTINYINT"
    if "reward_time" in roles:
        fields["reward_time"] = clocks.time_of(kind["reward_time"], roles["reward_time"], None, "reward_time")[0]
        fields["lost_time"] = f"{fields['reward_time']} IS NULL AND {_text_of('reward_time', None)} NOT NULL"
    own = ", ".join(in_sql(column) for column in kinds if column != FILE)
    fields |= {
        "pointed": "strpos(reward, '.') > 0" if kind["reward"] == "VARCHAR" else "false",
        "is_total": _is_total(kind) if columns.aggregated else "false",
        "is_header": _is_header(roles, kind),
        "whole_row": f"hash({own})",
        "cell": f"hash({', '.join(map(in_sql, dimensions)) or 0})",
        "file": f"{in_sql(FILE)}::INTEGER" if FILE in kinds else "0",
    }
    named = ", ".join(f"{in_sql(name)} AS {role}" for role, name in roles.items())
    # What a row holds beside its roles is read before names of columns can be taken for roles.
    outer = {"whole_row", "cell", "file"}
    early = ", ".join(f"{sql} AS {name}" for name, sql in [*((n, fields[n]) for n in outer), *beside.items()])
    late = ", ".join(f"{sql} AS {name}" for name, sql in fields.items() if name not in outer)
    kept = ", ".join([*outer, *beside])
    return f"WITH roles AS (SELECT {named}, {early} FROM log) SELECT {late}, {kept} FROM roles"


def _is_total(kind: dict[str, str]) -> str:
    """Return SQL that says whether a row calls itself a total: one named so, or one without a time that sounds so."""
    checks = [f"regexp_full_match(trim(arm::VARCHAR), '{TOTAL}')"]
    if kind.get("time") == "VARCHAR":
        timeless = "coalesce(length(trim(time)) < 3, true)"  # empty, "-" or "--"
        checks += [f"regexp_full_match(trim(arm::VARCHAR), '{TOTAL_AMONG_WORDS}') AND {timeless}"]
        checks += [f"regexp_full_match(trim(time), '{form}')" for form in (TOTAL, TOTAL_AMONG_WORDS)]
    return " OR ".join(f"coalesce({check}, false)" for check in checks)


def _is_header(roles: dict[str, str], kind: dict[str, str]) -> str:
    """Return SQL that says whether a row is the header once more, as where files were put one below the other."""
    texts = {role: name for role, name in roles.items() if role in ("arm", "reward", "time")}
    if any(kind[role] != "VARCHAR" for role in texts):
        return "false"
    return " AND ".join(f"coalesce(trim({role}) = {text_in_sql(name.strip())}, false)" for role, name in texts.items())


def _name_of(column: str, kind: str, null: str | None) -> str:
    """Return SQL for a name, NULL where the field is empty or NaN. Texts such as "none" or "NA" are names."""
    name = f"trim({column}::VARCHAR)"
    given = f"{name} NOT IN ({list_in_sql(['', MISSING[1], null or ''])})"
    if kind in ("FLOAT", "DOUBLE"):
        given += f" AND NOT isnan({column})"
    # Spreadsheets keep a name as it is with ="...".
    return f"CASE WHEN {name} LIKE '=\"%\"' THEN {name}[3:-2] WHEN {given} THEN {name} END"


def _text_of(column: str, null: str | None) -> str:
    """Return SQL for the text of a value that should be a number or a time, NULL where it stands for a missing one."""
    missing = list_in_sql(each.lower() for each in (*MISSING, null or ""))
    return f"CASE WHEN lower(trim({column}::VARCHAR)) NOT IN ({missing}) THEN {column}::VARCHAR END"


def _read_texts(rows: Table, role: str, column: str, decimal: str | None) -> tuple[Table, str]:
    """Read what is no plain number: currencies, thousands, decimal commas, percentages. Return the currency, too."""
    unread = f"unreadable_{role}"
    found = rows.find(f"SELECT DISTINCT {unread}, file FROM log WHERE {unread} NOT NULL")
    if not found:
        return rows, ""
    marked = f"SELECT DISTINCT file FROM log WHERE pointed AND {unread} IS NULL"
    pointed = {row[0] for row in rows.find(marked)} if role == "reward" else set()
    texts = list(dict.fromkeys(text for text, _ in found))
    numbers = read_numbers(texts, role, column, decimal, bool(pointed), whole=role == "impressions")
    numbers = {text: number for text, number in numbers.items() if abs(number) <= LARGEST_REWARD}
    if decimal is None and role == "reward":
        _refuse_files_in_doubt(found, pointed, column)
    currency = next((written.currency for text in numbers if (written := Written(text)).currency), "")
    if currency:
        _refuse_bare_amounts(rows, role, column, currency, [text for text in numbers if not Written(text).currency])
    read = rows.mapped(unread, numbers)
    # The texts of impressions are looked at once more: they show the decimal mark.
    rest = unread if role == "impressions" else f"CASE WHEN {read} IS NULL THEN {unread} END"
    read_rows = rows.replaced(**{role: f"coalesce({read}, {role})", unread: rest})
    return read_rows.select("SELECT * FROM log ORDER BY place").stored(), currency


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


def _refuse_bare_amounts(rows: Table, role: str, column: str, currency: str, bare: list[str]) -> None:
    """Refuse amounts without a currency beside others with one; nothing is nothing in any currency."""
    plain = rows.count(f"unreadable_{role} IS NULL AND {role} != 0")
    if plain or any(set(Written(text).digits) & set("123456789") for text in bare):
        problem = f"holds amounts with a currency ({quoted(currency)}) and others without"
        hint = "write all of them in one currency"
        raise LogError(problem, owner=f"{role} column {column!r}", expected="one currency", hint=hint)


def _refuse_rates(rows: Table, reward: str) -> None:
    """Refuse a click rate where the number of clicks is needed."""
    if mentions(reward, "ratio") or rows.count("strpos(unreadable_reward, '%') > 0"):
        hint = "choose the column of clicks, conversions or revenue with {reward}"
        raise LogError("holds rates, not sums", owner=f"reward column {reward!r}", hint=hint)


def _mark_seen(rows: Table) -> str | None:
    """Return the decimal mark that goes with how impressions were written."""
    found = rows.first(
        "SELECT unreadable_impressions, impressions FROM log WHERE unreadable_impressions NOT NULL "
        "AND impressions >= 1000 LIMIT 1"
    )
    if found is None:
        return None
    written = Written(found[0])
    marks = [mark for mark in ".," if mark in written.marks() and written.value(mark) == found[1]]
    return marks[0] if len(marks) == 1 else None


def _refuse_unreadable(rows: Table, columns: Columns) -> None:
    """Raise an error with the first value that is there but cannot be read, and the number of such values."""
    roles = ["reward", *(["time"] if columns.time else []), *(["impressions"] if columns.aggregated else [])]
    for role in roles:
        texts = f"unreadable_{role}"
        found = rows.first(
            f"SELECT place + 1, {texts}, count(*) OVER () FROM log WHERE {texts} NOT NULL AND NOT is_total "
            "ORDER BY place LIMIT 1"
        )
        if found is None:
            continue
        row, value, number = found
        say = "give the form of all with {date_format}" if role == "time" else "or say with {null} that it is none"
        others = f" (and {number - 1} more like it)" if number > 1 else ""
        raise LogError(
            f"{quoted(value)} is not {READABLE[role]}{others}",
            owner=f"{role} column {getattr(columns, role)!r}, row {row}",
            value=value,
            hint=f"correct the log, choose another column with {{{role}}}, {say}; "
            "empty values would be dropped and counted",
        )


def reward_wait(rows: Table, reward_time: str | None) -> float | None:
    """Return after how long nearly all rewards have arrived, from their times; None without them.

    Of the end of the log only quick rewards are known, so those of its first half are looked at.
    """
    if reward_time is None:
        return None
    owner = f"column {reward_time!r}"
    if rows.count("lost_time"):
        raise LogError("holds times that cannot be read", owner=owner, expected=clocks.READABLE)
    [[wait, before, length]] = rows.find(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last FROM log),
        rewards AS (SELECT time, reward, reward_time / CASE WHEN first < {clocks.FIRST_DATE} THEN 1
            ELSE coalesce({clocks.unit_of("reward_time")}, 1) END AS reward_time FROM log, bounds)
        SELECT quantile_cont(reward_time - time, $1), avg((reward_time < time)::INTEGER), any_value(last - first)
        FROM rewards, bounds WHERE reward > 0 AND reward_time NOT NULL AND time < (first + last) / 2
        """,
        ARRIVED,
    )
    if wait is None:
        raise LogError("holds no time of a reward", owner=owner, expected="times where there are rewards")
    if before > MOST_BEFORE or wait > length:
        problem = "holds times before those of the exposures, or long after the log"
        raise LogError(problem, owner=owner, expected="the clock of the exposures")
    return max(float(wait), 0.0)
