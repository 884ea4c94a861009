"""How a log is to be read: one value for Python, the command and bandits."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TypeVar

from rotting.errors import BadValue

Function = TypeVar("Function", bound=Callable[..., object])


class LogError(BadValue):
    """A log cannot be diagnosed: what is wrong with it, in one sentence that says what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a log is to be read. What is not given is found out, and asked for where it could be two things.

    Parameters
    ----------
    arm, reward, time
        Columns; guessed from their names and values where they are not given.
    unit
        A column such as a user: exposures are counted for each. Never guessed.
    impressions
        The column of how many exposures a row stands for, in exports with one row per arm and day or hour; rewards
        are sums then. Guessed where it is called so. "none" if every row is one exposure.
    probability
        The column of the probability with which an arm was chosen.
    drop_duplicates
        Whether rows that repeat another in every column are dropped (they are counted in any case).
    missing_reward
        What a row without a reward means: "0", nothing earned, or "drop", not known. By default 0 where all other
        rewards are one number (as after a left join) or sums without any 0, and asked for where it is unclear.
    decimal, date_format, encoding, null
        The decimal mark ("." or ","), how dates are written ("%d/%m/%Y %H:%M"), the encoding of a text file, and a
        text that stands for no value.
    reward_time
        The column of when rewards arrived: the end of the log, where not all have, is left out.
    before, after
        Times such as "2024-01-31": what arms earned before the one is compared with what they earned from the other on
        (by default the same).

    Examples
    --------
    >>> ReadOptions(unit="user_id").unit
    'user_id'
    """

    arm: str | None = None
    reward: str | None = None
    time: str | None = None
    unit: str | None = None
    impressions: str | None = None
    probability: str | None = None
    drop_duplicates: bool = False
    missing_reward: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    null: str | None = None
    reward_time: str | None = None
    before: str | None = None
    after: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("decimal", (".", ",")), ("missing_reward", ("0", "drop"))):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise LogError("is not known", name=name, value=value, expected=" or ".join(map(repr, allowed)))


AS_FOUND = ReadOptions()


def takes_options(function: Function) -> Function:
    """Show the fields of `ReadOptions` in the signature of a function that takes them as `**reading`."""
    own = inspect.signature(function)
    kept = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    fields = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(ReadOptions).parameters.values()
        if each.name not in own.parameters
    ]
    function.__signature__ = own.replace(parameters=[*kept, *fields])  # type: ignore[attr-defined]
    return function
