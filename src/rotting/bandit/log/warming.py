"""Warm starts: rewards that came elsewhere, before the bandit was made, learnt as if they were its own.

They are events of the log like any other, marked as imported: one event says where they come from and how many they
are, and one follows for each, with its own time and probability where they are known.
"""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rotting._core.frames import rows_of
from rotting.bandit.core.changes import known_arm
from rotting.bandit.core.checking import good_name, good_reward
from rotting.bandit.core.events import LATEST_TIME, NO_ARM, Event
from rotting.bandit.core.experiments import seconds_of
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadSettings, BanditError
from rotting.bandit.log.streaming import Range, portions
from rotting.errors import quoted

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.bandit import Bandit
    from rotting.bandit.log.event_log import EventLog

# Another bandit; or rows with an arm and a reward and, where they are known, a time and a probability: a list, or a
# table of pandas, Polars or Arrow; or the path of a log.
WarmSource: TypeAlias = "Bandit | pandas.DataFrame | Iterable[Mapping[str, object]] | str | os.PathLike[str]"
COLUMNS = ("arm", "reward", "time", "probability")
_TIME = attrgetter("time")


class Imported(NamedTuple):
    """A reward that came elsewhere."""

    arm: str
    reward: float
    time: float | None = None  # seconds since 1970
    probability: float | None = None  # of the arm when it was chosen


class WarmStart(NamedTuple):
    """Rewards to be learnt, in order, and where they come from."""

    source: str
    rewards: list[Imported]

    @property
    def arms(self) -> list[str]:
        """The arms that have rewards, in the order of their first ones."""
        return list(dict.fromkeys(each.arm for each in self.rewards))


def read_warm_start(source: object) -> WarmStart:
    """Return the rewards of a source (see `WarmSource`): those with times in their order, others as they are."""
    if (log := getattr(source, "_log", None)) is not None:
        return _from_bandit(log)
    if isinstance(source, str | os.PathLike):
        from rotting.logs.read.reading import read_rows

        return WarmStart(f"log {os.fspath(source)}", _checked(read_rows(source)))
    table = rows_of(source)
    rows = source if table is None else table
    if isinstance(rows, bytes | Mapping) or not isinstance(rows, Iterable):
        raise BadSettings(
            "is not a source of rewards",
            name="warm_start",
            value=source,
            expected=f"a Bandit, a table with the columns {', '.join(COLUMNS)}, a list of such rows, or a file",
        )
    return WarmStart("rows", _checked(rows))


def _checked(rows: Iterable[object]) -> list[Imported]:
    """Return the rewards of rows, in order of their times if they have any."""
    rewards = [_from_row(row, place) for place, row in enumerate(rows, start=1)]
    timed = [each for each in rewards if each.time is not None]
    if timed and len(timed) < len(rewards):
        first = next(place for place, each in enumerate(rewards, start=1) if each.time is None)
        raise BadSettings(
            f"has a time in some rows, but none in row {first}",
            name="warm_start",
            hint="give all rows a time, or none",
        )
    return sorted(timed, key=_TIME) if timed else rewards


def _from_row(row: object, place: int) -> Imported:
    if not isinstance(row, Mapping) or not {"arm", "reward"} <= set(row):
        raise BadSettings(
            f"row {place} lacks an arm or a reward",
            name="warm_start",
            value=row,
            expected="{'arm': ..., 'reward': ...}",
        )
    try:
        return Imported(
            good_name("arm", row["arm"]),
            good_reward(row["reward"]),
            _good_time(row.get("time")),
            _good_probability(row.get("probability")),
        )
    except BanditError as error:
        raise error.within(f"row {place} of warm_start") from None


def _good_time(value: object) -> float | None:
    if _is_missing(value):
        return None
    try:
        seconds = seconds_of(value) if isinstance(value, str | datetime.datetime) else float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        seconds = math.nan
    if not 0.0 <= seconds < LATEST_TIME:  # as in all events
        raise BadSettings(
            "is not a time",
            name="time",
            value=value,
            expected=f"a datetime, or seconds since 1970, 0 to {LATEST_TIME:.0f}",
            hint="it looks like milliseconds: divide by 1000" if LATEST_TIME <= seconds < 1000 * LATEST_TIME else None,
        )
    return seconds


def _good_probability(value: object) -> float | None:
    if _is_missing(value):
        return None
    try:
        probability = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        probability = math.nan
    if not 0.0 < probability <= 1.0:  # an arm that was chosen could be chosen
        raise BadSettings("is out of range", name="probability", value=value, expected="a number above 0, up to 1")
    return probability


def _is_missing(value: object) -> bool:
    return value is None or value != value  # NaN and NaT are no times and no probabilities


def _from_bandit(log: EventLog) -> WarmStart:
    """Return the rewards of another bandit. What was compacted there has no times and probabilities any more."""
    with log.reading() as stored:
        sealed, names = log.state.sealed, log.state.names
        earlier = zip(*stored.rewards_until(sealed), strict=True)
        rewards = [Imported(names[arm], float(value)) for arm, value in earlier]
    probabilities: dict[str | None, float | None] = {}  # of decisions without a reward so far
    for row in chain.from_iterable(portions(log, Range(after=sealed))):
        if row.kind == "decided":
            probabilities[row.decision] = row.probability
        elif row.reward is not None and row.arm is not None:
            imported = row.kind == "imported"
            known = row.probability if imported else probabilities.pop(row.decision, None)
            rewards.append(Imported(row.arm, row.reward, row.happened if imported else row.at, known))
    return WarmStart(f"bandit {log.name}", rewards)


def import_events(state: BanditState, now: float, warm: WarmStart) -> list[Event]:
    """Return the events of a warm start; none without rewards."""
    if not warm.rewards:
        return []
    seq = state.seq + 1
    details = json.dumps({"source": warm.source, "rewards": len(warm.rewards)})
    events = [Event(seq, "warmed", now, NO_ARM, details=details)]
    for place, (name, reward, time, probability) in enumerate(warm.rewards, start=1):
        arm = known_arm(state, name)
        try:
            state.settings.check_reward(reward)
        except BanditError as error:
            raise error.within(f"warm start, reward {place} of arm {quoted(name)}") from None
        events.append(Event(seq + place, "imported", now, arm, value=reward, probability=probability, happened=time))
    return events


def check_arms(warm: WarmStart, arms: Sequence[str]) -> None:
    """Refuse rewards of arms that the bandit will not have."""
    if unknown := [arm for arm in warm.arms if arm not in arms]:
        raise BadSettings(
            f"has rewards of arm {quoted(unknown[0])}, which is not among the arms",
            name="warm_start",
            hint="leave those rewards out, or add the arm (and retire it, if it is no longer shown)",
        )
