"""Checks of what users pass: names, rewards, lists of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rotting.bandit.errors import BadName, BadReward, BadSettings
from rotting.errors import quoted
from rotting.policies._contract.agent import LARGEST_REWARD, checked_reward

LONGEST_NAME = 200


def good_name(what: str, name: object) -> str:
    """Return the name of a bandit or an arm; refuse what cannot be one."""
    if not isinstance(name, str):
        raise BadName(f"{what} {quoted(name)} is not a text", value=name, expected="a name such as 'red'")
    if not name or len(name) > LONGEST_NAME:
        raise BadName(f"{what} {quoted(name)} has {len(name)} characters", value=name, expected=f"1 to {LONGEST_NAME}")
    if not name.isprintable() or name != name.strip():
        raise BadName(
            f"{what} {quoted(name)} has characters that cannot be seen",
            value=name,
            expected="visible ones, no space at the ends",
        )
    return name


def good_reward(value: object, name: str = "reward") -> float:
    """Return a reward as a float; refuse what is not a finite number."""
    try:
        return checked_reward(value)
    except (TypeError, ValueError):
        raise BadReward(
            "is not a finite number",
            name=name,
            value=value,
            expected=f"one between {-LARGEST_REWARD:g} and {LARGEST_REWARD:g}",
        ) from None


def good_arms(name: str, arms: object) -> list[str]:
    """Return names of arms that differ from each other, given as an argument of this name."""
    names = [good_name("arm", each) for each in name_list(name, arms)]
    seen: set[str] = set()
    for each in names:
        if each in seen:
            raise BadName(f"arm {quoted(each)} is given twice", value=each, expected="names that differ")
        seen.add(each)
    return names


def name_list(name: str, given: object) -> list[str]:
    """Return a list of names; refuse a single text, which would be a list of its letters. Names are not checked."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadSettings("is not a list of names", name=name, value=given, expected="for example ['red', 'green']")
    return list(given)


def reward_pairs(rewards: object) -> list[tuple[object, object]]:
    """Return (decision, reward) pairs from a mapping or from pairs."""
    try:
        pairs = list(rewards.items() if isinstance(rewards, Mapping) else rewards)  # type: ignore[call-overload]
        return [(decision, value) for decision, value in pairs]
    except (TypeError, ValueError):
        raise BadSettings(
            "are neither a mapping nor pairs", name="rewards", expected="{id: reward} or [(id, reward), ...]"
        ) from None


def listed(names: Iterable[str]) -> str:
    """Return some names for a message."""
    every = list(names)
    return ", ".join(map(quoted, every[:10])) + (f" and {len(every) - 10} more" if len(every) > 10 else "") or "none"
