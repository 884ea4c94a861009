"""All bandits of a database, for servers: opened when they are first asked for, over few connections."""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Callable, Iterable

from rotting.bandit.asynchronous import AsyncBandit
from rotting.bandit.bandit import Bandit
from rotting.bandit.commit import Commits
from rotting.bandit.core.requests import Outcome, Request
from rotting.bandit.errors import DamagedLog, UnknownBandit
from rotting.bandit.opening import NewBandit, open_on
from rotting.bandit.store.addresses import open_store
from rotting.bandit.store.contract import Store


class Bandits:
    """The bandits of a database that exist already; `opened` is called with each that is opened.

    What waits for any of them is committed together, over `connections` to the database: one is best for a file.
    Instead of an address, it may be a store of your own. `background` does what nobody should wait for; by default,
    a thread does.
    """

    def __init__(
        self,
        place: str | Store,
        connections: int = 1,
        opened: Callable[[Bandit], None] = lambda bandit: None,
        background: Callable[[Callable[[], None]], None] | None = None,
    ):
        stores = [open_store(place) if isinstance(place, str) else place for _ in range(connections)]
        self._commits = [Commits(store, background) for store in stores]
        self._opened = opened
        self._open: dict[str, AsyncBandit] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Bandit:
        """Return a bandit, opened if need be."""
        return self._get(name).bandit

    def _get(self, name: str) -> AsyncBandit:
        with self._lock:
            if name not in self._open:
                commits = self._commits[zlib.crc32(name.encode()) % len(self._commits)]
                bandit = Bandit(open_on(commits, NewBandit(name)))
                self._opened(bandit)
                self._open[name] = AsyncBandit(bandit)
            return self._open[name]

    async def exchange(self, name: str, requests: Iterable[Request], timeout: float | None = None) -> list[Outcome]:
        """Carry out requests to a bandit as `Bandit.exchange` does, without blocking the loop."""
        found = self._open[name] if name in self._open else await asyncio.to_thread(self._get, name)
        try:
            return await found.exchange(requests, timeout)
        except (DamagedLog, UnknownBandit):
            self._open.pop(name, None)  # its log is no longer the one that was there
            raise

    def close(self) -> None:
        """Close the connections."""
        for commits in self._commits:
            commits.close()
