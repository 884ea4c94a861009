"""What the columns beside those that are used say: currencies, time zones, campaigns, and what a row is about."""

from __future__ import annotations

import re

from rotting.errors import quoted
from rotting.logs.read.columns import Columns, is_money
from rotting.logs.read.names import is_called, plain_words
from rotting.logs.read.numbers import are_numbers
from rotting.logs.read.options import LogError
from rotting.logs.read.sources import Source
from rotting.logs.read.tables import in_sql


def look_beside(source: Source, columns: Columns) -> list[str]:
    """Refuse what the other columns contradict, and return what must be said."""
    _refuse_repeated(source, columns)
    _refuse_currencies(source, columns)
    return _zones(source, columns) + _shared_names(source, columns)


def dimensions(source: Source, columns: Columns) -> list[str]:
    """Return the columns that say what a row of sums is about, beside its arm and time: names, and no numbers."""
    if not columns.aggregated:
        return []
    rest = [column for column in source.columns if column not in columns.used]
    names = ("id", "ids", "code", "key", "uuid", "zip", "hour")
    return [
        column
        for column in rest
        if set(plain_words(column)) & set(names) or not all(are_numbers([text]) for text in source.sample[column])
    ]


def _refuse_repeated(source: Source, columns: Columns) -> None:
    """Refuse a column that is not the only one of its name: which of them is meant is unknown."""
    for column in sorted(columns.used - {None}, key=str):
        name = re.sub(r"_[0-9]+$", "", str(column))
        if name.strip().lower() in source.repeated:
            problem = f"several columns are called {quoted(name)}"
            expected = "a name of its own for each"
            raise LogError(problem, owner=source.name, expected=expected, hint="rename or remove one")


def _refuse_currencies(source: Source, columns: Columns) -> None:
    """Refuse amounts in several currencies, where a column beside them names it."""
    for column in source.columns if is_money(columns.reward) else ():
        named = is_called(column, "currency") or "currency" in plain_words(column)
        looked = source.sample[column]
        if column not in (columns.arm, columns.reward) and (named or (looked and _are_codes(looked))):
            found = source.values(column)
            if len(found) > 1 and (named or _are_codes(found)):
                listed = ", ".join(map(quoted, found[:4]))
                problem = f"is in different currencies (column {quoted(column)}: {listed})"
                hint = "convert the amounts first, or leave the rows of one currency"
                raise LogError(problem, owner=f"reward column {columns.reward!r}", expected="one currency", hint=hint)


def _are_codes(texts: list[str]) -> bool:
    """Say whether texts are codes of currencies, which tell such a column whatever it is called."""
    return all(is_called(text, "code of a currency") for text in texts)


def _zones(source: Source, columns: Columns) -> list[str]:
    """Say that times of several zones stand side by side."""
    for column in source.columns if columns.time is not None else ():
        if column not in columns.used and is_called(column, "zone"):
            zones = source.values(column)
            if len(zones) > 1:
                return [
                    f"Column {column!r} names {len(zones)} time zones, which were not looked at: unless times are in "
                    "UTC, rows may be out of order by hours."
                ]
    return []


def _shared_names(source: Source, columns: Columns) -> list[str]:
    """Say that arms of one name in several campaigns were taken together."""
    for column in source.columns if "arm" in columns.guessed else ():
        if is_called(column, "campaign") and column not in columns.used:
            [[number]] = source.rows.find(
                f"SELECT count(*) FROM (SELECT {in_sql(columns.arm)} AS arm, count(DISTINCT {in_sql(column)}) AS "
                "parents FROM log GROUP BY ALL) WHERE parents > 1 AND arm IS NOT NULL"
            )
            if number:
                return [
                    f"Arms of one name in several {column!r} were taken together ({number:,} of them): if they are not "
                    "the same, choose a column of identifiers as the arm."
                ]
    return []
