"""What every process holds that speaks HTTP, and its life from the start to the end."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rotting.bandit import Bandit, BanditError, Key, Outcome, Request, open_store
from rotting.serve.access import Access
from rotting.serve.bandits import Directory
from rotting.serve.errors import Busy
from rotting.serve.keys import read_keys
from rotting.serve.lanes import Lane
from rotting.serve.link import Link
from rotting.serve.metrics import Metrics
from rotting.serve.problems import note
from rotting.serve.together import Carrier

Result = TypeVar("Result")

DRAIN_SECONDS = 30  # in which requests in progress must end after SIGTERM
READING_THREADS = 2  # for reports, logs, pages and administration, none of which must be quick


@dataclasses.dataclass(frozen=True)
class Options:
    """How to serve. `open_to_all`: whoever reaches the server needs no key while there is none."""

    url: str
    open_to_all: bool = True
    origins: tuple[str, ...] = ()
    rate_limit: float = 1000.0
    prefix: str = ""  # of all paths: such as /bandits
    demo: bool = False
    processes: int = 1  # that speak HTTP; if there are several, another one writes
    meet: tuple[str, int] | None = None  # where other hosts reach this one
    patience: float = 10.0  # seconds in which the head of a request must arrive, and its body
    keys_seconds: float = 1.0  # after which a key that was added or revoked elsewhere is known here


class Service:
    """What answers requests: keys, names, threads for what takes long, and who carries out what is to be written."""

    carrier: Carrier
    link: Link | None = None  # to the process that answers what this one does not

    def __init__(self, options: Options, process: str = ""):
        self.options = options
        self.access = Access(options.open_to_all, options.rate_limit, options.origins)
        self.quick = Lane(open_store(options.url))  # for keys and names, which do not wait for reports
        self.directory = Directory(self.quick)
        self.metrics = Metrics(lambda: self.carrier.waiting, process)
        self.closing = False
        self._threads = ThreadPoolExecutor(READING_THREADS, "rotting-reader")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the database, and begin what goes on beside requests."""
        await self.quick.run(lambda store: store.prepare())
        await self._read_keys()
        await self.directory.refresh(at_once=True)
        self.repeat(self._read_keys, self.options.keys_seconds)

    async def stop(self) -> None:
        """Carry out what waits, and end the threads."""
        self.closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.quick.close)
        await asyncio.to_thread(self._threads.shutdown)

    def repeat(self, work: Callable[[], Awaitable[None]], pause: float) -> None:
        """Do something again and again until the end."""
        self._tasks.append(asyncio.create_task(_repeated(work, pause)))

    async def _read_keys(self) -> None:
        self.access.keys = await self.quick.run(read_keys)

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
