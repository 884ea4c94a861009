"""How right `rotting diagnose` is, on generated logs whose truth is known.

    python benchmarks/diagnose.py              # everything; writes benchmarks/diagnose.json
    python benchmarks/diagnose.py table rows   # some of it; the rest of the file stays
    python benchmarks/diagnose.py table=10     # with fewer logs per row

The generators of the table are in log_generators.py, beside this file.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import log_generators

from rotting._core.files import replacing
from rotting.logs import make_log
from rotting.logs.driver import AGE, CALENDAR, EXPOSURE
from rotting.logs.findings import Findings, find_wear_out
from rotting.logs.fitting import period_ahead, values_of
from rotting.logs.gain import Period, compared_policies, estimate_gains
from rotting.logs.noise import sigma_of
from rotting.logs.reading import Log, read_log
from rotting.problems import Problem
from rotting.problems.curves import as_curve
from rotting.simulation import simulate

RESULTS = Path(__file__).with_name("diagnose.json")
FIRST_SEED = 10_000


def logs(count: int, **settings: Any) -> Iterator[tuple[int, Any, Log]]:
    """Yield (seed, frame, log) of generated logs."""
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        frame = make_log(seed=seed, **settings)
        yield seed, frame, read_log(frame)


def findings_of(log: Log) -> Findings:
    return find_wear_out(log, simple=True)


def table(count: int = 40) -> dict[str, Any]:
    """Return, for each row of the table, the share of arms called, of logs with a call, and what drove them."""
    found = {}
    for generator in (*log_generators.NOTHING_WEARS, *log_generators.WEARING, *log_generators.PER_USER):
        calls, rising, drivers = [], [], Counter()
        unit = "user_id" if generator in log_generators.PER_USER else None
        for seed in range(count):
            log = read_log(generator(np.random.default_rng(FIRST_SEED + seed)), unit=unit)
            each = findings_of(log)
            calls.append(each.rotting)
            rising.append(float(np.mean(each.rising < 0.01)))
            drivers[each.driver.name] += 1
        found[generator.__name__] = {
            "logs": count,
            "arms_called": float(np.mean([own.mean() for own in calls])),
            "logs_with_a_call": float(np.mean([own.any() for own in calls])),
            "arms_rising": float(np.mean(rising)),
            "drivers": dict(drivers),
        }
        print(generator.__name__, found[generator.__name__], flush=True)
    return found


def calibration(count: int = 200) -> dict[str, Any]:
    """Return the share of arms called rotting in logs without wear-out."""
    settings = {"arms": 5, "exposures": 2000, "effect": "none"}
    shares = [float(findings_of(log).rotting.mean()) for _, _, log in logs(count, **settings)]
    anything = float(np.mean([share > 0 for share in shares]))
    return {"settings": settings, "logs": count, "share_called": float(np.mean(shares)), "logs_with_a_call": anything}


def power(count: int = 60) -> dict[str, Any]:
    """Return the share of arms called rotting where click rates fall from 10 % to 4 %."""
    settings = {"arms": 5, "exposures": 2000, "start": 0.10, "end": 0.04}
    shares = [float(findings_of(log).rotting.mean()) for _, _, log in logs(count, **settings)]
    return {"settings": settings, "logs": count, "power": float(np.mean(shares))}


def half_lives(count: int = 30) -> dict[str, Any]:
    """Return how often 90 % intervals of half-lives hold the truth, and how far estimates are off."""
    found = {}
    for exposures, rate in ((500, 0.1), (2000, 0.1), (500, 0.01), (2000, 0.01)):
        inside, ratios, told = [], [], []
        for seed in range(count):
            frame = log_generators.wearing(
                np.random.default_rng(FIRST_SEED + seed), exposures=exposures, rate=rate, spread=0.2
            )
            truth = exposures * np.log(2) / -np.log(0.4)
            each = findings_of(read_log(frame))
            draws = np.array([draw.half_lives() for draw in values_of(each, seed)])
            low, middle, high = np.quantile(draws, (0.05, 0.5, 0.95), axis=0, method="inverted_cdf")
            inside.append(np.mean((low <= truth) & (truth <= high)))
            ratios.append(np.median(middle) / truth)
            told.append(float(np.mean(each.rotting)))
        found[f"{exposures} exposures, {rate:.0%}"] = {
            "coverage": float(np.mean(inside)),
            "median_ratio": float(np.median(ratios)) if np.isfinite(np.median(ratios)) else None,  # None: not told
            "arms_called": float(np.mean(told)),
        }
    return found


def driver(count: int = 50) -> dict[str, Any]:
    """Return how often exposure, age and calendar are named rightly and wrongly, with staggered launches."""
    found: dict[str, Any] = {"logs_each": count}
    for arms, exposures in ((12, 5000), (8, 2000)):
        for effect, expected in (("before", EXPOSURE), ("age", AGE), ("share", CALENDAR)):
            names: Counter[str] = Counter()
            for seed in range(count):
                frame = log_generators.wearing(
                    np.random.default_rng(FIRST_SEED + seed), effect, arms=arms, exposures=exposures
                )
                names[findings_of(read_log(frame)).driver.name] += 1
            wrong = sum(names[other] for other in (EXPOSURE, AGE, CALENDAR) if other != expected)
            found[f"{arms} arms, {exposures} exposures, {expected}"] = {
                "right": names[expected] / count,
                "wrong": wrong / count,
            }
    return found


GAIN_POLICIES = ("FEWA", "UCB1", "oracle")


def gain(count: int = 40) -> dict[str, Any]:
    """Return how often true gains from now on lie within their intervals."""
    return {name: gain_of(curve, count) for name, curve in log_generators.CURVES.items()}


def gain_of(curve: Any, count: int, arms: int = 8, exposures: int = 2000) -> dict[str, Any]:
    """Return coverage and medians for arms whose values follow a curve."""
    inside, truths, points = [], [], []
    for seed in range(count):
        rng = np.random.default_rng(FIRST_SEED + seed)
        frame, value = log_generators.curved(rng, curve, arms, exposures)
        log = read_log(frame)
        each, period = findings_of(log), period_ahead(log)
        rows = estimate_gains(values_of(each, seed), period, sigma_of(log), log.binary, only=GAIN_POLICIES)
        true = true_gains(value, log, period, seed)
        for row in rows[1:]:
            inside.append(row.gain.low <= true[row.policy] <= row.gain.high)
            truths.append(true[row.policy])
            points.append(row.gain.point)
    return {
        "logs": count,
        "coverage": float(np.mean(inside)),
        "median_truth": float(np.median(truths)),
        "median_promise": float(np.median(points)),
    }


def true_gains(value: Any, log: Log, period: Period, seed: int, runs: int = 20) -> dict[str, float]:
    """Return what policies really gain from now on over the allocation that is kept, per 1000 exposures."""
    numbers = [int(arm.name.split()[-1]) - 1 for arm in log.arms]
    pulls = (np.arange(period.rounds) + 0.5) * period.batch
    tables = [value(arm, first + pulls) for arm, first in zip(numbers, period.start, strict=True)]
    sigma = sigma_of(log)
    problem = Problem(
        tuple(map(as_curve, tables)),
        noise="bernoulli" if period.batch == 1 else "gaussian",
        sigma=sigma / period.batch**0.5,
        horizon=period.rounds,
    )
    policies = {
        name: policy for name, policy in compared_policies(sigma, True, period.batch).items() if name in GAIN_POLICIES
    }
    played = simulate(policies, problem, runs=runs, seed=seed, rounds=1, progress=False)
    earned = float(played["oracle_reward"].values[-1]) - played["regret"].isel(round=-1).mean("run").values
    kept = sum(
        share * float(np.mean(value(arm, first + share * pulls)))
        for arm, first, share in zip(numbers, period.start, period.shares, strict=True)
    )
    return {name: 1000 * (float(each) / period.rounds - kept) for name, each in zip(policies, earned, strict=True)}


def rows(count: int = 10_000_000) -> dict[str, Any]:
    """Return the time and memory of a whole diagnosis of a large CSV file, in a process of its own."""
    import subprocess

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        write_large(path, count)
        megabytes = path.stat().st_size / 1e6
        code = (
            "import sys, rotting\n"
            "if len(sys.argv) > 1: rotting.diagnose(sys.argv[1]).save(sys.argv[2])\n"
            "else: rotting.diagnose(rotting.logs.make_log(arms=2, exposures=100))\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)  # the compiler's work is not the log's
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, str(path), str(Path(folder) / "out")], check=True)
        seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "rows": count,
        "file_megabytes": round(megabytes),
        "seconds": round(seconds, 1),
        "processor_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        # The largest child so far; the first one, with its tiny log, is smaller.
        "peak_megabytes": round(after.ru_maxrss / 1024),
    }


def write_large(path: Path, count: int) -> None:
    """Write a log of a campaign with 20 creatives as CSV, in pieces that fit into memory."""
    arms, pieces = 20, 10
    for piece in range(pieces):
        frame = make_log(arms=arms, exposures=count // pieces // arms, seed=piece, start=0.08, end=0.05)
        frame["timestamp"] += piece * (frame["timestamp"].max() - frame["timestamp"].min())
        frame.to_csv(path, mode="a", header=piece == 0, index=False)


PARTS = {part.__name__: part for part in (table, calibration, power, half_lives, driver, gain, rows)}


def main(wanted: list[str]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for each in wanted or PARTS:
        name, _, size = each.partition("=")
        print(f"{name} ...", flush=True)
        results[name] = PARTS[name](int(size)) if size else PARTS[name]()
        print(json.dumps(results[name], indent=2), flush=True)
        with replacing(RESULTS) as temporary:
            temporary.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
