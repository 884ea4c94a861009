"""Bars about what a user waits for: the first decision on a new machine, and many rewards at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bar import Bar
from timing import fastest

from rotting import FEWA

README = Path(__file__).parents[1] / "README.md"
DECIDE = "import rotting; rotting.{policy}().start(10).select()"
SIMULATE = """
import rotting
rotting.simulate(rotting.{policy}(), rotting.problems.two_arm(1.0, horizon=100), runs=1, progress=False)
"""
TIME = "\nimport time; print(time.process_time())"
# What was called first, of which policy, and the processor time allowed for it, imports included.
COLD = (
    ("decision", DECIDE, "FEWA", 6.0),
    ("simulation", SIMULATE, "FEWA", 8.0),
    ("decision", DECIDE, "EffFEWA", 1.5),
    ("decision", DECIDE, "RAWUCB", 3.0),
)


def many_rewards(turns: int) -> Iterator[Bar]:
    """`update_many`, from lists and from arrays."""
    count = 100_000
    arms, rewards = np.arange(count) % 10, np.linspace(0.0, 1.0, count)
    lists, arrays = fastest(
        turns,
        lambda: _learning(arms.tolist(), rewards.tolist()) / count,
        lambda: _learning(arms, rewards) / count,
    )
    yield Bar("FEWA.update_many of lists, us per reward", 1e6 * lists, 0.2)
    yield Bar("FEWA.update_many of arrays, us per reward", 1e6 * arrays, 0.2)


def cold(turns: int) -> Iterator[Bar]:
    """First uses with an empty cache, in processes of their own."""
    for what, code, policy, limit in COLD:
        yield Bar(
            f"first {policy} {what} with an empty cache, processor s", cold_seconds(code.format(policy=policy)), limit
        )
    [lines] = re.findall(r"## Ten lines of Python\n\n```python\n(.*?)```", README.read_text(), re.DOTALL)
    yield Bar("the README's ten lines with an empty cache, processor s", cold_seconds(lines), 20.0)


def _learning(arms: list[int] | np.ndarray, rewards: list[float] | np.ndarray) -> float:
    agent = FEWA().start(10)
    began = time.process_time()
    agent.update_many(arms, rewards)
    return time.process_time() - began


def cold_seconds(code: str) -> float:
    """Return the processor time of a process that runs a piece of code with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", code + TIME]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return float(said.split()[-1])
