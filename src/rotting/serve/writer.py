"""Writing: requests of many clients, which the bandits' queue commits together; never answered before that."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from rotting.bandit import Bandit, Bandits, Choice, Measurement, Outcome, Request, is_shared
from rotting.serve.errors import Busy
from rotting.serve.metrics import Metrics

LONGEST_QUEUE = 10_000  # requests
PATIENCE = 10.0  # seconds that a request may wait for the database and for other servers
REMEMBERED_REASONS = 50  # of the last decisions of a bandit, which the log does not hold
CONNECTIONS = 4  # to a database that is shared with others: while one waits for them, the others go on


class Writer:
    """What writes, and how many wait for it. Its methods belong to the event loop."""

    def __init__(self, url: str, metrics: Metrics, wrote: Callable[[str], None]):
        self.reasons: dict[str, deque[Choice]] = {}
        self.waiting = 0  # requests that have not been answered
        self._metrics = metrics
        self._wrote = wrote  # called from a thread, with the name of the bandit
        self._closing = False
        self.bandits = Bandits(url, CONNECTIONS if is_shared(url) else 1, lambda bandit: bandit.observe(self._note))

    async def exchange(self, bandit: str, requests: Sequence[Request]) -> list[Outcome]:
        """Return the outcomes of some requests, once they are durable."""
        if self._closing:
            raise Busy("the server is shutting down", hint="try again")
        if self.waiting + len(requests) > LONGEST_QUEUE:
            raise Busy(f"{self.waiting} requests wait for the database", hint="try again later")
        self.waiting += len(requests)
        try:
            outcomes = await self.bandits.exchange(bandit, requests, PATIENCE)
        finally:
            self.waiting -= len(requests)
        choices = [each for outcome in outcomes[-REMEMBERED_REASONS:] if isinstance(outcome, list) for each in outcome]
        if choices:
            known = self.reasons.setdefault(bandit, deque(maxlen=REMEMBERED_REASONS))
            known.extend(choices[-REMEMBERED_REASONS:])
        return outcomes

    def get(self, bandit: str) -> Bandit:
        """Return a bandit; called in a thread, since it may have to be opened."""
        return self.bandits.get(bandit)

    def _note(self, measured: Measurement) -> None:
        if measured.error is None:
            self._metrics.committed(measured.seconds, measured.requests)
            self._wrote(measured.bandit)

    def close(self) -> None:
        """Refuse what comes now, and close the connections; called when nobody waits any more."""
        self._closing = True
        self.bandits.close()
