"""Where logs come from: files, tables in databases, frames. Each becomes a relation of DuckDB."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rotting.errors import MissingExtra, literal, quoted
from rotting.logs.read.columns import FILE, LogError, in_sql
from rotting.logs.read.folders import check_columns, files_of
from rotting.logs.read.nested import flat
from rotting.logs.read.textfiles import (
    exact_text,
    in_utf8,
    layout,
    refuse_broken_csv,
    repeated_names,
    sheet_as_csv,
    unzipped,
)

if TYPE_CHECKING:
    import duckdb

KINDS = ".csv, .tsv, .jsonl, .json (.gz or .zip), .xlsx, .parquet, a DuckDB or SQLite file (file.db::table), a folder"
TABLE_MARK = "::"
ROWS_AT_ONCE = 100_000
ONE_ROW_PER_EXPOSURE = "one row per exposure"


class PandasFrame(Protocol):
    """A frame of pandas. That library has no types of its own, and its name in a union would allow anything."""

    @property
    def columns(self) -> object:
        """The names of the columns."""

    @property
    def iloc(self) -> object:
        """The rows by position."""


class ConvertibleToPandas(Protocol):
    """A frame of another library, such as Polars or Arrow."""

    def to_pandas(self) -> object:
        """Return the frame as one of pandas."""


# What can be diagnosed: a file, a table as "file.db::table", or a frame.
LogSource: TypeAlias = str | os.PathLike[str] | PandasFrame | ConvertibleToPandas


@dataclasses.dataclass(frozen=True)
class Source:
    """An opened log."""

    database: duckdb.DuckDBPyConnection
    rows: duckdb.DuckDBPyRelation
    name: str  # how to call the log
    notes: tuple[str, ...] = ()  # what must be said about how it was opened
    files: tuple[str, ...] = ()  # the names of its files, if there are several; the column FILE numbers them
    repeated: frozenset[str] = frozenset()  # names that several columns have, in small letters

    @property
    def columns(self) -> list[str]:
        """The columns of the log itself."""
        return [column for column in self.rows.columns if column != FILE]


@contextlib.contextmanager
def open_source(
    log: LogSource, step: Callable[[str], None], folder: str, encoding: str | None = None
) -> Iterator[Source]:
    """Yield the log as a relation in a database; `folder` holds what has to be unpacked or written anew.

    Whatever DuckDB finds wrong with the log, here or later, becomes a `LogError` of one line.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("logs are read with DuckDB, which is not installed", hint="install rotting[logs]") from None
    name = f"log {os.fspath(log)!r}" if isinstance(log, str | os.PathLike) else "the log"
    parts = _parts(os.fspath(log), Path(folder), encoding, name) if isinstance(log, str | os.PathLike) else []
    own = parts[0].path if len(parts) == 1 and parts[0].kind == "duckdb" else None
    try:
        # A DuckDB file is opened itself, for reading only: temporary tables live elsewhere.
        with duckdb.connect(str(own), read_only=True) if own is not None else duckdb.connect() as database:
            if isinstance(log, str | os.PathLike):
                yield _joined(database, parts, name, step)
            else:
                rows = _frame(database, log)
                yield Source(database, rows, name, repeated=repeated_names(getattr(log, "columns", ())))
    except duckdb.Error as error:
        for part in parts:
            if part.kind == "csv":
                with contextlib.suppress(OSError, EOFError, zlib.error, csv.Error):
                    refuse_broken_csv(part.path, name)
        raise _unreadable(name, error) from None


@dataclasses.dataclass(frozen=True)
class _Part:
    """A file that DuckDB can read."""

    path: Path
    kind: str
    table: str | None
    called: str


def _parts(log: str, folder: Path, encoding: str | None, name: str) -> list[_Part]:
    """Return the files of a log: one, or those of a folder or a pattern."""
    files = files_of(log)
    if files is None:
        path, table = _split(log)
        return [_Part(*_ready(path, table, folder, encoding, name), table, str(path))]
    parts = []
    for number, path in enumerate(files):
        own = folder / str(number)
        own.mkdir()
        ready, kind = _ready(path, None, own, encoding, f"log {str(path)!r}")
        if kind in ("duckdb", "sqlite"):
            raise LogError("a database among several files", owner=name, expected="tables as files, or one database")
        parts.append(_Part(ready, kind, None, str(path)))
    return parts


def _joined(database: duckdb.DuckDBPyConnection, parts: list[_Part], name: str, step: Callable[[str], None]) -> Source:
    """Return all parts as one relation, in their order; values of several files are texts."""
    from duckdb import ColumnExpression, ConstantExpression

    found = [_relation(database, part.kind, part.path, part.table, name, step) for part in parts]
    if len(parts) == 1:
        rows, notes, repeated = found[0]
        return Source(database, rows, name, notes, (), repeated)
    check_columns({part.called: each[0].columns for part, each in zip(parts, found, strict=True)}, name)
    columns = found[0][0].columns
    texts = [ColumnExpression(column).cast("VARCHAR").alias(column) for column in columns]
    projected = [
        each[0].project(*texts, ConstantExpression(number).cast("INTEGER").alias(FILE))
        for number, each in enumerate(found)
    ]
    notes = tuple(dict.fromkeys(note for each in found for note in each[1]))
    notes += (f"Read as one log: {len(parts):,} files.",)
    files = tuple(Path(part.called).name for part in parts)
    repeated = frozenset().union(*(each[2] for each in found))
    return Source(
        database, functools.reduce(lambda one, other: one.union(other), projected), name, notes, files, repeated
    )


def _ready(path: Path, table: str | None, folder: Path, encoding: str | None, name: str) -> tuple[Path, str]:
    """Return a file that DuckDB can read, and its kind."""
    kind = _kind(path)
    try:
        if kind == "zip":
            path = unzipped(path, folder, name)
            kind = _kind(path)
        if table is not None and kind not in ("duckdb", "sqlite", "xlsx"):
            raise LogError("names a table, but the file is no database", owner=name, expected="the file alone")
        if kind == "xlsx":
            return sheet_as_csv(path, table, folder, name), "csv"
        return (in_utf8(path, encoding, folder, name) if kind in ("csv", "json") else path), kind
    except ImportError:
        raise MissingExtra("Excel files are read with openpyxl", hint="install rotting[logs]") from None
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError) as error:
        raise _unreadable(name, error) from None


def _relation(
    database: duckdb.DuckDBPyConnection,
    kind: str,
    path: Path,
    table: str | None,
    name: str,
    step: Callable[[str], None],
) -> tuple[duckdb.DuckDBPyRelation, tuple[str, ...], frozenset[str]]:
    """Return the log as a relation, what must be said about it, and the names that several of its columns have."""
    if kind == "csv":
        found = layout(path)
        # Left to itself, DuckDB may skip a header that does not fit the rows.
        rows = database.read_csv(str(path), header=True, all_varchar=True, skiprows=found.above, sep=found.mark)
        notes = (f"Lines above the header were skipped: {found.above}.",) if found.above else ()
        return rows, notes, repeated_names(found.header)
    if kind == "json":
        # Several threads have been seen to change the order of the rows, which is that of time where there is none.
        database.execute("SET threads = 1")
        return flat(database.read_json(str(path))), (), frozenset()
    if kind == "parquet":
        return flat(database.read_parquet(str(path))), (), frozenset()
    if kind == "sqlite":
        step("copying the table")
        return _copy_sqlite(database, path, table, name), (), frozenset()
    tables = [row[0] for row in database.execute("SHOW TABLES").fetchall()]
    return flat(database.table(_table(table, tables, name))), (), frozenset()


def _unreadable(name: str, error: Exception, expected: str | None = None) -> LogError:
    """Return the error of a log that another library cannot read; that library's own message is put on one line."""
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return LogError(f"cannot be read ({literal(reason)})", owner=name, expected=expected)


def _split(log: str) -> tuple[Path, str | None]:
    """Return the file and the table of `file.db::table`."""
    path, mark, table = log.partition(TABLE_MARK)
    if mark and not table:
        raise LogError(f"names no table after {TABLE_MARK}", owner=f"log {log!r}", expected=f"file.db{TABLE_MARK}table")
    return Path(path), table or None


def _kind(path: Path) -> str:
    """Return what a file is: by its first bytes if it is a database, otherwise by its name."""
    name = f"log {str(path)!r}"
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise _unreadable(name, error) from None
    if start == b"SQLite format 3\0":
        return "sqlite"
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start[:4] == b"PAR1":
        return "parquet"
    if not start:
        raise LogError("the file is empty", owner=name, expected=f"a header and {ONE_ROW_PER_EXPOSURE}")
    suffixes = {suffix.lower() for suffix in path.suffixes[-2:]}
    if start.startswith(b"PK\x03\x04"):
        return "xlsx" if {".xlsx", ".xlsm"} & suffixes else "zip"
    if {".csv", ".tsv", ".txt"} & suffixes:
        return "csv"
    if {".json", ".jsonl", ".ndjson"} & suffixes:
        return "json"
    raise LogError("the file is of no kind that can be read", owner=name, expected=KINDS)


def _table(wanted: str | None, tables: list[str], name: str) -> str:
    """Return the table to read: the one asked for, or the only one."""
    listed = ", ".join(map(repr, tables)) or "none"
    if wanted is None and len(tables) != 1:
        hint = f"name one as file.db{TABLE_MARK}table"
        raise LogError(f"the file has {len(tables)} tables ({literal(listed)})", owner=name, hint=hint)
    if wanted is not None and wanted not in tables:
        raise LogError(f"there is no table {quoted(wanted)}", owner=name, expected=f"one of {listed}")
    return tables[0] if wanted is None else wanted


def _copy_sqlite(
    database: duckdb.DuckDBPyConnection, path: Path, wanted: str | None, name: str
) -> duckdb.DuckDBPyRelation:
    """Copy a SQLite table, as texts, a piece at a time. DuckDB's own reader would have to be downloaded."""
    import sqlite3

    import pandas

    copied = False
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as sqlite:
            found = sqlite.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            table = _table(wanted, [row[0] for row in found], name)
            # The name is one of the file's own tables; SQL has no parameters for names.
            rows = sqlite.execute(f"SELECT * FROM {in_sql(table)}")
            columns = [column[0] for column in rows.description]
            for piece in iter(lambda: rows.fetchmany(ROWS_AT_ONCE), []):
                texts = [[exact_text(value) for value in row] for row in piece]
                frame = pandas.DataFrame(texts, columns=columns, dtype=object)
                _append(database.from_df(frame), columns, first=not copied)
                copied = True
    except sqlite3.Error as error:
        raise _unreadable(name, error) from None
    if not copied:
        raise LogError("there are no rows", owner=name, expected=ONE_ROW_PER_EXPOSURE)
    return database.table("copied")


def _append(piece: duckdb.DuckDBPyRelation, columns: list[str], first: bool) -> None:
    """Add a piece to the table `copied`, every column as text: a piece without any value would look like numbers."""
    from duckdb import ColumnExpression

    texts = piece.project(*[ColumnExpression(column).cast("VARCHAR").alias(column) for column in columns])
    if first:
        texts.create("copied")
    else:
        texts.insert_into("copied")


def _frame(database: duckdb.DuckDBPyConnection, frame: PandasFrame | ConvertibleToPandas) -> duckdb.DuckDBPyRelation:
    """Return a pandas frame, or one that turns into it (Polars, Arrow), as a relation."""
    import duckdb
    import pandas

    name = f"log of type {type(frame).__module__.split('.')[0]}.{type(frame).__name__}"
    expected = "a file, or a frame of pandas or one with to_pandas()"
    convert = (lambda: frame) if isinstance(frame, pandas.DataFrame) else getattr(frame, "to_pandas", None)
    if convert is None:
        raise LogError("is no frame", owner=name, expected=expected)
    try:
        database.register("frame", _with_index(convert()))
        return database.table("frame")
    except (duckdb.Error, TypeError, ImportError) as error:
        raise _unreadable(name, error, expected) from None


def _with_index(frame: Any) -> Any:
    """Return a frame with its index among the columns, if it has names or holds times: DuckDB would leave it out."""
    import pandas

    if isinstance(frame.index, pandas.DatetimeIndex) and frame.index.name is None:
        frame = frame.rename_axis(index="time")
    named = [name for name in frame.index.names if name is not None]
    return frame if not named or set(named) & set(frame.columns) else frame.reset_index()
