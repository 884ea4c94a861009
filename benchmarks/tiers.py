"""What each tier of exact FEWA's proofs is worth: nanoseconds per decision with all of them, and without each.

    python benchmarks/tiers.py            # some five minutes; prints a table in Markdown
    python benchmarks/tiers.py --quick    # two cases only

Each column is a process of its own, in which tiers are switched off before anything is compiled (`_windows/quiet.py`).
Times are of a processor, the fastest of three turns, with all that a round of a simulation costs. Pulls must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

TIERS = ("SHORT_SUMS", "ROWS", "BANDS", "PAIRS")
# What is switched off in each column.
COLUMNS = {"all": (), **{f"without {tier}": (tier,) for tier in TIERS}, "rows only": ("SHORT_SUMS", "BANDS", "PAIRS")}
# Rounds are few where the paper's are many: without rows a long run takes minutes.
CASES = {
    "paper, ten arms, alpha .06": "FEWA(.06), problems.ten_arm(), 25_000, 20",
    "paper, two arms, L = .233": "FEWA(.06), problems.two_arm(), 10_000, 40",
    "the same, T = 10^6": "FEWA(.06), problems.two_arm(horizon=10**6), 10**6, 1",
    "L = .02, alpha .1": "FEWA(.1), problems.two_arm(L=.02), 10_000, 40",
    "two arms, alpha 5 (theory), T = 10^5": "FEWA(5.), problems.two_arm(horizon=10**5), 10**5, 2",
    "ten arms, alpha 5": "FEWA(5.), problems.ten_arm(), 25_000, 2",
    "two equal click rates, T = 10^5": "FEWA(.06, sigma=.5), Problem([.05, .05], noise='bernoulli'), 10**5, 2",
    "40 arms that drop, T = 10^5": "FEWA(.06), Problem([Drop(1, -1, 100 * k) for k in range(1, 41)]), 10**5, 2",
}
CODE = """
import json, sys
import numpy as np
import rotting.policies._windows.quiet as quiet
for tier in sys.argv[1].split():
    assert getattr(quiet, tier)
    setattr(quiet, tier, False)
from rotting import FEWA, problems
from rotting.play import Cell, play, threads
from rotting.play.players import players_of
from rotting.problems import Drop, Problem
for case in json.loads(sys.argv[2]):
    policy, problem, horizon, runs = eval(case)
    (player,) = players_of(policy, problem, horizon)
    times = []
    for turn in range(4):
        cell = Cell(player, problem, horizon, np.array([horizon]), range(runs if turn else 1), 0)
        pieces = sorted(play([cell], threads(1)), key=lambda piece: piece.runs.start)
        times.append(sum(piece.seconds for piece in pieces) / cell.work)
    pulls = np.concatenate([piece.pulls for piece in pieces])
    print(json.dumps([1e9 * min(times[1:]), pulls.tolist()]), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the two cases of the paper only")
    parser.add_argument("--columns", nargs="+", default=list(COLUMNS), choices=list(COLUMNS), metavar="COLUMN")
    options = parser.parse_args()
    cases = dict(list(CASES.items())[: 2 if options.quick else None])
    found = {column: measured(COLUMNS[column], list(cases.values())) for column in options.columns}
    print("| case |", " | ".join(found), "|")
    print("|---|" + "---|" * len(found))
    for place, case in enumerate(cases):
        of_case = [column[place] for column in found.values()]
        assert all(np.array_equal(pulls, of_case[0][1]) for _, pulls in of_case), case
        print(f"| {case} |", " | ".join(f"{time:.0f}" for time, _ in of_case), "|")


def measured(off: tuple[str, ...], cases: list[str]) -> list[tuple[float, list[list[int]]]]:
    """Return the nanoseconds per decision of each case with some tiers switched off, and all pulls."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", CODE, " ".join(off), json.dumps(cases)]
        said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [tuple(json.loads(line)) for line in said.splitlines()]


if __name__ == "__main__":
    main()
