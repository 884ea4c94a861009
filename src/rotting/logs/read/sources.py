"""Where logs come from: files, folders, tables in databases, frames. Each becomes a table of DuckDB."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import glob
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rotting.errors import MissingExtra, literal, quoted
from rotting.logs.read.nested import flat
from rotting.logs.read.options import LogError
from rotting.logs.read.tables import Table, in_sql, text_in_sql
from rotting.logs.read.textfiles import (
    NAME_ENCODING,
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
_STARTS = {b"SQLite format 3\0": "sqlite", b"PAR1": "parquet"}
_TEXTS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_SUFFIXES = {*_TEXTS, ".parquet", ".xlsx", ".gz", ".zip"}
# A column that is added where a log has several files: which of them a row is from.
FILE = "number of the file"
SMALL = 1 << 25  # bytes of a text file that is parsed once, and not by every query
MEMORY_LIMIT = "1GB"
SAMPLE = 200  # rows that show what columns hold


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

    rows: Table
    name: str  # how to call the log
    notes: tuple[str, ...] = ()  # what must be said about how it was opened
    files: tuple[str, ...] = ()  # the names of its files, if there are several; the column FILE numbers them
    repeated: frozenset[str] = frozenset()  # names that several columns have, in small letters

    @property
    def columns(self) -> list[str]:
        """The columns of the log itself."""
        return [column for column in self.rows.columns if column != FILE]

    @property
    def file(self) -> str:
        """SQL for the number of the file that a row is from."""
        return f"{in_sql(FILE)}::INTEGER" if FILE in self.rows.columns else "0"

    @functools.cached_property
    def sample(self) -> dict[str, list[str]]:
        """What the first rows hold in each column, as texts; values that are missing are left out."""
        fields = ", ".join(f"trim({in_sql(column)}::VARCHAR)" for column in self.columns)
        rows = self.rows.find(f"SELECT {fields} FROM log LIMIT {SAMPLE}")
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.columns)
        return {name: [each for each in texts if each] for name, texts in zip(self.columns, columns, strict=True)}

    def varies(self, column: str) -> bool:
        """Say whether a column has more than one value."""
        return len(set(self.sample[column])) > 1 or self.distinct(column) > 1

    def distinct(self, column: str) -> int:
        """Return about how many values a column has."""
        return int(self.rows.find(f"SELECT approx_count_distinct({in_sql(column)}) FROM log")[0][0])

    def values(self, column: str, most: int = SAMPLE) -> list[str]:
        """Return the values of a column as texts, `most` of them."""
        text = f"trim({in_sql(column)}::VARCHAR)"
        found = self.rows.find(f"SELECT DISTINCT {text} AS value FROM log WHERE {text} != '' LIMIT {most}")
        return sorted(row[0] for row in found)

    def with_rows(self, rows: Table, *notes: str) -> Source:
        """Return the log with other rows, and more to say."""
        return dataclasses.replace(self, rows=rows, notes=(*self.notes, *notes))


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
        opener = _Opener(database, Path(folder), encoding)
        try:
            yield _frame(database, log, name) if path is None else opener.log(path, name)
        except duckdb.Error as error:
            for text, rows in opener.texts:
                opener.refuse_lines(text, rows, name)
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
        tables.append(each.rows.select(f"SELECT {texts}, {number} AS {in_sql(FILE)} FROM log").query)
    return Source(
        Table(sources[0].rows.database, " UNION ALL ".join(f"({query})" for query in tables)),
        name,
        (*dict.fromkeys(note for each in sources for note in each.notes), f"Read as one log: {len(files):,} files."),
        tuple(files),
        frozenset().union(*(each.repeated for each in sources)),
    )


@dataclasses.dataclass(frozen=True)
class _Opener:
    """Opens files in a database; `texts` are those of which lines may turn out not to fit, and their rows."""

    database: duckdb.DuckDBPyConnection
    folder: Path
    encoding: str | None
    texts: list[tuple[Path, Table]] = dataclasses.field(default_factory=list)

    def log(self, log: str, name: str) -> Source:
        """Return what a text names: a file, a table in one, a folder or a pattern."""
        files = _files_of(log)
        if files is None:
            path, mark, table = log.partition(TABLE_MARK)
            if mark and not table:
                raise LogError(f"names no table after {TABLE_MARK}", owner=name, expected=f"file.db{TABLE_MARK}table")
            return self.file(Path(path), table or None, name)
        sources = []
        for number, each in enumerate(files):
            folder = self.folder / str(number)
            folder.mkdir()
            own = dataclasses.replace(self, folder=folder)
            if _kind(each) in ("duckdb", "sqlite"):
                raise LogError(
                    "a database among several files", owner=name, expected="tables as files, or one database"
                )
            sources.append(own.file(each, None, f"log {str(each)!r}"))
        return sources[0] if len(files) == 1 else _joined(sources, [each.name for each in files], name)

    def file(self, path: Path, table: str | None, name: str) -> Source:
        """Return a file as a table."""
        kind = _kind(path)
        try:
            if kind == "zip":
                path = unzipped(path, self.folder, name)
                kind = _kind(path)
            if table is not None and kind not in (*_ROWS, "duckdb"):
                raise LogError("names a table, but the file is not a database", owner=name, expected="the file alone")
            if kind in _ROWS:
                return self.text(rows_as_csv(_ROWS[kind](path, table, name), self.folder), name)
            if kind in ("csv", "json"):
                path = in_utf8(path, self.encoding, self.folder, name)
            if kind == "csv":
                return self.text(path, name)
        except ImportError:
            raise MissingExtra("Excel files are read with openpyxl", hint="install rotting[logs]") from None
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError) as error:
            raise _unreadable(name, error) from None
        if kind == "duckdb":
            self.database.execute(f"ATTACH {text_in_sql(str(path))} AS file (READ_ONLY)")
            tables = [row[0] for row in self.database.execute("SHOW TABLES FROM file").fetchall()]
            return Source(
                flat(Table(self.database, f"SELECT * FROM file.{in_sql(one_table(table, tables, name))}")), name
            )
        # Several threads have been seen to change the order of the rows, which is that of time where there is none.
        self.database.execute(f"SET threads = {1 if kind == 'json' else os.cpu_count() or 1}")
        return Source(flat(Table(self.database, f"SELECT * FROM read_{kind}({text_in_sql(str(path))})")), name)

    def text(self, path: Path, name: str) -> Source:
        """Return a table of text, with what must be said about it, and the names that several of its columns have."""
        import duckdb

        found = layout(path)
        if any("\ufffd" in column for column in found.header):
            raise LogError(f"line {found.above + 1} is not UTF-8 text", owner=name, hint=NAME_ENCODING)
        # Left to itself, DuckDB may skip a header that does not fit the rows.
        options = f"header = true, all_varchar = true, skip = {found.above}, delim = {text_in_sql(found.mark)}"
        rows = Table(self.database, f"SELECT * FROM read_csv({text_in_sql(str(path))}, {options})")
        self.texts.append((path, rows))
        notes = [f"Lines above the header were skipped: {found.above}."] if found.above else []
        if path.stat().st_size <= SMALL:
            try:
                rows = rows.stored()
            except duckdb.Error:
                rows, below = self.refuse_lines(path, rows, name)
                notes.append(f"Lines below the table were left out: {below}.")
        return Source(rows, name, tuple(notes), repeated=repeated_names(found.header))

    def refuse_lines(self, path: Path, rows: Table, name: str) -> tuple[Table, int]:
        """Refuse the first line that does not fit, or return the table without the notes below it, and their number."""
        fitting = Table(self.database, f"{rows.query[:-1]}, store_rejects = true)").stored()
        found = self.database.execute(
            "SELECT line::INTEGER, error_type, csv_line FROM reject_errors ORDER BY 1"
        ).fetchall()
        wrong = {line for line, _, _ in found}
        for line, kind, text in found[:1]:
            if kind == "INVALID ENCODING":
                raise LogError(f"line {line} is not UTF-8 text", owner=name, hint=NAME_ENCODING)
            if not is_below(path, wrong):
                problem = f"line {line} ({quoted(text.strip())}) does not fit the header"
                expected = "one header line, and as many values in every line below it"
                raise LogError(problem, owner=name, expected=expected, hint="notes below the table must go")
        return fitting, len(wrong)


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
    if start[8:12] == b"DUCK":
        return "duckdb"
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if start.startswith(b"PK\x03\x04"):
        return "xlsx" if {".xlsx", ".xlsm"} & set(suffixes) else "zip"
    kinds = [kind for mark, kind in _STARTS.items() if start.startswith(mark)]
    kinds += [_TEXTS[suffix] for suffix in suffixes if suffix in _TEXTS]
    if not kinds:
        raise LogError("the file is of no kind that can be read", owner=name, expected=KINDS)
    return kinds[0]


def _sqlite_rows(path: Path, wanted: str | None, name: str) -> Iterator[tuple[object, ...]]:
    """Yield the header and the rows of a SQLite table. DuckDB's own reader would have to be downloaded."""
    import sqlite3

    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as sqlite:
            found = sqlite.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            # The name is one of the file's own tables; SQL has no parameters for names.
            rows = sqlite.execute(f"SELECT * FROM {in_sql(one_table(wanted, [row[0] for row in found], name))}")
            yield tuple(column[0] for column in rows.description)
            yield from rows
    except sqlite3.Error as error:
        raise _unreadable(name, error) from None


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
    return Source(Table(database, "SELECT * FROM frame"), log, repeated=repeated_names(getattr(frame, "columns", ())))


def _with_index(frame: Any) -> Any:
    """Return a frame with its index among the columns, if it has names or holds times: DuckDB would leave it out."""
    import pandas

    if isinstance(frame.index, pandas.DatetimeIndex) and frame.index.name is None:
        frame = frame.rename_axis(index="time")
    named = [name for name in frame.index.names if name is not None]
    return frame if not named or set(named) & set(frame.columns) else frame.reset_index()


_ROWS = {"xlsx": sheet_rows, "sqlite": _sqlite_rows}
