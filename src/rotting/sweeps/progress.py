"""How far a sweep is: a bar on a terminal, a line per minute elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import numpy as np

from rotting._output.progress import Progress, progress_bar
from rotting.sweeps.blocks import nanoseconds
from rotting.sweeps.plan import Plan

SECONDS_BETWEEN_LINES = 60.0


class Tally:
    """Counts what is finished. Time left is estimated from work, not from runs: runs on long problems take longer."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.runs_left = np.full(plan.cells, plan.runs)
        costs = [nanoseconds(problem) for problem in plan.problems]
        self._costs = np.repeat(costs, len(plan.policies))
        self._began: tuple[float, int, int] | None = None  # when, and the runs and the work left then

    def add(self, block: range) -> None:
        """Count a block as finished."""
        for piece in self.plan.numbering.pieces(block):
            self.runs_left[self.plan.numbering.cell(piece.problem, piece.policy)] -= len(piece.runs)

    def begin(self) -> None:
        """Start the clock: what is finished by now was not done now."""
        self._began = time.monotonic(), self.runs, self.work_left

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
        return int(self.runs_left @ self._costs)

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
        left = duration(seconds * self.work_left / done) if done > 0 else "?"
        return f"{self.counts}, {(self.runs - runs) / max(seconds, 1e-9):,.3g} runs/s, {left} left"


def duration(seconds: float) -> str:
    """Return a time as a person would say it.

    >>> duration(5), duration(75), duration(7300)
    ('5 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Reporter:
    """Shows a tally on the error stream; see `reporting`."""

    def __init__(self, tally: Tally, bar: Progress, lines: bool):
        self.tally = tally
        self._bar, self._lines = bar, lines
        self._last_line = time.monotonic()
        self._start_stage()

    def _start_stage(self) -> None:
        self._work_left = self.tally.work_left
        self._bar.stage(self.tally.counts, self._work_left)

    def begin(self) -> None:
        """Start the clock: what is finished by now was not done now."""
        self.tally.begin()
        self._start_stage()

    def show(self) -> None:
        """Show how far it is, if it is time for that."""
        self._bar.describe(self.tally.counts)
        self._bar.advance(self._work_left - self.tally.work_left)
        self._work_left = self.tally.work_left
        if self._lines and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.note(str(self.tally))

    def note(self, message: str) -> None:
        """Show a message that must not be missed."""
        self._bar.note(message)


@contextlib.contextmanager
def reporting(tally: Tally, wanted: bool | None = None) -> Iterator[Reporter]:
    """Yield what shows a tally while the block lasts.

    Parameters
    ----------
    tally
        What to show.
    wanted
        True for a bar, False for silence, None for a bar on a terminal and a line per minute elsewhere. Notes about
        damaged blocks are shown in any case.
    """
    with progress_bar(wanted) as bar:
        yield Reporter(tally, bar, lines=wanted is None and not bar.shown)
