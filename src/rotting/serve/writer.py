"""The process that writes: bandits, their queue, and all that is made once for everybody, such as pages."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rotting._core.isotonic import non_increasing_fit
from rotting.bandit import (
    Bandit,
    BanditError,
    Bandits,
    Choice,
    Measurement,
    Outcome,
    is_shared,
    open_store,
    warm_up,
)
from rotting.serve.answering import Answering
from rotting.serve.following import PAUSE, Follower
from rotting.serve.lanes import Lane, Shared
from rotting.serve.link import Changed, Messages
from rotting.serve.service import DRAIN_SECONDS, Options, Service
from rotting.serve.together import Together

if TYPE_CHECKING:
    from rotting.serve.hosts import Hosts

Result = TypeVar("Result")

WARMED_BANDITS = 100  # opened and compiled before the first request
REMEMBERED_REASONS = 50  # of the last decisions of a bandit, which the log does not hold
CONNECTIONS = 4  # to a database where others write the same bandits: while one waits for them, the others go on


class Writer(Service):
    """What the process that writes holds. What talks to the database does so outside the event loop."""

    hosts: Hosts | None = None
    bandits: Bandits  # their queue commits together what many clients ask for

    def __init__(self, options: Options, process: str = ""):
        super().__init__(options, process)
        # For probes, and for following the logs: neither waits for reports, nor for the other.
        self.probing, self.following = (Lane(open_store(options.url)) for _ in range(2))
        self.follower = self.metrics.follower = Follower(self.following, self.directory)
        self.shared = Shared()
        self.reasons: dict[str, deque[Choice]] = defaultdict(lambda: deque(maxlen=REMEMBERED_REASONS))
        self.making = asyncio.Lock()  # of whoever makes a bandit
        self.links = set[Messages]()  # to processes that speak HTTP

    async def start(self) -> None:
        """Compile what the first requests need, too."""
        await super().start()
        connections = CONNECTIONS if is_shared(self.options.url) and not self.options.meet else 1
        self.bandits = Bandits(self.options.url, connections, lambda bandit: bandit.observe(self._note))
        self.carrier = self.together = Together(self.bandits, self._remember)
        await self.in_thread(lambda: non_increasing_fit([1.0]))  # imports what the first page would wait for
        for name in list(self.directory.by_name)[:WARMED_BANDITS]:
            with contextlib.suppress(BanditError):  # a damaged one is reported to those who ask for it
                await self.call(name, lambda bandit: warm_up(bandit.policy))
        self.repeat(self.follower.look, PAUSE)
        if self.options.meet:
            await self._meet(*self.options.meet)
        if self.options.demo:
            from rotting.serve.demo import live

            self._tasks.append(asyncio.create_task(live(self)))

    async def _meet(self, host: str, port: int) -> None:
        """Listen for other hosts, and find them."""
        from rotting.serve.hosts import TURN, Hosts

        self._listening = await asyncio.get_running_loop().create_server(lambda: Answering(self), host, port)
        self.carrier = self.hosts = Hosts(self.options.url, f"{host}:{port}", self.together, self.directory)
        await self.hosts.look()
        self.repeat(self.hosts.look, TURN)

    async def stop(self) -> None:
        """Answer until nobody asks any more, and close what writes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                if self.hosts is not None:
                    await self.hosts.leave()
                while self.links:
                    await asyncio.sleep(0.05)
        await super().stop()
        if self.hosts is not None:
            self._listening.close()
        for each in (self.bandits, self.probing, self.following):
            await asyncio.to_thread(each.close)

    def _note(self, measured: Measurement) -> None:
        if measured.error is None:
            self.metrics.committed(measured.seconds, measured.requests)
            self.follower.want(measured.bandit)

    def _remember(self, bandit: str, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, list):
                self.reasons[bandit].extend(outcome)

    async def made(self) -> None:
        """Say that there are other bandits, to this process and to all that ask it."""
        await self.directory.refresh(at_once=True)
        for each in self.links:
            each.send(Changed())

    async def call(self, bandit: str, work: Callable[[Bandit], Result]) -> Result:
        """Return what a function returns that looks at a bandit."""
        return await self.in_thread(lambda: work(self.bandits.get(bandit)))
