"""Several hosts on one PostgreSQL: each bandit has an owner, to whom the others forward what is asked of it.

Who is there, PostgreSQL says (`rotting.bandit.store.hosts`); of those, a hash chooses. Two who both believe to be the
owner cost time and nothing else: whoever appends names the number that comes next, and the second is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import partial

from rotting.bandit import Request, StorageError
from rotting.bandit.store import presence
from rotting.serve.bandits import Directory
from rotting.serve.link import Link, Proof
from rotting.serve.problems import note
from rotting.serve.together import Answer, Carrier

TURN = 1.0  # seconds between looks at who is there
LATE = 3.0  # seconds after which a host that says nothing is not asked any more


class Hosts:
    """A carrier: asks the owner of a bandit, or `own` where that is this host, or nobody who answers."""

    def __init__(self, url: str, address: str, own: Carrier, directory: Directory):
        self._address = address
        self._own = own
        self._directory = directory
        self._presence = presence(url, address)
        self._there: set[str] = set()
        self._owners: dict[str, str] = {}
        self._links: dict[str, tuple[Link, asyncio.Task[None]]] = {}
        self._has_left = False
        self._gone: set[str] = set()  # that were not there when it was last looked

    @property
    def waiting(self) -> int:
        """How many requests have not been answered."""
        return self._own.waiting + sum(link.waiting for link, _ in self._links.values())

    def exchange(self, bandit: str, requests: Sequence[Request]) -> Answer:
        """Return what will have the outcomes of some requests, once they are durable."""
        owner = self._owners.get(bandit) or self._owner(bandit)
        link, _ = self._links.get(owner, (None, None))
        return (link if link is not None and link.lives(LATE) else self._own).exchange(bandit, requests)

    def _owner(self, bandit: str) -> str:
        def rank(host: str) -> bytes:
            return hashlib.blake2b(f"{host} {bandit}".encode()).digest()

        owner = self._owners[bandit] = max(self._there, key=rank, default=self._address)
        return owner

    async def look(self) -> None:
        """Look who is there, and be there."""
        if self._has_left:
            return
        try:
            there = await asyncio.to_thread(self._presence.look)
        except StorageError as error:
            note(error, "looking for other hosts")
            there = set()
        if there != self._there:
            self._there, self._owners = there, {}
        for address in there - {self._address} - self._links.keys():
            host, _, port = address.rpartition(":")
            connect = partial(asyncio.get_running_loop().create_connection, host=host.strip("[]"), port=int(port))
            link = Link(connect, prove=self._prove)
            self._links[address] = link, asyncio.create_task(link.keep())
        for address in self._links.keys() & self._gone - there:  # what was asked of them has been answered, or never is
            self._drop(address)
        self._gone = self._links.keys() - there
        for link, _ in self._links.values():
            link.look()

    def _prove(self, nonce: bytes) -> Proof | None:
        """Return a proof that this host knows what the database holds."""
        row = next(iter(self._directory.by_name.values()), None)
        return None if row is None else Proof.of(row.token, row.secret, nonce)

    def _drop(self, address: str) -> None:
        link, task = self._links.pop(address)
        task.cancel()
        link.close()

    async def leave(self) -> None:
        """Let others own the bandits of this host, and ask nobody any more."""
        self._has_left = True
        await asyncio.to_thread(self._presence.leave)
        self._there, self._owners = set(), {}
        while self.waiting > self._own.waiting:
            await asyncio.sleep(0.05)
        for address in list(self._links):
            self._drop(address)
