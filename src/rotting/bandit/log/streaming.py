"""Reading a log in portions, with names instead of numbers: as much of it as is asked for, and flat memory.

Every portion is read in a transaction of its own. That gives one log all the same: it is append-only, and where the
reading ends is decided at the beginning.
"""

from __future__ import annotations

import dataclasses
import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rotting._core.validation import whole_number
from rotting.bandit.core.changes import known_arm
from rotting.bandit.core.events import NO_ARM, Event, check_event, damaged
from rotting.bandit.core.experiments import Time, seconds_of
from rotting.bandit.core.pending import Pending
from rotting.bandit.errors import BadSettings
from rotting.bandit.log.filling import Filler
from rotting.bandit.log.stored import missing
from rotting.bandit.store.contract import NO_LIMIT
from rotting.errors import BadValue

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.log.event_log import EventLog

PORTION = 10_000  # events
Decisions = Mapping[int, Event | Pending]  # what tells the identifiers of decisions


class LogRow(NamedTuple):
    """One event for users; `at` and `happened` are seconds since 1970."""

    seq: int
    kind: str
    at: float
    arm: str | None
    decision: str | None
    reward: float | None
    probability: float | None
    among: list[str] | None
    holdout: bool | None
    happened: float | None
    details: str | None


@dataclasses.dataclass(frozen=True)
class Range:
    """Which events: from the time `since` on and before `until`, after the number `after` and up to `upto`.

    If `arm` is given, those of one arm; if `limit` is, at most so many. With `replays`, probabilities that were not
    known are filled in.
    """

    since: Time | None = None
    until: Time | None = None
    arm: str | None = None
    after: int | None = None
    limit: int | None = None
    upto: int | None = None
    size: int | None = None  # of the portions in which they are read
    replays: int | None = None

    def __post_init__(self) -> None:
        for name, minimum in (("after", 0), ("limit", 1), ("size", 1), ("replays", 1)):
            if (value := getattr(self, name)) is not None:
                try:
                    whole_number(name, value, minimum)
                except BadValue as error:
                    raise BadSettings.from_error(error) from None

    def seconds(self, name: str) -> float | None:
        """Return `since` or `until` as seconds since 1970."""
        given = getattr(self, name)
        try:
            return None if given is None else seconds_of(given)
        except (AttributeError, OverflowError, TypeError, ValueError):
            raise BadSettings(
                "is not a time", name=name, value=given, expected="a datetime, or a text such as '2026-01-31 12:00'"
            ) from None


def portions(log: EventLog, wanted: Range) -> Iterator[list[LogRow]]:
    """Yield the events that are wanted, in order."""
    with log.reading() as stored:
        names, seal = list(log.state.names), stored.newest_seal()
        early = {} if seal is None else seal.known
        arm = None if wanted.arm is None else known_arm(log.state, wanted.arm)
        after, upto = bounds(log, wanted)
        filler = None if wanted.replays is None else Filler(log, stored, wanted.replays)
    left = NO_LIMIT if wanted.limit is None else wanted.limit
    while after < upto and left > 0:
        number = min(wanted.size or PORTION, left)
        with log.reading():
            events = log.store.events(log.bandit_id, after, upto, number, arm)
            inside = {event.seq: event for event in events}
            targets = {event.target for event in events if event.target is not None}
            outside = log.store.numbered(log.bandit_id, sorted(targets - inside.keys()))
            if log.state.sealed > after:
                raise BadSettings("the log was compacted while it was read", hint="begin again")
            if filler is not None:
                events = filler.filled(events)
        if arm is None and (gone := set(range(after + 1, min(upto, after + number) + 1)) - inside.keys()):
            raise missing(log.name, min(gone))
        if not events:
            return
        decisions: Decisions = {**early, **outside, **inside}
        yield [_row(event, names, decisions) for event in events]
        after = events[-1].seq
        left -= len(events)


def bounds(log: EventLog, wanted: Range) -> tuple[int, int]:
    """Return between which events, the first excluded, what is wanted lies; call it within a block."""
    sealed = log.state.sealed
    since, until = wanted.seconds("since"), wanted.seconds("until")
    is_early = wanted.after is not None and wanted.after < sealed
    if sealed and (is_early or (since is not None and since < log.stored.sealed()[1])):
        raise BadSettings(
            f"the log was compacted up to event {sealed}",
            name="since" if since is not None else "after",
            value=wanted.since if since is not None else wanted.after,
            hint="ask for later events, or look into the file that the earlier ones were exported to",
        )
    after = max(sealed, wanted.after or 0, 0 if since is None else _last_before(log, since))
    ends = (log.state.seq, wanted.upto, None if until is None else _last_before(log, until))
    return after, min(end for end in ends if end is not None)


def _last_before(log: EventLog, time: float) -> int:
    """Return the last event before a time: by bisection, since time never runs backwards in a log."""

    def at(seq: int) -> float:
        found = log.stored.time_of(seq)
        if found is None:
            raise missing(log.name, seq)
        return found

    return log.state.sealed + bisect_left(range(log.state.sealed + 1, log.state.seq + 1), time, key=at)


def _row(event: Event, names: Sequence[str], decisions: Decisions) -> LogRow:
    check_event(event, len(names))
    about = decisions.get(event.target or event.seq)
    if about is None or (event.target is not None and about.decision is None):
        raise damaged(event, "target", "the number of a decision")
    return LogRow(
        seq=event.seq,
        kind=event.kind,
        at=event.at,
        arm=None if event.arm == NO_ARM else names[event.arm],
        decision=about.decision,
        reward=event.value,
        probability=event.probability,
        among=None if event.among is None else [names[arm] for arm in json.loads(event.among)],
        holdout=None if event.holdout is None else event.holdout == 1,
        happened=event.happened,
        details=event.details,
    )


def frame(rows: Sequence[LogRow]) -> pandas.DataFrame:
    """Return rows as a table."""
    import pandas

    columns = zip(*rows, strict=True) if rows else [()] * len(LogRow._fields)
    table = pandas.DataFrame(
        {
            name: pandas.Series(values, dtype=_KINDS.get(name, object))
            for name, values in zip(LogRow._fields, columns, strict=True)
        }
    )
    for name in TIMES:
        table[name] = pandas.to_datetime(table[name], unit="s", utc=True)
    return table


TIMES = ("at", "happened")
_KINDS: dict[str, Any] = {"seq": "int64", "kind": None, **dict.fromkeys((*TIMES, "reward", "probability"), "float64")}
