"""One progress bar for all long work, on the error stream."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress


class Progress:
    """What long work reports to. Without a bar, nothing is shown."""

    def __init__(self, bar: rich.progress.Progress | None = None) -> None:
        self.shown = bar is not None
        self._bar = bar
        self._task = None if bar is None else bar.add_task("", total=None)

    def stage(self, what: str, steps: float | None = None) -> None:
        """Begin a stage of so many steps (None: it is not known how many)."""
        if self._bar is not None and self._task is not None:
            self._bar.reset(self._task, description=what, total=steps)

    def advance(self, steps: float = 1) -> None:
        """Take some steps."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, steps)

    def note(self, message: str) -> None:
        """Show a line that stays: above the bar, or alone."""
        if self._bar is not None:
            self._bar.console.print(message, markup=False, highlight=False, soft_wrap=True)
        else:
            print(message, file=sys.stderr, flush=True)

    def describe(self, what: str) -> None:
        """Say what is being done now, in the same stage."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=what)


@contextlib.contextmanager
def progress_bar(wanted: bool | None = None) -> Iterator[Progress]:
    """Yield a progress bar (None: if the error stream is a terminal); it disappears at the end.

    Examples
    --------
    >>> with progress_bar(False) as progress:
    ...     progress.stage("fitting", steps=3)
    ...     progress.advance()
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal if wanted is None else wanted):
        yield Progress()
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True) as bar:
        yield Progress(bar)
