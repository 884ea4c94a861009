"""Processes beside this one, for Python code that would keep its threads waiting for the interpreter's lock."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor


def processes(count: int) -> Executor:
    """Return an executor on so many processes; without any, on one thread.

    They are spawned, since a fork would copy locks that threads of this process hold. Ctrl-C is left to this process,
    and if it ends in whatever way, so do they. What they take and return must be picklable.

    Examples
    --------
    >>> with processes(0) as executor:
    ...     executor.submit(len, "abc").result()
    3
    """
    if count == 0:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
