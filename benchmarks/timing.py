"""How times are taken: single thread, after warm-up, the fastest of several turns taken alternately."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rotting.play.loop import new_journal, play, streams_of
from rotting.policies import Policy
from rotting.policies._contract.states import fresh_state
from rotting.problems import Problem


def run_time(policy: Policy, problem: Problem, horizon: int, run: int = 0, seed: int = 0) -> float:
    """Return the seconds that one run takes in the compiled loop."""
    policy = policy.informed(problem, horizon)
    state = fresh_state(policy, problem.n_arms)
    compiled = play.compiled_for(state, problem.arrays)
    journal = new_journal(np.array([horizon]), problem)
    streams = streams_of(seed, run, problem.n_arms)
    began = time.perf_counter()
    state = policy.reserve(state, horizon)
    compiled(state, problem.arrays, streams, journal, 1, horizon)
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
