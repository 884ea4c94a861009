"""Tables whose values hold tables themselves, as JSON and warehouses write them, made flat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting.logs.read.tables import in_sql

if TYPE_CHECKING:
    import duckdb

DEEPEST = 5  # structures inside structures that are opened


def flat(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return rows whose structures are columns of their own, called `outer.inner`.

    Values that JSON writes in several ways, such as 1 here and "1" there, become their texts. An answer of an
    interface, one row with one list of rows (`{"data": [...]}`), becomes that list.
    """
    for _ in range(DEEPEST):
        kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
        lists = [column for column, kind in kinds.items() if kind.startswith("STRUCT(") and kind.endswith(")[]")]
        opened = {column for column, kind in kinds.items() if kind.startswith("STRUCT(") and kind.endswith(")")}
        if len(lists) == 1 and len(rows.limit(2).fetchall()) == 1:
            rows = rows.project(f"unnest({in_sql(lists[0])}) AS {in_sql(lists[0])}")
            rows = rows.project(f"unnest({in_sql(lists[0])})")
        elif opened:
            rows = rows.project(
                ", ".join(_fields(rows, column) if column in opened else in_sql(column) for column in kinds)
            )
        else:
            break
    kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
    if "JSON" not in kinds.values():
        return rows
    return rows.project(
        ", ".join(
            f"{in_sql(column)} ->> '$' AS {in_sql(column)}" if kind == "JSON" else in_sql(column)
            for column, kind in kinds.items()
        )
    )


def _fields(rows: duckdb.DuckDBPyRelation, column: str) -> str:
    """Return SQL for the fields of a structure, each with a name of its own."""
    inner = rows.project(f"unnest({in_sql(column)})").columns
    return ", ".join(f"{in_sql(column)}.{in_sql(each)} AS {in_sql(column + '.' + each)}" for each in inner)
