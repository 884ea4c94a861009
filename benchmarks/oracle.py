"""What any test could find: the power of one that knows the true curve, against a calendar that falls, at 5 %.

    python benchmarks/oracle.py   # writes the part "oracle" of diagnose.json; some seconds

`alike` also knows that all arms have one level, `levels_differ` that their logarithms have a spread of 0.15, and
`levels_unknown` nothing about them. No method that knows as much or less can do better at that level.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
from scipy.special import ndtr

sys.path.insert(0, str(Path(__file__).parent))
import log_generators
import worn_generators

from rotting._core.files import replacing

RESULTS = Path(__file__).with_name("diagnose.json")
BINS, EXPOSURES = 20, 2000  # of an arm
Curve = Callable[[np.ndarray], np.ndarray]


def exponential(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.4**x)


SPREADS = {"alike": 1e-6, "levels_differ": 0.15, "levels_unknown": 1e6}
LOGS: dict[str, tuple[Callable[[np.random.Generator], pandas.DataFrame], Curve]] = {
    "power": (worn_generators.campaign, exponential),
    "wearing": (functools.partial(log_generators.wearing, spread=0.0), exponential),
    "slow_linear": (log_generators.slow_linear, lambda x: 1 - 0.25 * x),
    "worn_revenue": (log_generators.worn_revenue, exponential),
    "rare_clicks": (log_generators.rare_clicks, exponential),
}


def oracle(count: int = 20) -> dict[str, dict[str, float]]:
    """Return the power for each log, by what is known of levels."""
    found = {}
    for name, (generate, curve) in LOGS.items():
        apart = np.array([_apart(generate(np.random.default_rng(seed)), curve) for seed in range(count)])
        found[name] = dict(zip(SPREADS, map(float, ndtr(apart - 1.645).mean(axis=0)), strict=True))
    return found


def _apart(frame: pandas.DataFrame, curve: Curve) -> list[float]:
    """Return how many standard errors the truth is from the nearest calendar, by what is known about levels."""
    reward = frame["click" if "click" in frame else "reward"].to_numpy(dtype=float)
    arm, time = pandas.factorize(frame["creative"])[0], frame["timestamp"]
    share = ((time - time.min()) / (time.max() - time.min())).to_numpy()
    before = frame.groupby("creative").cumcount().to_numpy()
    cells = pandas.DataFrame({"arm": arm, "bin": before * BINS // EXPOSURES, "before": before, "share": share})
    means = cells.groupby(["arm", "bin"]).mean().reset_index()
    size = cells.groupby(["arm", "bin"]).size().to_numpy()
    value = curve(means["before"].to_numpy() / EXPOSURES)
    value = value / np.average(value, weights=size)
    # The variance of a reward grows with its mean, for rewards that are mostly 0.
    root = np.sqrt(size * value * reward.mean() ** 2 / reward.var())
    levels, number = np.eye(arm.max() + 1), means["arm"].to_numpy()
    target, distances = np.log(value), []
    for spread in SPREADS.values():
        design = np.column_stack([levels[number], np.ones(len(value)), means["share"]]) * root[:, None]
        penalty = np.eye(len(levels), len(levels) + 2) / spread
        both, aim = np.vstack([design, penalty]), np.append(target * root, np.zeros(len(levels)))
        rest = aim - both @ np.linalg.lstsq(both, aim, rcond=None)[0]
        distances.append(float(np.sqrt(rest @ rest)))
    return distances


if __name__ == "__main__":
    results = json.loads(RESULTS.read_text()) | {"oracle": oracle()}
    print(json.dumps(results["oracle"], indent=2))
    with replacing(RESULTS) as temporary:
        temporary.write_text(json.dumps(results, indent=2) + "\n")
