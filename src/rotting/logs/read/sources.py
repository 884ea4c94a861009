"""Where logs come from: files, folders, tables in databases, frames. Each becomes a table of DuckDB."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import re
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rotting.errors import MissingExtra, literal, quoted
from rotting.logs.read.nested import flat
from rotting.logs.read.options import LogError
from rotting.logs.read.tables import FILE, Source, in_sql, text_in_sql
from rotting.logs.read.textfiles import (
    NAME_ENCODING,
    in_plain_lines,
    in_utf8,
    is_below,
    layout,
    one_table,
    repeated_names,
    rows_as_csv,
    sheet_rows,
    unzipped,
)

if TYPE_CHECKING:
    import duckdb

KINDS = ".csv, .tsv, .jsonl, .json (.gz or .zip), .xlsx, .parquet, a DuckDB or SQLite file (file.db::table), a folder"
TABLE_MARK = "::"
ONE_ROW_PER_EXPOSURE = "one row per exposure"
# What a file is: by its first bytes, or else by its name.
_STARTS = re.compile(
    rb"(?P<sqlite>SQLite format 3\0)|(?P<parquet>PAR1)|(?P<duckdb>.{8}DUCK)|(?P<zip>PK\x03\x04)", re.DOTALL
)
_TEXTS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_SUFFIXES = {*_TEXTS, ".parquet", ".xlsx", ".gz", ".zip"}
MEMORY_LIMIT = "1GB"


class Frame(Protocol):
    """A frame of pandas, which has no types of its own, or of what turns into one, such as Polars or Arrow."""

    @property
    def columns(self) -> object:
        """The names of the columns."""


# What can be diagnosed: a file, a table as "file.db::table", or a frame.
LogSource: TypeAlias = str | os.PathLike[str] | Frame


@contextlib.contextmanager
def open_source(log: LogSource, encoding: str | None) -> Iterator[Source]:
    """Yield the log as a table in a database.

    Whatever DuckDB finds wrong with the log, here or later, becomes a `LogError` of one line.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("logs are read with DuckDB, which is not installed", hint="install rotting[logs]") from None
    path = os.fspath(log) if isinstance(log, str | os.PathLike) else None
    name = "the log" if path is None else f"log {path!r}"
    # The folder holds what has to be unpacked or written again, and what memory does not.
    with (
        tempfile.TemporaryDirectory(prefix="rotting-log-") as folder,
        duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "temp_directory": folder}) as database,
    ):
        # In a notebook without ipywidgets DuckDB has no progress bar, and refuses to turn it off.
        with contextlib.suppress(duckdb.InvalidInputException):
            database.execute("SET enable_progress_bar = false")
        try:
            yield _frame(database, log, name) if path is None else _Opener(database, folder, encoding).log(path, name)
        except duckdb.Error as error:
            raise _unreadable(name, error) from None


def _files_of(log: str) -> list[Path] | None:
    """Return the files that a folder or a pattern stands for, by name; None if it is a file by itself."""
    path = Path(log)
    if path.is_dir():
        found = [each for each in path.iterdir() if each.suffix.lower() in _SUFFIXES and each.name[0] not in "._"]
        what = "the folder holds no file that can be read"
    elif not path.exists() and any(mark in log for mark in "*?["):
        found = [Path(each) for each in glob.glob(log, recursive=True)]
        what = "no file has such a name"
    else:
        return None
    if not (files := sorted(each for each in found if each.is_file())):
        raise LogError(what, owner=f"log {log!r}", expected=f"files such as {', '.join(sorted(_SUFFIXES)[:4])}")
    return files


def _joined(sources: Sequence[Source], files: Sequence[str], name: str) -> Source:
    """Return several files as one table, in their order; their values are texts."""
    columns, tables = sources[0].columns, []
    for number, each in enumerate(sources):
        if differ := sorted(set(each.columns) ^ set(columns)):
            problem = f"{files[number]} and {files[0]} have other columns ({', '.join(map(quoted, differ[:4]))})"
            raise LogError(problem, owner=name, expected="files with the same columns")
        texts = ", ".join(f"{in_sql(column)}::VARCHAR AS {in_sql(column)}" for column in columns)
        tables.append(each.select(f"SELECT {texts}, {number} AS {in_sql(FILE)} FROM log").query)
    return Source(
        sources[0].database,
        " UNION ALL ".join(f"({query})" for query in tables),
        name,
        (*dict.fromkeys(note for each in sources for note in each.notes), f"Read as one log: {len(files):,} files."),
        tuple(files),
        frozenset().union(*(each.repeated for each in sources)),
    )


@dataclasses.dataclass(frozen=True)
class _Opener:
    """Opens files in a database."""

    database: duckdb.DuckDBPyConnection
    folder: str  # for what has to be written again
    encoding: str | None

    def log(self, log: str, name: str) -> Source:
        """Return what a text names: a file, a table in one, a folder or a pattern."""
        files = _files_of(log)
        if files is None:
            path, _, table = log.partition(TABLE_MARK)
            return self.file(Path(path), table or None, name)
        if {"duckdb", "sqlite"} & set(map(_kind, files)):
            raise LogError("a database among several files", owner=name, expected="tables as files, or one database")
        sources = [self.file(each, None, f"log {str(each)!r}") for each in files]
        return sources[0] if len(files) == 1 else _joined(sources, [each.name for each in files], name)

    def file(self, path: Path, table: str | None, name: str) -> Source:
        """Return a file as a table."""
        kind, folder = _kind(path), Path(tempfile.mkdtemp(dir=self.folder))
        try:
            if kind == "zip":
                path = unzipped(path, folder, name)
                kind = _kind(path)
            if table is not None and kind not in (*_ROWS, "duckdb"):
                raise LogError("names a table, but the file is not a database", owner=name, expected="the file alone")
            if kind in _ROWS:
                path, kind = rows_as_csv(_ROWS[kind](path, table, name), folder), "csv"
            elif kind in ("csv", "json"):
                path = in_utf8(path, self.encoding, folder, name)
            if kind == "csv":
                return self.text(path, folder, name)
        except ImportError:
            raise MissingExtra("Excel files are read with openpyxl", hint="install rotting[logs]") from None
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, sqlite3.Error) as error:
            raise _unreadable(name, error) from None
        if kind == "duckdb":
            self.database.execute(f"ATTACH {text_in_sql(str(path))} AS file (READ_ONLY)")
            tables = [row[0] for row in self.database.execute("SHOW TABLES FROM file").fetchall()]
            query = f"SELECT * FROM file.{in_sql(one_table(table, tables, name))}"
        else:
            query = f"SELECT * FROM read_{kind}({text_in_sql(str(path))})"
        # Several threads have been seen to change the order of the rows, which is that of time where there is none.
        self.database.execute(f"SET threads = {1 if kind == 'json' else os.cpu_count() or 1}")
        return flat(Source(self.database, query, name))

    def text(self, path: Path, folder: Path, name: str) -> Source:
        """Return a table of text, with what must be said about it, and the names that several of its columns have."""
        import duckdb

        mark, above, header = layout(path)
        if "\0" in "".join(header):
            raise LogError("is not UTF-8 text", owner=name, hint=NAME_ENCODING)
        # Left to itself, DuckDB may skip a header that does not fit the rows.
        options = f"header = true, all_varchar = true, skip = {above}, delim = {text_in_sql(mark)}"
        rows = Source(
            self.database,
            f"SELECT * FROM read_csv({text_in_sql(str(path))}, {options})",
            name,
            (f"Lines above the header were skipped: {above}.",) if above else (),
            repeated=repeated_names(header),
        )
        try:
            return rows.stored()
        except duckdb.Error:
            path = in_plain_lines(path, folder, name)
            # Those of an earlier file.
            self.database.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
            query = f"SELECT * FROM read_csv({text_in_sql(str(path))}, {options}, store_rejects = true)"
            try:
                rows = dataclasses.replace(rows, query=query).stored()
            except duckdb.Error:
                raise LogError("has lines that do not fit the header", owner=name, hint=NAME_ENCODING) from None
        found = self.database.execute("SELECT line::INTEGER, csv_line FROM reject_errors ORDER BY 1").fetchall()
        if not found:
            return rows
        lines = {line for line, _ in found}
        if not is_below(path, lines):
            line, text = found[0]
            problem = f"line {line} ({quoted(text.strip())}) does not fit the header"
            expected = "one header line, and as many values in every line below it"
            raise LogError(problem, owner=name, expected=expected, hint="notes below the table must go")
        return rows.saying(f"Lines below the table were left out: {len(lines)}.")


def _unreadable(name: str, error: Exception, expected: str | None = None) -> LogError:
    """Return the error of a log that another library cannot read; that library's own message is put on one line."""
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return LogError(f"cannot be read ({literal(reason)})", owner=name, expected=expected)


def _kind(path: Path) -> str:
    """Return what a file is: by its first bytes if it is a database, otherwise by its name."""
    name = f"log {str(path)!r}"
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise _unreadable(name, error) from None
    if not start:
        raise LogError("the file is empty", owner=name, expected=f"a header and {ONE_ROW_PER_EXPOSURE}")
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if known := _STARTS.match(start):
        return "xlsx" if known["zip"] and {".xlsx", ".xlsm"} & set(suffixes) else str(known.lastgroup)
    kinds = [_TEXTS[suffix] for suffix in suffixes if suffix in _TEXTS]
    if not kinds:
        raise LogError("the file is of no kind that can be read", owner=name, expected=KINDS)
    return kinds[0]


def _sqlite_rows(path: Path, wanted: str | None, name: str) -> Iterator[tuple[object, ...]]:
    """Yield the header and the rows of a SQLite table. DuckDB's own reader would have to be downloaded."""
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as sqlite:
        found = sqlite.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        # The name is one of the file's own tables; SQL has no parameters for names.
        rows = sqlite.execute(f"SELECT * FROM {in_sql(one_table(wanted, [row[0] for row in found], name))}")
        yield tuple(column[0] for column in rows.description)
        yield from rows


def _frame(database: duckdb.DuckDBPyConnection, frame: Any, log: str) -> Source:
    """Return a pandas frame, or one that turns into it (Polars, Arrow), as a table."""
    import duckdb
    import pandas

    name = f"log of type {type(frame).__module__.split('.')[0]}.{type(frame).__name__}"
    expected = "a file, or a frame of pandas or one with to_pandas()"
    convert = (lambda: frame) if isinstance(frame, pandas.DataFrame) else getattr(frame, "to_pandas", None)
    if convert is None:
        raise LogError("is not a frame", owner=name, expected=expected)
    try:
        database.register("frame", _with_index(convert()))
    except (duckdb.Error, TypeError, ImportError) as error:
        raise _unreadable(name, error, expected) from None
    return Source(database, "SELECT * FROM frame", log, repeated=repeated_names(getattr(frame, "columns", ())))


def _with_index(frame: Any) -> Any:
    """Return a frame with its index among the columns, if it has names or holds times: DuckDB would leave it out."""
    import pandas

    if isinstance(frame.index, pandas.DatetimeIndex) and frame.index.name is None:
        frame = frame.rename_axis(index="time")
    named = [name for name in frame.index.names if name is not None]
    return frame if not named or set(named) & set(frame.columns) else frame.reset_index()


_ROWS = {"xlsx": sheet_rows, "sqlite": _sqlite_rows}
