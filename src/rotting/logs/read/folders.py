"""Several files as one log: folders, and patterns such as exports/*.csv."""

from __future__ import annotations

import glob
from pathlib import Path

from rotting.errors import quoted
from rotting.logs.read.columns import LogError

SUFFIXES = frozenset({".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".gz", ".zip"})


def files_of(log: str) -> list[Path] | None:
    """Return the files that a folder or a pattern stands for, by name; None if it is a file by itself."""
    path = Path(log)
    if path.is_dir():
        found = [each for each in sorted(path.iterdir()) if each.is_file()]
        files = [each for each in found if each.suffix.lower() in SUFFIXES and not each.name.startswith((".", "_"))]
        what = "the folder holds no file that can be read"
    elif not path.exists() and any(mark in log for mark in "*?["):
        files = sorted(each for each in map(Path, glob.glob(log, recursive=True)) if each.is_file())
        what = "no file has such a name"
    else:
        return None
    if not files:
        raise LogError(what, owner=f"log {log!r}", expected=f"files such as {', '.join(sorted(SUFFIXES)[:4])}")
    return files


def check_columns(columns: dict[str, list[str]], name: str) -> None:
    """Refuse files that do not have the same columns: they are no parts of one log."""
    first, *others = columns
    for other in others:
        if set(columns[other]) != set(columns[first]):
            differ = sorted(set(columns[other]) ^ set(columns[first]))
            listed = ", ".join(map(quoted, differ[:4]))
            problem = f"{Path(other).name} and {Path(first).name} have other columns ({listed})"
            raise LogError(problem, owner=name, expected="files with the same columns")
