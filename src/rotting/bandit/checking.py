"""What users hand in, checked once at the door."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from rotting.bandit.errors import BadName, BadReward, BadSettings
from rotting.policies._engine.agent import checked_reward

LONGEST_NAME = 200


def good_name(what: str, name: Any) -> str:
    """Return the name of a bandit or an arm, or say why it cannot be one."""
    if not isinstance(name, str):
        raise BadName(f"{what} {name!r} is not a text; expected a name such as 'red'")
    if not name or len(name) > LONGEST_NAME:
        raise BadName(f"{what} {name[:40]!r} has {len(name)} characters; expected 1 to {LONGEST_NAME}")
    if not name.isprintable() or name != name.strip():
        raise BadName(
            f"{what} {name!r} has characters that cannot be seen; expected visible ones, no space at the ends"
        )
    return name


def good_reward(value: Any, name: str = "reward") -> float:
    """Return a reward as a number, or say why it is none."""
    try:
        return checked_reward(value)
    except (TypeError, ValueError) as error:
        raise BadReward(str(error).replace("reward=", f"{name}=", 1)) from None


def good_arms(arms: Iterable[str]) -> list[str]:
    """Return names of arms that can be, and differ."""
    names = [good_name("arm", name) for name in name_list("arms", arms)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadName(f"arm {twice!r} is given twice; expected names that differ")
    return names


def name_list(what: str, given: Any) -> list[str]:
    """Return a list of names. One text is not a list of its letters."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadSettings(f"{what}={given!r} is not a list of names; expected for example ['red', 'green']")
    return list(given)


def reward_pairs(rewards: Any) -> list[tuple[Any, Any]]:
    """Return (decision, reward) pairs from a mapping or from pairs."""
    try:
        pairs = list(rewards.items() if isinstance(rewards, Mapping) else rewards)
        return [(decision, value) for decision, value in pairs]
    except (TypeError, ValueError):
        raise BadSettings("rewards must be a mapping or pairs: {id: reward} or [(id, reward), ...]") from None


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number within bounds, or say what was expected."""
    try:
        number = operator.index(value) if not isinstance(value, bool) else low - 1
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise BadSettings(f"{name}={value!r}: expected a whole number from {low} to {high}")
    return number


def listed(names: Iterable[str]) -> str:
    """Return some names, for a message."""
    every = list(names)
    return ", ".join(map(repr, every[:10])) + (f" and {len(every) - 10} more" if len(every) > 10 else "") or "none"


def number_between(name: str, value: Any, low: float, high: float) -> float:
    """Return a finite number within bounds, or say what was expected."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (low <= number <= high and math.isfinite(number)):
        upto = "" if math.isinf(high) else f" and <= {high:g}"
        raise BadSettings(f"{name}={value!r}: expected a finite number >= {low:g}{upto}")
    return number
