"""Measure how fast the package is, as ratios within this run; `make bench` calls it.

Prints a table, writes `benchmarks/results.json` and two figures, and exits with 1 if a bar does not hold.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from bars import Bar, every_bar
from curves import plot_curves, time_against_arms, time_against_rounds
from rich.console import Console
from rich.table import Table

import rotting

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
PACKAGES = ("rotting", "numba", "llvmlite", "numpy", "river", "mabwiser")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5, help="how often each measurement is repeated")
    parser.add_argument("--bars-only", action="store_true", help="leave out the two figures")
    options = parser.parse_args()
    began = time.time()
    bars = []
    for bar in every_bar(options.turns):
        bars.append(bar)
        print(f"{'holds' if bar.holds else 'FAILS'}  {bar.value:8.3g}  {bar.name}", file=sys.stderr)
    results: dict[str, Any] = {
        "version": rotting.__version__,
        "machine": machine(),
        "bars": [dataclasses.asdict(bar) | {"holds": bar.holds} for bar in bars],
    }
    if not options.bars_only:
        results["nanoseconds_per_decision_against_t"] = time_against_rounds()
        results["nanoseconds_per_decision_against_K"] = time_against_arms()
        plot_curves(results, IMAGES)
    results["seconds"] = round(time.time() - began)
    write(HERE / "results.json", json.dumps(results, indent=1) + "\n")
    show(bars, results["machine"])
    return 0 if all(bar.holds for bar in bars) else 1


def machine() -> dict[str, Any]:
    """Say what the figures were measured on."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def show(bars: list[Bar], about: dict[str, Any]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(title=f"{about['processor']}, {about['cores']} cores, Python {about['python']}")
    for title, justify in (("measure", "left"), ("ratio", "right"), ("bar", "right"), ("", "left")):
        table.add_column(title, justify=justify)
    for bar in bars:
        sign = ">=" if bar.at_least else "<="
        verdict = "[green]holds" if bar.holds else "[red]FAILS"
        table.add_row(bar.name, f"{bar.value:.3g}", f"{sign} {bar.limit:g}", verdict)
    console.print(table)


def write(path: Path, text: str) -> None:
    """Write a file in one go."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text)
    os.replace(temporary, path)


if __name__ == "__main__":
    sys.exit(main())
