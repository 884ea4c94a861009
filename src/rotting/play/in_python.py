"""Runs of a Python class, or of kernels that are checked: a loop in Python on the same rewards."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rotting._core.compiling import is_package_only
from rotting.errors import BadValue
from rotting.play.cell import Cell
from rotting.play.faults import fault
from rotting.play.late import Pending, delay_keys, new_pending, new_trace
from rotting.play.loop import (
    BAD_MEAN,
    BAD_REWARD,
    BAD_TOTAL,
    MISCOUNTED,
    Journal,
    begin,
    new_journal,
    pull,
    record,
    streams_of,
    trace_and_send,
)
from rotting.problems.checked import CheckedRun

ROUNDS_AT_ONCE = 256  # between two looks at Ctrl-C


class PlayingAgent(Protocol):
    """What chooses and learns in one run."""

    def select(self) -> int:
        """Return the arm to pull."""

    def update(self, arm: int, reward: float, /) -> None:
        """Learn from its reward."""


# Makes an agent from the number of arms, and the key from which its random numbers start.
Start = Callable[[int, np.uint64], PlayingAgent]
# Begins a run, given a random key; pulls an arm in a round, given the key of its noise: mean and reward.
World = tuple[Callable[[np.uint64], None], Callable[[np.uint64, int, int], tuple[float, float]]]


class PythonTable:
    """Where agents in Python play runs of a cell, each a new agent."""

    def __init__(self, cell: Cell, label: str, start: Start):
        self._cell, self._label, self._start = cell, label, start
        self._prepare()

    def play(self, runs: range, stop: np.ndarray) -> tuple[Any, ...]:
        """Play some runs of the cell; return all that `Played` says of them."""
        cell, n_arms = self._cell, self._cell.problem.n_arms
        earned, pulls = np.empty((len(runs), len(cell.rounds))), np.empty((len(runs), n_arms), np.int64)
        trace = new_trace(cell.trace, len(runs), n_arms, cell.horizon, len(cell.rounds)) if cell.trace else None
        seconds = 0.0
        for place, run in enumerate(runs):
            journal, late = new_journal(cell.rounds, cell.problem), None
            if cell.is_late:
                late = new_pending(cell.delay, n_arms, cell.horizon)
                late.keys[:] = delay_keys(cell.seed, np.array([run]), n_arms)[0]
            if trace is not None:
                trace.row[0] = place
            seconds += self._play_run(run, journal, late, trace, stop)
            earned[place], pulls[place] = journal.earned, journal.pulls
        traces = {} if trace is None else {name: getattr(trace, name) for name in cell.trace}
        return runs, earned, pulls, seconds, traces

    def _play_run(self, run: int, journal: Journal, late: Pending | None, trace: Any, stop: np.ndarray) -> float:
        """Play one run; return the seconds of processor time that it took."""
        cell, n_arms = self._cell, self._cell.problem.n_arms
        streams = streams_of(cell.seed, run, n_arms)
        agent = self._start(n_arms, np.uint64(streams.choice[0]))
        begin_now, pull_now = self._world(journal)
        detailed = late is not None or trace is not None
        follow = trace_and_send.compiled_for(journal)
        chosen = np.zeros(n_arms, np.int64)
        began = time.thread_time()
        begin_now(streams.start[0])
        for t in range(1, cell.horizon + 1):
            if t % ROUNDS_AT_ONCE == 0 and stop[0]:
                break
            arm = self._checked(agent.select())
            chosen[arm] += 1
            mean, reward = pull_now(streams.noise[arm], arm, t)
            if not math.isfinite(mean) or not math.isfinite(reward):
                raise fault(cell, self._label, BAD_REWARD if math.isfinite(mean) else BAD_MEAN, run, t, arm, math.nan)
            place = follow(journal, late, trace, arm, reward, t) if detailed else -1
            if late is None:
                agent.update(arm, reward)
                continue
            while place >= 0:
                agent.update(int(late.arms[place]), float(late.rewards[place]))
                place = late.later[place]
        if not np.array_equal(chosen, journal.pulls):
            raise fault(
                cell, self._label, MISCOUNTED, run, cell.horizon, int((chosen != journal.pulls).argmax()), math.nan
            )
        if not math.isfinite(journal.total[0]):
            raise fault(cell, self._label, BAD_TOTAL, run, cell.horizon, 0, float(journal.total[0]))
        return time.thread_time() - began

    def _prepare(self) -> None:
        """Compile what should not be timed."""
        self._world(new_journal(self._cell.rounds, self._cell.problem))[1](np.uint64(0), 0, 1)

    def _world(self, journal: Journal) -> World:
        """Return what begins a run, and what gives mean and reward of an arm in a round and takes the pull down."""
        arrays = self._cell.problem.arrays
        compiled = pull.compiled_for(arrays, journal)
        return (
            lambda key: begin(arrays, journal.memory, key),
            lambda key, arm, t: compiled(arrays, journal, key, arm, t),
        )

    def _checked(self, arm: Any) -> int:
        try:
            number = operator.index(arm)
        except TypeError:
            number = -1
        n_arms = self._cell.problem.n_arms
        if not 0 <= number < n_arms:
            raise BadValue(f"select() gave {arm!r}", owner=self._label, expected=f"an arm from 0 to {n_arms - 1}")
        return number


class CheckedTable(PythonTable):
    """The same for kernels in plain Python: a user's problem is checked, too; the package's own is compiled."""

    def _prepare(self) -> None: ...

    def _world(self, journal: Journal) -> World:
        if is_package_only(self._cell.problem.arrays):
            return super()._world(journal)
        run = CheckedRun(self._cell.problem, journal.memory)

        def pull_now(key: np.uint64, arm: int, t: int) -> tuple[float, float]:
            mean, reward = run.pull(key, arm, t)
            record(journal, arm, mean, t)
            return mean, reward

        return run.begin, pull_now
