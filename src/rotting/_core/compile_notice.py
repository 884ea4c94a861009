"""One line on the error stream for somebody who waits for the compiler, on a terminal or in a notebook.

In a service, a pipe or a job nobody waits, and nothing is said.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

from numba.core import event

PATIENCE = 1.0  # seconds of compiling before anything is said


def somebody_waits() -> bool:
    """Say whether the error stream is read by a person: it is a terminal, or Python runs in a notebook."""
    return "ipykernel" in sys.modules or bool(sys.stderr is not None and sys.stderr.isatty())


def notice(folder: Path, kept: bool) -> str:
    """Return the line; `kept` says whether machine code can be kept in the folder."""
    if kept:
        return (
            "rotting: compiling for this machine. It happens once, and usually takes 2 to 10 seconds per policy; "
            "`rotting warm-up` compiles them all."
        )
    return (
        "rotting: compiling, usually 2 to 10 seconds per policy, again in every process: the compiled code cannot be "
        f"kept, as {folder} cannot be written. Set NUMBA_CACHE_DIR to a folder that can."
    )


class CompileNotice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Says its line once, if compiling takes longer than PATIENCE."""

    def __init__(self, line: str):
        self._line, self._said, self._depth = line, False, 0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Start to wait, if this is not one of the functions below another."""
        self._depth += 1
        if self._depth == 1 and not self._said and somebody_waits():
            self._timer = threading.Timer(PATIENCE, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Wait no longer."""
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        self._said = True
        print(self._line, file=sys.stderr, flush=True)


def install(folder: Path, kept: bool) -> None:
    """Say so, from now on, when compiling takes long."""
    event.register("numba:compile", CompileNotice(notice(folder, kept)))
