"""Writing: whatever has queued up while one transaction was being committed is the next transaction.

Requests of many clients wait in a queue; a thread takes all of them, lets `Bandit.exchange` carry them out together,
and answers when they are durable. A bandit always belongs to the same thread.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rotting.bandit import Bandit, Choice, DamagedLog, Outcome, Request, UnknownBandit
from rotting.bandit.store.addresses import is_shared
from rotting.serve.bandits import Entry, OpenBandits
from rotting.serve.errors import Busy
from rotting.serve.metrics import Metrics

LARGEST_TRANSACTION = 1000  # requests
LONGEST_QUEUE = 10_000  # requests
PATIENCE = 10.0  # seconds that a transaction may wait for the database and for other servers
REMEMBERED_REASONS = 50  # of the last decisions of a bandit, which the log does not hold


class Job(NamedTuple):
    """What waits in the queue: requests to carry out, or else a function to call with the bandit."""

    bandit: str
    requests: Sequence[Request]
    call: Callable[[Bandit], Any] | None
    future: asyncio.Future[Any]


class Writer:
    """A thread that writes, with the queue before it. Its methods belong to the event loop."""

    def __init__(self, url: str, metrics: Metrics, wrote: Callable[[str], None]):
        self.reasons: dict[str, deque[Choice]] = {}
        self._bandits = OpenBandits(url)
        self._metrics = metrics
        self._wrote = wrote  # called from the thread, with the name of the bandit
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._waiting = 0  # requests that have not been answered
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="rotting-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests have not been answered."""
        return self._waiting

    def exchange(self, bandit: str, requests: Sequence[Request]) -> asyncio.Future[list[Outcome]]:
        """Return what will be the outcomes of some requests, once they are durable."""
        return self._submit(bandit, requests, None)

    def call(self, bandit: str, work: Callable[[Bandit], Any]) -> asyncio.Future[Any]:
        """Return what will be the result of a function that the thread calls with a bandit."""
        return self._submit(bandit, (), work)

    def _submit(
        self, bandit: str, requests: Sequence[Request], call: Callable[[Bandit], Any] | None
    ) -> asyncio.Future[Any]:
        if self._closing:
            raise Busy("the server is shutting down", hint="try again")
        if self._waiting + len(requests) > LONGEST_QUEUE:
            raise Busy(f"{self._waiting} requests wait for the database", hint="try again later")
        self._waiting += len(requests) or 1
        future = self._loop.create_future()
        self._queue.put(Job(bandit, requests, call, future))
        return future

    async def close(self) -> None:
        """Carry out what waits, and end the thread."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # In the thread.

    def _run(self) -> None:
        ending = False
        while not ending:
            jobs = self._take()
            ending = jobs[-1] is None
            answers = self._carry_out([job for job in jobs if job is not None])
            self._loop.call_soon_threadsafe(self._answer, answers)
        self._bandits.close()

    def _take(self) -> list[Job | None]:
        """Return all jobs that wait, or so many that they have LARGEST_TRANSACTION requests; None is the end."""
        jobs = [self._queue.get()]
        size = 0
        while jobs[-1] is not None and (size := size + len(jobs[-1].requests)) < LARGEST_TRANSACTION:
            try:
                jobs.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return jobs

    def _carry_out(self, jobs: list[Job]) -> list[tuple[Job, Any]]:
        """Return each job with its result or its error; one transaction for all requests to a bandit."""
        answers: list[tuple[Job, Any]] = []
        groups: dict[str, list[Job]] = {}
        for job in jobs:
            if job.call is None:
                groups.setdefault(job.bandit, []).append(job)
        for name, group in groups.items():
            try:
                answers += zip(group, self._exchange(name, group), strict=True)
            except Exception as error:
                answers += [(job, error) for job in group]
        for job in jobs:
            if job.call is not None:
                try:
                    answers.append((job, job.call(self._bandits.get(job.bandit))))
                    self._wrote(job.bandit)
                except Exception as error:
                    answers.append((job, error))
        for name in {job.bandit for job, answer in answers if isinstance(answer, DamagedLog | UnknownBandit)}:
            self._bandits.forget(name)
        return answers

    def _exchange(self, name: str, group: list[Job]) -> list[list[Outcome]]:
        requests = [request for job in group for request in job.requests]
        start = time.perf_counter()
        outcomes = self._bandits.get(name).exchange(requests, timeout=PATIENCE)
        self._metrics.committed(time.perf_counter() - start, len(requests))
        self._remember(name, outcomes)
        self._wrote(name)
        rest = iter(outcomes)
        return [[next(rest) for _ in job.requests] for job in group]

    def _remember(self, name: str, outcomes: Sequence[Outcome]) -> None:
        choices = [each for outcome in outcomes[-REMEMBERED_REASONS:] if isinstance(outcome, list) for each in outcome]
        if choices:
            self.reasons.setdefault(name, deque(maxlen=REMEMBERED_REASONS)).extend(choices[-REMEMBERED_REASONS:])

    # In the event loop again.

    def _answer(self, answers: list[tuple[Job, Any]]) -> None:
        for job, answer in answers:
            self._waiting -= len(job.requests) or 1
            if job.future.done():  # the client has gone
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)


class Writers:
    """The threads that write: one for a file, which has one writer at a time, several for a server."""

    def __init__(self, url: str, metrics: Metrics, wrote: Callable[[str], None]):
        number = 4 if is_shared(url) else 1
        self._writers = [Writer(url, metrics, wrote) for _ in range(number)]

    def of(self, bandit: Entry) -> Writer:
        """Return the writer of a bandit."""
        return self._writers[bandit.id % len(self._writers)]

    @property
    def waiting(self) -> int:
        """How many requests have not been answered."""
        return sum(writer.waiting for writer in self._writers)

    async def close(self) -> None:
        """Carry out what waits, and end the threads."""
        await asyncio.gather(*(writer.close() for writer in self._writers))
