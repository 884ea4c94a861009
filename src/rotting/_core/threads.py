"""Jobs on threads: results as they finish, few in memory, nothing left running after an error or Ctrl-C."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")

# A wait without a limit would not notice Ctrl-C on every platform.
_WAIT_SECONDS = 0.2
KEPT = 4  # results per thread that may wait for their reader


def on_threads(
    jobs: Iterable[Callable[[], Result]],
    threads: int,
    ask_to_stop: Callable[[], object] = lambda: None,
    kept: int = KEPT,
) -> Generator[Result]:
    """Yield the results of jobs as they finish, in any order.

    When the generator ends, by an error of a job or of its consumer, too, no other job begins and those under way are
    waited for. Use it with `contextlib.closing`, so that this happens at once.

    Parameters
    ----------
    jobs
        Functions without arguments; each thread takes the next one as soon as it is free.
    threads
        How many jobs run at a time.
    ask_to_stop
        Called at the end: long jobs under way should notice, and return soon; their results do not matter.
    kept
        How many results per thread may wait for their reader.

    Examples
    --------
    >>> import contextlib
    >>> with contextlib.closing(on_threads([lambda: 1, lambda: 2, lambda: 3], 2)) as results:
    ...     print(sorted(results))
    [1, 2, 3]
    """
    work = _Work(iter(jobs), threads, kept)
    try:
        work.start_one()
        while (found := work.next_result()) is not None:
            result, error = found
            if error is not None:
                raise error
            yield result
    finally:
        work.end(ask_to_stop)


class _Work:
    """What the threads share. Each thread starts the next one when it has found work: few jobs need few threads."""

    def __init__(self, jobs: Iterator[Callable[[], Any]], threads: int, kept: int):
        self._jobs, self._threads = jobs, threads
        self._taking, self._over = threading.Lock(), False
        self._started: list[threading.Thread] = []
        self._finished: queue.SimpleQueue[tuple[Any, BaseException | None] | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(kept * threads)
        self._ended = 0

    def start_one(self) -> None:
        """Start another thread, if there may be one."""
        with self._taking:
            if len(self._started) < self._threads and not self._over:
                thread = threading.Thread(target=self._work, name="rotting", daemon=True)
                self._started.append(thread)
                thread.start()

    def _work(self) -> None:
        """Do one job after the other; None in the queue says that a thread has ended."""
        is_first = True
        try:
            while True:
                self._room.acquire()
                with self._taking:
                    job = None if self._over else next(self._jobs, None)
                if job is None:
                    return
                if is_first:
                    self.start_one()
                    is_first = False
                self._finished.put((job(), None))
        except BaseException as error:  # raised again where results are read
            self._finished.put((None, error))
        finally:
            self._finished.put(None)

    def next_result(self) -> tuple[Any, BaseException | None] | None:
        """Return the next result, or None when all threads have ended."""
        while True:
            try:
                found = self._finished.get(timeout=_WAIT_SECONDS)
            except queue.Empty:
                continue
            if found is not None:
                self._room.release()
                return found
            self._ended += 1
            if self._ended == len(self._started):
                return None

    def end(self, ask_to_stop: Callable[[], object]) -> None:
        """Let no other job begin, and wait for those under way."""
        with self._taking:
            self._over = True
        ask_to_stop()
        for _ in self._started:
            self._room.release()
        for thread in self._started:
            thread.join()
