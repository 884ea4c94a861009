"""Planning one transaction for many requests: decisions first, then exposures and rewards, an outcome for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rotting.bandit.core import planning
from rotting.bandit.core.choosing import Counts, counts_at
from rotting.bandit.core.events import Event
from rotting.bandit.core.facts import Facts
from rotting.bandit.core.identifiers import Identifiers, seq_of
from rotting.bandit.core.requests import AllRewards, AllShown, Choice, Decide, Outcome, Request, Reward, Shown
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BanditError, KeyConflict
from rotting.errors import quoted

# So many overdue decisions are settled in one transaction; what is left comes with the next ones.
EXPIRY_PORTION = 500
REPEATED = "decided before, with the same key"


def wanted(state: BanditState, requests: Iterable[Request]) -> tuple[list[int], list[str]]:
    """Return what the log must be asked about: decisions that the state does not hold, and keys."""
    named: list[object] = []
    keys: list[str] = []
    for request in requests:
        match request:
            case Decide(key=str(key)):
                keys.append(key)
            case Shown(decision) | Reward(decision, _):
                named.append(decision)
            case AllShown(decisions):
                named += decisions
            case AllRewards(pairs):
                named += [decision for decision, _ in pairs]
    numbers = {seq for each in named if (seq := seq_of(each)) is not None and seq not in state.pending}
    return sorted(seq for seq in numbers if 0 < seq <= state.seq), keys


class Plan(NamedTuple):
    """Events to append, and what their callers get once they are durable."""

    events: list[Event]
    outcomes: list[Outcome]


def plan(
    state: BanditState,
    now: float,
    identifiers: Identifiers,
    facts: Facts,
    requests: Sequence[Request],
    settle_overdue: bool = True,
) -> Plan:
    """Plan requests that are independent of each other; `facts` are about what is `wanted`.

    A request that is refused has its error among the outcomes, and nothing else changes because of it. If the events
    settle what is overdue ("expired"), plan again after them.
    """
    draft = _Draft(state, now, identifiers, facts)
    outcomes: list[Outcome] = [False] * len(requests)
    for decides in (True, False):
        for place, request in enumerate(requests):
            if isinstance(request, Decide) is decides:
                try:
                    outcomes[place] = draft.add(request)
                except BanditError as error:
                    outcomes[place] = error
        if decides and draft.events and settle_overdue and (overdue := planning.expiry(state, now, EXPIRY_PORTION)):
            return Plan(overdue, outcomes)
    return Plan(draft.events, outcomes)


class _Draft:
    """Events that are planned on top of a state, one request after the other."""

    def __init__(self, state: BanditState, now: float, identifiers: Identifiers, found: Facts):
        self.events: list[Event] = []
        self.keyed = dict(found.keyed)  # the decisions taken with each key
        self._state, self._now, self._identifiers = state, now, identifiers
        self._found = planning.Found(found.about)
        self._counts = Counts(*map(list, counts_at(state, now)))
        self._shown: dict[int, Event] = {}  # planned exposures and rewards, by the number of the decision
        self._rewarded: dict[int, Event] = {}

    def add(self, request: Request) -> Outcome:
        """Plan one request and return its outcome; if it is refused, nothing is planned for it."""
        match request:
            case Decide():
                choices = self._decide(request)
                return choices[0] if request.n is None else choices
            case Shown(decision):
                return self._show([decision]) == 1
            case Reward(decision, value):
                return self._reward([(decision, value)]) == 1
            case AllShown(decisions):
                return self._show(decisions)
            case AllRewards(pairs):
                return self._reward(pairs)

    @property
    def _next(self) -> int:
        return self._state.seq + 1 + len(self.events)

    def _decide(self, request: Decide) -> list[Choice]:
        state, among = self._state, None if request.among is None else list(request.among)
        if request.key is not None and request.key in self.keyed:
            return self._repeated(request, self.keyed[request.key])
        arms = planning.arms_among(state, among)
        events, reasons = planning.decisions(
            state, self._now, self._identifiers, request.n or 1, arms, among is not None, self._next, self._counts
        )
        if request.key is not None:
            events[0] = events[0]._replace(key=request.key, batch=len(events))
            self.keyed[request.key] = events
        self.events += events
        return [self._choice(event, why) for event, why in zip(events, reasons, strict=True)]

    def _repeated(self, request: Decide, events: list[Event]) -> list[Choice]:
        among = None  # an arm may have been retired since
        if request.among is not None:
            among = json.dumps(sorted({planning.known_arm(self._state, name) for name in request.among}))
        if len(events) != (request.n or 1) or events[0].among != among:
            raise KeyConflict(
                f"key {quoted(request.key)} belongs to another request: {len(events)} decisions"
                + ("" if events[0].among is None else " among some arms"),
                value=request.key,
                hint="use a key for one request, and repeat that one only",
            )
        return [self._choice(event, REPEATED) for event in events]

    def _choice(self, event: Event, why: str) -> Choice:
        return Choice(event.decision or "", self._state.names[event.arm], why, event.probability)

    def _show(self, decisions: Sequence[str]) -> int:
        events = planning.exposures(self._state, self._now, self._found, decisions, self._next, self._shown)
        self._shown |= {event.target: event for event in events if event.target is not None}
        self.events += events
        return len(events)

    def _reward(self, pairs: Sequence[tuple[str, float]]) -> int:
        events = planning.rewards(self._state, self._now, self._found, pairs, self._next, self._rewarded)
        self._rewarded |= {event.target: event for event in events if event.target is not None}
        self.events += events
        return len(events)
