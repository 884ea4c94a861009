"""Tables whose values hold tables themselves, as JSON and warehouses write them, made flat."""

from __future__ import annotations

from rotting.logs.read.tables import Source, in_sql

DEEPEST = 5  # structures inside structures that are opened


def flat(rows: Source) -> Source:
    """Return rows whose structures are columns of their own, called `outer.inner`; lists inside rows are left out.

    Values that JSON writes in several ways, such as 1 here and "1" there, become their texts. An answer of an
    interface, one row with one list of rows (`{"data": [...]}`), becomes that list.
    """
    for _ in range(DEEPEST):
        lists = [in_sql(column) for column, kind in rows.kinds.items() if kind.endswith(")[]")]
        if len(lists) == 1 and len(rows.find("SELECT 1 FROM log LIMIT 2")) == 1:
            rows = rows.select(f"SELECT unnest(each) FROM (SELECT unnest({lists[0]}) AS each FROM log)")
        else:
            rows = rows.select(f"SELECT {', '.join(_fields(rows))} FROM log")
    return rows


def _fields(rows: Source) -> list[str]:
    """Return SQL for the columns of a table, the fields of structures each by itself."""
    found = []
    for column, kind in rows.kinds.items():
        name = in_sql(column)
        if kind.startswith("STRUCT(") and kind.endswith(")"):
            inner = rows.select(f"SELECT unnest({name}) FROM log").columns
            found += [f"{name}.{in_sql(each)} AS {in_sql(f'{column}.{each}')}" for each in inner]
        elif kind == "JSON":
            found.append(f"{name} ->> '$' AS {name}")
        elif not kind.endswith("[]"):
            found.append(name)
    return found or ["*"]
