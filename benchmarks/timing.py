"""How times are taken: single thread, after warm-up, the fastest of several turns taken alternately."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rotting.play import Cell
from rotting.play.players import players_of
from rotting.policies import Policy
from rotting.problems import Problem


def run_time(policy: Policy, problem: Problem, horizon: int, run: int = 0, seed: int = 0) -> float:
    """Return the seconds that one run takes in the compiled loop, with memory that nobody has written before."""
    (player,) = players_of(policy, problem, horizon)
    cell = Cell(player, problem, horizon, np.array([horizon]), range(run, run + 1), seed)
    table = player.table(cell)
    began = time.perf_counter()
    table.play(cell.runs, np.zeros(1, np.int64))
    return time.perf_counter() - began


def runs_time(policy: Policy, problem: Problem, horizon: int, runs: int) -> float:
    """Return the mean seconds per run over several runs (different rewards)."""
    return sum(run_time(policy, problem, horizon, run) for run in range(runs)) / runs


def fastest(turns: int, *measures: Callable[[], float]) -> list[float]:
    """Return the smallest result of each measure over several turns, taken alternately.

    The smallest is the one least disturbed by whatever else the machine did; alternating lets a slow spell hit all.
    """
    for measure in measures:
        measure()
    results = [[measure() for measure in measures] for _ in range(turns)]
    return [min(column) for column in zip(*results, strict=True)]


def seconds_of(work: Callable[[], Any]) -> float:
    """Return how long a call takes, with the garbage collector out of the way."""
    gc.collect()
    gc.disable()
    try:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began
    finally:
        gc.enable()
