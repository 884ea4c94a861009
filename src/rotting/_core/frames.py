"""Tables of other libraries, without importing any of them."""

from __future__ import annotations

from typing import Any


def rows_of(table: object) -> list[dict[str, Any]] | None:
    """Return the rows of a table of pandas, Polars or Arrow as dictionaries; None if it is no such table.

    >>> import pandas
    >>> rows_of(pandas.DataFrame({"arm": ["red"], "reward": [0.5]}))
    [{'arm': 'red', 'reward': 0.5}]
    >>> rows_of([{"arm": "red"}]) is None
    True
    """
    known: Any = table
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas
        return list(known.to_dict("records"))
    for method in ("to_dicts", "to_pylist"):  # Polars, Arrow
        if hasattr(table, method) and hasattr(table, "schema"):
            return list(getattr(known, method)())
    return None
