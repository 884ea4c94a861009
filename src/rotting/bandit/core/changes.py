"""The events of changes: what is overdue is settled, arms and settings become others.

These are functions of the newest state and the time. They append nothing themselves: whatever they refuse, nothing is
written.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from itertools import islice

from rotting.bandit.core.checking import listed
from rotting.bandit.core.events import NO_ARM, Event, Kind
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadName, UnknownArm
from rotting.errors import quoted

# So many overdue decisions are settled in one transaction; what is left comes with the next ones.
EXPIRY_PORTION = 500


def expiry(state: BanditState, now: float) -> list[Event]:
    """Return the events that settle what is overdue, or a portion of it."""
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
        for place, (seq, waiting) in enumerate(islice(state.overdue(now), EXPIRY_PORTION), start=1)
    ]


def setting_changes(state: BanditState, now: float, changes: Mapping[str, object]) -> list[Event]:
    """Return the event that changes settings; none if they are so already."""
    settings = state.settings.with_changes(changes)
    settings.check_arms(state.bandit_name, state.names)
    differences = state.settings.differences(settings)
    if not differences:
        return []
    return [Event(state.seq + 1, "changed", now, NO_ARM, details=json.dumps(differences))]


def arm_changes(
    state: BanditState,
    now: float,
    add: Iterable[str] = (),
    retire: Iterable[str] = (),
    restore: Iterable[str] = (),
    add_new: Iterable[str] = (),
) -> list[Event]:
    """Return the events that add, retire and restore arms, in this order; none for what is so already.

    Those that there are already are refused by `add`, and left as they are by `add_new`.
    """
    events: list[Event] = []
    index, live = dict(state.index), list(state.live)

    def change(kind: Kind, arm: int, name: str | None = None) -> None:
        events.append(Event(state.seq + 1 + len(events), kind, now, arm, name))

    for name in [*add, *(name for name in add_new if name not in index)]:
        if name in index:
            raise BadName(
                f"bandit {quoted(state.bandit_name)} already has an arm {quoted(name)}",
                value=name,
                hint="choose another name" if live[index[name]] else "it is retired: restore it instead",
            )
        index[name] = len(live)
        live.append(True)
        change("added", index[name], name)
    changes: list[tuple[Kind, Iterable[str]]] = [("retired", retire), ("restored", restore)]
    for kind, names in changes:
        for name in names:
            arm = index[name] if name in index else known_arm(state, name)
            if live[arm] is (kind == "retired"):
                live[arm] = not live[arm]
                change(kind, arm)
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
