"""Probabilities that were not known when decisions were taken: the log is replayed, and their draws are repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rotting.bandit.core.choosing import pick_again
from rotting.bandit.core.events import Event
from rotting.bandit.errors import VerificationFailed

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog
    from rotting.bandit.log.stored import StoredLog


class Filler:
    """Fills in probabilities, from portion to portion of a log.

    It follows the log with a state of its own. What it fills in depends on the log and on `replays` alone.
    """

    def __init__(self, log: EventLog, stored: StoredLog, replays: int):
        self._stored, self._replays = stored, replays
        self._state = log.first_state(stored.newest_seal())
        self._state.read_rewards = stored.rewards_until

    def filled(self, events: Sequence[Event]) -> list[Event]:
        """Return events, later than all before, with the probability of every decision."""
        unknown = {event.seq for event in events if event.kind == "decided" and event.probability is None}
        found = {}
        for event in self._stored.stream(self._state.seq, max(unknown)) if unknown else ():
            self._state.check(event)
            if event.seq in unknown:
                found[event.seq] = self._probability(event)
            self._state.apply(event)
        return [event._replace(probability=found.get(event.seq, event.probability)) for event in events]

    def _probability(self, event: Event) -> float | None:
        again = pick_again(self._state, event, self._replays)
        if again.arm != event.arm:
            raise VerificationFailed(
                f"event {event.seq} is not what the policy decides, so its probability cannot be told: the log was "
                "changed, or written by another version",
                hint="verify() says more",
            )
        return again.probability
