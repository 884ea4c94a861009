"""Writing a log to a file: CSV, JSON lines, Parquet or Arrow, one portion after the other."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from rotting._core.files import replacing
from rotting.bandit.errors import BadAddress, StorageError
from rotting.bandit.log.streaming import LogRow
from rotting.errors import MissingExtra, literal, quoted


class Writer(Protocol):
    """Writes rows to a file that is open."""

    def write(self, rows: list[LogRow]) -> None:
        """Write some rows."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


class _CsvWriter:
    def __init__(self, path: Path):
        self._file = path.open("w", newline="", encoding="utf-8")
        self._lines = csv.writer(self._file, lineterminator="\n")
        self._lines.writerow(LogRow._fields)

    def write(self, rows: list[LogRow]) -> None:
        self._lines.writerows(
            (
                *(row.seq, row.kind, _time(row.at, " "), row.arm, row.decision, row.reward, row.probability),
                *(None if row.among is None else json.dumps(row.among), row.holdout),
                *(_time(row.happened, " "), row.details),
            )
            for row in rows
        )

    def close(self) -> None:
        self._file.close()


class _JsonWriter:
    def __init__(self, path: Path):
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def write(self, rows: list[LogRow]) -> None:
        for row in rows:
            content = row._asdict() | {"at": _time(row.at, "T"), "happened": _time(row.happened, "T")}
            if row.details is not None:
                content["details"] = json.loads(row.details)
            self._file.write(json.dumps(content, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()


class _ArrowWriter:
    """Writes Arrow record batches, into an Arrow file or, with `parquet`, a Parquet file."""

    def __init__(self, path: Path, parquet: bool):
        arrow = _import_arrow()
        moment = arrow.timestamp("us", tz="UTC")
        self._arrow = arrow
        self._schema = arrow.schema(
            [
                ("seq", arrow.int64()),
                ("kind", arrow.string()),
                ("at", moment),
                ("arm", arrow.string()),
                ("decision", arrow.string()),
                ("reward", arrow.float64()),
                ("probability", arrow.float64()),
                ("among", arrow.list_(arrow.string())),
                ("holdout", arrow.bool_()),
                ("happened", moment),
                ("details", arrow.string()),
            ]
        )
        self._file: Any
        if parquet:
            from pyarrow.parquet import ParquetWriter

            self._file = ParquetWriter(path, self._schema, compression="zstd")
        else:
            self._file = arrow.ipc.new_file(str(path), self._schema)

    def write(self, rows: list[LogRow]) -> None:
        columns = dict(zip(LogRow._fields, zip(*rows, strict=True), strict=True))
        for name in ("at", "happened"):
            columns[name] = tuple(None if time is None else round(time * 1e6) for time in columns[name])
        arrays = [self._arrow.array(columns[field.name], field.type) for field in self._schema]
        self._file.write_batch(self._arrow.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        self._file.close()


def _import_arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "Arrow and Parquet files are written with pyarrow, which is not installed",
            hint="pip install 'rotting[arrow]'",
        ) from error
    return pyarrow


WRITERS: dict[str, Callable[[Path], Writer]] = {
    ".csv": _CsvWriter,
    ".jsonl": _JsonWriter,
    ".parquet": lambda path: _ArrowWriter(path, parquet=True),
    ".arrow": lambda path: _ArrowWriter(path, parquet=False),
}


def check_export(path: Path) -> None:
    """Refuse a file to which no log can be written."""
    if path.suffix.lower() not in WRITERS:
        raise BadAddress(
            f"{quoted(str(path))} ends in {quoted(path.suffix)}", value=path, expected=" or ".join(WRITERS)
        )
    if path.is_dir() or not path.parent.is_dir():
        reason = "it is a folder" if path.is_dir() else f"there is no folder {quoted(str(path.parent))}"
        raise StorageError(f"{quoted(str(path))} cannot be written: {reason}", value=path)


def write_log(portions: Iterator[list[LogRow]], path: Path) -> int:
    """Write portions of a log, atomically, in the format of the file's suffix; returns the number of events."""
    number = 0
    try:
        with replacing(path) as temporary:
            writer = WRITERS[path.suffix.lower()](temporary)
            try:
                for rows in portions:
                    writer.write(rows)
                    number += len(rows)
            finally:
                writer.close()
    except OSError as error:
        if isinstance(error, StorageError):  # of the database
            raise
        reason = literal(error.strerror or str(error))
        raise StorageError(f"{quoted(str(path))} cannot be written: {reason}", value=path) from error
    return number


def _time(seconds: float | None, separator: str) -> str | None:
    """Return a time as ISO 8601 has it, in UTC and with microseconds."""
    if seconds is None:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(separator, "microseconds")
