"""Jobs on a pool of threads: results as they finish, few in memory, nothing left running after an error or Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")

# A wait without a limit would not notice Ctrl-C on every platform.
_WAIT_SECONDS = 0.2


def on_threads(
    jobs: Iterable[Callable[[], Result]],
    threads: int,
    *,
    stop: threading.Event,
    in_flight: int | None = None,
) -> Generator[Result, None, None]:
    """Yield the results of jobs as they finish, in any order.

    When the generator ends, by an error of a job or of its consumer, too, `stop` is set, jobs that have not begun are
    cancelled and the others are waited for. Use it with `contextlib.closing`, so that this happens at once.

    Parameters
    ----------
    jobs
        Functions without arguments; taken one by one, as threads become free.
    threads
        How many jobs run at a time.
    stop
        An event that long jobs look at: once it is set, they should return soon, and their results do not matter.
    in_flight
        How many jobs are submitted and not yet yielded, at most (default: four per thread).

    Examples
    --------
    >>> import contextlib
    >>> jobs = [lambda: 1, lambda: 2, lambda: 3]
    >>> with contextlib.closing(on_threads(jobs, 2, stop=threading.Event())) as results:
    ...     print(sorted(results))
    [1, 2, 3]
    """
    limit = 4 * threads if in_flight is None else in_flight
    left = iter(jobs)
    with ThreadPoolExecutor(threads) as pool:
        waiting: set[Future[Result]] = set()
        try:
            while True:
                while len(waiting) < limit and (job := next(left, None)) is not None:
                    waiting.add(pool.submit(job))
                if not waiting:
                    return
                done, waiting = wait(waiting, timeout=_WAIT_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
