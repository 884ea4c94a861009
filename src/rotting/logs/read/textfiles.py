"""Tables as texts, whatever their encoding, wrapping and first lines: made ready for DuckDB, which reads UTF-8."""

from __future__ import annotations

import codecs
import collections
import csv
import datetime
import gzip
import io
import itertools
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from rotting.errors import literal, quoted
from rotting.logs.read.options import LogError

SEPARATORS = (",", ";", "\t", "|")
LINES = 50  # that show how a table is laid out
LONGEST_LINE = 100_000
NAME_ENCODING = "save the file as UTF-8, or name its encoding with {encoding}, such as utf-16-le, latin-1 or cp1252"


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, packed with gzip or not."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def unzipped(path: Path, folder: Path, name: str) -> Path:
    """Return the only file of a zip archive, written to a folder."""
    with zipfile.ZipFile(path) as archive:
        files = [each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX")]
        if len(files) != 1:
            listed = ", ".join(each.filename for each in files[:4]) or "none"
            raise LogError(f"the archive holds {len(files)} files ({literal(listed)})", owner=name, expected="one file")
        return Path(archive.extract(files[0], folder))


def in_utf8(path: Path, encoding: str | None, folder: Path, name: str) -> Path:
    """Return the file itself if it is UTF-8 as far as its first bytes tell, otherwise a copy that is."""
    with open_bytes(path) as file:
        start = file.read(100)
    if encoding is None:
        encoding = "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        if codecs.lookup(encoding).name == "utf-8":
            return path
    except LookupError:
        expected = "a name such as utf-8, utf-16, latin-1 or cp1252"
        raise LogError("is no encoding", name="encoding", value=encoding, expected=expected) from None
    target = folder / "utf-8.csv"
    try:
        with (
            io.TextIOWrapper(open_bytes(path), encoding, newline="") as file,
            target.open("w", encoding="utf-8", newline="") as plain,
        ):
            shutil.copyfileobj(file, plain)
    except UnicodeDecodeError:
        raise LogError(f"is not {encoding} text", owner=name, hint=NAME_ENCODING) from None
    return target


def layout(path: Path) -> tuple[str, int, Sequence[str]]:
    """Return what stands between the values of a table, how many lines lie above its header, and the header.

    Ad platforms write a title and dates above the header, or the names of groups of columns. Such lines have fewer
    values than the table, and the header has as many, none of which is a number or empty.
    """
    with open_bytes(path) as file:
        raw = itertools.islice(iter(lambda: file.readline(LONGEST_LINE), b""), LINES)
        lines = [line.decode("utf-8", "replace") for line in raw]
    try:
        rows = {mark: [next(csv.reader([line], delimiter=mark), []) for line in lines] for mark in SEPARATORS}
    except csv.Error:
        problem = "is not a text table with ordinary line ends"
        hint = "save it as CSV (UTF-8); a packed file needs its ending, .gz or .zip"
        raise LogError(problem, owner=f"log {str(path)!r}", hint=hint) from None

    def fit(mark: str) -> tuple[int, int]:
        widths = collections.Counter(len(row) for row in rows[mark] if len(row) > 1)
        return max(((number, width) for width, number in widths.items()), default=(0, 1))

    best = max(SEPARATORS, key=fit)
    width = fit(best)[1]
    above = next((number for number, row in enumerate(rows[best]) if len(row) >= width and all(row)), 0)
    header = [text.strip() for text in rows[best][above]]
    if len(header) != width or any(not text or text[0].isdigit() for text in header):
        above = 0
    return best, above, rows[best][above]


def repeated_names(header: Iterable[object]) -> frozenset[str]:
    """Return the names that several columns have, in small letters.

    >>> sorted(repeated_names(["Day", "Clicks", "clicks "]))
    ['clicks']
    """
    counts = collections.Counter(str(name).strip("\ufeff \t").lower() for name in header)
    return frozenset(name for name, count in counts.items() if name and count > 1)


def in_plain_lines(path: Path, folder: Path, name: str) -> Path:
    """Return a copy with one kind of line ends; refuse the first line that is not UTF-8."""
    target = folder / "plain.csv"
    with open_bytes(path) as file, target.open("wb") as plain:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                raise LogError(f"line {number} is not UTF-8 text", owner=name, hint=NAME_ENCODING) from None
            plain.write(line.rstrip(b"\r\n") + b"\n")
    return target


def is_below(path: Path, lines: set[int]) -> bool:
    """Say whether some lines are all that stands below an empty line: notes that ad platforms write below a table."""
    with open_bytes(path) as file:
        texts = list(enumerate((line.strip() for line in file), start=1))
    first = min(lines)
    return not texts[first - 2][1] and {number for number, text in texts[first - 1 :] if text} == lines


def sheet_rows(path: Path, wanted: str | None, name: str) -> Iterator[Sequence[object]]:
    """Yield the rows of a sheet of an Excel file: the one asked for, or the only one with rows."""
    import pandas

    sheets = pandas.read_excel(path, sheet_name=None, header=None, dtype=object, na_filter=False, engine="openpyxl")
    filled = [str(title) for title, sheet in sheets.items() if len(sheet)]
    for row in sheets[one_table(wanted, filled, name)].itertuples(index=False):
        # A merged title, alone in its row, is a narrow line, as in a text file.
        values = [value for value in row if value != ""]
        yield row if len(values) > 1 else values


def one_table(wanted: str | None, tables: Sequence[str], name: str) -> str:
    """Return the table or sheet to read: the one asked for, or the only one."""
    listed = literal(", ".join(map(repr, tables)) or "none")
    if wanted is None and len(tables) != 1:
        raise LogError(f"the file has {len(tables)} tables ({listed})", owner=name, hint="name one as file::table")
    if wanted is not None and wanted not in tables:
        raise LogError(f"there is no table {quoted(wanted)}", owner=name, expected=f"one of {listed}")
    return tables[0] if wanted is None else wanted


def rows_as_csv(rows: Iterable[Sequence[object]], folder: Path) -> Path:
    """Write rows, the header first, as a file that is read like any other."""
    target = folder / "rows.csv"
    with target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([exact_text(value) or "" for value in row] for row in rows)
    return target


def exact_text(value: object) -> str | None:
    """Return a value as a text that can be read in one way only: 1.234 as a text could be a thousand and more.

    >>> exact_text(1.234), exact_text(7), exact_text(True), exact_text("a"), exact_text(None)
    ('1.234e0', '7', 'true', 'a', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and "." in repr(value) and "e" not in repr(value):
        return f"{value!r}e0"
    return value.isoformat(" ") if isinstance(value, datetime.datetime) else str(value)
