"""The log comes from a database that anybody can change: events that are read from it are checked once, here."""

from __future__ import annotations

import json
from typing import Any

from rotting.bandit import schema
from rotting.bandit.checking import good_name
from rotting.bandit.errors import BadName, DamagedLog
from rotting.bandit.storage import Event
from rotting.policies._engine.agent import LARGEST_REWARD

LATEST = 9e9  # seconds since 1970: the year 2255
_ABOUT_DECISIONS = ("shown", "rewarded", "expired")


def check_event(event: Event, arms: int) -> None:
    """Refuse an event that cannot have been written by us, into the log of a bandit with so many arms."""
    seq, kind, at, arm, name, decision, target, value, probability, among = event
    if kind not in schema.KINDS:
        raise damaged(event, "kind", f"one of {', '.join(schema.KINDS)}")
    if type(at) is not float or not 0.0 <= at < LATEST:
        raise damaged(event, "at", "seconds since 1970")
    if type(arm) is not int or not 0 <= arm < arms:
        raise damaged(event, "arm", f"the number of an arm, 0 to {arms - 1}")
    if name is not None if kind != "added" else not _is_name(name):
        raise damaged(event, "name", "the name of an arm in events that add one, and only there")
    if (type(decision) is str) is not (kind == "decided"):
        raise damaged(event, "decision", "an identifier in decisions, and only there")
    if target is not None if kind not in _ABOUT_DECISIONS else type(target) is not int or not 0 < target < seq:
        raise damaged(event, "target", f"the number of an earlier decision in events {', '.join(_ABOUT_DECISIONS)}")
    if value is None:
        if kind == "rewarded":
            raise damaged(event, "value", "a reward")
    elif kind not in ("rewarded", "expired") or type(value) is not float or not abs(value) <= LARGEST_REWARD:
        raise damaged(event, "value", "a finite number in rewards, and only there")
    if probability is not None and (type(probability) is not float or not 0.0 <= probability <= 1.0):
        raise damaged(event, "probability", "a number from 0 to 1")
    if among is not None and not _are_arms(among, arms):
        raise damaged(event, "among", f"increasing numbers of arms, 0 to {arms - 1}, as JSON")


def damaged(event: Event, field: str, expected: str) -> DamagedLog:
    """Return the complaint about one field of an event."""
    value = repr(getattr(event, field))
    shown = value if len(value) <= 60 else value[:57] + "..."
    return DamagedLog(
        f"event {event.seq} of the log has {field}={shown}; expected {expected}: the table was changed or damaged; "
        "restore a backup of the database"
    )


def _is_name(name: Any) -> bool:
    try:
        return bool(good_name("arm", name))
    except BadName:
        return False


def _are_arms(text: Any, arms: int) -> bool:
    try:
        listed = json.loads(text)
        return bool(listed) and all(type(arm) is int and 0 <= arm < arms for arm in listed) and listed == sorted(listed)
    except (TypeError, ValueError, RecursionError):
        return False
