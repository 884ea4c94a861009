"""Which bandits a database has."""

from __future__ import annotations

import time

from rotting.bandit import Store, UnknownBandit, UnknownDecision
from rotting.bandit.store import BanditRow
from rotting.errors import quoted
from rotting.serve.lanes import Lane

LOOK_AGAIN = 1.0  # seconds after which names that were not found are looked for again: other servers add bandits


class Directory:
    """Which bandits there are. Asking for one that is not known costs a look at the database once a second at most."""

    def __init__(self, lane: Lane):
        self.by_name: dict[str, BanditRow] = {}
        self.by_token: dict[str, BanditRow] = {}
        self._lane = lane
        self._looked = 0.0

    def forget(self) -> None:
        """Look again for what is not known when it is asked for."""
        self._looked = 0.0

    async def refresh(self, at_once: bool = False) -> None:
        """Read the list again, unless that was done just now."""
        await self._lane.run(lambda store: self._read(store, at_once))

    def _read(self, store: Store, at_once: bool) -> None:
        if not at_once and time.monotonic() < self._looked + LOOK_AGAIN:
            return
        with store.reading():
            rows = store.bandits() if store.condition() == "ready" else []
        self.by_name = {row.name: row for row in sorted(rows, key=lambda row: row.name)}
        self.by_token = {row.token: row for row in rows}
        self._looked = time.monotonic()

    async def entry(self, name: str) -> BanditRow:
        """Return a bandit by its name."""
        if name not in self.by_name:
            await self.refresh()
        if name not in self.by_name:
            raise UnknownBandit(f"there is no bandit {quoted(name)}", value=name)
        return self.by_name[name]

    async def entry_of(self, decision: str) -> BanditRow:
        """Return the bandit that took a decision."""
        token = decision.partition("-")[0]
        if token not in self.by_token:
            await self.refresh()
        if token not in self.by_token:
            raise UnknownDecision(
                f"no bandit took a decision {quoted(decision)}", value=decision, expected="the id of a decision"
            )
        return self.by_token[token]
