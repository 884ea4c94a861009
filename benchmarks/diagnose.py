"""How right `rotting diagnose` is, on generated logs whose truth is known.

    python benchmarks/diagnose.py              # everything, ten minutes on two quiet cores; writes diagnose.json
    python benchmarks/diagnose.py table rows   # some of it; the rest of the file stays
    python benchmarks/diagnose.py table=10     # with fewer logs per row

The generators are in log_generators.py, other_generators.py and any_generators.py, beside this file.
"""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import any_generators
import log_generators
import other_generators

from rotting._core.files import replacing
from rotting.logs import make_log
from rotting.logs.model.driver import AGE, CALENDAR, EXPOSURE
from rotting.logs.model.findings import Findings, find_wear_out
from rotting.logs.model.noise import sigma_of
from rotting.logs.model.panel import make_panel
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import Log, read_log
from rotting.logs.tell.caveats import find_caveats
from rotting.logs.worth.arms import half_life_of
from rotting.logs.worth.fitting import period_ahead, values_of
from rotting.logs.worth.gain import Period, compared_policies, estimate_gains
from rotting.logs.worth.outlook import wearing_out
from rotting.problems import Problem
from rotting.problems.curves import as_curve
from rotting.simulation import simulate

RESULTS = Path(__file__).with_name("diagnose.json")
FIRST_SEED = 10_000
UNSURE = "fall with the calendar"  # in the caveat of logs that cannot tell wear-out from a site that falls
POWER_SETTINGS = {"arms": 5, "exposures": 2000, "start": 0.10, "end": 0.04}


workers: concurrent.futures.Executor | None = None


def each_of(function: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
    """Return what a function makes of each argument, on all cores if this file is run as a script."""
    return list(map(function, arguments) if workers is None else workers.map(function, arguments))


def _share_called(settings: dict[str, Any], seed: int) -> float:
    return float(findings_of(read_log(make_log(seed=FIRST_SEED + seed, **settings))).rotting.mean())


def findings_of(log: Log) -> Findings:
    return find_wear_out(log, simple=True)


def judged(name: str, seed: int) -> dict[str, Any]:
    """Return the calls of one log of a generator."""
    generator = getattr(log_generators, name)
    unit = "user_id" if generator in log_generators.PER_USER else None
    log = read_log(generator(np.random.default_rng(FIRST_SEED + seed)), ReadOptions(unit=unit))
    found = findings_of(log)
    return {
        "called": found.rotting.tolist(),
        "said": any(UNSURE in caveat for caveat in find_caveats(log, (), found, (), None)),
        "rising": float(np.mean(found.rising < 0.01)),
        "driver": found.driver.name,
    }


def table(count: int = 20) -> dict[str, Any]:
    """Return, for each row of the table, the share of arms called, of logs with a call, and what drove them."""
    found = {}
    for generator in (*log_generators.NOTHING_WEARS, *log_generators.WEARING, *log_generators.PER_USER):
        rows = each_of(functools.partial(judged, generator.__name__), range(count))
        found[generator.__name__] = {
            "logs": count,
            "arms_called": float(np.mean([np.mean(row["called"]) for row in rows])),
            "logs_with_a_call": float(np.mean([any(row["called"]) for row in rows])),
            "logs_that_say_it_may_be_the_calendar": float(np.mean([row["said"] for row in rows])),
            "arms_rising": float(np.mean([row["rising"] for row in rows])),
            "drivers": dict(Counter(row["driver"] for row in rows)),
        }
        print(generator.__name__, found[generator.__name__], flush=True)
    return found


def judged_other(generator: Callable[[np.random.Generator], Any], seed: int) -> tuple[list[bool], list[bool]]:
    """Return which arms of one log of the other families were called, and which wear out."""
    frame, truth = generator(np.random.default_rng(FIRST_SEED + seed))
    log = read_log(frame)
    return findings_of(log).rotting.tolist(), [truth[arm.name] for arm in log.arms]


def others(count: int = 20) -> dict[str, Any]:
    """Return, for the second family, the power, and the share of calls of arms that do not wear out."""
    return judged_family(other_generators.OTHERS, count)


def anything(count: int = 40) -> dict[str, Any]:
    """Return the same for the third family, in which everything is drawn at random."""
    return judged_family(any_generators.ANY, count)


def judged_family(generators: Iterable[Callable[[np.random.Generator], Any]], count: int) -> dict[str, Any]:
    """Return the power, and the share of calls of arms that do not wear out, for each generator."""
    found = {}
    for generator in generators:
        rows = each_of(functools.partial(judged_other, generator), range(count))
        called = np.concatenate([row[0] for row in rows])
        worn = np.concatenate([row[1] for row in rows])
        false = [np.array(calls) & ~np.array(truth) for calls, truth in rows]
        found[generator.__name__] = {
            "logs": count,
            "power": float(called[worn].mean()) if worn.any() else None,
            "false_calls": float(called[~worn].mean()) if not worn.all() else None,
            "logs_with_a_false_call": float(np.mean([own.any() for own in false])),
        }
        print(generator.__name__, found[generator.__name__], flush=True)
    return found


def oracle(count: int = 20) -> dict[str, Any]:
    """Return the power of a test that knows the true curve, against a calendar that falls exponentially, at 5 %.

    `alike` also knows that all arms have one level, `levels_differ` that their logarithms have a spread of 0.15, and
    `levels_unknown` nothing about them. No method that knows as much or less can do better at that level.
    """
    from scipy.special import ndtr

    curves = {
        "power": (lambda rng: make_log(seed=int(rng.integers(1e9)), **POWER_SETTINGS), lambda x: 0.4**x),
        "wearing": (functools.partial(log_generators.wearing, spread=0.0), lambda x: 0.4**x),
        "slow_linear": (log_generators.slow_linear, lambda x: 1 - 0.25 * x),
        "worn_revenue": (log_generators.worn_revenue, lambda x: 0.4**x),
        "rare_clicks": (log_generators.rare_clicks, lambda x: 0.4**x),
    }
    found = {}
    for name, (generate, curve) in curves.items():
        apart = np.array([_apart(generate(np.random.default_rng(seed)), curve) for seed in range(count)])
        powers = ndtr(apart - 1.645).mean(axis=0)
        found[name] = dict(zip(("alike", "levels_differ", "levels_unknown"), map(float, powers), strict=True))
    return found


def _apart(frame: Any, curve: Any) -> list[float]:
    """Return how many standard errors the truth is from the nearest calendar, by what is known about levels."""
    panel = make_panel(read_log(frame))
    value = curve(panel.exposure / 2000)
    value = value / np.average(value, weights=panel.count)
    root, target = np.sqrt(panel.count * value / panel.variance), np.log(value)
    distances = []
    for spread in (1e-6, 0.15, 1e6):
        design = np.column_stack([np.eye(panel.arms)[panel.arm], np.ones(len(value)), panel.time]) * root[:, None]
        penalty = np.eye(panel.arms, panel.arms + 2) / spread
        both, aim = np.vstack([design, penalty]), np.append(target * root, np.zeros(panel.arms))
        rest = aim - both @ np.linalg.lstsq(both, aim, rcond=None)[0]
        distances.append(float(np.sqrt(rest @ rest)))
    return distances


def calibration(count: int = 60) -> dict[str, Any]:
    """Return the share of arms called rotting in logs without wear-out."""
    settings = {"arms": 5, "exposures": 2000, "effect": "none"}
    shares = each_of(functools.partial(_share_called, settings), range(count))
    anything = float(np.mean([share > 0 for share in shares]))
    return {"settings": settings, "logs": count, "share_called": float(np.mean(shares)), "logs_with_a_call": anything}


def power(count: int = 60) -> dict[str, Any]:
    """Return the share of arms called rotting where click rates fall from 10 % to 4 %."""
    settings = POWER_SETTINGS
    shares = each_of(functools.partial(_share_called, settings), range(count))
    return {"settings": settings, "logs": count, "power": float(np.mean(shares))}


def _half_lives(exposures: int, rate: float, seed: int) -> list[tuple[bool, bool, bool, float]]:
    """Return, for each arm: is it called, is a half-life told, does its interval hold the truth, estimate / truth."""
    frame = log_generators.wearing(np.random.default_rng(FIRST_SEED + seed), exposures=exposures, rate=rate)
    truth = exposures * np.log(2) / -np.log(0.4)
    each = findings_of(read_log(frame))
    draws = np.array([draw.half_lives() for draw in wearing_out(values_of(each, seed))])
    rows = []
    for called, own in zip(each.rotting, draws.T, strict=True):
        told, low, high = half_life_of(own, exposures)
        inside = (low or 0.0) <= truth <= (np.inf if high is None else high)
        rows.append((bool(called), told is not None, inside, (told or np.nan) / truth))
    return rows


def half_lives(count: int = 20) -> dict[str, Any]:
    """Return how often 90 % intervals of half-lives hold the truth, how often one is told, and how far it is off.

    The intervals are those of all arms; the page gives those of the arms that are called.
    """
    found = {}
    for exposures, rate in ((500, 0.1), (2000, 0.1), (500, 0.01), (2000, 0.01)):
        rows = np.array(each_of(functools.partial(_half_lives, exposures, rate), range(count))).reshape(-1, 4)
        called, told, inside, ratio = rows[:, 0] > 0, rows[:, 1] > 0, rows[:, 2] > 0, rows[:, 3]
        found[f"{exposures} exposures, {rate:.0%}"] = {
            "logs": count,
            "arms_called": float(called.mean()),
            "told": float((called & told).mean()),
            "coverage": float(inside.mean()),
            "coverage_where_told": float(inside[told].mean()) if told.any() else None,
            "coverage_where_called_and_told": float(inside[called & told].mean()) if (called & told).any() else None,
            "median_ratio": float(np.median(ratio[told])) if told.any() else None,
        }
        print(exposures, rate, found[f"{exposures} exposures, {rate:.0%}"], flush=True)
    return found


def _driver(arms: int, exposures: int, effect: str, seed: int) -> str:
    rng = np.random.default_rng(FIRST_SEED + seed)
    return findings_of(read_log(log_generators.wearing(rng, effect, arms=arms, exposures=exposures))).driver.name


def driver(count: int = 20) -> dict[str, Any]:
    """Return how often exposure, age and calendar are named rightly and wrongly, with staggered launches."""
    found: dict[str, Any] = {"logs_each": count}
    for arms, exposures in ((12, 5000), (8, 2000)):
        for effect, expected in (("before", EXPOSURE), ("age", AGE), ("share", CALENDAR)):
            names = Counter(each_of(functools.partial(_driver, arms, exposures, effect), range(count)))
            wrong = sum(names[other] for other in (EXPOSURE, AGE, CALENDAR) if other != expected)
            found[f"{arms} arms, {exposures} exposures, {expected}"] = {
                "right": names[expected] / count,
                "wrong": wrong / count,
            }
    return found


GAIN_POLICIES = ("FEWA", "UCB1", "oracle")


def gain(count: int = 20) -> dict[str, Any]:
    """Return how often true gains from now on lie within their intervals."""
    found = {name: gain_of(name, count) for name in log_generators.CURVES}
    return found | {name: gain_of_equal_arms(name, max(count // 2, 1)) for name in ("200 equal arms", "adaptive")}


def _gain(name: str, arms: int, exposures: int, seed: int) -> list[tuple[float, float, float, float]]:
    """Return truth, low end, promise and high end for each policy, on one log."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    frame, value = log_generators.curved(rng, log_generators.CURVES[name], arms, exposures)
    log = read_log(frame)
    each, period = findings_of(log), period_ahead(log)
    rows = estimate_gains(values_of(each, seed), period, sigma_of(log), log.binary, only=GAIN_POLICIES)
    true = true_gains(value, log, period, seed)
    return [(true[row.policy], row.gain.low, row.gain.point, row.gain.high) for row in rows[1:]]


def gain_of(name: str, count: int, arms: int = 8, exposures: int = 2000) -> dict[str, Any]:
    """Return coverage and medians for arms whose values follow a curve."""
    rows = np.array(each_of(functools.partial(_gain, name, arms, exposures), range(count)))
    true, low, point, high = rows.reshape(-1, 4).T
    return {
        "logs": count,
        "coverage": float(np.mean((low <= true) & (true <= high))),
        "median_truth": float(np.median(true)),
        "median_promise": float(np.median(point)),
    }


def _gain_of_equal_arms(name: str, seed: int) -> list[tuple[float, float, float]]:
    rng = np.random.default_rng(FIRST_SEED + seed)
    if name == "adaptive":
        frame = log_generators.adaptive(rng)
    else:
        shown = log_generators.shown(rng, arms=200, exposures=100)
        frame = log_generators.finished(shown, log_generators.clicks(rng, np.full(len(shown), 0.1)))
    log = read_log(frame)
    draws = values_of(findings_of(log), seed)
    rows = estimate_gains(draws, period_ahead(log), sigma_of(log), log.binary, only=GAIN_POLICIES)
    return [(row.gain.low, row.gain.point, row.gain.high) for row in rows[1:]]


def gain_of_equal_arms(name: str, count: int) -> dict[str, Any]:
    """Return how often intervals hold 0, which is what anybody gains on equal arms."""
    low, point, high = np.array(each_of(functools.partial(_gain_of_equal_arms, name), range(count))).reshape(-1, 3).T
    return {
        "logs": count,
        "coverage": float(np.mean((low <= 0) & (high >= 0))),
        "median_truth": 0.0,
        "median_promise": float(np.median(point)),
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


def year(arms: int = 2000) -> dict[str, Any]:
    """Return the time of a whole diagnosis of a year of daily aggregates."""
    import pandas

    import rotting

    rng, pieces = np.random.default_rng(0), []
    for arm in range(arms):
        start = rng.integers(0, 300)
        day = np.arange(start, min(365, start + rng.integers(30, 120)))
        shown = rng.poisson(300, len(day)) + 1
        rate = 0.03 * np.exp(0.3 * rng.standard_normal()) * np.exp(-(np.cumsum(shown) - shown) / 20_000)
        dates = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(day, unit="D")
        earned = rng.binomial(shown, rate)
        pieces.append(pandas.DataFrame({"date": dates, "ad": f"ad {arm}", "impressions": shown, "clicks": earned}))
    frame = pandas.concat(pieces)
    with tempfile.TemporaryDirectory() as folder:
        rotting.diagnose(make_log(arms=2, exposures=100))  # the compiler's work is not the log's
        began, worked = time.perf_counter(), time.process_time()
        rotting.diagnose(frame).save(folder)
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    return {"arms": arms, "rows": len(frame), "seconds": round(seconds, 1), "processor_seconds": round(processor, 1)}


PARTS = {
    part.__name__: part
    for part in (table, others, anything, calibration, power, oracle, half_lives, driver, gain, year, rows)
}


def main(wanted: list[str]) -> None:
    global workers
    workers = concurrent.futures.ProcessPoolExecutor(os.cpu_count()) if os.cpu_count() != 1 else None
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
