"""Tables as texts, whatever their encoding, wrapping and first lines: made ready for DuckDB, which reads UTF-8."""

from __future__ import annotations

import codecs
import collections
import csv
import datetime
import gzip
import itertools
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from rotting.errors import literal, quoted
from rotting.logs.columns import LogError

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
        start = file.read(4)
    marked = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = encoding or ("utf-16" if marked else "utf-8")
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


def layout(path: Path) -> tuple[str, int]:
    """Return what stands between the values of a table, and how many lines lie above its header.

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
    if fit(best)[1] < 2:
        return best, 0
    width = fit(best)[1]
    for number, line in enumerate(raw):
        [row] = list(csv.reader([line], delimiter=best)) or [[]]
        if len(row) >= width:
            is_header = number > 0 and len(row) == width and not any(map(_is_value, row))
            return best, number if is_header else 0
    return best, 0


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

    mark, above = layout(path)
    with open_bytes(path) as file:
        reader = csv.reader(itertools.islice(lines(file), above, None), delimiter=mark)
        width = len(next(reader, []))
        for values in reader:
            if values and len(values) != width:
                problem = f"line {reader.line_num + above} does not fit the header"
                expected = "one header line, and as many values in every line below it"
                raise LogError(problem, owner=name, expected=expected)


def sheet_as_csv(path: Path, wanted: str | None, folder: Path, name: str) -> Path:
    """Write a sheet of an Excel file as a CSV file: the one asked for, or the only one with rows."""
    import openpyxl

    workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    filled = [sheet.title for sheet in workbook.worksheets if any(True for _ in sheet.iter_rows(max_row=1))]
    if wanted is None and len(filled) != 1:
        listed = ", ".join(map(quoted, filled)) or "none"
        raise LogError(f"the file has {len(filled)} sheets ({listed})", owner=name, hint="name one as file.xlsx::sheet")
    if wanted is not None and wanted not in filled:
        raise LogError(f"there is no sheet {quoted(wanted)}", owner=name, expected=f"one of {filled}")
    target = folder / "sheet.csv"
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for row in workbook[wanted or filled[0]].iter_rows(values_only=True):
            if any(value is not None for value in row):
                # A title alone in its row is a narrow line, as in a text file.
                texts = [exact_text(value) or "" for value in row]
                writer.writerow(texts[:1] if not any(texts[1:]) else texts)
    workbook.close()
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
