"""What the columns beside those that are used say: currencies, time zones, campaigns, parts of a date."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from rotting.errors import quoted
from rotting.logs.read.columns import Columns, LogError, in_sql, is_money, split_name, words_of
from rotting.logs.read.sources import Source

if TYPE_CHECKING:
    import duckdb

SAMPLE = 200  # rows that show whether a column holds dates
_DATE = re.compile(r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}\b.*|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}\b.*")
_PARTS_OF_TIME = frozenset({"year", "quarter", "month", "week", "hour"})
# Codes of currencies tell such a column whatever it is called.
_USUAL = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES KRW MXN MYR NGN NOK NZD "
    "PEN PHP PLN QAR RON SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
)
_CODES = frozenset(_USUAL.split())
_ZONES = frozenset({"timezone", "tz", "time_zone"})
# Inside these, names of ads may repeat.
_ABOVE_ARMS = ("campaign", "campaign_name", "campaign_id", "ad_group", "adgroup", "ad_set_name", "adset_name")


def look_beside(source: Source, columns: Columns) -> tuple[Columns, list[str]]:
    """Refuse what the other columns contradict; return the columns, with a time if one is found, and what is said."""
    _refuse_repeated(source, columns)
    columns = _with_dates(source, columns)
    _refuse_parts_of_time(source.columns, columns)
    _refuse_currencies(source, columns)
    said = _zones(source, columns) + _shared_names(source, columns)
    if columns.other_rewards:
        others = ", ".join(map(repr, columns.other_rewards[:4]))
        said.append(f"Column {columns.reward!r} was taken for the reward; {others} could be meant as well: choose one.")
    return columns, said


def _refuse_repeated(source: Source, columns: Columns) -> None:
    """Refuse a column that is not the only one of its name: nobody knows which of them is meant."""
    for role in ("arm", "reward", "time", "unit", "impressions"):
        column = getattr(columns, role)
        if column is not None and re.sub(r"_[0-9]+$", "", column.strip().lower()) in source.repeated:
            problem = f"several columns are called {quoted(re.sub(r'_[0-9]+$', '', column))}"
            raise LogError(
                problem, owner=source.name, expected="a name of its own for each", hint="rename or remove one"
            )


def _with_dates(source: Source, columns: Columns) -> Columns:
    """Return the columns with a time: the only other one that holds dates, if none was given or has a usual name."""
    if columns.time is not None:
        return columns
    used = {columns.arm, columns.reward, columns.unit, columns.impressions}
    rest = [column for column in source.columns if column not in used]
    kinds = dict(zip(source.rows.columns, map(str, source.rows.types), strict=True))
    sample = source.rows.limit(SAMPLE).fetchall()
    found = []
    for column in rest:
        values = [row[source.rows.columns.index(column)] for row in sample]
        texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
        dated = kinds[column].startswith(("DATE", "TIMESTAMP")) or (texts and all(map(_DATE.fullmatch, texts)))
        if dated:
            found.append(column)
    if len(found) > 1:
        listed = ", ".join(map(quoted, found[:4]))
        raise LogError(f"several columns hold dates ({listed})", hint="name the one of the exposures with {time}")
    if not found:
        return columns
    return dataclasses.replace(columns, time=found[0], guessed=(*columns.guessed, "time"))


def _refuse_parts_of_time(names: list[str], columns: Columns) -> None:
    """Refuse a year here and a month there: rows could not be put in order."""
    if columns.time is not None and not ("time" in columns.guessed and words_of(columns.time) & _PARTS_OF_TIME):
        return
    wanted = _PARTS_OF_TIME if columns.time is None else _PARTS_OF_TIME | {"date", "day"}
    parts = [name for name in names if words_of(name) & wanted and name not in (columns.arm, columns.reward)]
    if len(parts) > 1 or (parts and columns.time is None and columns.aggregated):
        listed = " and ".join(map(quoted, parts[:3]))
        raise LogError(
            f"the time seems to stand in {listed}",
            expected="one column of times, such as 2024-01-31 or 2024-01-31 18:00",
            hint="put them together, or name one column with {time}",
        )


def _refuse_currencies(source: Source, columns: Columns) -> None:
    """Refuse amounts in several currencies, where a column beside them names it."""
    if not is_money(columns.reward):
        return
    texts = {name for name, kind in zip(source.rows.columns, source.rows.types, strict=True) if str(kind) == "VARCHAR"}
    for column in source.columns:
        named = "currency" in words_of(column)
        if column not in (columns.arm, columns.reward) and (named or column in texts):
            found = sorted(value for value in _texts(source.rows, column) if value)
            if len(found) > 1 and (named or _CODES.issuperset(map(str.upper, found))):
                listed = ", ".join(map(quoted, found[:4]))
                problem = f"is in different currencies (column {quoted(column)}: {listed})"
                hint = "convert the amounts first, or leave the rows of one currency"
                raise LogError(problem, owner=f"reward column {columns.reward!r}", expected="one currency", hint=hint)


def _zones(source: Source, columns: Columns) -> list[str]:
    """Say that times of several zones stand side by side."""
    for column in source.columns:
        if column != columns.arm and (words_of(column) & _ZONES or {"time", "zone"} <= words_of(column)):
            zones = {value for value in _texts(source.rows, column) if value}
            if len(zones) > 1 and columns.time is not None:
                return [
                    f"Column {column!r} names {len(zones)} time zones, which were not looked at: unless times are in "
                    "UTC, rows may be out of order by hours."
                ]
    return []


def _shared_names(source: Source, columns: Columns) -> list[str]:
    """Say that arms of one name in several campaigns were taken together."""
    if "arm" not in columns.guessed:
        return []
    for column in source.columns:
        if "_".join(split_name(column)) not in _ABOVE_ARMS or column in (columns.arm, columns.reward):
            continue
        pairs = source.rows.project(f"{in_sql(columns.arm)} AS arm, {in_sql(column)} AS above").distinct()
        shared = pairs.aggregate("arm, count(*) AS parents").filter("parents > 1 AND arm IS NOT NULL").count("*")
        number = int(shared.fetchall()[0][0])
        if number:
            return [
                f"Arms of one name in several {column!r} were taken together ({number:,} of them): if they are not "
                "the same, choose a column of identifiers as the arm."
            ]
    return []


def _texts(rows: duckdb.DuckDBPyRelation, column: str) -> set[str]:
    found = rows.project(f"{in_sql(column)}::VARCHAR AS value").distinct().limit(SAMPLE).fetchall()
    return {str(row[0] or "").strip() for row in found}
