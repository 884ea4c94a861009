"""Tables of other libraries, without importing any of them."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from rotting.errors import BadValue


def rows_of(table: object) -> list[dict[str, Any]] | None:
    """Return the rows of a table of pandas, Polars or Arrow as dictionaries; None if it is no such table.

    A lazy frame of Polars is collected; exact decimals, as databases have them, become floats. A table with two columns
    of one name is refused: either might be meant.

    >>> import pandas
    >>> rows_of(pandas.DataFrame({"arm": ["red"], "reward": [0.5]}))
    [{'arm': 'red', 'reward': 0.5}]
    >>> rows_of([{"arm": "red"}]) is None
    True
    """
    known: Any = table
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):  # a lazy frame of Polars
        known = known.collect()
    if hasattr(known, "iloc") and hasattr(known, "columns"):  # pandas
        _refuse_twins(known.columns)
        return _plain(known.to_dict("records"))
    for method in ("to_dicts", "to_pylist"):  # Polars, Arrow
        if hasattr(known, method) and hasattr(known, "schema"):
            _refuse_twins(known.schema.names if method == "to_pylist" else known.columns)
            return _plain(getattr(known, method)())
    return None


def _refuse_twins(columns: Any) -> None:
    for name, count in Counter(columns).items():
        if count > 1:
            raise BadValue(f"{count} columns have this name", name="column", value=name, hint="rename or drop one")


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose exact decimals are floats."""
    return [
        {name: float(value) if isinstance(value, Decimal) else value for name, value in row.items()} for row in rows
    ]
