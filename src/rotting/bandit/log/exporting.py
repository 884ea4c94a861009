"""Writing a log to a file: CSV, JSON lines, Parquet or Arrow, one portion after the other."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rotting._core.files import replacing
from rotting.bandit.errors import BadAddress, StorageError
from rotting.bandit.log.streaming import TIMES, LogRow
from rotting.errors import MissingExtra, literal, quoted

Portions = Iterable[list[LogRow]]


def _write_csv(path: Path, portions: Portions) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(LogRow._fields)
        for row in chain.from_iterable(portions):
            among = None if row.among is None else json.dumps(row.among)
            lines.writerow((row._asdict() | _times(row, " ") | {"among": among}).values())


def _write_json_lines(path: Path, portions: Portions) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in chain.from_iterable(portions):
            details = None if row.details is None else json.loads(row.details)
            content = row._asdict() | _times(row, "T") | {"details": details}
            file.write(json.dumps(content, ensure_ascii=False) + "\n")


def _times(row: LogRow, separator: str) -> dict[str, Any]:
    """Return the times of a row as ISO 8601 has them, in UTC and with microseconds."""
    return {
        name: datetime.datetime.fromtimestamp(time, datetime.UTC).isoformat(separator, "microseconds")
        for name in TIMES
        if (time := getattr(row, name)) is not None
    }


def _write_arrow(path: Path, portions: Portions, parquet: bool = False) -> None:
    """Write Arrow record batches, into an Arrow file or a Parquet file."""
    arrow = _import_arrow()
    kinds = {"seq": arrow.int64(), "reward": arrow.float64(), "probability": arrow.float64(), "holdout": arrow.bool_()}
    kinds |= {"among": arrow.list_(arrow.string())} | dict.fromkeys(TIMES, arrow.timestamp("us", tz="UTC"))
    schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in LogRow._fields])
    made = (
        arrow.parquet.ParquetWriter(path, schema, compression="zstd") if parquet else arrow.ipc.new_file(path, schema)
    )
    with made as file:
        for rows in portions:
            columns = dict(zip(LogRow._fields, zip(*rows, strict=True), strict=True))
            for name in TIMES:
                columns[name] = tuple(None if time is None else round(time * 1e6) for time in columns[name])
            file.write_batch(
                arrow.record_batch([arrow.array(columns[each.name], each.type) for each in schema], schema)
            )


def _import_arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "Arrow and Parquet files are written with pyarrow, which is not installed",
            hint="pip install 'rotting[arrow]'",
        ) from error
    return pyarrow


WRITERS: dict[str, Callable[[Path, Portions], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
    ".parquet": partial(_write_arrow, parquet=True),
    ".arrow": _write_arrow,
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


def write_log(portions: Portions, path: Path) -> int:
    """Write portions of a log, atomically, in the format of the file's suffix; returns the number of events."""
    number = 0

    def counted() -> Iterator[list[LogRow]]:
        nonlocal number
        for rows in portions:
            yield rows
            number += len(rows)

    try:
        with replacing(path) as temporary:
            WRITERS[path.suffix.lower()](temporary, counted())
    except OSError as error:
        if isinstance(error, StorageError):  # of the database
            raise
        reason = literal(error.strerror or str(error))
        raise StorageError(f"{quoted(str(path))} cannot be written: {reason}", value=path) from error
    return number
