"""Tables, objects and figures as files, each written atomically."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rotting._core.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_text(path: Path, text: str) -> None:
    """Write a text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: object, indent: int | None = 2) -> None:
    """Write plain data as JSON; NaN and infinity, which JSON does not have, are refused."""
    write_text(path, to_json(content, indent) + "\n")


def to_json(content: object, indent: int | None = 2) -> str:
    """Return plain data as JSON; NaN and infinity, which JSON does not have, are refused.

    Without an indent all is one line, written ten times as fast.
    """
    return json.dumps(content, indent=indent, allow_nan=False, ensure_ascii=False)


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows that all have the same keys: floats to eight digits, None and NaN as nothing."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.8g}" if isinstance(value, float) else value


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure in the format of the file's suffix."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower())
