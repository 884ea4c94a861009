"""What is asked in one turn of the event loop goes to the database together: one call for each bandit.

To wake the event loop from the thread that writes costs more than a decision. So it is done once for all who wait.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Sequence
from typing import Protocol

from rotting.bandit import Bandits, DamagedLog, Outcome, Request, UnknownBandit
from rotting.serve.errors import Busy

PATIENCE = 10.0  # seconds that a request may wait for the database and for other servers
LONGEST_QUEUE = 10_000  # requests that may wait
Answer = asyncio.Future[list[Outcome]]


class Carrier(Protocol):
    """Who carries out requests: this process, or another one."""

    @property
    def waiting(self) -> int:
        """How many requests have not been answered."""
        ...

    def exchange(self, bandit: str, requests: Sequence[Request]) -> Answer:
        """Return what will have the outcomes of some requests, once they are durable."""
        ...


def check_room(carrier: Carrier, requests: Sequence[Request]) -> None:
    """Refuse requests that would wait for too long."""
    if carrier.waiting + len(requests) > LONGEST_QUEUE:
        raise Busy(f"{carrier.waiting} requests wait for the database", hint="try again later")


class Together:
    """Carries requests out in this process; `observe` is told of what was."""

    def __init__(self, bandits: Bandits, observe: Callable[[str, list[Outcome]], None]):
        self.waiting = 0
        self._bandits = bandits
        self._observe = observe
        self._asked: dict[str, list[tuple[Sequence[Request], Answer]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def exchange(self, bandit: str, requests: Sequence[Request]) -> Answer:
        """Return what will have the outcomes of some requests, once they are durable."""
        check_room(self, requests)
        loop = asyncio.get_running_loop()
        answer: Answer = loop.create_future()
        if not self._asked:
            loop.call_soon(self._begin)
        self._asked.setdefault(bandit, []).append((requests, answer))
        self.waiting += len(requests)
        return answer

    def _begin(self) -> None:
        asked, self._asked = self._asked, {}
        for bandit, group in asked.items():
            self._tasks.add(task := asyncio.create_task(self._carry_out(bandit, group)))
            task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, bandit: str, group: list[tuple[Sequence[Request], Answer]]) -> None:
        listed, start = [request for requests, _ in group for request in requests], 0
        try:
            try:
                outcomes = await self._bandits.exchange(bandit, listed, PATIENCE)
            except (DamagedLog, UnknownBandit):  # it was deleted, and perhaps made again; nothing was written
                outcomes = await self._bandits.exchange(bandit, listed, PATIENCE)
            self._observe(bandit, outcomes)
            for requests, answer in group:
                if not answer.done():
                    answer.set_result(outcomes[start : start + len(requests)])
                start += len(requests)
        except Exception as error:
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(copy.copy(error))
        finally:
            self.waiting -= len(listed)
