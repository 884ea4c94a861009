"""The events that decisions, rewards and changes of arms consist of.

These are functions of the newest state, the time and what the log holds. They append nothing themselves: whatever they
refuse, nothing is written.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol

from rotting.bandit.core.checking import listed
from rotting.bandit.core.choosing import Counts, counts_at, pick
from rotting.bandit.core.events import NO_ARM, Event, Kind, check_event
from rotting.bandit.core.identifiers import Identifiers, seq_of
from rotting.bandit.core.pending import Pending
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import (
    BadName,
    CompactedDecision,
    NoArms,
    RetiredArm,
    RewardConflict,
    UnknownArm,
    UnknownDecision,
)
from rotting.errors import quoted


class DecisionReader(Protocol):
    """Where decisions that no longer wait for a reward are looked up."""

    def about(self, decision: int) -> list[Event]:
        """Return the decision of that number, if there is one, and its outcomes."""
        ...


class Found:
    """Decisions that were looked up before, all at once."""

    def __init__(self, events: Mapping[int, list[Event]]):
        self._events = events

    def about(self, decision: int) -> list[Event]:
        """Return the decision of that number, if there is one, and its outcomes."""
        return self._events.get(decision, [])


# Decisions.


def arms_among(state: BanditState, among: list[str] | None) -> list[int]:
    """Return the numbers of the arms to choose from, increasing."""
    if among is None:
        arms = state.available()
        if not arms:
            raise NoArms(f"every arm of bandit {quoted(state.bandit_name)} is retired", hint="restore one, or add one")
        return arms
    if not among:
        raise NoArms(
            "leaves nothing to choose from",
            name="among",
            value=among,
            hint="name at least one arm, or leave {among} out for all",
        )
    for name in among:
        if not state.live[known_arm(state, name)]:
            raise RetiredArm(
                f"arm {quoted(name)} of bandit {quoted(state.bandit_name)} is retired",
                value=name,
                hint="restore it, or leave it out of {among}",
            )
    return sorted({state.index[name] for name in among})


def decisions(
    state: BanditState,
    now: float,
    identifiers: Identifiers,
    number: int,
    arms: Sequence[int],
    restricted: bool,
    first: int | None = None,
    counts: Counts | None = None,
) -> tuple[list[Event], list[str]]:
    """Return the events of the next decisions, and the reasons; `restricted` says that `arms` are not simply all.

    `first` is the number of the first event, and `counts` is what choices depend on by then, if others are planned
    before; it is brought up to date.
    """
    among = json.dumps(arms) if restricted else None
    first = state.seq + 1 if first is None else first
    counts = Counts(*map(list, counts_at(state, now))) if counts is None else counts
    working = Counts(*map(list, counts))  # so that nothing is counted for what is refused
    counted = state.settings.count == "decided"
    events, reasons = [], []
    for seq in range(first, first + number):
        arm, why, probability, holdout = pick(state, seq, arms, working)
        working.in_flight[arm] += counted
        working.limited[arm] += 1
        reasons.append(why)
        identifier = identifiers.make(seq, now)
        events.append(
            Event(seq, "decided", now, arm, None, identifier, None, None, probability, among, holdout=holdout)
        )
    for mine, theirs in zip(counts, working, strict=True):
        mine[:] = theirs
    return events, reasons


def expiry(state: BanditState, now: float, portion: int | None = None) -> list[Event]:
    """Return the events that settle what is overdue, or so many of them."""
    default = state.settings.default_reward
    return [
        Event(
            state.seq + place,
            "expired",
            now,
            waiting.arm,
            target=seq,
            value=default if state.counts(waiting) else None,
            holdout=waiting.holdout,
        )
        for place, (seq, waiting) in enumerate(islice(state.overdue(now), portion), start=1)
    ]


# Outcomes.

_NOTHING: Mapping[int, Event] = {}


def exposures(
    state: BanditState,
    now: float,
    log: DecisionReader,
    decisions: Iterable[object],
    first: int | None = None,
    planned: Mapping[int, Event] = _NOTHING,
) -> list[Event]:
    """Return the events that decisions were shown; none for those of which it is known.

    `planned` holds the exposures that come before the event number `first`, by the number of the decision.
    """
    first, new = state.seq + 1 if first is None else first, dict[int, Event]()
    for decision in decisions:
        seq, waiting = _look_up(state, decision)
        if waiting is None:
            about = _read(state, log, seq, decision)
            known, arm = any(event.kind == "shown" for event in about), about[0].arm
        else:
            known, arm = waiting.shown, waiting.arm
        if not known and seq not in new and seq not in planned:
            new[seq] = Event(first + len(new), "shown", now, arm, target=seq)
    return list(new.values())


def rewards(
    state: BanditState,
    now: float,
    log: DecisionReader,
    pairs: Iterable[tuple[object, float]],
    first: int | None = None,
    planned: Mapping[int, Event] = _NOTHING,
) -> list[Event]:
    """Return the events of rewards that are new; one that contradicts another is refused.

    `planned` holds the rewards that come before the event number `first`, by the number of the decision.
    """
    first, new = state.seq + 1 if first is None else first, dict[int, Event]()
    for decision, value in pairs:
        seq, waiting = _look_up(state, decision)
        waited = _to_reward(state, log, seq, decision, value) if waiting is None else waiting
        if settled := new.get(seq) or planned.get(seq):
            _check_reward(decision, value, settled)
        elif waited is not None:
            state.settings.check_reward(value)
            place = first + len(new)
            new[seq] = Event(place, "rewarded", now, waited.arm, target=seq, value=value, holdout=waited.holdout)
    return list(new.values())


def _to_reward(
    state: BanditState, log: DecisionReader, seq: int, decision: object, value: float
) -> Pending | Event | None:
    """Return a decision that does not wait for a reward, or None if this is the reward it has."""
    about = _read(state, log, seq, decision)
    settled = [event for event in about if event.value is not None]
    if not settled:
        return about[0]  # expired, but without a reward
    _check_reward(decision, value, settled[0])
    return None


def _check_reward(decision: object, value: float, settled: Event) -> None:
    if settled.value != value:
        how = "has the reward" if settled.kind == "rewarded" else "was overdue and got the default reward"
        raise RewardConflict(
            f"decision {quoted(decision)} already {how} {settled.value!r}, so it cannot have {value!r}",
            value=value,
            hint="a reward is given once and not changed",
        )


def _look_up(state: BanditState, decision: object) -> tuple[int, Pending | None]:
    """Return the number of a decision's event and, if it waits, the decision; if not, only the log knows it."""
    seq = seq_of(decision)
    waiting = None if seq is None else state.pending.get(seq)
    if seq is None or (waiting is not None and waiting.decision != decision):
        raise _unknown(state, decision)
    return seq, waiting


def _read(state: BanditState, log: DecisionReader, seq: int, decision: object) -> list[Event]:
    """Return a decision, which must exist, and its outcomes from the log."""
    about = log.about(seq)
    if seq <= state.sealed and not about:
        raise CompactedDecision(
            f"decision {quoted(decision)} lies in the part of the log of bandit {quoted(state.bandit_name)} that was "
            "compacted: it had its reward, or was no longer waited for",
            value=decision,
        )
    for event in about:
        check_event(event, len(state.names))
    if not about or about[0].decision != decision:
        raise _unknown(state, decision)
    return about


def _unknown(state: BanditState, decision: object) -> UnknownDecision:
    return UnknownDecision(
        f"bandit {quoted(state.bandit_name)} took no decision {quoted(decision)}",
        value=decision,
        expected="the id of a choice of this bandit",
    )


# Settings.


def setting_changes(state: BanditState, now: float, changes: Mapping[str, object]) -> list[Event]:
    """Return the event that changes settings; none if they are so already."""
    settings = state.settings.with_changes(changes)
    settings.check_arms(state.bandit_name, state.names)
    differences = state.settings.differences(settings)
    if not differences:
        return []
    return [Event(state.seq + 1, "changed", now, NO_ARM, details=json.dumps(differences))]


# Arms.


def arm_changes(state: BanditState, now: float, add: list[str], retire: list[str], restore: list[str]) -> list[Event]:
    """Return the events that add, retire and restore arms, in this order; none for what is so already."""
    events: list[Event] = []
    index, live = dict(state.index), list(state.live)
    for name in add:
        if name in index:
            raise BadName(
                f"bandit {quoted(state.bandit_name)} already has an arm {quoted(name)}",
                value=name,
                hint="choose another name" if live[index[name]] else "it is retired: restore it instead",
            )
        index[name] = len(live)
        live.append(True)
        events.append(Event(state.seq + 1 + len(events), "added", now, index[name], name))
    changes: list[tuple[Kind, list[str]]] = [("retired", retire), ("restored", restore)]
    for kind, names in changes:
        for name in names:
            arm = index[name] if name in add else known_arm(state, name)
            if live[arm] is (kind == "retired"):
                live[arm] = not live[arm]
                events.append(Event(state.seq + 1 + len(events), kind, now, arm))
    return events


def known_arm(state: BanditState, name: object) -> int:
    """Return the number of an arm."""
    known = state.index
    if not isinstance(name, str) or name not in known:
        close = difflib.get_close_matches(name, known, n=1) if isinstance(name, str) else []
        raise UnknownArm(
            f"bandit {quoted(state.bandit_name)} has no arm {quoted(name)}",
            value=name,
            hint=f"did you mean {quoted(close[0])}?" if close else f"it has {listed(known)}; add it first",
        )
    return known[name]
