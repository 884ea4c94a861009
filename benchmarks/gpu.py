"""What a GPU gains: seconds for many runs on it, beside all cores of the same machine.

Usage: gpu.py [FILE.json]. Kernels are compiled beforehand. "device" is the time between the first launch and the end of
the last, "in all" that of the whole call. The CPU plays as many runs as take it about a second.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import rotting
from rotting.policies import Policy
from rotting.problems import Problem, ten_arm, two_arm

# What the figures are of.
MACHINE = {
    "version": rotting.__version__,
    "python": platform.python_version(),
    "machine": platform.machine(),
    "cores": os.cpu_count(),
}


class Line(NamedTuple):
    """One measurement."""

    policy: Policy
    problem: Problem
    runs: int
    bar: float  # seconds that it must not exceed on an H200


LINES = (
    Line(rotting.UCB1(), two_arm(), 131_072, 0.06),
    Line(rotting.EffFEWA(), two_arm(), 131_072, 0.8),
    Line(rotting.WSWA(), two_arm(), 131_072, 0.8),
    Line(rotting.FEWA(), two_arm(), 15_000, 0.4),
    Line(rotting.RAWUCB(), two_arm(), 15_000, 2.0),
    Line(rotting.EffFEWA(), ten_arm(), 16_384, 0.5),
    Line(rotting.FEWA(), ten_arm(), 8_192, 3.0),
    Line(rotting.FEWA(), ten_arm(), 500, 2.0),
)


def played(line: Line, runs: int, device: str) -> tuple[float, float]:
    """Return the seconds of the device, and those of the whole call."""
    began = time.perf_counter()
    result = rotting.simulate(line.policy, line.problem, runs=runs, rounds=1, device=device, progress=False)
    return float(result.seconds.sum()), time.perf_counter() - began


def on_cpu(line: Line) -> float:
    """Return the seconds per run when all cores play."""
    cores = os.cpu_count() or 1
    played(line, cores, "cpu")
    _, once = played(line, 4 * cores, "cpu")
    runs = max(4 * cores, min(line.runs, int(4 * cores / once)))
    return min(played(line, runs, "cpu")[1] for _ in range(2)) / runs


def measured(line: Line) -> dict[str, object]:
    played(line, 64, "cuda")
    device, in_all = min(played(line, line.runs, "cuda") for _ in range(2))
    cpu = on_cpu(line) * line.runs
    return {
        "policy": type(line.policy).__name__,
        "problem": str(line.problem),
        "runs": line.runs,
        "rounds": line.problem.horizon,
        "device": device,
        "in all": in_all,
        "bar": line.bar,
        "all cores": cpu,
        "ratio": cpu / in_all,
    }


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    print("policy    problem                          runs  device s  in all s  bar s all cores s ratio")
    for line in LINES:
        row = measured(line)
        rows.append(row)
        print(
            f"{row['policy']:9} {row['problem']:28} {row['runs']:>8} {row['device']:>9.3f} {row['in all']:>9.3f} "
            f"{row['bar']:>6} {row['all cores']:>11.2f} {row['ratio']:.0f}",
            flush=True,
        )
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(MACHINE | {"lines": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
