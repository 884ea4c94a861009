"""How right `rotting evaluate` is: on generated logs whose truth is known, on Open Bandit, and how long it takes.

python benchmarks/evaluate.py                          # everything but Open Bandit; writes evaluate.json
python benchmarks/evaluate.py --only next --logs 100   # some of it; the rest of the file stays
python benchmarks/evaluate.py --only open --data obd   # the folder obp/dataset/obd of the wheel obp 0.4.1
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from value_worlds import (
    AMOUNTS,
    CONSTANT,
    DRIFTS,
    DROPS,
    JUMPS,
    NORMAL,
    RECOVERS,
    WEARS,
    WEARS_AND_DRIFTS,
    Collected,
    World,
    collected,
    truth_of_running,
)

import rotting
from rotting import FEWA, UCB1, BetaThompson, EpsilonGreedy, Uniform
from rotting._core.files import replacing
from rotting.logs import ReadOptions
from rotting.value.candidates import Candidate, candidates_of
from rotting.value.evaluation import found_of
from rotting.value.logged import read_logged
from rotting.value.replaying import CALENDAR, EXPOSURES

RESULTS = Path(__file__).with_name("evaluate.json")
FIVE = np.array([0.30, 0.25, 0.2, 0.15, 0.10])
ROWS = 2000
Setting = Callable[[int], Collected]


def rates(seed: int, n_arms: int = 5, low: float = 0.1, high: float = 0.3) -> np.ndarray:
    return np.random.default_rng([seed, 3]).uniform(low, high, n_arms)


def of(
    kind: int,
    policy: Any,
    epsilon: float,
    rows: int = ROWS,
    lag: int = 0,
    rewards: int = 0,
    n_arms: int = 5,
    top: float = 0.3,
    scale: float = 300.0,
) -> Setting:
    def make(seed: int) -> Collected:
        world = World(rates(seed, n_arms, top / 3, top), kind, scale, rewards)
        return collected(world, policy, epsilon, rows, seed, lag)

    return make


# By name: logs, and whether rewards are rare.
NEXT: dict[str, tuple[Setting, bool]] = {
    "uniform": (of(CONSTANT, Uniform(), 1.0), False),
    "epsilon-greedy": (of(CONSTANT, EpsilonGreedy(0.0), 0.2), False),
    "Thompson": (of(CONSTANT, BetaThompson(), 0.05), False),
    "FEWA with a holdout": (of(WEARS, FEWA(sigma=0.4), 0.2), False),
    "delayed": (of(CONSTANT, EpsilonGreedy(0.0), 0.3, lag=200), False),
    "non-stationary": (of(DRIFTS, UCB1(sigma=0.4), 0.3, scale=1.0), False),
    "worn": (of(WEARS, Uniform(), 1.0), False),
    "amounts": (of(CONSTANT, EpsilonGreedy(0.0), 0.5, rewards=AMOUNTS), False),
    "noisy numbers": (of(JUMPS, EpsilonGreedy(0.0), 0.3, rewards=NORMAL), False),
    "thirty arms": (of(CONSTANT, Uniform(), 1.0, rows=6000, n_arms=30), False),
    "rare": (of(CONSTANT, EpsilonGreedy(0.0), 0.5, rows=10_000, top=0.008), True),
    "rare, Thompson": (of(CONSTANT, BetaThompson(), 0.2, rows=10_000, top=0.008), True),
}
CANDIDATES = {"UCB1": UCB1(sigma=0.4), "FEWA": FEWA(sigma=0.4), "equal shares": None}


def candidate(name: str, n_arms: int) -> Candidate:
    policy = CANDIDATES[name]
    return Candidate(name, policy, np.full(n_arms, 1 / n_arms) if policy is None else None)


def true_next(made: Collected, chosen: Candidate) -> float:
    """Return the mean over rows of what the decision of a candidate was worth."""
    import dataclasses

    n_arms, total = made.means.shape[1], 0.0
    for arm in range(n_arms):
        asked = dataclasses.replace(made.logged, arm=np.full(made.logged.rows, arm))
        total += float((chosen.weigh(asked, np.uint64(1)).chance * made.means[:, arm]).mean())
    return total


def next_decision(logs: int, names: list[str]) -> dict[str, Any]:
    """Return, for each setting and candidate, how often intervals hold the truth of target 1."""
    found: dict[str, Any] = {}
    for name in names or NEXT:
        make, rare = NEXT[name]
        rows: dict[str, list[tuple[float, ...]]] = {each: [] for each in CANDIDATES}
        for seed in range(logs):
            made = make(seed)
            for each in CANDIDATES:
                chosen = candidate(each, made.means.shape[1])
                valued = found_of(chosen, made.logged, (), seed).valued
                if valued.next_decision is None:
                    continue
                truth = true_next(made, chosen)
                row = [truth]
                for estimate in (valued.next_decision, valued.snips, valued.ips):
                    row += [
                        estimate.point - truth,
                        estimate.low <= truth <= estimate.high,
                        estimate.high - estimate.low,
                    ]
                rows[each].append(tuple(row))
        found[name] = {"rare": rare, **{each: of_target(np.array(told), logs) for each, told in rows.items()}}
        print(
            f"{name:22}",
            *(f"{each}: {found[name][each]['covers']} ({found[name][each]['told']})" for each in CANDIDATES),
            flush=True,
        )
    return found


def of_target(told: np.ndarray, logs: int) -> dict[str, Any]:
    if len(told) == 0:
        return {"logs": logs, "told": 0, "covers": None}
    names = ("dr", "snips", "ips")
    return {
        "logs": logs,
        "told": len(told),
        "truth": shown(told[:, 0].mean()),
        "covers": {name: shown(told[:, 2 + 3 * each].mean()) for each, name in enumerate(names)},
        "bias": {name: shown(told[:, 1 + 3 * each].mean()) for each, name in enumerate(names)},
        "length": {name: shown(np.median(told[:, 3 + 3 * each])) for each, name in enumerate(names)},
    }


def shown(number: float) -> float:
    return float(f"{number:.3g}")


# By name: the world, which kind it is of, what collects the log.
RUNNING: dict[str, tuple[World, str | None, Any, float]] = {
    "constant": (World(FIVE, CONSTANT, 1.0), EXPOSURES, Uniform(), 1.0),
    "constant, by time": (World(FIVE, CONSTANT, 1.0), CALENDAR, Uniform(), 1.0),
    "wears fast": (World(FIVE, WEARS, 100.0), EXPOSURES, Uniform(), 1.0),
    "wears slowly": (World(FIVE, WEARS, 500.0), EXPOSURES, Uniform(), 1.0),
    "drops": (World(FIVE, DROPS, 100.0), EXPOSURES, Uniform(), 1.0),
    "wears, two arms": (World(FIVE[[0, 3]], WEARS, 500.0), EXPOSURES, Uniform(), 1.0),
    "wears, epsilon-greedy": (World(FIVE, WEARS, 200.0), EXPOSURES, EpsilonGreedy(0.0), 0.5),
    "wears, rare": (World(FIVE / 20, WEARS, 500.0), EXPOSURES, Uniform(), 1.0),
    "wears, numbers": (World(FIVE, WEARS, 200.0, NORMAL), EXPOSURES, Uniform(), 1.0),
    "drifts": (World(FIVE, DRIFTS, 1.0), CALENDAR, Uniform(), 1.0),
    "drifts fast": (World(FIVE, DRIFTS, 4.0), CALENDAR, Uniform(), 1.0),
    "jumps": (World(FIVE, JUMPS, 1.0), CALENDAR, Uniform(), 1.0),
    "drifts, epsilon-greedy": (World(FIVE, DRIFTS, 1.0), CALENDAR, EpsilonGreedy(0.0), 0.5),
    "drifts, numbers": (World(FIVE, DRIFTS, 1.0, NORMAL), CALENDAR, Uniform(), 1.0),
    "recovers": (World(FIVE, RECOVERS, 5.0), None, Uniform(), 1.0),
    "recovers slowly": (World(FIVE, RECOVERS, 15.0), None, Uniform(), 1.0),
    "wears and drifts": (World(FIVE, WEARS_AND_DRIFTS, 200.0), None, Uniform(), 1.0),
}
RUNNERS = {"UCB1": UCB1(sigma=0.4), "FEWA": FEWA(sigma=0.4), "Thompson": BetaThompson()}
RUN_ROWS = 5000


def running(logs: int, names: list[str]) -> dict[str, Any]:
    """Return, for each world and policy, how often intervals hold what running the policy earns; target 1 beside."""
    found: dict[str, Any] = {}
    for name in names or RUNNING:
        world, kind, policy, epsilon = RUNNING[name]
        found[name] = {}
        for each, runner in RUNNERS.items():
            if runner.maps_rewards and world.rewards != 0:
                continue
            worlds = (EXPOSURES, CALENDAR) if kind is None else (kind,)
            for asked in worlds:
                kept = epsilon / len(world.base) if asked == CALENDAR else 1.0
                curve = truth_of_running(world, runner, RUN_ROWS, kept, RUN_ROWS, 400, 1)
                told, lengths, ones = [], [], []
                decisions = []
                for seed in range(logs):
                    made = collected(world, policy, epsilon, RUN_ROWS, seed)
                    valued = found_of(Candidate(each, runner), made.logged, (asked,), seed).valued
                    [one] = valued.running
                    if one.value is not None:
                        truth = curve[one.decisions - 1]
                        told.append((one.value.low <= truth <= one.value.high, one.value.point - truth))
                        lengths.append(one.value.high - one.value.low)
                        decisions.append(one.decisions)
                        if valued.next_decision:
                            ones.append(valued.next_decision.point - truth)
                label = each if kind else f"{each}, as if by {asked}"
                found[name][label] = {"logs": logs, "told": len(told)}
                if told:
                    found[name][label] |= {
                        "covers": shown(np.mean([hit for hit, _ in told])),
                        "bias": shown(np.mean([off for _, off in told])),
                        "length": shown(np.median(lengths)),
                        "decisions": int(np.median(decisions)),
                        "truth": shown(curve[int(np.median(decisions)) - 1]),
                        "bias of target 1": shown(np.mean(ones)) if ones else None,
                    }
                print(f"{name:24}{label:30}", found[name][label], flush=True)
    return found


def speed(logs: int, names: list[str]) -> dict[str, Any]:
    """Return the seconds of processor time that a million rows and ten policies take, with the compiler warm."""
    import pandas

    policies = [
        *("FEWA(sigma=0.4)", "EffFEWA(sigma=0.4)", "RAWUCB(sigma=0.4)", "EffRAWUCB(sigma=0.4)", "UCB1(sigma=0.4)"),
        *("BetaThompson()", "EpsilonGreedy(0.1)", "SlidingWindowUCB(sigma=0.4)", "Exp3(0.05)", "Uniform()"),
    ]
    found = {}
    for rows in (10_000, 1_000_000):
        random = np.random.default_rng(1)
        arm = random.integers(0, 10, rows)
        clicks = (random.random(rows) < rates(1, 10)[arm]).astype(int)
        log = pandas.DataFrame({"time": np.arange(rows), "arm": arm, "propensity": 0.1, "click": clicks})
        began, wall = time.process_time(), time.perf_counter()
        told = rotting.evaluate(log, policies, show_progress=False)
        took = {"processor seconds": shown(time.process_time() - began), "seconds": shown(time.perf_counter() - wall)}
        found[str(rows)] = took | {"policies": len(told.policies)}
        print(rows, found[str(rows)], flush=True)
    return found


def open_bandit(data: Path) -> dict[str, Any]:
    """Return what each policy's log says of the other, beside what the other earned, for three campaigns."""
    import pandas

    found = {}
    for campaign in ("all", "men", "women"):
        logs = {}
        for name in ("random", "bts"):
            log = pandas.read_csv(data / name / campaign / f"{campaign}.csv", index_col=0)
            logs[name] = log[["timestamp", "item_id", "position", "click", "propensity_score"]]
        shares = (logs["bts"]["item_id"].value_counts() / len(logs["bts"])).to_dict()
        # By what is evaluated: the log, and the candidate.
        asked = {
            "bts": (logs["random"], {"it": {str(arm): share for arm, share in shares.items()}}),
            "random": (logs["bts"], {"it": "Uniform()"}),
        }
        for name, (log, candidates) in asked.items():
            logged = read_logged(log, ReadOptions(), False, lambda step: None)
            [chosen] = candidates_of(candidates, logged)
            told = found_of(chosen, logged, (), 0)
            actual, number = float(logs[name]["click"].mean()), len(logs[name])
            row: dict[str, Any] = {"actual": shown(actual), "clicks": int(logs[name]["click"].sum())}
            row |= {"effective rows": round(told.valued.support.effective), "refused": told.valued.refused}
            if told.valued.next_decision is not None:
                both = np.sqrt(told.variance + actual * (1 - actual) / number)
                row["z"] = shown((told.valued.next_decision.point - actual) / both)
                for estimator in ("next_decision", "snips", "ips"):
                    estimate = getattr(told.valued, estimator)
                    row[estimator] = [shown(each) for each in (estimate.point, estimate.low, estimate.high)]
            found[f"{campaign}: {name} from the other's log"] = row
            print(campaign, name, row, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted(PARTS), default=None)
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--settings", default="", help="some settings, separated by semicolons")
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    measured = json.loads(given.out.read_text()) if given.out.exists() else {}
    names = [each for each in given.settings.split(";") if each]
    for part in [given.only] if given.only else sorted(PARTS):
        if part == "open" and given.data is None:
            continue
        began = time.process_time()
        found = PARTS[part](given.logs, names) if part != "open" else PARTS[part](given.data)
        measured[part] = {**(measured.get(part, {}) if names else {}), **found}
        print(f"{part}: {time.process_time() - began:.0f} s of processor time", flush=True)
    measured |= {"version": rotting.__version__, "machine": platform.processor() or platform.machine()}
    with replacing(given.out) as draft:
        draft.write_text(json.dumps(measured, indent=1) + "\n")


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "next": next_decision,
    "running": running,
    "speed": speed,
    "open": open_bandit,
}


if __name__ == "__main__":
    main()
