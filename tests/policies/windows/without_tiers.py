"""Play hard games with exact FEWA while tiers of its proofs are switched off: run by test_quiet.py, in a process each.

Usage: without_tiers.py TIER ... (none: all are on). Prints a digest of every decision of each game, as JSON.
"""

import hashlib
import json
import sys

import numpy as np

from rotting import FEWA, problems, simulate
from rotting.policies._windows import quiet
from rotting.problems import Drop, Problem

DRIFTING = Problem([np.linspace(1.0, 0.0, 3000), np.linspace(1.0, 0.3, 2000), Drop(0.8, -0.2, 700)], sigma=0.4)
GAMES = {
    "ten arms that drop": (FEWA(alpha=0.06), problems.ten_arm(), 8000),
    "ten arms, alpha of the theory": (FEWA(alpha=5.0), problems.ten_arm(), 4000),
    "two arms, alpha of the theory": (FEWA(alpha=5.0), problems.two_arm(L=0.5), 6000),
    "a small drop": (FEWA(alpha=0.1), problems.two_arm(L=0.02), 6000),
    "equal click rates": (FEWA(alpha=0.06, sigma=0.5), Problem([0.05, 0.05], noise="bernoulli"), 6000),
    "arms that drift": (FEWA(alpha=0.5, sigma=0.4), DRIFTING, 6000),
    "no noise, ties": (FEWA(alpha=0.06, sigma=0.0), Problem([0.5, 0.5, Drop(1.0, 0.5, 40)], sigma=0.0), 600),
}


def main() -> None:
    for tier in sys.argv[1:]:
        assert getattr(quiet, tier) is True
        setattr(quiet, tier, False)
    found = {}
    for name, (policy, problem, horizon) in GAMES.items():
        played = simulate(policy, problem, horizon, runs=2, threads=1, progress=False, trace="actions")
        found[name] = hashlib.sha256(played["actions"].values.tobytes()).hexdigest()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
