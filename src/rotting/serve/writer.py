"""Writing: requests of many clients, which the bandits' queue commits together; never answered before that."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from rotting.bandit import Bandits, Choice, DamagedLog, Measurement, Outcome, Request, UnknownBandit, is_shared
from rotting.serve.errors import Busy
from rotting.serve.metrics import Metrics

PATIENCE = 10.0  # seconds that a request may wait for the database and for other servers
REMEMBERED_REASONS = 50  # of the last decisions of a bandit, which the log does not hold
CONNECTIONS = 4  # to a database that is shared with others: while one waits for them, the others go on


class Writer:
    """What writes, and how many wait for it, so many at most. Its methods belong to the event loop."""

    def __init__(self, url: str, longest_queue: int, metrics: Metrics, wrote: Callable[[str], None]):
        self.reasons: dict[str, deque[Choice]] = {}
        self.waiting = 0  # requests that have not been answered
        self._longest = longest_queue
        self._metrics = metrics
        self._wrote = wrote  # called from a thread, with the name of the bandit
        self._closing = False
        self.bandits = Bandits(url, CONNECTIONS if is_shared(url) else 1, lambda bandit: bandit.observe(self._note))

    async def exchange(self, bandit: str, requests: Sequence[Request]) -> list[Outcome]:
        """Return the outcomes of some requests, once they are durable."""
        if self._closing or self.waiting + len(requests) > self._longest:
            why = "the server is shutting down" if self._closing else f"{self.waiting} requests wait for the database"
            raise Busy(why, hint="try again later")
        self.waiting += len(requests)
        try:
            try:
                outcomes = await self.bandits.exchange(bandit, requests, PATIENCE)
            except (DamagedLog, UnknownBandit):  # it was deleted, and perhaps made again; nothing was written
                outcomes = await self.bandits.exchange(bandit, requests, PATIENCE)
        finally:
            self.waiting -= len(requests)
        for outcome in outcomes[-REMEMBERED_REASONS:]:
            if isinstance(outcome, list):
                known = self.reasons.setdefault(bandit, deque(maxlen=REMEMBERED_REASONS))
                known.extend(outcome[-REMEMBERED_REASONS:])
        return outcomes

    def _note(self, measured: Measurement) -> None:
        if measured.error is None:
            self._metrics.committed(measured.seconds, measured.requests)
            self._wrote(measured.bandit)

    def close(self) -> None:
        """Refuse what comes now, and close the connections; called when nobody waits any more."""
        self._closing = True
        self.bandits.close()
