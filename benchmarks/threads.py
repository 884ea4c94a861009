"""What the bars of threads need, measured on this machine in one go; prints JSON.

    python benchmarks/threads.py                    # all of it: some five minutes
    python benchmarks/threads.py --only threads     # two minutes
    python benchmarks/threads.py --only paper       # two minutes, most of them to compile every policy once
    python benchmarks/threads.py --only waiting     # what a short run costs, and a first use: half a minute

Threads: each case is played by one thread, by as many threads as there are processors, and by as many processes with
one thread each, turn by turn in one run, so that a slow spell of the machine hits all three; the serial work of a turn
takes `--seconds` (10). Speedups are of runs per second against one thread, the best turn of each.

Paper: `rotting paper` at full size in a process of its own, into an empty folder, after every kernel was compiled by a
reproduction of a single run; seconds that passed, and seconds of all processors.

Waiting, in processor time: microseconds per run of 100 rounds on two arms, in calls of 20 000 runs; seconds of first
uses with an empty cache, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import readiness

import rotting
from rotting import FEWA, RAWUCB, UCB1, EffFEWA
from rotting.play import play, threads
from rotting.problems import Problem, ten_arm, two_arm
from rotting.simulation.simulator import Game, finished

HORIZON = 10_000
TURNS = 2
SHORT_RUNS = 20_000
CASES: dict[str, tuple[rotting.Policy, Problem]] = {
    "UCB1, two arms": (UCB1(), two_arm(0.233, horizon=HORIZON)),
    "EffFEWA, two arms": (EffFEWA(), two_arm(0.233, horizon=HORIZON)),
    "FEWA, two arms": (FEWA(), two_arm(0.233, horizon=HORIZON)),
    "RAWUCB, two arms": (RAWUCB(), two_arm(0.233, horizon=HORIZON)),
    "FEWA, ten arms": (FEWA(), ten_arm()),
}


def game(name: str, runs: int, first_run: int = 0) -> Game:
    """Return runs of a case."""
    policy, problem = CASES[name]
    return Game(policy, problem, HORIZON, runs, rounds=100, first_run=first_run)


def played(name: str, runs: int, count: int) -> tuple[float, float]:
    """Play runs on threads; return the seconds that passed, and those that the result says were spent playing."""
    asked = game(name, runs)
    began = time.perf_counter()
    for each in finished([asked], threads(count), lambda game, rounds: None):
        assert each is asked
    return time.perf_counter() - began, float(asked.seconds.sum())


class Processes:
    """Processes that are ready to play: each reads a case and its runs, plays them on one thread, and answers."""

    def __init__(self, count: int):
        command = [sys.executable, __file__, "serve"]
        self._all = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]

    def play(self, name: str, runs: int) -> float:
        """Share runs among all; return the seconds until the last one has answered."""
        shares = [
            runs * (place + 1) // len(self._all) - runs * place // len(self._all) for place in range(len(self._all))
        ]
        began = time.perf_counter()
        first = 0
        for process, share in zip(self._all, shares, strict=True):
            print(json.dumps([name, share, first]), file=process.stdin, flush=True)
            first += share
        for process in self._all:
            assert json.loads(process.stdout.readline()) == "played"
        return time.perf_counter() - began

    def end(self) -> None:
        """Let them go."""
        for process in self._all:
            process.stdin.close()
            process.wait()


def serve() -> None:
    """Be one of the processes."""
    for line in sys.stdin:
        name, runs, first = json.loads(line)
        if runs:
            for _ in play(game(name, runs, first).cells, threads(1)):
                pass
        print(json.dumps("played"), flush=True)


def against_processes(seconds: float) -> dict[str, Any]:
    """Measure all cases."""
    count = os.cpu_count() or 1
    processes = Processes(count)
    found = {}
    for name in CASES:
        played(name, 8, count)
        processes.play(name, 8 * count)  # everybody is ready
        probe = max(16, int(64 * 0.05 / max(played(name, 64, 1)[0], 1e-3)))
        runs = max(4 * count, int(1.05 * probe * seconds / played(name, probe, 1)[0]))
        turns = []
        for _ in range(TURNS):
            one, many = played(name, runs, 1), played(name, runs, count)
            turns.append((one[0], many[0], processes.play(name, runs), many[1] / one[1]))
        one, many, apart = (min(turn[which] for turn in turns) for which in range(3))
        found[name] = {
            "runs": runs,
            "seconds_one_thread": one,
            "speedup_threads": one / many,
            "speedup_processes": one / apart,
            "threads_over_processes": apart / many,
            "seconds_reported_over_one_thread": min(turn[3] for turn in turns),
            "turns": turns,
        }
        said = {key: round(value, 3) for key, value in found[name].items() if key != "turns"}
        print(name, json.dumps(said), file=sys.stderr, flush=True)
    processes.end()
    return found


def paper() -> dict[str, float]:
    """Measure the paper."""
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("compiled", ["--runs", "1"]), ("full", [])):
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            command = [sys.executable, "-m", "rotting", "paper", "--out", os.path.join(folder, name), *options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            passed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"paper, {name}: {passed:.1f} s, {spent:.1f} s of all processors", file=sys.stderr, flush=True)
    return {"seconds": passed, "processor_seconds": spent}


def waiting() -> dict[str, float]:
    """Measure short runs and first uses."""
    found = {}
    for policy in (UCB1(), FEWA()):
        spent = []
        for runs in (10, SHORT_RUNS, SHORT_RUNS):
            before = time.process_time()
            rotting.simulate(policy, two_arm(horizon=100), runs=runs, rounds=1, threads=1, progress=False)
            spent.append(1e6 * (time.process_time() - before) / runs)
        found[f"{policy}, 100 rounds, us per run"] = min(spent[1:])
    for what, code, name, _ in readiness.COLD:
        found[f"first {name} {what}, s"] = readiness.cold_seconds(code.format(policy=name))
    return found


def main() -> None:
    """Measure what is asked for, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the serial work of a case should take")
    parser.add_argument("--only", choices=("threads", "paper", "waiting"), help="leave the others out")
    asked = parser.parse_args()
    found: dict[str, Any] = {
        "processors": os.cpu_count(),
        "machine": platform.processor() or platform.machine(),
        "rotting": rotting.__version__,
        "python": platform.python_version(),
    }
    began = time.perf_counter()
    if asked.only in (None, "waiting"):
        found["waiting"] = waiting()
    if asked.only in (None, "threads"):
        found["cases"] = against_processes(asked.seconds)
    if asked.only in (None, "paper"):
        found["paper"] = paper()
    print(json.dumps(found | {"seconds": time.perf_counter() - began}, indent=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        main()
