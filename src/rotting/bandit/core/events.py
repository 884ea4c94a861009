"""Events: the rows of a bandit's append-only log, from which its state is replayed; what is asked of a log.

Every event has its number `seq` (1, 2, 3, ... without gaps), its `kind`, its time `at` (never before that of the event
before) and the number of an `arm` (`NO_ARM` where none is meant). What else it has depends on its kind:

| kind     | what happened                         | further fields                                               |
|----------|---------------------------------------|--------------------------------------------------------------|
| changed  | settings were changed                 | no arm; `details`: the new values as JSON                    |
| added    | an arm was added                      | `name`                                                       |
| retired  | an arm is no longer chosen            |                                                              |
| restored | a retired arm is available again      |                                                              |
| decided  | a decision for the arm was taken      | `decision`: its identifier; `probability`: that of the arm   |
|          |                                       | (None: the policy has no closed form, or was of an older     |
|          |                                       | version); `among`: the arms to choose from as JSON           |
|          |                                       | (None: all that were available); `holdout`: 1 if the holdout |
|          |                                       | took it, 0 if the policy did and the holdout could have      |
|          |                                       | (None: there was none); `key`, `batch`: of a request that    |
|          |                                       | may be repeated, in the first of its decisions: the key, and |
|          |                                       | how many decisions there are                                 |
| shown    | a decision was shown                  | `target`: the `seq` of the decision                          |
| rewarded | the reward of a decision arrived      | `target`; `value`: the reward; `holdout`: as in the decision |
| expired  | the wait for a reward ended           | `target`; `value`: the default reward, if there is one;      |
|          |                                       | `holdout`                                                    |
| warmed   | a warm start begins                   | no arm; `details`: the source, and how many rewards follow   |
| imported | a reward of elsewhere was learnt      | `value`: the reward; `happened`: its time, `probability`:    |
|          |                                       | that of its arm, where they are known                        |
| sealed   | the log was compacted up to an event  | no arm; `details`: its number, the checksum of the seal, the |
|          |                                       | file that the events were exported to                        |
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from rotting.bandit.core.checking import good_name
from rotting.bandit.core.identifiers import is_identifier
from rotting.bandit.errors import BadName, DamagedLog
from rotting.policies._contract.agent import LARGEST_REWARD

Kind = Literal[
    "decided",
    "shown",
    "rewarded",
    "expired",
    "added",
    "retired",
    "restored",
    "changed",
    "warmed",
    "imported",
    "sealed",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
OUTCOMES: tuple[Kind, ...] = ("shown", "rewarded", "expired")  # these have a `target`
DETAILED: tuple[Kind, ...] = ("changed", "warmed", "sealed")  # these have `details` and no arm
REWARDS: tuple[Kind, ...] = ("rewarded", "expired", "imported")  # these may have a `value`
HELD_OUT: tuple[Kind, ...] = ("decided", "rewarded", "expired")  # these may belong to the holdout
NO_ARM = -1

LATEST_TIME = 9e9  # seconds since 1970: the year 2255


class Event(NamedTuple):
    """One row of the log."""

    seq: int
    kind: Kind
    at: float
    arm: int
    name: str | None = None
    decision: str | None = None
    target: int | None = None
    value: float | None = None
    probability: float | None = None
    among: str | None = None
    key: str | None = None
    batch: int | None = None
    holdout: int | None = None
    happened: float | None = None
    details: str | None = None


class Question(NamedTuple):
    """What is asked about one bandit."""

    after: int | None = None  # the events from this number on, the number itself included; None: none
    decisions: Sequence[int] = ()  # numbers of decisions that are asked about
    keys: Sequence[str] = ()  # of requests that may have been carried out before


class Facts(NamedTuple):
    """The answer to a question."""

    events: list[Event]  # in order
    about: dict[int, list[Event]]  # for each decision that the log has: itself, and what has it as target, in order
    keyed: dict[str, list[Event]]  # for each key that the log has: the decisions that were taken with it, in order


def check_event(event: Event, arms: int) -> None:
    """Refuse an event that this package cannot have written into the log of a bandit with so many arms.

    Anybody can change a database, so whatever is read from it is checked here before it is used.
    """
    seq, kind, at, arm, name, decision, target, value, probability, among, *_ = event
    if kind not in KINDS:
        raise damaged(event, "kind", f"one of {', '.join(KINDS)}")
    if type(at) is not float or not 0.0 <= at < LATEST_TIME:
        raise damaged(event, "at", "seconds since 1970")
    if type(arm) is not int or not (arm == NO_ARM if kind in DETAILED else 0 <= arm < arms):
        raise damaged(event, "arm", f"the number of an arm, 0 to {arms - 1}; {NO_ARM} in events {', '.join(DETAILED)}")
    if name is not None if kind != "added" else not _is_name(name):
        raise damaged(event, "name", "the name of an arm in events that add one, and only there")
    if decision is not None if kind != "decided" else not is_identifier(decision):
        raise damaged(event, "decision", "an identifier in decisions, and only there")
    if target is not None if kind not in OUTCOMES else type(target) is not int or not 0 < target < seq:
        raise damaged(event, "target", f"the number of an earlier decision in events {', '.join(OUTCOMES)}")
    if value is None:
        if kind in ("rewarded", "imported"):
            raise damaged(event, "value", "a reward")
    elif kind not in REWARDS or type(value) is not float or not abs(value) <= LARGEST_REWARD:
        raise damaged(event, "value", "a finite number in rewards, and only there")
    if probability is not None and (type(probability) is not float or not 0.0 <= probability <= 1.0):
        raise damaged(event, "probability", "a number from 0 to 1")
    if among is not None and not _are_arms(among, arms):
        raise damaged(event, "among", f"increasing numbers of arms, 0 to {arms - 1}, as JSON")
    _check_later_fields(event)


def _check_later_fields(event: Event) -> None:
    """Check the fields that were not there in the first version of the tables: they are empty in most events."""
    kind, holdout, happened, details = event.kind, event.holdout, event.happened, event.details
    if holdout is not None and (kind not in HELD_OUT or type(holdout) is not int or holdout not in (0, 1)):
        raise damaged(event, "holdout", "0, 1 or nothing in decisions and rewards")
    if happened is not None and (kind != "imported" or type(happened) is not float or not math.isfinite(happened)):
        raise damaged(event, "happened", "seconds since 1970 in imported rewards, and only there")
    if (event.key, event.batch) != (None, None):
        if kind != "decided" or type(event.key) is not str or not event.key:
            raise damaged(event, "key", "a text in decisions, and only there")
        if type(event.batch) is not int or event.batch < 1:
            raise damaged(event, "batch", "the number of decisions that belong to the key")
    if details is not None if kind not in DETAILED else not _is_object(details):
        raise damaged(event, "details", f"a JSON object in events {', '.join(DETAILED)}")


def damaged(event: Event, field: str, expected: str) -> DamagedLog:
    """Return the error about one field of an event."""
    return DamagedLog(
        "cannot be right",
        owner=f"event {event.seq} of the log",
        name=field,
        value=getattr(event, field),
        expected=expected,
        hint=RESTORE,
    )


RESTORE = "the table was changed or damaged: restore a backup of the database"


def _is_name(name: object) -> bool:
    try:
        return bool(good_name("arm", name))
    except BadName:
        return False


def _are_arms(text: str, arms: int) -> bool:
    try:
        numbers = json.loads(text)
        return (
            bool(numbers)
            and all(type(arm) is int and 0 <= arm < arms for arm in numbers)
            and list(numbers) == sorted(numbers)
        )
    except (TypeError, ValueError, RecursionError):
        return False


def _is_object(text: str | None) -> bool:
    try:
        return isinstance(json.loads(text or ""), dict)
    except (TypeError, ValueError, RecursionError):
        return False
