"""Planning one transaction for many requests: decisions first, then exposures and rewards, an outcome for each.

A plan is a function of the newest state, the time and what the log says. What is refused leaves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rotting.bandit.core.changes import expiry, known_arm
from rotting.bandit.core.choosing import Counts, counts_at, pick
from rotting.bandit.core.events import Event, Facts, Kind, check_event
from rotting.bandit.core.identifiers import Identifiers, seq_of
from rotting.bandit.core.requests import All, Change, Choice, Decide, Outcome, Request, Reward, Shown
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import (
    BanditError,
    CompactedDecision,
    KeyConflict,
    NoArms,
    RetiredArm,
    RewardConflict,
    UnknownDecision,
)
from rotting.errors import quoted

REPEATED = "decided before, with the same key"


def wanted(state: BanditState, requests: Iterable[Request]) -> tuple[list[int], list[str]]:
    """Return what the log must be asked about: decisions that the state does not hold, and keys."""
    numbers: set[int | None] = set()
    keys: list[str] = []
    for request in requests:
        match request:
            case Decide(key=str(key)):
                keys.append(key)
            case Shown(decision) | Reward(decision):
                numbers.add(seq_of(decision))
            case All(parts):
                numbers.update(seq_of(part.decision) for part in parts if not isinstance(part, BanditError))
    return sorted(seq for seq in numbers if seq and seq <= state.seq and seq not in state.pending), keys


class Plan(NamedTuple):
    """Events to append, and what their callers get once they are durable."""

    events: list[Event]
    outcomes: list[Outcome]
    only_settles: bool = False  # do the events only settle what is overdue? Then plan again after them


def plan(
    state: BanditState,
    now: float,
    identifiers: Identifiers,
    facts: Facts,
    requests: Sequence[Request],
    settle_overdue: bool = True,
) -> Plan:
    """Plan requests that are independent of each other; `facts` are about what is `wanted`.

    A request that is refused has its error among the outcomes, and nothing else changes because of it. A change comes
    alone.
    """
    draft = _Draft(state, now, identifiers, facts)
    outcomes: list[Outcome] = [False] * len(requests)
    for decides in (True, False):
        for place, request in enumerate(requests):
            if isinstance(request, Decide) is decides:
                outcomes[place] = draft.outcome(request)
        if decides and draft.events and settle_overdue and (overdue := expiry(state, now)):
            return Plan(overdue, outcomes, only_settles=True)
    return Plan(draft.events, outcomes)


class _Draft:
    """Events that are planned on top of a state, one request after the other."""

    def __init__(self, state: BanditState, now: float, identifiers: Identifiers, facts: Facts):
        self.events: list[Event] = []
        self._state, self._now, self._identifiers = state, now, identifiers
        self._logged, self._keyed = facts.about, dict(facts.keyed)
        counts = counts_at(state, now)
        self._counts = Counts(list(counts.in_flight), list(counts.limited), now)
        self._outcomes: dict[int, list[Event]] = {}  # the events that are planned about each decision

    def outcome(self, request: Request | BanditError) -> Outcome:
        """Plan a request and return its outcome; if it is refused, nothing is planned for it."""
        before = len(self.events)
        try:
            return self._add(request)  # type: ignore[no-any-return]
        except BanditError as error:
            while len(self.events) > before:
                event = self.events.pop()
                if event.target is None:
                    self._count(event.arm, -1)
                else:
                    self._outcomes[event.target].pop()
            return error

    def _add(self, request: Request | BanditError) -> Any:
        match request:
            case Decide():
                choices = self._decide(request)
                return choices[0] if request.n is None else choices
            case Shown(decision):
                return self._show(decision)
            case Reward(decision, value):
                return self._reward(decision, value)
            case All(parts, partial=True):
                return list(map(self.outcome, parts))
            case All(parts):
                return sum(map(self._add, parts))
            case Change(changes):
                self.events += (events := changes(self._state, self._now))
                return events
            case BanditError():
                raise request

    @property
    def _next(self) -> int:
        return self._state.seq + 1 + len(self.events)

    # Decisions.

    def _decide(self, request: Decide) -> list[Choice]:
        state, among = self._state, None
        if request.fallback is not None:
            known_arm(state, request.fallback)
        if request.among is not None:
            among = sorted({known_arm(state, name) for name in request.among})
        text = None if among is None else json.dumps(among)
        if request.key is not None and request.key in self._keyed:
            return self._repeated(request, self._keyed[request.key], text)
        arms, first, reasons = self._live(among), len(self.events), []
        for seq in range(self._next, self._next + (request.n or 1)):
            arm, why, probability, holdout = pick(state, seq, arms, self._counts)
            self._count(arm, 1)
            identifier = self._identifiers.make(seq, self._now)
            event = Event(
                seq, "decided", self._now, arm, None, identifier, None, None, probability, text, holdout=holdout
            )
            self.events.append(event)
            reasons.append(why)
        if request.key is not None:
            self.events[first] = self.events[first]._replace(key=request.key, batch=len(reasons))
            self._keyed[request.key] = self.events[first:]
        return list(map(self._choice, self.events[first:], reasons))

    def _count(self, arm: int, number: int) -> None:
        self._counts.limited[arm] += number
        if self._state.settings.count == "decided":
            self._counts.in_flight[arm] += number

    def _live(self, among: list[int] | None) -> list[int]:
        """Return the arms to choose from; refuse those that are retired."""
        state = self._state
        arms = state.available() if among is None else among
        if among is None and not arms:
            raise NoArms(f"every arm of bandit {quoted(state.bandit_name)} is retired", hint="restore one, or add one")
        if not arms:
            raise NoArms(
                "leaves nothing to choose from",
                name="among",
                value=among,
                hint="name at least one arm, or leave {among} out for all",
            )
        for arm in arms:
            if not state.live[arm]:
                raise RetiredArm(
                    f"arm {quoted(state.names[arm])} of bandit {quoted(state.bandit_name)} is retired",
                    value=state.names[arm],
                    hint="restore it, or leave it out of {among}",
                )
        return arms

    def _repeated(self, request: Decide, events: list[Event], among: str | None) -> list[Choice]:
        """Return what was decided with the same key; the arms may have been retired since."""
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

    # Exposures and rewards.

    def _show(self, decision: str) -> bool:
        """Plan that a decision was shown; False if that is known."""
        decided, *outcomes = self._about(decision)
        if any(event.kind == "shown" for event in outcomes):
            return False
        self._settle("shown", decided)
        return True

    def _reward(self, decision: str, value: float) -> bool:
        """Plan a reward; False if it is known, an error if another one is."""
        decided, *outcomes = self._about(decision)
        settled = next((event for event in outcomes if event.value is not None), None)
        if settled is None:
            self._state.settings.check_reward(value)
            self._settle("rewarded", decided, value, decided.holdout)
        elif settled.value != value:
            how = "has the reward" if settled.kind == "rewarded" else "was overdue and got the default reward"
            raise RewardConflict(
                f"decision {quoted(decision)} already {how} {settled.value!r}, so it cannot have {value!r}",
                value=value,
                hint="a reward is given once and not changed",
            )
        return settled is None

    def _settle(self, kind: Kind, decided: Event, value: float | None = None, holdout: int | None = None) -> None:
        event = Event(self._next, kind, self._now, decided.arm, target=decided.seq, value=value, holdout=holdout)
        self._outcomes.setdefault(decided.seq, []).append(event)
        self.events.append(event)

    def _about(self, decision: object) -> list[Event]:
        """Return the event of a decision and its outcomes: from the state if it waits, or the log, or planned here."""
        state, seq = self._state, seq_of(decision) or 0
        waiting = state.pending.get(seq)
        about = self._logged.get(seq, []) if waiting is None else waiting.events(seq)
        if 0 < seq <= state.sealed and not about:
            raise CompactedDecision(
                f"decision {quoted(decision)} lies in the part of the log of bandit {quoted(state.bandit_name)} that "
                "was compacted: it had its reward, or was no longer waited for",
                value=decision,
            )
        for event in about if waiting is None else ():
            check_event(event, len(state.names))
        if not about or about[0].decision != decision:
            raise UnknownDecision(
                f"bandit {quoted(state.bandit_name)} took no decision {quoted(decision)}",
                value=decision,
                expected="the id of a choice of this bandit",
            )
        return [*about, *self._outcomes.get(seq, ())]
