"""How right `rotting diagnose` is, on generated logs whose truth is known.

    python benchmarks/diagnose.py            # everything; writes benchmarks/diagnose.json
    python benchmarks/diagnose.py gain rows  # some of it; the rest of the file stays

Seeds differ from those with which the methods were developed, with one exception: the two-stage control of false
discoveries was chosen after the one-stage control had reached a power of 88 % on these very logs.
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

from rotting._core.files import replacing
from rotting.logs import make_log
from rotting.logs.diagnosis import half_life
from rotting.logs.driver import CALENDAR, EXPOSURE, find_driver
from rotting.logs.fitting import batch_of, fit_log
from rotting.logs.gain import THOMPSON, compared_policies, estimate_gains, thompson_name
from rotting.logs.reading import Log, read_log
from rotting.logs.wearout import discoveries, permutation_tests
from rotting.problems import Problem
from rotting.problems.curves import as_curve
from rotting.simulation import simulate

RESULTS = Path(__file__).with_name("diagnose.json")
FIRST_SEED = 10_000
# Gains were first measured on the seeds above, and what `gain` means was changed after that: these had not been seen.
FIRST_SEED_OF_GAINS = 30_000


def logs(count: int, first_seed: int | None = None, **settings: Any) -> Iterator[tuple[int, Any, Log]]:
    """Yield (seed, frame, log) of generated logs."""
    first = FIRST_SEED if first_seed is None else first_seed
    for seed in range(first, first + count):
        frame = make_log(seed=seed, **settings)
        yield seed, frame, read_log(frame)


def called(log: Log, seed: int) -> np.ndarray:
    """Return which arms are called rotting."""
    return discoveries(permutation_tests(log, np.random.default_rng(seed)).falling)


def calibration(count: int = 200) -> dict[str, Any]:
    """Return the share of arms called rotting in logs without wear-out."""
    settings = {"arms": 5, "exposures": 2000, "effect": "none"}
    shares = [float(called(log, seed).mean()) for seed, _, log in logs(count, **settings)]
    anything = float(np.mean([share > 0 for share in shares]))
    return {"settings": settings, "logs": count, "share_called": float(np.mean(shares)), "logs_with_a_call": anything}


def power(count: int = 60) -> dict[str, Any]:
    """Return the share of arms called rotting, and the error of half-lives, when click rates fall from 10 % to 4 %."""
    settings = {"arms": 5, "exposures": 2000, "start": 0.10, "end": 0.04}
    shares, ratios = [], []
    for seed, frame, log in logs(count, **settings):
        calls = called(log, seed)
        shares.append(float(calls.mean()))
        truth = dict(zip(frame.attrs["truth"].arms, frame.attrs["truth"].curves, strict=True))
        for arm, curve, is_called in zip(log.arms, fit_log(log, EXPOSURE).curves, calls, strict=True):
            half = half_life(curve)
            if is_called:  # only these are reported
                ratios.append(np.inf if half is None else half / half_life(truth[arm.name]))
    off = np.abs(np.array(ratios) - 1)
    return {
        "settings": settings,
        "logs": count,
        "power": float(np.mean(shares)),
        "half_life_median_error": float(np.median(off)),
        "half_life_median_ratio": float(np.median(ratios)),
        "half_lives": len(ratios),
        "half_lives_missing": int(np.isinf(ratios).sum()),
    }


def driver(count: int = 50) -> dict[str, Any]:
    """Return how often exposure and calendar are told apart, in campaigns of two sizes."""
    found: dict[str, Any] = {"logs_each": count}
    for arms, exposures in ((12, 5000), (8, 2000)):
        settings = {"arms": arms, "exposures": exposures, "spread": 0.3}
        right = 0
        answers = {}
        for effect, expected in (("wear-out", EXPOSURE), ("calendar", CALENDAR)):
            names: Counter[str] = Counter()
            for _, _, log in logs(count, effect=effect, **settings):
                names[find_driver(log, [True] * len(log.arms)).name] += 1
            right += names[expected]
            answers[effect] = dict(names)
        found[f"{arms} arms, {exposures} exposures"] = {"told_apart": right / (2 * count), "answers": answers}
    return found


GAIN_POLICIES = ("FEWA", "UCB1", THOMPSON)


def gain(count: int = 100) -> dict[str, Any]:
    """Return how often true gains lie within their intervals.

    The truth of these logs is that arms go on falling. The gain is also compared with what would be true if they kept
    their last value beyond the log, with both together, and each of the two guesses with its own truth.
    """
    settings = {"arms": 8, "exposures": 2000, "spread": 0.3}
    compared = (("gain", "falling"), ("gain", "held"), ("held", "held"), ("pessimistic", "falling"))
    measured = {name: {pair: [] for pair in compared} for name in GAIN_POLICIES}
    for seed, frame, log in logs(count, FIRST_SEED_OF_GAINS, **settings):
        fitted = fit_log(log, EXPOSURE)
        policies = compared_policies(fitted.sigma, log.binary, 1)
        # Where pulls stand for several exposures, another kind of Thompson sampling stands for the one advised.
        batch = batch_of(log.exposures)
        rows_of = {thompson_name(log.binary, batch) if name == THOMPSON else name: name for name in GAIN_POLICIES}
        truths = {
            way: true_gains(frame, log, {name: policies[name] for name in GAIN_POLICIES}, seed, held=way == "held")
            for way in ("held", "falling")
        }
        for estimate in estimate_gains(fitted, seed, only=rows_of)[1:]:
            name = rows_of[estimate.policy]
            for which, way in compared:
                interval, truth = getattr(estimate, which), truths[way][name]
                inside = interval.low <= truth <= interval.high
                measured[name][which, way].append((inside, truth, interval.point, interval.high - interval.low))
    columns = ("coverage", "mean_truth", "mean_estimate", "mean_width")
    results = {
        name: {
            f"{which}, arms {way} beyond the log": dict(zip(columns, np.mean(rows, axis=0).tolist(), strict=True))
            for (which, way), rows in found.items()
        }
        for name, found in measured.items()
    }
    for found in results.values():  # the interval is for both truths, so its coverage is measured over both
        falling, held = found["gain, arms falling beyond the log"], found["gain, arms held beyond the log"]
        found["gain, one truth or the other"] = {name: (falling[name] + held[name]) / 2 for name in columns}
    return {"settings": settings, "logs": count, "first_seed": FIRST_SEED_OF_GAINS, "policies": results}


def true_gains(
    frame: Any, log: Log, policies: dict[str, Any], seed: int, held: bool, runs: int = 20
) -> dict[str, float]:
    """Return what policies would really have gained over the logged allocation, per 1000 exposures.

    With `held`, arms keep the value of their last exposure in the log beyond it.
    """
    truth = dict(zip(frame.attrs["truth"].arms, frame.attrs["truth"].curves, strict=True))
    values = [truth[arm.name](np.arange(arm.exposures)) for arm in log.arms]
    curves = [as_curve(own) for own in values] if held else [truth[arm.name] for arm in log.arms]
    problem = Problem(tuple(curves), noise="bernoulli", horizon=log.exposures)
    played = simulate(policies, problem, runs=runs, seed=seed, rounds=1, progress=False)
    earned = float(played["oracle_reward"].values[-1]) - played["regret"].isel(round=-1).mean("run").values
    logged = sum(float(own.sum()) for own in values)
    return {name: 1000 * float(each - logged) / log.exposures for name, each in zip(policies, earned, strict=True)}


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


PARTS = {part.__name__: part for part in (calibration, power, driver, gain, rows)}


def main(wanted: list[str]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in wanted or PARTS:
        print(f"{name} ...", flush=True)
        results[name] = PARTS[name]()
        print(json.dumps(results[name], indent=2), flush=True)
        with replacing(RESULTS) as temporary:
            temporary.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
