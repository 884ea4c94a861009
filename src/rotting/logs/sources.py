"""Where logs come from: files, tables in databases, frames. Each becomes a relation of DuckDB."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotting.logs.columns import LogError

if TYPE_CHECKING:
    import duckdb

KINDS = ".csv, .csv.gz, .tsv, .parquet, or a DuckDB or SQLite file (file.db::table)"
TABLE_MARK = "::"
ROWS_AT_ONCE = 100_000
SEPARATORS = (",", ";", "\t", "|")


@contextlib.contextmanager
def open_source(
    log: Any, folder: Path, step: Callable[[str], None]
) -> Iterator[tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation, str]]:
    """Yield a database, the log as a relation in it, and what to call the log.

    Whatever the engine says against the log, here or later, becomes a `LogError` of one line.
    """
    duckdb = _engine()
    path, table = _split(log) if isinstance(log, str | Path) else (None, None)
    kind = None if path is None else _kind(path)
    if table is not None and kind not in ("duckdb", "sqlite"):
        raise LogError(f"log {str(log)!r} names a table, but {str(path)!r} is no database; expected the file alone")
    name = "the log" if path is None else f"log {str(log)!r}"
    database = duckdb.connect()
    try:
        if kind == "csv":
            # Left to itself, the engine may skip a header that does not fit the rows.
            source = database.read_csv(str(path), header=True, all_varchar=True, skiprows=0, sep=_separator(path))
        elif kind == "parquet":
            source = database.read_parquet(str(path))
        elif kind == "duckdb":
            # Opened itself, for reading only: temporary tables live elsewhere.
            database = duckdb.connect(str(path), read_only=True)
            tables = [row[0] for row in database.execute("SHOW TABLES").fetchall()]
            source = database.table(_table(table, tables, name))
        elif kind == "sqlite":
            assert path is not None
            step("copying the table")
            source = _copy_sqlite(database, path, table, name)
        else:
            source = _frame(database, log)
        yield database, source, name
    except duckdb.Error as error:
        raise LogError(f"{name} cannot be read: {_why(str(error))}") from None
    finally:
        database.close()


def _why(said: str) -> str:
    r"""Return what the engine says against a log in one line, without advice that only those who call it can follow.

    >>> _why("Invalid Input Error: CSV Error on Line: 7\nThis file is not utf-8 encoded.\nPossible Solution: ...")
    'line 7 is not UTF-8 text; save the file as UTF-8'
    >>> _why("IO Error: no such thing\n\nPossible Solution: none")
    'no such thing'
    """
    line = re.search(r"CSV Error on Line: (\d+)", said)
    if "not utf-8" in said:
        return f"{f'line {line[1]}' if line else 'it'} is not UTF-8 text; save the file as UTF-8"
    if line or "sniffing" in said:
        where = f"line {line[1]} does" if line else "its lines do"
        return f"{where} not fit the header; expected one header line, and as many values in every line below it"
    return " ".join(said.split("\n\n")[0].split()).split("Error: ", 1)[-1][:300]


def _separator(path: Path | None) -> str:
    """Return what stands between the names in a file's first line most often."""
    import gzip
    import zlib

    assert path is not None
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as file:
            header = file.readline(100_000)
    except (OSError, EOFError, zlib.error) as error:
        raise LogError(f"log {str(path)!r} cannot be read: {error}") from None
    return max(SEPARATORS, key=lambda mark: header.count(mark.encode()))


def _engine() -> Any:
    try:
        import duckdb
    except ImportError:
        raise LogError("logs are read with DuckDB, which is not installed; install rotting[logs]") from None
    return duckdb


def _split(log: str | Path) -> tuple[Path, str | None]:
    """Return the file and the table of `file.db::table`."""
    path, mark, table = str(log).partition(TABLE_MARK)
    if mark and not table:
        raise LogError(f"log {str(log)!r} names no table after {TABLE_MARK}; expected file.db{TABLE_MARK}table")
    return Path(path), table or None


def _kind(path: Path) -> str:
    """Return what a file is: by its first bytes if it is a database, otherwise by its name."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise LogError(f"log {str(path)!r} cannot be read: {error.strerror}") from None
    if start == b"SQLite format 3\0":
        return "sqlite"
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start[:4] == b"PAR1":
        return "parquet"
    if not start:
        raise LogError(f"log {str(path)!r} is empty; expected a header and one row per exposure")
    if {".csv", ".tsv", ".txt"} & {suffix.lower() for suffix in path.suffixes[-2:]}:
        return "csv"
    raise LogError(f"log {str(path)!r} is of no kind that can be read; expected {KINDS}")


def _table(wanted: str | None, tables: list[str], name: str) -> str:
    """Return the table to read: the one asked for, or the only one."""
    listed = ", ".join(map(repr, tables)) or "none"
    if wanted is None and len(tables) != 1:
        raise LogError(f"{name} has {len(tables)} tables ({listed}); name one as file.db{TABLE_MARK}table")
    if wanted is not None and wanted not in tables:
        raise LogError(f"{name}: there is no table {wanted!r}; expected one of {listed}")
    return tables[0] if wanted is None else wanted


def _copy_sqlite(
    database: duckdb.DuckDBPyConnection, path: Path, wanted: str | None, name: str
) -> duckdb.DuckDBPyRelation:
    """Copy a SQLite table, as texts, a piece at a time. DuckDB's own reader would have to be downloaded."""
    import sqlite3

    import pandas

    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as sqlite:
            found = sqlite.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            table = _table(wanted, [row[0] for row in found], name)
            # The name is one of the file's own tables; SQL has no parameters for names.
            rows = sqlite.execute('SELECT * FROM "{}"'.format(table.replace('"', '""')))
            columns = [column[0] for column in rows.description]
            for start in iter(lambda: rows.fetchmany(ROWS_AT_ONCE), []):
                texts = [[None if value is None else str(value) for value in row] for row in start]
                piece = database.from_df(pandas.DataFrame(texts, columns=columns, dtype=object))
                _append(database, piece, columns)
    except sqlite3.Error as error:
        raise LogError(f"{name} cannot be read: {error}") from None
    if not database.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'copied'").fetchone():
        raise LogError(f"{name} has no rows; expected one per exposure")
    return database.table("copied")


def _append(database: duckdb.DuckDBPyConnection, piece: duckdb.DuckDBPyRelation, columns: list[str]) -> None:
    """Add a piece to the table `copied`, every column as text: a piece without any value would look like numbers."""
    from duckdb import ColumnExpression

    texts = piece.project(*[ColumnExpression(column).cast("VARCHAR").alias(column) for column in columns])
    if database.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'copied'").fetchone():
        texts.insert_into("copied")
    else:
        texts.create("copied")


def _frame(database: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
    """Return a pandas frame, or one that turns into it (Polars, Arrow), as a relation."""
    import duckdb
    import pandas

    kind = f"{type(frame).__module__.split('.')[0]}.{type(frame).__name__}"
    try:
        if not isinstance(frame, pandas.DataFrame):
            if not hasattr(frame, "to_pandas"):
                raise TypeError("it is no frame")
            frame = frame.to_pandas()
        database.register("frame", frame)
        return database.table("frame")
    except (duckdb.Error, TypeError, ImportError) as error:
        raise LogError(
            f"log of type {kind} cannot be read ({' '.join(str(error).split())[:200]}); expected a file, or a frame of "
            "pandas or one with to_pandas()"
        ) from None
