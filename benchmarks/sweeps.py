"""What sweeping costs: against `simulate`, per small cell, and how two Dask workers compare with one.

    python benchmarks/sweeps.py [RUNS]

Needs a machine that nobody else is using, above all for the last figure; 500 runs (the default) take some minutes.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster, get_task_stream

from rotting import FEWA, UCB1, simulate
from rotting.problems import stationary, ten_arm, two_arm
from rotting.sweeps import Plan
from rotting.sweeps.running import run_plan

POLICIES = (*(FEWA(alpha=alpha) for alpha in (0.03, 0.06, 0.12)), UCB1())
PROBLEMS = (ten_arm(), two_arm(L=1.0))


def seconds_of(work, *given, **named):
    """Return (seconds on the clock, seconds of processor time of this process)."""
    wall, processor = time.perf_counter(), time.process_time()
    work(*given, **named)
    return time.perf_counter() - wall, time.process_time() - processor


def against_simulate(folder, runs):
    def plain(runs):
        for problem in PROBLEMS:
            simulate(POLICIES, problem, runs=runs, threads=1, progress=False)

    plain(1)  # loads the compiled code
    plain_wall, plain_processor = seconds_of(plain, runs)
    wall, processor = seconds_of(run_plan, Plan(POLICIES, PROBLEMS, runs), folder, threads=1, progress=False)
    print(f"sweep / simulate, one thread: {wall / plain_wall:.3f} on the clock, {processor / plain_processor:.3f} busy")


def small_cells(folder):
    policies = [FEWA(alpha=0.01 * (1 + place)) for place in range(100)]
    problems = [stationary([0.0, 0.01 * place]) for place in range(100)]
    wall, _ = seconds_of(run_plan, Plan(policies, problems, 1, rounds=10), folder, threads=1, progress=False)
    print(f"10^4 cells: {wall / 10:.2f} ms per cell, playing included, {len(os.listdir(folder / 'blocks'))} files")


def two_workers_against_one(folder, runs):
    plan, rates = Plan(POLICIES, PROBLEMS, runs), []
    for workers in (1, 2):
        made = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        with made as cluster, Client(cluster) as client:
            warm = Plan(POLICIES, PROBLEMS, 4 * workers)
            run_plan(warm, folder / f"warm{workers}", cluster=client, progress=False)
            with get_task_stream(client) as stream:
                wall, _ = seconds_of(run_plan, plan, folder / f"by{workers}", cluster=client, progress=False)
        computing = sum(part["stop"] - part["start"] for task in stream.data for part in task["startstops"])
        rates.append(plan.total_runs / wall)
        print(f"{workers} worker(s): {rates[-1]:.1f} runs/s, computing {computing / wall / workers:.1%} of the time")
    print(f"two workers / one: {rates[1] / rates[0]:.2f} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as place:
        against_simulate(Path(place) / "plain", count // 5)
        small_cells(Path(place) / "cells")
        two_workers_against_one(Path(place), count)
