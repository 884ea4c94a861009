"""What happens next in a bandit's log: the events that decisions, rewards and changes of arms consist of.

These functions look at the newest state and append nothing themselves; whatever they object to, nothing is written.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from rotting.bandit.checking import listed
from rotting.bandit.errors import BadName, NoArms, RetiredArm, RewardConflict, UnknownArm, UnknownDecision
from rotting.bandit.fold import Pending
from rotting.bandit.identifiers import seq_of
from rotting.bandit.journal import Journal
from rotting.bandit.storage import Event


def decisions(journal: Journal, number: int, among: list[str] | None) -> tuple[list[str], list[Event]]:
    """Return the reasons and the events of the next decisions."""
    fold, now = journal.fold, journal.now()
    arms = arms_among(journal, among)
    in_flight = list(fold.in_flight)
    text = None if among is None else json.dumps(arms)
    reasons, events = [], []
    for seq in range(fold.seq + 1, fold.seq + 1 + number):
        arm, why, probability = fold.pick(seq, arms, in_flight)
        in_flight[arm] += fold.settings.count == "decided"
        reasons.append(why)
        identifier = journal.identifiers.make(seq, now)
        events.append(Event(seq, "decided", now, arm, None, identifier, None, None, probability, text))
    return reasons, events


def arms_among(journal: Journal, among: list[str] | None) -> list[int]:
    """Return the numbers of the arms to choose from, increasing."""
    fold = journal.fold
    if among is None:
        arms = fold.available()
        if not arms:
            raise NoArms(f"every arm of bandit {journal.name!r} is retired; restore one, or add one")
        return arms
    if not among:
        raise NoArms("among=[] leaves nothing to choose from; name at least one arm, or leave it out for all")
    for name in among:
        if not fold.live[known_arm(journal, name)]:
            raise RetiredArm(
                f"arm {name!r} of bandit {journal.name!r} is retired; restore it, or leave it out of among"
            )
    return sorted({fold.index[name] for name in among})


def expiry(journal: Journal) -> list[Event]:
    """Return the events that settle what is overdue."""
    fold, now = journal.fold, journal.now()
    default = fold.settings.default_reward
    return [
        Event(
            fold.seq + place,
            "expired",
            now,
            waiting.arm,
            target=seq,
            value=default if fold.counts(waiting) else None,
        )
        for place, (seq, waiting) in enumerate(fold.overdue(now), start=1)
    ]


def exposure(journal: Journal, connection: Connection, decision: Any) -> list[Event]:
    """Return the event of a decision's being shown; none if that is known."""
    seq, waiting = _looked_up(journal, decision)
    if waiting is None:
        about = _about(journal, connection, seq, decision)
        known, arm = any(event.kind == "shown" for event in about), about[0].arm
    else:
        known, arm = waiting.shown, waiting.arm
    return [] if known else [Event(journal.fold.seq + 1, "shown", journal.now(), arm, target=seq)]


def rewards(journal: Journal, connection: Connection, pairs: Iterable[tuple[Any, float]]) -> list[Event]:
    """Return the events of rewards that are new; one that contradicts another is refused."""
    fold, now = journal.fold, journal.now()
    new: dict[int, Event] = {}
    for decision, value in pairs:
        seq, waiting = _looked_up(journal, decision)
        if seq in new:
            _check_reward(decision, value, new[seq])
            continue
        arm = waiting.arm if waiting is not None else _arm_to_reward(journal, connection, seq, decision, value)
        if arm is not None:
            new[seq] = Event(fold.seq + len(new) + 1, "rewarded", now, arm, None, None, seq, value)
    return list(new.values())


def _arm_to_reward(journal: Journal, connection: Connection, seq: int, decision: str, value: float) -> int | None:
    """Return the arm of a decision that does not wait for a reward, or None if this is the reward it has."""
    about = _about(journal, connection, seq, decision)
    settled = [event for event in about if event.value is not None]
    if not settled:
        return about[0].arm  # expired, but without a reward
    _check_reward(decision, value, settled[0])
    return None


def _check_reward(decision: str, value: float, settled: Event) -> None:
    if settled.value != value:
        how = "has the reward" if settled.kind == "rewarded" else "was overdue and got the default reward"
        raise RewardConflict(
            f"decision {decision!r} already {how} {settled.value!r}, so it cannot have {value!r}; "
            "a reward is given once and not changed"
        )


def _about(journal: Journal, connection: Connection, seq: int, decision: str) -> list[Event]:
    """Return a decision, which must exist, and what became of it."""
    about = journal.about(connection, seq)
    if not about or about[0].decision != decision:
        raise _unknown(journal, decision)
    return about


def _looked_up(journal: Journal, decision: Any) -> tuple[int, Pending | None]:
    """Return the number of a decision's event and, if it waits, the decision; if not, only the log knows it."""
    seq = seq_of(decision)
    waiting = None if seq is None else journal.fold.pending.get(seq)
    if seq is None or (waiting is not None and waiting.decision != decision):
        raise _unknown(journal, decision)
    return seq, waiting


def _unknown(journal: Journal, decision: Any) -> UnknownDecision:
    return UnknownDecision(
        f"bandit {journal.name!r} took no decision {str(decision)[:80]!r}; expected the id of a choice of this bandit"
    )


def arm_changes(journal: Journal, add: list[str], retire: list[str], restore: list[str]) -> list[Event]:
    """Return the events of arms' being added, retired and restored, in this order; none for what is so already."""
    fold, now = journal.fold, journal.now()
    events: list[Event] = []
    index, live = dict(fold.index), list(fold.live)
    for name in add:
        if name in index:
            hint = "choose another name" if live[index[name]] else "it is retired: use restore_arm"
            raise BadName(f"bandit {journal.name!r} already has an arm {name!r}; {hint}")
        index[name] = len(live)
        live.append(True)
        events.append(Event(fold.seq + 1 + len(events), "added", now, index[name], name))
    for names, kind in ((retire, "retired"), (restore, "restored")):
        for name in names:
            arm = index[name] if name in add else known_arm(journal, name)
            if live[arm] is (kind == "retired"):
                live[arm] = not live[arm]
                events.append(Event(fold.seq + 1 + len(events), kind, now, arm))
    return events


def known_arm(journal: Journal, name: Any) -> int:
    """Return the number of an arm."""
    known = journal.fold.index
    if not isinstance(name, str) or name not in known:
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {listed(known)}; add_arm adds one"
        raise UnknownArm(f"bandit {journal.name!r} has no arm {str(name)[:80]!r}; {hint}")
    return known[name]
