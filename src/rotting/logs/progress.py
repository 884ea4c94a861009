"""A progress bar for work in stages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


class Progress:
    """What the stages of a diagnosis report to; without a bar, to nobody."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("", total=None)

    def stage(self, what: str, steps: int | None = None) -> None:
        """Begin a stage of so many steps (None: nobody knows)."""
        if self._bar is not None:
            self._bar.reset(self._task, description=what, total=steps)

    def advance(self) -> None:
        """Take one step."""
        if self._bar is not None:
            self._bar.advance(self._task)


@contextlib.contextmanager
def bar(wanted: bool | None) -> Iterator[Progress]:
    """Yield a progress bar on the error stream (None: if that is a terminal)."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal if wanted is None else wanted):
        yield Progress()
        return
    from rich import progress

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.TimeElapsedColumn())
    with progress.Progress(*columns, console=console, transient=True) as shown:
        yield Progress(shown)
