"""How far a sweep is: a bar on a terminal, a line per minute elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from rotting._output.progress import Progress, progress_bar
from rotting.sweeps.blocks import nanoseconds
from rotting.sweeps.plan import Plan

SECONDS_BETWEEN_LINES = 60.0


class Tally:
    """Counts what is finished, and shows it. Time left is estimated from work: runs on long problems take longer.

    Parameters
    ----------
    plan
        What is to be done.
    bar
        Where to show it (default: nowhere).
    lines
        Whether to write a line every minute, where there is no bar.
    """

    def __init__(self, plan: Plan, bar: Progress | None = None, lines: bool = False):
        self.plan = plan
        self.runs_left = np.full(plan.shape[:2], plan.runs)  # [problem, policy]
        self._costs = np.array([nanoseconds(problem) for problem in plan.problems])
        self._bar, self._lines = bar or Progress(), lines
        self._began: tuple[float, int, int] | None = None  # when, and the runs and the work left then
        self._last_line = time.monotonic()
        self._bar.stage(self.counts, self.work_left)

    def begin(self) -> None:
        """Start the clock: what is finished by now was not done now."""
        self._began = time.monotonic(), self.runs, self.work_left
        self._bar.stage(self.counts, self.work_left)

    def add(self, numbers: range) -> None:
        """Count runs as finished."""
        before = self.work_left
        for piece in self.plan.pieces(numbers):
            self.runs_left[piece.problem, piece.policy] -= len(piece.runs)
        self._bar.describe(self.counts)
        self._bar.advance(before - self.work_left)
        if self._lines and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.note(str(self))

    def note(self, message: str) -> None:
        """Show a message that must not be missed."""
        self._bar.note(message)

    @property
    def cells(self) -> int:
        """The number of cells that are finished."""
        return int(np.count_nonzero(self.runs_left == 0))

    @property
    def runs(self) -> int:
        """The number of runs that are finished."""
        return self.plan.total_runs - int(self.runs_left.sum())

    @property
    def work_left(self) -> int:
        """The estimated work that is left, in nanoseconds of one thread."""
        return int(self.runs_left.sum(axis=1) @ self._costs)

    @property
    def counts(self) -> str:
        """What is finished, without times: a progress bar has its own."""
        done = f"{self.cells} of {self.plan.cells} cells, {self.runs} of {self.plan.total_runs} runs"
        return f"checking what is there: {done}" if self._began is None else done

    def __str__(self) -> str:
        """Return all of it in one line."""
        if self._began is None:
            return self.counts
        began, runs, work = self._began
        seconds, done = time.monotonic() - began, work - self.work_left
        left = timedelta(seconds=round(seconds * self.work_left / done)) if done > 0 else "?"
        return f"{self.counts}, {(self.runs - runs) / max(seconds, 1e-9):,.3g} runs/s, {left} left"


@contextlib.contextmanager
def tallied(plan: Plan, wanted: bool | None = None) -> Iterator[Tally]:
    """Yield a tally that is shown while the block lasts.

    Parameters
    ----------
    plan
        What is to be done.
    wanted
        True for a bar, False for silence, None for a bar on a terminal and a line per minute elsewhere. Notes about
        damaged blocks are shown in any case.
    """
    with progress_bar(wanted) as bar:
        yield Tally(plan, bar, lines=wanted is None and not bar.shown)
