"""Tables of DuckDB as values: what changes a table gives another one, and nothing is found by its name."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

_NUMBERS = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Table:
    """A table: a query whose rows other queries use under the name `log`.

    Examples
    --------
    >>> import duckdb
    >>> table = Table(duckdb.connect(), "SELECT range AS number FROM range(4)")
    >>> table.select("SELECT number * 10 AS number FROM log").find("SELECT sum(number) FROM log WHERE number > $1", 10)
    [(50,)]
    """

    database: duckdb.DuckDBPyConnection
    query: str

    @functools.cached_property
    def kinds(self) -> dict[str, str]:
        """The type of each column."""
        return {row[0]: str(row[1]) for row in self.database.execute(f"DESCRIBE {self.query}").fetchall()}

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.kinds)

    def using(self, sql: str) -> str:
        """Return a query that finds the rows of this table as `log`."""
        rows = f"WITH log AS NOT MATERIALIZED ({self.query})"
        return f"{rows}, {sql.strip()[5:]}" if sql.strip().startswith("WITH ") else f"{rows} {sql}"

    def select(self, sql: str) -> Table:
        """Return the rows of a query."""
        return Table(self.database, self.using(sql))

    def where(self, condition: str) -> Table:
        """Return the rows that meet a condition."""
        return self.select(f"SELECT * FROM log WHERE {condition}")

    def replaced(self, **fields: str) -> Table:
        """Return the table with other values in some of its columns."""
        return self.select(
            f"SELECT * REPLACE ({', '.join(f'{sql} AS {name}' for name, sql in fields.items())}) FROM log"
        )

    def find(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds."""
        return self.database.execute(self.using(sql), list(values)).fetchall()

    def first(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        """Return the first row that a query finds."""
        return next(iter(self.find(sql, *values)), None)

    def count(self, condition: str = "true") -> int:
        """Return how many rows meet a condition."""
        return int(self.find(f"SELECT count(*) FROM log WHERE {condition}")[0][0])

    def arrays(self, sql: str, *values: object) -> dict[str, Any]:
        """Return what a query finds as an array for each column."""
        import numpy as np

        found = self.database.execute(self.using(sql), list(values)).fetchnumpy()
        return {column: np.ma.getdata(each) for column, each in found.items()}

    def stored(self, numbered: str = "") -> Table:
        """Return the table with its rows computed once, and perhaps a column of their numbers, from 0."""
        name = f"stored_{next(_NUMBERS)}"
        self.database.execute(f"CREATE TEMP TABLE {name} AS {self.query}")
        return Table(self.database, f"SELECT *{f', rowid AS {numbered}' if numbered else ''} FROM {name}")


def in_sql(column: str) -> str:
    """Return a column's name as SQL writes it: there are no parameters for names.

    >>> in_sql('an "ad" so')
    '"an ""ad"" so"'
    """
    return '"' + column.replace('"', '""') + '"'


def text_in_sql(text: str) -> str:
    """Return a text as SQL writes it.

    >>> text_in_sql("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def list_in_sql(texts: Iterable[str]) -> str:
    """Return texts between commas.

    >>> list_in_sql("ab")
    "'a', 'b'"
    """
    return ", ".join(map(text_in_sql, texts))
