"""How far a sweep is: a bar on a terminal, a line per minute elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import numpy as np

from rotting.sweeps.blocks import nanoseconds, pieces
from rotting.sweeps.plan import Plan

SECONDS_BETWEEN_LINES = 60.0


class Tally:
    """Counts what is finished. Time left is reckoned in estimated work: runs on long problems take longer."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.runs_left = np.full(plan.cells, plan.runs)
        costs = [nanoseconds(plan, problem) for problem in range(len(plan.problems))]
        self._costs = np.repeat(costs, len(plan.policies))
        self._began: float | None = None
        self._runs_before, self._work_before = 0, 0

    def add(self, block: range) -> None:
        """Count a block as finished."""
        for piece in pieces(self.plan, block):
            self.runs_left[piece.problem * len(self.plan.policies) + piece.policy] -= piece.runs

    def begin(self) -> None:
        """Start the clock: what is finished by now was not done now."""
        self._began = time.monotonic()
        self._runs_before, self._work_before = self.runs, self._work_left

    @property
    def cells(self) -> int:
        """The number of cells that are finished."""
        return int(np.count_nonzero(self.runs_left == 0))

    @property
    def runs(self) -> int:
        """The number of runs that are finished."""
        return self.plan.total_runs - int(self.runs_left.sum())

    @property
    def runs_per_second(self) -> float:
        """Runs finished per second since the clock was started."""
        return (self.runs - self._runs_before) / max(self._seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """About how long the rest will take; None before the first block is finished."""
        done = self._work_before - self._work_left
        return None if done <= 0 else self._seconds * self._work_left / done

    @property
    def _seconds(self) -> float:
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def _work_left(self) -> int:
        return int(self.runs_left @ self._costs)

    def __str__(self) -> str:
        """Return all of it in one line."""
        done = f"{self.cells} of {self.plan.cells} cells, {self.runs} of {self.plan.total_runs} runs"
        if self._began is None:
            return f"checking what is there: {done}"
        left = self.seconds_left
        return f"{done}, {self.runs_per_second:,.3g} runs/s, {'?' if left is None else duration(left)} left"


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
    """Shows a tally on stderr while it is open.

    Parameters
    ----------
    wanted
        True for a bar, False for silence, None for a bar on a terminal and a line per minute elsewhere. Notes about
        damaged blocks are shown in any case.
    """

    def __init__(self, tally: Tally, wanted: bool | None = None):
        from rich.console import Console

        self.tally = tally
        self._console = Console(stderr=True, highlight=False)
        self._bar: Any = None
        self._lines = wanted is None and not self._console.is_terminal
        self._last_line = time.monotonic()
        if wanted or (wanted is None and self._console.is_terminal):
            self._bar = self._make_bar()

    def _make_bar(self) -> Any:
        from rich.progress import BarColumn, Progress, TextColumn

        return Progress(BarColumn(), TextColumn("{task.description}"), console=self._console, transient=True)

    def __enter__(self) -> Reporter:
        if self._bar:
            self._task = self._bar.add_task(str(self.tally), total=self.tally.plan.total_runs)
            self._bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def note(self, message: str) -> None:
        """Show a message that must not be missed."""
        if self._bar:
            self._bar.console.print(message, markup=False, soft_wrap=True)
        else:
            print(message, file=sys.stderr, flush=True)

    def show(self) -> None:
        """Show how far it is, if it is time for that."""
        if self._bar:
            self._bar.update(self._task, completed=self.tally.runs, description=str(self.tally))
        elif self._lines and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.note(str(self.tally))
