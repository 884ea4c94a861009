"""Which bandits a database has."""

from __future__ import annotations

import threading
import time

from rotting.bandit import Store, UnknownBandit, UnknownDecision
from rotting.bandit.store import BanditRow
from rotting.errors import quoted

LOOK_AGAIN = 1.0  # seconds after which names that were not found are looked for again: other servers add bandits


class Directory:
    """Which bandits there are. Asking for one that is not known costs a look at the database once a second at most."""

    def __init__(self, store: Store):
        self._store = store
        self._lock = threading.Lock()
        self.by_name: dict[str, BanditRow] = {}
        self.by_token: dict[str, BanditRow] = {}
        self._looked = 0.0

    def refresh(self, at_once: bool = False) -> None:
        """Read the list again, unless that was done just now."""
        with self._lock:
            if not at_once and time.monotonic() < self._looked + LOOK_AGAIN:
                return
            with self._store.lock, self._store.reading():
                rows = self._store.bandits() if self._store.condition() == "ready" else []
            self.by_name = {row.name: row for row in sorted(rows, key=lambda row: row.name)}
            self.by_token = {row.token: row for row in rows}
            self._looked = time.monotonic()

    def find(self, name: str) -> BanditRow:
        """Return a bandit by its name."""
        found = self.by_name.get(name)
        if found is None:
            raise UnknownBandit(f"there is no bandit {quoted(name)}", value=name)
        return found

    def find_of(self, decision: str) -> BanditRow:
        """Return the bandit that a decision belongs to."""
        found = self.by_token.get(token_of(decision))
        if found is None:
            raise UnknownDecision(
                f"no bandit took a decision {quoted(decision)}", value=decision, expected="the id of a decision"
            )
        return found


def token_of(decision: str) -> str:
    """Return the token of the bandit that took a decision."""
    return decision.partition("-")[0]
