"""The diagnosis on real logs: `make real`. Downloads them into build/real, and writes docs/real_logs.md.

    python benchmarks/real_logs.py                         # everything; some hours on one core
    python benchmarks/real_logs.py --quick                 # a little of each part, to see that all runs; no page
    python benchmarks/real_logs.py --only logs placebos    # some parts; the others stay as they are
    python benchmarks/real_logs.py --only page             # writes the page from what was measured

It needs a network, for PyPI. What cannot be downloaded is said, at once and at the end, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import datetime
import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas

sys.path.insert(0, str(Path(__file__).parent))
import real_cells
import real_page
import real_timing
from independent import arms_differ, cells_of, slopes
from looking import Seen, look
from real_sources import FOLDER, SOURCES, RealLog, real_logs

import rotting

QUICK_ROWS = 100_000
PAGE = Path(__file__).parents[1] / "docs" / "real_logs.md"
SEED = 4000  # of what is drawn here; the diagnosis draws its own
LEAST_REWARDS, LEFT = 200, 0.4  # of an arm that is spiked: rewards at least, and the share that its last exposure keeps


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much of everything, and where it is computed."""

    placebos: int
    spikes: int
    cells: int
    rows: int
    year_arms: int
    each: Callable[[Callable[[Any], Any], list[Any]], list[Any]]


def told(seen: Seen) -> dict[str, Any]:
    """Return what a table needs of a diagnosis."""
    return {
        "arms": len(seen.arms),
        "called": [arm for arm, called in zip(seen.arms, seen.called, strict=True) if called],
        "sure": seen.sure,
        "promise": round(seen.promise, 2),
        "verdict": seen.verdict,
        "seconds": round(seen.seconds, 1),
        "error": seen.error,
    }


def beside(log: RealLog) -> dict[str, Any]:
    """Return what analyses say that use nothing of the package."""
    cells = cells_of(log.frame, log.arm, log.reward, log.time)
    fall = slopes(cells)
    return {
        "equal_p": round(arms_differ(cells, np.random.default_rng(SEED)), 4),
        "tested": len(fall.arms),
        "found": fall.found,
        "dispersion": round(fall.dispersion, 2),
        "common": round(fall.common, 2),
        "rate": float(log.frame[log.reward].mean()),
    }


def _log(log: RealLog) -> dict[str, Any]:
    row = {"name": log.name, "rows": len(log.frame), "rewards": int(log.frame[log.reward].sum()), "known": log.known}
    return row | told(look(log.lean, **log.columns)) | {"beside": beside(log)}


def logs(found: list[RealLog], plan: Plan) -> list[dict[str, Any]]:
    """Diagnose each log as it is, beside analyses of our own."""
    return plan.each(_log, found)


def _placebo(job: tuple[RealLog, int]) -> dict[str, Any]:
    log, number = job
    frame = log.shuffled(np.random.default_rng([SEED, number]))
    return {"name": log.name, "number": number} | told(look(frame, **log.columns))


def placebos(found: list[RealLog], plan: Plan) -> list[dict[str, Any]]:
    """Shuffle the clicks of Open Bandit over rows: whatever is called then, or promised for sure, is wrong."""
    jobs = [(log, number) for log in found if "Open Bandit" in log.name for number in range(plan.placebos)]
    return plan.each(_placebo, jobs)


def spiked(log: RealLog, number: int, arms: int) -> tuple[pandas.DataFrame, list[str]] | None:
    """Return the log with known wear in it: rewards of some arms thinned to 40 % over their exposures."""
    generator = np.random.default_rng([SEED, number, arms])
    frame = log.lean.sort_values(log.time, kind="stable", ignore_index=True)
    sums = frame.groupby(log.arm)[log.reward].sum()
    able = sums[sums >= LEAST_REWARDS].index.to_numpy()
    if len(able) < 2 * arms:
        return None
    chosen = generator.choice(able, arms, replace=False)
    place = frame.groupby(log.arm).cumcount() / frame[log.arm].map(frame[log.arm].value_counts())
    kept = (generator.random(len(frame)) < LEFT**place) | ~frame[log.arm].isin(chosen)
    return frame.assign(**{log.reward: frame[log.reward] * kept.astype(int)}), [str(arm) for arm in chosen]


def _spike(job: tuple[RealLog, int, int]) -> dict[str, Any] | None:
    log, number, arms = job
    made = spiked(log, number, arms)
    if made is None:
        return None
    frame, worn = made
    seen = look(frame, **log.columns)
    row = {"name": log.name, "number": number, "worn": worn} | told(seen)
    return row | {"beside": slopes(cells_of(frame, log.arm, log.reward, log.time)).found}


def spikes(found: list[RealLog], plan: Plan) -> list[dict[str, Any]]:
    """Put known wear into one or three arms of real logs; logs without arms of 200 rewards take none."""
    jobs = [(log, number, arms) for log in found for number in range(plan.spikes) for arms in (1, 3)]
    return [row for row in plan.each(_spike, jobs) if row]


def cells(_: list[RealLog], plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Place one, two, three rewards in each cell of arm and slice: all through the part that calls, some throughout."""
    every = real_cells.every_cell()
    step = max(len(every) // plan.cells, 1)
    step += step % len(real_cells.REWARDS) == 0  # not always the same number of rewards
    return {
        "every": plan.each(real_cells.called_in, every[:: 1 if plan.rows > QUICK_ROWS else step]),
        "whole": plan.each(real_cells.whole, every[::step]),
    }


def timing(_: list[RealLog], plan: Plan) -> dict[str, Any]:
    """Return processor seconds and memory of whole diagnoses, each in a process of its own."""
    return real_timing.measured(plan.rows, plan.year_arms)


PARTS: dict[str, Callable[[list[RealLog], Plan], Any]] = {
    part.__name__: part for part in (logs, placebos, spikes, cells, timing)
}


def _in_order(function: Callable[[Any], Any], jobs: list[Any]) -> list[Any]:
    return list(map(function, counted(jobs)))


def counted(jobs: list[Any]) -> Iterator[Any]:
    """Yield the jobs, and say how many are done."""
    for number, job in enumerate(jobs):
        if number % 10 == 0:
            print(f"  {number} of {len(jobs)}", flush=True)
        yield job


def plan_of(given: argparse.Namespace) -> Plan:
    each: Callable[[Callable[[Any], Any], list[Any]], list[Any]] = _in_order
    if given.jobs > 1:
        workers = concurrent.futures.ProcessPoolExecutor(given.jobs)
        each = functools.partial(_on_workers, workers)
    if given.quick:
        return Plan(1, 1, 4, QUICK_ROWS, 100, each)
    return Plan(given.placebos, given.spikes, given.cells, 10_000_000, 2000, each)


def _on_workers(workers: concurrent.futures.Executor, function: Callable[[Any], Any], jobs: list[Any]) -> list[Any]:
    return list(workers.map(function, jobs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "page"], default=[*PARTS, "page"])
    parser.add_argument("--sources", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--placebos", type=int, default=20, help="of each file")
    parser.add_argument("--spikes", type=int, default=10, help="of each log, with one arm and with three")
    parser.add_argument("--cells", type=int, default=100, help="of 5700: whole diagnoses of so many")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    plan, path = plan_of(given), FOLDER / ("quick.json" if given.quick else "results.json")
    found, missing = real_logs(given.sources)
    for each in missing:
        print(f"NOT MEASURED: {each}", file=sys.stderr, flush=True)
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in (name for name in given.only if name != "page"):
        print(f"{name} ...", flush=True)
        results[name] = PARTS[name](found, plan)
        results["version"], results["date"] = rotting.__version__, datetime.date.today().isoformat()
        path.write_text(json.dumps(results, indent=1) + "\n")
    print(real_page.summary(results))
    if missing:
        print("The page was not written: some logs could not be downloaded (see above).", file=sys.stderr)
        return 1
    if "page" in given.only and not given.quick:
        PAGE.write_text(real_page.page(results))
        print(f"{PAGE} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
