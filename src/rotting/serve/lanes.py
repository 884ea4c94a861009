"""Work beside the event loop: threads with connections of their own, and what is made for many at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rotting.bandit import Store

Result = TypeVar("Result")

FRESH = 1.0  # seconds for which something that was made is given to others
MOST_MADE = 200  # that are kept


class Lane:
    """A thread and a connection to the database that nothing else uses: what is done here waits for itself alone."""

    def __init__(self, store: Store):
        self.store = store
        self._thread = ThreadPoolExecutor(1, "rotting-lane")

    async def run(self, work: Callable[[Store], Result]) -> Result:
        """Return what a function returns that talks to the database."""

        def locked() -> Result:
            with self.store.lock:
                return work(self.store)

        return await asyncio.get_running_loop().run_in_executor(self._thread, locked)

    def close(self) -> None:
        """Finish what was begun."""
        self._thread.shutdown(wait=True)
        self.store.close()


class Shared:
    """What is made for whoever asks: once a second at most, and once for all who ask meanwhile."""

    def __init__(self, fresh: float = FRESH) -> None:
        self._fresh = fresh
        self._made: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[Result]]) -> Result:
        """Return what is made for a key."""
        at, task = self._made.get(key, (0.0, None))
        if task is None or (task.done() and time.monotonic() >= at + self._fresh):
            if len(self._made) >= MOST_MADE:
                self.forget()
            task = asyncio.ensure_future(make())
            self._made[key] = time.monotonic(), task
        found: Result = await asyncio.shield(task)
        return found

    def forget(self) -> None:
        """Make everything again when it is asked for: something has been changed."""
        self._made.clear()
