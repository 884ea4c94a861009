"""How right `rotting diagnose` is, on generated logs whose truth is known: measured through its public door.

    python benchmarks/diagnose.py                                       # everything; writes diagnose.json
    python benchmarks/diagnose.py --only nulls --logs 20 --jobs 1       # some of it; the rest of the file stays
    python benchmarks/diagnose.py --only nulls --settings budget churn  # some settings; the rest of the part stays
    python benchmarks/diagnose.py --only nulls --seed 777 --out /tmp/other.json

What is measured on is listed in log_settings.py and worn_generators.py; real logs are in real_logs.py, and limits of
what any test could find in oracle.py.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import log_generators
import worn_generators
from log_settings import NULLS, POWER, Setting
from looking import Seen, look
from played import true_gains

import rotting
from rotting._core.files import replacing

RESULTS = Path(__file__).with_name("diagnose.json")
FIRST_SEED = 10_000
SETTINGS = {setting.name: setting for setting in (*NULLS, *POWER)}


class Plan:
    """How many logs of each setting, from which seed on, which settings, and on how many processes."""

    def __init__(self, logs: int = 20, seed: int = FIRST_SEED, settings: tuple[str, ...] = (), jobs: int = 1) -> None:
        self.logs, self.seed, self.settings = logs, seed, settings
        self.workers = concurrent.futures.ProcessPoolExecutor(jobs) if jobs > 1 else None

    def wanted(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if not self.settings or name in self.settings]

    def each(self, function: Callable[[int], Any], logs: int | None = None) -> list[Any]:
        """Return what a function makes of each seed."""
        seeds = range(self.seed, self.seed + (logs or self.logs))
        return list(map(function, seeds) if self.workers is None else self.workers.map(function, seeds))


def judged(name: str, seed: int) -> tuple[Seen, list[bool]]:
    """Return what was said of one log of a setting, and which of its arms wear out."""
    setting = SETTINGS[name]
    frame, truth = setting.generate(np.random.default_rng(seed))
    seen = look(frame, setting.unit)
    return seen, [bool(truth and truth[arm]) for arm in seen.arms]


def nulls(plan: Plan) -> dict[str, Any]:
    """Return, for each setting in which nothing wears out, which logs and arms are called, and which gains are sure."""
    found = {}
    for name in plan.wanted(setting.name for setting in NULLS):
        rows = [seen for seen, _ in plan.each(functools.partial(judged, name))]
        found[name] = null_row(SETTINGS[name], rows)
        print(f"{name:28}", found[name], flush=True)
    return found


def null_row(setting: Setting, rows: list[Seen]) -> dict[str, Any]:
    called = [row for row in rows if any(row.called)]
    row = {
        "logs": len(rows),
        "kind": setting.kind,
        "logs_with_a_call": len(called),
        "arms_called": sum(sum(row.called) for row in rows),
        "arms": sum(len(row.called) for row in rows),
        "sure_gains": sum(row.sure for row in rows),
        "seconds": round(float(np.mean([row.seconds for row in rows])), 2),
    }
    if setting.equal:
        row["nobody_gains"] = True
    if setting.causes:
        row["calls_that_name_the_cause"] = sum(row.names(setting.causes) for row in called)
    errors = Counter(row.error for row in rows if row.error)
    return row | ({"refused": dict(errors)} if errors else {})


def power(plan: Plan) -> dict[str, Any]:
    """Return, for each setting in which arms wear out, the share of them called, and false calls of the others."""
    found = {}
    for name in plan.wanted(setting.name for setting in POWER):
        rows = plan.each(functools.partial(judged, name))
        called = np.concatenate([seen.called for seen, _ in rows]).astype(bool)
        worn = np.concatenate([truth for _, truth in rows]).astype(bool)
        false = [bool((np.array(seen.called, bool) & ~np.array(truth, bool)).any()) for seen, truth in rows]
        found[name] = {
            "logs": len(rows),
            "power": round(float(called[worn].mean()), 3),
            "logs_with_a_true_call": sum(bool((np.array(s.called, bool) & np.array(t, bool)).any()) for s, t in rows),
            "logs_with_a_false_call": sum(false),
            "false_calls": round(float(called[~worn].mean()), 3) if not worn.all() else None,
            "seconds": round(float(np.mean([seen.seconds for seen, _ in rows])), 2),
        }
        print(f"{name:28}", found[name], flush=True)
    return found


HALF_LIVES = ((500, 0.1), (2000, 0.1), (20_000, 0.1), (2000, 0.01), (20_000, 0.01))


def half_lives(plan: Plan) -> dict[str, Any]:
    """Return how often intervals of half-lives hold the truth, for how many arms one is told, and how long they are."""
    found = {}
    for exposures, rate in HALF_LIVES:
        name = f"{exposures} exposures, {rate:.0%}"
        rows = [row for log in plan.each(functools.partial(_half_lives, exposures, rate)) for row in log]
        told = [row for row in rows if row[1] is not None]
        bounded = [row for row in told if row[3] is not None]
        truth = exposures * np.log(2) / -np.log(0.4)
        inside = [(low or 0.0) <= truth <= (np.inf if high is None else high) for _, _, low, high in told]
        found[name] = {
            "logs": plan.logs,
            "arms_called": round(float(np.mean([row[0] for row in rows])), 3),
            "told": round(len(told) / len(rows), 3),
            "coverage_where_told": round(float(np.mean(inside)), 3) if told else None,
            "median_ratio": round(float(np.median([row[1] / truth for row in told])), 3) if told else None,
            "median_length": round(float(np.median([row[3] / row[2] for row in bounded])), 2) if bounded else None,
        }
        print(f"{name:28}", found[name], flush=True)
    return found


def _half_lives(exposures: int, rate: float, seed: int) -> list[tuple[bool, float | None, float | None, float | None]]:
    """Return, for each arm of a log: is it called, its half-life, and the ends of its interval."""
    frame = log_generators.wearing(np.random.default_rng(seed), exposures=exposures, rate=rate)
    arms = rotting.diagnose(frame).arms
    return [(arm.rotting, arm.half_life, arm.half_life_low, arm.half_life_high) for arm in arms]


def gains(plan: Plan) -> dict[str, Any]:
    """Return how often true gains from now on lie within their 90 % intervals, how long they are, how many are sure."""
    found = {}
    for name in plan.wanted(worn_generators.WORLDS):
        rows = plan.each(functools.partial(_gains, name))
        flat = [each for row in rows for each in row]
        if not flat:
            continue
        true, low, point, high = np.array(flat, dtype=float).T
        covered = (low <= true + 1e-9) & (true <= high + 1e-9)
        found[name] = {
            "logs": len(rows),
            "coverage": round(float(np.mean(covered)), 3),
            "logs_all_covered": sum(all(each[1] - 1e-9 <= each[0] <= each[3] + 1e-9 for each in row) for row in rows),
            "median_truth": round(float(np.median(true)), 2),
            "median_promise": round(float(np.median(point)), 2),
            "median_length": round(float(np.median(high - low)), 2),
            "logs_with_a_sure_gain": sum(any(each[1] > 1e-9 for each in row) for row in rows),
        }
        print(f"{name:28}", found[name], flush=True)
    return found


def _gains(name: str, seed: int) -> list[tuple[float, float, float, float]]:
    """Return truth, low end, promise and high end for each policy, on one log."""
    world = worn_generators.WORLDS[name](np.random.default_rng(seed))
    diagnosis = rotting.diagnose(world.frame)
    if not diagnosis.gain:
        return []
    if name in worn_generators.EQUAL:
        true = {row.policy: 0.0 for row in diagnosis.gain}
    else:
        true = true_gains(world, diagnosis, seed)
    rows = [row for row in diagnosis.gain if row.policy in true and row.gain is not None]
    return [(true[row.policy], row.gain.low, row.gain.point, row.gain.high) for row in rows]


def drivers(plan: Plan) -> dict[str, Any]:
    """Return how often exposure, age and calendar are named rightly and wrongly, with staggered launches."""
    found = {}
    for arms, exposures in ((12, 5000), (8, 2000)):
        for effect, expected in (("before", "exposure"), ("age", "age"), ("share", "calendar")):
            names = Counter(plan.each(functools.partial(_driver, arms, exposures, effect)))
            wrong = sum(names[other] for other in ("exposure", "age", "calendar") if other != expected)
            row = {"logs": plan.logs, "right": names[expected] / plan.logs, "wrong": wrong / plan.logs}
            found[f"{arms} arms, {exposures} exposures, {expected}"] = row
            print(arms, exposures, expected, row, flush=True)
    return found


def _driver(arms: int, exposures: int, effect: str, seed: int) -> str:
    frame = log_generators.wearing(np.random.default_rng(seed), effect, arms=arms, exposures=exposures)
    return rotting.diagnose(frame).driver


PARTS: dict[str, Callable[[Plan], dict[str, Any]]] = {
    part.__name__: part for part in (nulls, power, half_lives, gains, drivers)
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--logs", type=int, default=20, help="of each setting")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="of the first log")
    parser.add_argument("--settings", nargs="+", default=[], help="names; default: all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    plan = Plan(given.logs, given.seed, tuple(given.settings), given.jobs)
    results = json.loads(given.out.read_text()) if given.out.exists() else {}
    for name in given.only:
        began = time.perf_counter()
        print(f"{name} ...", flush=True)
        rows = PARTS[name](plan)
        results[name] = results.get(name, {}) | rows if plan.settings else rows
        results["version"] = rotting.__version__
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
        with replacing(given.out) as temporary:
            temporary.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
