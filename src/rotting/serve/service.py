"""Everything that a running server holds, and its life from the start to the end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rotting._core.isotonic import non_increasing_fit
from rotting.bandit import (
    Bandit,
    BanditError,
    Bandits,
    Choice,
    Key,
    Measurement,
    Outcome,
    Request,
    is_shared,
    open_store,
    warm_up,
)
from rotting.serve.access import Access
from rotting.serve.bandits import Directory
from rotting.serve.errors import Busy
from rotting.serve.following import PAUSE, Follower
from rotting.serve.keys import read_keys
from rotting.serve.lanes import Lane, Shared
from rotting.serve.metrics import Metrics
from rotting.serve.problems import note
from rotting.serve.together import Carrier, Together

Result = TypeVar("Result")

READING_THREADS = 2  # for reports, logs, pages and administration, none of which must be quick
WARMED_BANDITS = 100  # opened and compiled before the first request
REMEMBERED_REASONS = 50  # of the last decisions of a bandit, which the log does not hold
CONNECTIONS = 4  # to a database that is shared with others: while one waits for them, the others go on


@dataclasses.dataclass(frozen=True)
class Options:
    """How to serve. `open_to_all`: whoever reaches the server needs no key while there is none."""

    url: str
    open_to_all: bool = True
    origins: tuple[str, ...] = ()
    rate_limit: float = 1000.0
    prefix: str = ""  # of all paths: such as /bandits
    demo: bool = False
    workers: int = 1
    patience: float = 10.0  # seconds in which the head of a request must arrive, and its body
    keys_seconds: float = 1.0  # after which a key that was added or revoked elsewhere is known here


class Service:
    """Everything that a running server holds. What talks to the database does so outside the event loop."""

    carrier: Carrier
    bandits: Bandits  # which write; their queue commits together what many clients ask for

    def __init__(self, options: Options):
        self.options = options
        self.access = Access(options.open_to_all, options.rate_limit, options.origins)
        # For keys and names, for probes, and for following the logs: none waits for reports, nor for another.
        self.quick, self.probing, self.following = (Lane(open_store(options.url)) for _ in range(3))
        self.directory = Directory(self.quick)
        self.follower = Follower(self.following, self.directory)
        process = str(os.getpid()) if options.workers > 1 else ""
        self.metrics = Metrics(lambda: self.carrier.waiting, self.follower, process)
        self.shared = Shared()
        self.reasons: dict[str, deque[Choice]] = defaultdict(lambda: deque(maxlen=REMEMBERED_REASONS))
        self.making = asyncio.Lock()  # of whoever makes a bandit
        self.closing = False
        self._threads = ThreadPoolExecutor(READING_THREADS, "rotting-reader")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the database, compile what the first requests need, and begin what goes on beside them."""
        await self.quick.run(lambda store: store.prepare())
        await self._read_keys()
        await self.directory.refresh(at_once=True)
        connections = CONNECTIONS if is_shared(self.options.url) else 1
        self.bandits = Bandits(self.options.url, connections, lambda bandit: bandit.observe(self._note))
        self.carrier = Together(self.bandits, self._remember)
        await self.in_thread(lambda: non_increasing_fit([1.0]))  # imports what the first page would wait for
        for name in list(self.directory.by_name)[:WARMED_BANDITS]:
            with contextlib.suppress(BanditError):  # a damaged one is reported to those who ask for it
                await self.call(name, lambda bandit: warm_up(bandit.policy))
        works = [_repeated(self._read_keys, self.options.keys_seconds), _repeated(self.follower.look, PAUSE)]
        if self.options.demo:
            from rotting.serve.demo import live

            works.append(live(self))
        self._tasks = [asyncio.create_task(each) for each in works]

    async def stop(self) -> None:
        """Carry out what waits, and end the threads."""
        self.closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in (self.bandits, self.quick, self.probing, self.following):
            await asyncio.to_thread(each.close)
        await asyncio.to_thread(self._threads.shutdown)

    async def _read_keys(self) -> None:
        self.access.keys = await self.quick.run(read_keys)

    def _note(self, measured: Measurement) -> None:
        if measured.error is None:
            self.metrics.committed(measured.seconds, measured.requests)
            self.follower.want(measured.bandit)

    def _remember(self, bandit: str, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, list):
                self.reasons[bandit].extend(outcome)

    async def exchange(self, bandit: str, requests: Sequence[Request]) -> list[Outcome]:
        """Return the outcomes of some requests, once they are durable."""
        if self.closing:
            raise Busy("the server is shutting down", hint="try again later")
        return await self.carrier.exchange(bandit, requests)

    async def ask(self, bandit: str, request: Request) -> Any:
        """Return the outcome of a request, once it is durable."""
        await self.directory.entry(bandit)
        (outcome,) = await self.exchange(bandit, (request,))
        if isinstance(outcome, BanditError):
            raise outcome
        return outcome

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        """Return what a function returns that may take long."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(self, bandit: str, work: Callable[[Bandit], Result]) -> Result:
        """Return what a function returns that looks at a bandit."""
        return await self.in_thread(lambda: work(self.bandits.get(bandit)))

    async def with_own(self, bandit: str, work: Callable[[Bandit], Result]) -> Result:
        """Do something that may take long with a bandit, on a connection of its own and beside what writes."""
        await self.directory.entry(bandit)

        def with_bandit() -> Result:
            with Bandit.open(self.options.url, bandit) as opened:
                return work(opened)

        return await self.in_thread(with_bandit)

    async def names(self, key: Key | None) -> list[str]:
        """Return the names of the bandits that a key may see."""
        await self.directory.refresh()
        return [name for name in self.directory.by_name if key is None or key.bandit in (None, name)]

    def refused(self, error: Exception, where: str) -> None:
        """Note that a request was refused."""
        note(error, where)
        self.metrics.refused(type(error).__name__)


async def _repeated(work: Callable[[], Awaitable[None]], pause: float) -> None:
    """Do something again and again."""
    while True:
        try:
            await work()
        except BanditError as error:
            note(error, "reading keys or logs")
        await asyncio.sleep(pause)
