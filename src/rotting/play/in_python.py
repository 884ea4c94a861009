"""Runs of a Python class, or of kernels that are checked: a loop in Python on the same rewards."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rotting.errors import BadValue
from rotting.play.among import Among
from rotting.play.cell import Cell
from rotting.play.faults import fault
from rotting.play.late import new_pending, traces_of
from rotting.play.loop import (
    BAD_MEAN,
    BAD_REWARD,
    BAD_TOTAL,
    MISCOUNTED,
    NOT_ELIGIBLE,
    new_rows,
    streams_of,
    trace_and_send,
)
from rotting.play.run import Run
from rotting.problems.kernel import SHOWN

ROUNDS_AT_ONCE = 256  # between two looks at Ctrl-C


class PlayingAgent(Protocol):
    """What chooses and learns in one run."""

    def select(self) -> int:
        """Return the arm to pull."""

    def update(self, arm: int, reward: float, /) -> None:
        """Learn from its reward."""

    # It may have `recommend() -> int`, too: the arm to stay with; by default the most pulled one.


# Makes an agent from the number of arms, and the key from which its random numbers start.
Start = Callable[[int, np.uint64], PlayingAgent]


class PythonTable:
    """Where agents in Python play runs of a cell, each a new agent; if `checked`, a user's problem is checked, too."""

    def __init__(self, cell: Cell, label: str, start: Start, checked: bool = False):
        self._cell, self._label, self._start, self._checked = cell, label, start, checked
        if not checked:
            self._new_run(0).mean_and_reward(0)  # compiles what should not be timed

    def play(self, runs: range, stop: np.ndarray) -> tuple[Any, ...]:
        """Play some runs of the cell; return all that `Played` says of them."""
        cell, seconds = self._cell, 0.0
        rows, trace = new_rows(cell, len(runs))
        for place, number in enumerate(runs):
            run = self._new_run(number)
            if trace is not None:
                trace.row[0] = place
            seconds += self._play_run(run, trace, stop)
            rows.earned[place], rows.pulls[place] = run.journal.earned, run.pulls
        return runs, *rows, seconds, traces_of(trace, cell.trace)

    def _new_run(self, number: int) -> Run:
        return Run(self._cell.problem, self._cell.seed, number, self._cell.rounds, self._checked)

    def _play_run(self, run: Run, trace: Any, stop: np.ndarray) -> float:
        """Play one run; return the seconds of processor time that it took."""
        cell, n_arms, late = self._cell, self._cell.problem.n_arms, None
        if cell.is_late:
            late = new_pending(cell.delay, n_arms, cell.horizon)
        delays = streams_of(cell.seed, run.number, n_arms, late=True).delay
        agent = self._start(n_arms, run.key)
        memory, shows = run.journal.memory, {*SHOWN} & {*run.journal.memory._fields}
        if shows:
            agent = Among(agent, memory, run.key, str(cell.problem.dynamics_model))
        follow = None if late is None and trace is None else trace_and_send.compiled_for(run.journal)
        chosen, learnt = np.zeros((2, n_arms), np.int64)
        kept: dict[int, int] = {}
        if "recommended" in cell.trace:
            advised, kept = trace.recommended[trace.row[0]], {int(t): place for place, t in enumerate(cell.rounds)}
        began = time.thread_time()
        for t in range(1, cell.horizon + 1):
            if t % ROUNDS_AT_ONCE == 0 and stop[0]:
                break
            arm = self._arm(agent.select())
            if cell.problem.is_limited and not memory.eligible[arm]:
                self._refuse(NOT_ELIGIBLE, run, arm, t)
            chosen[arm] += 1
            mean, reward = run.mean_and_reward(arm)
            if not math.isfinite(mean) or not math.isfinite(reward):
                self._refuse(BAD_REWARD if math.isfinite(mean) else BAD_MEAN, run, arm)
            place = -1 if follow is None else follow(run.journal, late, trace, delays[arm], arm, reward, t)
            if late is None:
                agent.update(arm, reward)
                learnt[arm] += 1
            while late is not None and place >= 0:
                agent.update(int(late.arms[place]), float(late.rewards[place]))
                learnt[late.arms[place]] += 1
                place = late.later[place]
            if t in kept:
                advised[kept[t]] = self._arm(getattr(agent, "recommend", learnt.argmax)(), "recommend")
        if not np.array_equal(chosen, run.journal.pulls):
            self._refuse(MISCOUNTED, run, int((chosen != run.journal.pulls).argmax()))
        if not math.isfinite(run.earned):
            self._refuse(BAD_TOTAL, run, 0)
        return time.thread_time() - began

    def _refuse(self, ended: int, run: Run, arm: int, t: int = 0) -> None:
        raise fault(self._cell, self._label, ended, run.number, t or run.t, arm, run.earned)

    def _arm(self, arm: Any, method: str = "select") -> int:
        """Return what a method gave, or refuse it."""
        try:
            number = operator.index(arm)
        except TypeError:
            number = -1
        n_arms = self._cell.problem.n_arms
        if not 0 <= number < n_arms:
            raise BadValue(f"{method}() gave {arm!r}", owner=self._label, expected=f"an arm from 0 to {n_arms - 1}")
        return number
