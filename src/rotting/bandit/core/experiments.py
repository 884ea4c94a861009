"""An experiment: for a time, a share of decisions is uniform among some arms, and some arms rest at first."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from rotting._core.validation import finite_number
from rotting.bandit.core.checking import name_list
from rotting.bandit.errors import BadSettings

# A time: with a zone, or in UTC; a text is one of ISO 8601.
Time = datetime.datetime | str


class Experiment(TypedDict, total=False):
    """What the setting `experiment` takes; times as in `Bandit.history`, or as seconds since 1970."""

    until: Time | float
    share: float
    arms: Sequence[str]
    rest: Sequence[str]
    rest_until: Time | float


_EXPECTED = "a mapping with until, and with share, arms, rest, rest_until as they are needed"


def good_experiment(name: str, given: object) -> dict[str, Any]:
    """Return an experiment as plain data: times as seconds since 1970, nothing left out."""
    if not isinstance(given, Mapping) or not set(given) <= set(Experiment.__annotations__) or "until" not in given:
        raise BadSettings("is not an experiment", name=name, value=given, expected=_EXPECTED)
    until, rest = _seconds(name, given["until"]), name_list("rest", given.get("rest") or [])
    rest_until = given.get("rest_until")
    if bool(rest) != (rest_until is not None):
        raise BadSettings("does not say both what rests and until when", name=name, value=given, expected=_EXPECTED)
    arms = given.get("arms")
    return {
        "until": until,
        "share": finite_number("share", given.get("share", 1.0), minimum=0.0, maximum=1.0),
        "arms": None if arms is None else name_list("arms", arms),
        "rest": rest,
        "rest_until": None if rest_until is None else min(_seconds(name, rest_until), until),
    }


def _seconds(name: str, given: Any) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return finite_number(name, given, minimum=0.0)
    try:
        return seconds_of(given)
    except (AttributeError, OverflowError, TypeError, ValueError):
        expected = "times: a datetime, a text such as '2026-01-31 12:00', or seconds since 1970"
        raise BadSettings("has a time that is none", name=name, value=given, expected=expected) from None


def seconds_of(time: Time) -> float:
    """Return a time as seconds since 1970."""
    moment = datetime.datetime.fromisoformat(time) if isinstance(time, str) else time
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def resting(experiment: Mapping[str, Any] | None, at: float) -> Sequence[str]:
    """Return the arms that an experiment does not show at a time."""
    if experiment is None or experiment["rest_until"] is None or at >= experiment["rest_until"]:
        return ()
    rest: Sequence[str] = experiment["rest"]
    return rest


def share_of(experiment: Mapping[str, Any] | None, at: float) -> float:
    """Return which share of decisions an experiment takes at a time."""
    return 0.0 if experiment is None or at >= experiment["until"] else float(experiment["share"])
