"""Tables as texts, whatever their encoding, wrapping and first lines: made ready for DuckDB, which reads UTF-8."""

from __future__ import annotations

import codecs
import collections
import csv
import dataclasses
import datetime
import gzip
import itertools
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from rotting.errors import literal, quoted
from rotting.logs.read.options import LogError

SEPARATORS = (",", ";", "\t", "|")
LINES = 50  # that show how a table is laid out
CHUNK = 1 << 20
LONGEST_LINE = 100_000


def open_bytes(path: Path) -> gzip.GzipFile | BinaryIO:
    """Open a file, packed with gzip or not."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def unzipped(path: Path, folder: Path, name: str) -> Path:
    """Return the only file of a zip archive, written to a folder."""
    with zipfile.ZipFile(path) as archive:
        files = [each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX")]
        if len(files) != 1:
            listed = ", ".join(each.filename for each in files[:4]) or "none"
            raise LogError(f"the archive holds {len(files)} files ({literal(listed)})", owner=name, expected="one file")
        target = folder / f"unzipped-{Path(files[0].filename).name}"
        with archive.open(files[0]) as packed, target.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    return target


def in_utf8(path: Path, encoding: str | None, folder: Path, name: str) -> Path:
    """Return the file itself if it is UTF-8 as far as its first bytes tell, otherwise a copy that is."""
    with open_bytes(path) as file:
        start = file.read(100)
    encoding = encoding or _encoding_of(start)
    try:
        if codecs.lookup(encoding).name == "utf-8":
            return path
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        expected = "a name such as utf-8, utf-16, latin-1 or cp1252"
        raise LogError("is no encoding", name="encoding", value=encoding, expected=expected) from None
    target = folder / "utf-8.csv"
    try:
        with open_bytes(path) as file, target.open("w", encoding="utf-8", newline="") as plain:
            while piece := file.read(CHUNK):
                plain.write(decoder.decode(piece))
            plain.write(decoder.decode(b"", final=True))
    except UnicodeDecodeError:
        hint = "name its encoding with {encoding}, such as utf-8, latin-1 or cp1252"
        raise LogError(f"is not {encoding} text", owner=name, hint=hint) from None
    return target


def _encoding_of(start: bytes) -> str:
    """Return the encoding that the first bytes of a text tell: in UTF-16 every second byte of Latin letters is 0.

    >>> _encoding_of("Day".encode("utf-16")), _encoding_of("Day,Ad".encode("utf-16-be")), _encoding_of(b"Day,Ad")
    ('utf-16', 'utf-16-be', 'utf-8')
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, zeros, others in (("utf-16-le", start[1::2], start[::2]), ("utf-16-be", start[::2], start[1::2])):
        if zeros and not any(zeros) and all(others):
            return encoding
    return "utf-8"


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a table of text is laid out."""

    mark: str  # between the values
    above: int  # how many lines lie above the header
    header: tuple[str, ...]


def layout(path: Path) -> Layout:
    """Return what stands between the values of a table, how many lines lie above its header, and the header.

    Ad platforms write a title and dates above the header. Such lines have fewer values than the table, and the header
    has as many, none of which is a number or empty.
    """
    with open_bytes(path) as file:
        raw = [line.decode("utf-8", "replace") for line in itertools.islice(iter(lambda: _line(file), b""), LINES)]
    try:
        rows = {mark: list(csv.reader(raw, delimiter=mark)) for mark in SEPARATORS}
    except csv.Error:
        problem = "is no table of text with ordinary ends of lines"
        hint = "save it as CSV (UTF-8); a packed file needs its ending, .gz or .zip"
        raise LogError(problem, owner=f"log {str(path)!r}", hint=hint) from None
    widths = {mark: collections.Counter(len(row) for row in found if row) for mark, found in rows.items()}

    def fit(mark: str) -> tuple[int, int]:
        usual = widths[mark].most_common(1)
        return (usual[0][1], usual[0][0]) if usual and usual[0][0] > 1 else (0, 0)

    best = max(SEPARATORS, key=fit)
    width = fit(best)[1]
    above = _lines_above(raw, best, width) if width > 1 else 0
    return Layout(best, above, tuple(next(iter(csv.reader(raw[above:], delimiter=best)), ())))


def _lines_above(raw: list[str], mark: str, width: int) -> int:
    """Return how many lines lie above the header of a table with so many values in a line."""
    for number, line in enumerate(raw):
        [row] = list(csv.reader([line], delimiter=mark)) or [[]]
        if len(row) >= width:
            is_header = number > 0 and len(row) == width and not any(map(_is_value, row))
            return number if is_header else 0
    return 0


def repeated_names(header: Iterable[object]) -> frozenset[str]:
    """Return the names that several columns have, in small letters.

    >>> sorted(repeated_names(["Day", "Clicks", "clicks "]))
    ['clicks']
    """
    counts = collections.Counter(str(name).strip("\ufeff \t").lower() for name in header)
    return frozenset(name for name, count in counts.items() if name and count > 1)


def _line(file: gzip.GzipFile | BinaryIO) -> bytes:
    return file.readline(LONGEST_LINE)


def _is_value(text: str) -> bool:
    return not text.strip() or text.strip()[0].isdigit()


def refuse_broken_csv(path: Path, name: str) -> None:
    """Raise an error with the first line that is not UTF-8, or does not have as many values as the header.

    DuckDB names the line only in its message, whose words are not to be relied upon.
    """

    def lines(file: Iterable[bytes]) -> Iterator[str]:
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                hint = "save the file as UTF-8, or name its encoding with {encoding}, such as latin-1 or cp1252"
                raise LogError(f"line {number} is not UTF-8 text", owner=name, hint=hint) from None

    found = layout(path)
    with open_bytes(path) as file:
        reader = csv.reader(itertools.islice(lines(file), found.above, None), delimiter=found.mark)
        width = len(next(reader, []))
        for values in reader:
            if values and len(values) != width:
                problem = f"line {reader.line_num + found.above} does not fit the header"
                expected = "one header line, and as many values in every line below it"
                raise LogError(problem, owner=name, expected=expected, hint="notes below the table must go")


def sheet_rows(path: Path, wanted: str | None, name: str) -> Iterator[Sequence[object]]:
    """Yield the rows of a sheet of an Excel file: the one asked for, or the only one with rows."""
    import openpyxl

    workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    filled = [sheet.title for sheet in workbook.worksheets if any(True for _ in sheet.iter_rows(max_row=1))]
    if wanted is None and len(filled) != 1:
        listed = ", ".join(map(quoted, filled)) or "none"
        raise LogError(f"the file has {len(filled)} sheets ({listed})", owner=name, hint="name one as file.xlsx::sheet")
    if wanted is not None and wanted not in filled:
        raise LogError(f"there is no sheet {quoted(wanted)}", owner=name, expected=f"one of {filled}")
    rows = [row for row in workbook[wanted or filled[0]].iter_rows(values_only=True) if any(map(_is_filled, row))]
    workbook.close()
    # A merged title may be wider than the table; alone in its row, it is a narrow line, as in a text file.
    width = max((max(place for place, value in enumerate(row) if _is_filled(value)) for row in rows), default=0) + 1
    for row in rows:
        yield row[:width] if any(map(_is_filled, row[1:])) else row[:1]


def rows_as_csv(rows: Iterable[Sequence[object]], folder: Path) -> Path:
    """Write rows, the header first, as a file that is read like any other."""
    target = folder / "rows.csv"
    with target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([exact_text(value) or "" for value in row] for row in rows)
    return target


def _is_filled(value: object) -> bool:
    return value is not None and value != ""


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
