"""Logs as values, tables of DuckDB: what changes one gives another, and nothing is found by its name."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

_NUMBERS = itertools.count(1)
# A column that is added where a log has several files: which of them a row is from.
FILE = "number of the file"
SAMPLE = 200  # rows that show what columns hold


@dataclasses.dataclass(frozen=True)
class Source:
    """A log as a table: a query whose rows other queries use under the name `log`; and what has been said about it.

    Examples
    --------
    >>> import duckdb
    >>> table = Source(duckdb.connect(), "SELECT range AS number FROM range(4)")
    >>> table.select("SELECT number * 10 AS number FROM log").find("SELECT sum(number) FROM log WHERE number > $1", 10)
    [(50,)]
    """

    database: duckdb.DuckDBPyConnection
    query: str
    name: str = ""  # how to call the log
    notes: tuple[str, ...] = ()  # what must be said about how it was read
    files: tuple[str, ...] = ()  # the names of its files, if there are several; the column FILE numbers them
    repeated: frozenset[str] = frozenset()  # names that several columns have, in small letters

    @functools.cached_property
    def kinds(self) -> dict[str, str]:
        """The type of each column."""
        return {row[0]: str(row[1]) for row in self.database.execute(f"DESCRIBE {self.query}").fetchall()}

    def using(self, sql: str) -> str:
        """Return a query that finds the rows of this table as `log`."""
        rows = f"WITH log AS NOT MATERIALIZED ({self.query})"
        return f"{rows}, {sql.strip()[5:]}" if sql.strip().startswith("WITH ") else f"{rows} {sql}"

    def select(self, sql: str) -> Source:
        """Return the rows of a query."""
        return dataclasses.replace(self, query=self.using(sql))

    def where(self, condition: str) -> Source:
        """Return the rows that meet a condition."""
        return self.select(f"SELECT * FROM log WHERE {condition}")

    def find(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds."""
        return self.database.execute(self.using(sql), list(values)).fetchall()

    def first_as_dict(self, sql: str) -> dict[str, Any] | None:
        """Return the first row that a query finds, by the names of its columns."""
        found = self.database.execute(self.using(sql))
        row = found.fetchone()
        return None if row is None else dict(zip((name for name, *_ in found.description), row, strict=True))

    def count(self, condition: str = "true") -> int:
        """Return how many rows meet a condition."""
        return int(self.find(f"SELECT count(*) FROM log WHERE {condition}")[0][0])

    def arrays(self, sql: str, *values: object) -> dict[str, Any]:
        """Return what a query finds as an array for each column."""
        import numpy as np

        found = self.database.execute(self.using(sql), list(values)).fetchnumpy()
        return {column: np.ma.getdata(each) for column, each in found.items()}

    def stored(self, numbered: str = "") -> Source:
        """Return the table with its rows computed once, and perhaps a column of their numbers, from 0."""
        name = f"stored_{next(_NUMBERS)}"
        self.database.execute(f"CREATE TEMP TABLE {name} AS {self.query}")
        return dataclasses.replace(self, query=f"SELECT *{f', rowid AS {numbered}' if numbered else ''} FROM {name}")

    @property
    def columns(self) -> list[str]:
        """The columns of the log itself."""
        return [column for column in self.kinds if column != FILE]

    @property
    def file(self) -> str:
        """SQL for the number of the file that a row is from."""
        return f"{in_sql(FILE)}::INTEGER" if FILE in self.kinds else "0::INTEGER"

    @functools.cached_property
    def sample(self) -> dict[str, list[str]]:
        """What the first rows hold in each column, as texts; values that are missing are left out."""
        fields = ", ".join(f"trim({in_sql(column)}::VARCHAR)" for column in self.columns)
        rows = self.find(f"SELECT {fields} FROM log LIMIT {SAMPLE}")
        return {name: [row[place] for row in rows if row[place]] for place, name in enumerate(self.columns)}

    def varies(self, column: str) -> bool:
        """Say whether a column has more than one value."""
        return len(set(self.sample[column])) > 1 or self.distinct(column) > 1

    def distinct(self, column: str) -> int:
        """Return about how many values a column has."""
        return int(self.find(f"SELECT approx_count_distinct({in_sql(column)}) FROM log")[0][0])

    def values(self, column: str, most: int = SAMPLE) -> list[str]:
        """Return the values of a column as texts, `most` of them."""
        text = f"trim({in_sql(column)}::VARCHAR)"
        return sorted(
            row[0] for row in self.find(f"SELECT DISTINCT {text} AS value FROM log WHERE {text} != '' LIMIT {most}")
        )

    def saying(self, *notes: str) -> Source:
        """Return the log with more to say about it."""
        return dataclasses.replace(self, notes=(*self.notes, *notes))


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
