"""Bars about runs of up to ten million rounds: whole calls of `simulate`, and their memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from bar import Bar
from timing import fastest

import rotting
from rotting import FEWA, EffFEWA
from rotting.policies import Policy
from rotting.problems import Problem, ten_arm, two_arm

# VmHWM, as ru_maxrss also knows of the process that started this one.
PEAK = """
import re
from pathlib import Path
import rotting
def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
problem = rotting.problems.two_arm(0.233, horizon=10**7)
rotting.simulate(rotting.FEWA(), problem, horizon=1000, runs=1, progress=False)
before = peak()
rotting.simulate(rotting.FEWA(), problem, runs=1, progress=False)
print((peak() - before) / 10**7)
"""


def whole_calls(turns: int) -> Iterator[Bar]:
    """Exact FEWA against EFF-FEWA, all of a call of `simulate`."""
    for alpha, horizons, limit in ((0.06, (10**4, 10**6, 10**7), 1.7), (5.0, (10**6, 10**7), 3.0)):
        for horizon in horizons:
            yield _price(alpha, two_arm(0.233, horizon=horizon), horizon, "two arms, L = 0.233", limit)
    for horizon, limit in ((25_000, 1.8), (10**6, 2.5)):
        yield _price(0.06, ten_arm(), horizon, "ten arms", limit)
    short, long = fastest(2, lambda: _call(FEWA(), two_arm(0.233), 10**5), lambda: _call(FEWA(), two_arm(0.233), 10**7))
    yield Bar("FEWA(.06), two arms, L = 0.233: T = 10^7 / T = 10^5, whole call", long / short, 110)


def memory(turns: int) -> Iterator[Bar]:
    """The peak of one long run, in a process of its own."""
    said = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True).stdout
    yield Bar("peak memory of FEWA at T = 10^7, bytes per reward", float(said), 25)


def _price(alpha: float, problem: Problem, horizon: int, name: str, limit: float) -> Bar:
    exact, efficient = fastest(
        3 if horizon < 10**7 else 2,
        lambda: _call(FEWA(alpha=alpha), problem, horizon),
        lambda: _call(EffFEWA(alpha=alpha), problem, horizon),
    )
    label = f"FEWA({alpha:g}) / EffFEWA({alpha:g}), {name}, T = {horizon:,}, whole call"
    return Bar(label.replace(",000", " 000"), exact / efficient, limit)


def _call(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the processor time per run of a call that plays a million rounds, or one run."""
    runs = max(1, 10**6 // horizon)
    began = time.process_time()
    rotting.simulate(policy, problem, horizon=horizon, runs=runs, threads=1, progress=False)
    return (time.process_time() - began) / runs
