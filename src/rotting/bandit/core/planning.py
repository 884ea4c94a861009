"""Planning one transaction for many requests: decisions first, then exposures and rewards, an outcome for each.

A plan is a function of the newest state, the time and what the log says. What is refused leaves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rotting.bandit.core.changes import expiry, known_arm
from rotting.bandit.core.choosing import Counts, counts_at, pick
from rotting.bandit.core.events import Event, Facts, check_event
from rotting.bandit.core.identifiers import Identifiers, seq_of
from rotting.bandit.core.pending import Pending
from rotting.bandit.core.requests import AllRewards, AllShown, Change, Choice, Decide, Outcome, Request, Reward, Shown
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
            case AllRewards(rewards):
                named += [each.decision for each in rewards if isinstance(each, Reward)]
    numbers = {seq for each in named if (seq := seq_of(each)) is not None and seq not in state.pending}
    return sorted(seq for seq in numbers if 0 < seq <= state.seq), keys


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
        self._about, self._keyed = facts.about, dict(facts.keyed)
        self._counts = Counts(*map(list, counts_at(state, now)))
        self._counted = state.settings.count == "decided"
        # The events that are planned, by their kind and the number of the decision that they are about.
        self._planned: dict[tuple[str, int | None], Event] = {}

    def outcome(self, request: Request | BanditError) -> Outcome:
        """Plan a request and return its outcome; if it is refused, nothing is planned for it."""
        before = len(self.events)
        try:
            return self._add(request)  # type: ignore[no-any-return]
        except BanditError as error:
            self._withdraw(before)
            return error

    def _withdraw(self, before: int) -> None:
        """Forget all events but so many."""
        for event in self.events[before:]:
            self._planned.pop((event.kind, event.target), None)
            if event.kind == "decided":
                self._count(event.arm, -1)
        del self.events[before:]

    def _add(self, request: Request | BanditError) -> Any:
        match request:
            case Decide():
                choices = self._decide(request)
                return choices[0] if request.n is None else choices
            case Shown(decision):
                return self._show(decision)
            case Reward():
                return self._reward(request)
            case AllShown(decisions):
                return sum(map(self._show, decisions))
            case AllRewards(rewards, partial=True):
                return list(map(self.outcome, rewards))
            case AllRewards(rewards):
                return sum(map(self._add, rewards))
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
        return [self._choice(*each) for each in zip(self.events[first:], reasons, strict=True)]

    def _count(self, arm: int, number: int) -> None:
        self._counts.limited[arm] += number
        if self._counted:
            self._counts.in_flight[arm] += number

    def _live(self, among: list[int] | None) -> list[int]:
        """Return the arms to choose from; refuse those that are retired."""
        state = self._state
        if among is None and not any(state.live):
            raise NoArms(f"every arm of bandit {quoted(state.bandit_name)} is retired", hint="restore one, or add one")
        if among == []:
            raise NoArms(
                "leaves nothing to choose from",
                name="among",
                value=among,
                hint="name at least one arm, or leave {among} out for all",
            )
        for arm in among or ():
            if not state.live[arm]:
                raise RetiredArm(
                    f"arm {quoted(state.names[arm])} of bandit {quoted(state.bandit_name)} is retired",
                    value=state.names[arm],
                    hint="restore it, or leave it out of {among}",
                )
        return state.available() if among is None else among

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
        seq, waiting = self._look_up(decision)
        about = [] if waiting is not None else self._read(seq, decision)
        known = waiting.shown if waiting is not None else any(event.kind == "shown" for event in about)
        if known or ("shown", seq) in self._planned:
            return False
        self._settle(Event(self._next, "shown", self._now, (waiting or about[0]).arm, target=seq))
        return True

    def _reward(self, request: Reward) -> bool:
        """Plan a reward; False if it is known, an error if another one is."""
        decision, value = request.decision, request.value
        seq, waiting = self._look_up(decision)
        about = [] if waiting is not None else self._read(seq, decision)
        settled = self._planned.get(("rewarded", seq)) or next((each for each in about if each.value is not None), None)
        if settled is not None:
            if settled.value != value:
                how = "has the reward" if settled.kind == "rewarded" else "was overdue and got the default reward"
                raise RewardConflict(
                    f"decision {quoted(decision)} already {how} {settled.value!r}, so it cannot have {value!r}",
                    value=value,
                    hint="a reward is given once and not changed",
                )
            return False
        decided = waiting or about[0]
        self._state.settings.check_reward(value)
        self._settle(
            Event(self._next, "rewarded", self._now, decided.arm, target=seq, value=value, holdout=decided.holdout)
        )
        return True

    def _settle(self, event: Event) -> None:
        self._planned[event.kind, event.target] = event
        self.events.append(event)

    def _look_up(self, decision: object) -> tuple[int, Pending | None]:
        """Return the number of a decision's event and, if it waits, the decision; if not, only the log knows it."""
        seq = seq_of(decision)
        waiting = None if seq is None else self._state.pending.get(seq)
        if seq is None or (waiting is not None and waiting.decision != decision):
            raise self._unknown(decision)
        return seq, waiting

    def _read(self, seq: int, decision: object) -> list[Event]:
        """Return a decision, which must exist, and its outcomes from the log."""
        state, about = self._state, self._about.get(seq, [])
        if seq <= state.sealed and not about:
            raise CompactedDecision(
                f"decision {quoted(decision)} lies in the part of the log of bandit {quoted(state.bandit_name)} that "
                "was compacted: it had its reward, or was no longer waited for",
                value=decision,
            )
        for event in about:
            check_event(event, len(state.names))
        if not about or about[0].decision != decision:
            raise self._unknown(decision)
        return about

    def _unknown(self, decision: object) -> UnknownDecision:
        return UnknownDecision(
            f"bandit {quoted(self._state.bandit_name)} took no decision {quoted(decision)}",
            value=decision,
            expected="the id of a choice of this bandit",
        )
