"""Processor seconds and peak memory of whole diagnoses, from the file to the page, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from rotting.logs import make_log

CODE = """
import json, resource, sys, rotting
rotting.diagnose(sys.argv[1]).save(sys.argv[2])
used = resource.getrusage(resource.RUSAGE_SELF)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # ru_maxrss is the parent's, too
seconds = round(used.ru_utime + used.ru_stime, 1)
print(json.dumps({"processor_seconds": seconds, "megabytes": round(int(peak.split()[1]) / 1024)}))
"""


def measured(rows: int = 10_000_000, arms: int = 2000) -> dict[str, Any]:
    """Return the figures of 10 000 rows, of many rows, and of a year of daily sums of many arms."""
    with tempfile.TemporaryDirectory() as folder:
        small, large, year = (Path(folder) / f"{name}.csv" for name in ("small", "large", "year"))
        make_log(arms=10, exposures=1000, start=0.08, end=0.05, seed=1).to_csv(small, index=False)
        write_large(large, rows)
        year_of(arms).to_csv(year, index=False)
        for _ in range(2):  # the first one compiles
            found = {"10 000 rows": _run(small, folder)}
        found[f"{rows:,} rows".replace(",", " ")] = _run(large, folder)
        found[f"{arms} arms, a year by day"] = _run(year, folder)
    return found


def _run(path: Path, folder: str) -> dict[str, Any]:
    command = [sys.executable, "-c", CODE, str(path), str(Path(folder) / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def write_large(path: Path, count: int) -> None:
    """Write a log of a campaign with 20 creatives as CSV, in pieces that fit into memory."""
    arms, pieces = 20, 10
    for piece in range(pieces):
        frame = make_log(arms=arms, exposures=count // pieces // arms, seed=piece, start=0.08, end=0.05)
        frame["timestamp"] += piece * (frame["timestamp"].max() - frame["timestamp"].min())
        frame.to_csv(path, mode="a", header=piece == 0, index=False)


def year_of(arms: int) -> pandas.DataFrame:
    """Return a year of daily sums of ads that live for one to four months and wear out."""
    rng, pieces = np.random.default_rng(0), []
    for arm in range(arms):
        start = rng.integers(0, 300)
        day = np.arange(start, min(365, start + rng.integers(30, 120)))
        shown = rng.poisson(300, len(day)) + 1
        rate = 0.03 * np.exp(0.3 * rng.standard_normal()) * np.exp(-(np.cumsum(shown) - shown) / 20_000)
        dates = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(day, unit="D")
        earned = rng.binomial(shown, np.minimum(rate, 1))
        pieces.append(pandas.DataFrame({"date": dates, "ad": f"ad {arm}", "impressions": shown, "clicks": earned}))
    return pandas.concat(pieces)
