"""Reading a log in portions, with names instead of numbers: as much of it as is asked for, and flat memory.

Every portion is read in a transaction of its own. That gives one log all the same: it is append-only, and where the
reading ends is decided at the beginning.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rotting._core.validation import whole_number
from rotting.bandit.core.changes import known_arm
from rotting.bandit.core.events import NO_ARM, RESTORE, Event, check_event, damaged
from rotting.bandit.core.pending import Pending
from rotting.bandit.errors import BadSettings, DamagedLog
from rotting.bandit.store.contract import NO_LIMIT
from rotting.errors import BadValue, quoted

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.log.event_log import EventLog
    from rotting.bandit.log.stored import StoredLog

PORTION = 10_000  # events
# A time: with a zone, or in UTC; a text is one of ISO 8601.
Time = datetime.datetime | str


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

    If `arm` is given, those of one arm; if `limit` is, at most so many.
    """

    since: Time | None = None
    until: Time | None = None
    arm: str | None = None
    after: int | None = None
    limit: int | None = None
    upto: int | None = None
    size: int | None = None  # of the portions in which they are read

    def __post_init__(self) -> None:
        for name, minimum in (("after", 0), ("limit", 1), ("size", 1)):
            if (value := getattr(self, name)) is not None:
                try:
                    whole_number(name, value, minimum)
                except BadValue as error:
                    raise BadSettings.from_error(error) from None

    def seconds(self, name: str) -> float | None:
        """Return `since` or `until` as seconds since 1970."""
        given = getattr(self, name)
        if given is None:
            return None
        try:
            time = datetime.datetime.fromisoformat(given) if isinstance(given, str) else given
            return (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).timestamp()
        except (AttributeError, OverflowError, TypeError, ValueError):
            raise BadSettings(
                "is not a time", name=name, value=given, expected="a datetime, or a text such as '2026-01-31 12:00'"
            ) from None


def portions(log: EventLog, wanted: Range) -> Iterator[list[LogRow]]:
    """Yield the events that are wanted, in order."""
    with log.reading() as stored:
        state, seal = log.state, stored.newest_seal() if log.state.sealed else None
        names, known = list(state.names), {} if seal is None else seal.known
        arm = None if wanted.arm is None else known_arm(state, wanted.arm)
        after, upto = bounds(stored, wanted, state.sealed, state.seq)
    left = NO_LIMIT if wanted.limit is None else wanted.limit
    while after < upto and left > 0:
        with log.reading() as stored:
            page = stored.page(after, upto, arm, min(wanted.size or PORTION, left))
            if log.state.sealed > after:
                raise BadSettings("the log was compacted while it was read", hint="begin again")
        if arm is None:
            _check_whole(log.name, after, page)
        if not page:
            return
        yield [_row(event, decision, names, known) for event, decision in page]
        after = page[-1][0].seq
        left -= len(page)


def _check_whole(bandit: str, after: int, page: Sequence[tuple[Event, str | None]]) -> None:
    """Refuse a page in which an event is missing."""
    missing = next((seq for seq, (event, _) in enumerate(page, after + 1) if event.seq != seq), None)
    if missing or not page:
        raise DamagedLog(
            f"event {missing or after + 1} of bandit {quoted(bandit)} is missing",
            hint="restore a backup of the database",
        )


def bounds(stored: StoredLog, wanted: Range, sealed: int, last: int) -> tuple[int, int]:
    """Return between which events, the first excluded, what is wanted lies."""
    after = sealed if wanted.after is None else max(sealed, wanted.after)
    upto = last if wanted.upto is None else min(last, wanted.upto)
    since, until = wanted.seconds("since"), wanted.seconds("until")
    if sealed and ((wanted.after is not None and wanted.after < sealed) or _is_before_seal(stored, since)):
        raise BadSettings(
            f"the log was compacted up to event {sealed}",
            name="since" if since is not None else "after",
            value=wanted.since if since is not None else wanted.after,
            hint="ask for later events, or look into the file that the earlier ones were exported to",
        )
    if since is not None:
        after = max(after, _first_at(stored, since, sealed, last) - 1)
    if until is not None:
        upto = min(upto, _first_at(stored, until, sealed, last) - 1)
    return after, upto


def _is_before_seal(stored: StoredLog, since: float | None) -> bool:
    seal = stored.sealed()
    return since is not None and seal is not None and since < seal[1]


def _first_at(stored: StoredLog, time: float, sealed: int, last: int) -> int:
    """Return the first event that is not before a time: by bisection, since time never runs backwards in a log."""
    low, high = sealed + 1, last + 1
    while low < high:
        middle = (low + high) // 2
        at = stored.time_of(middle)
        if at is None:
            raise DamagedLog(f"event {middle} is missing", hint=RESTORE)
        low, high = (middle + 1, high) if at < time else (low, middle)
    return low


def _row(event: Event, decision: str | None, names: Sequence[str], known: Mapping[int, Pending]) -> LogRow:
    check_event(event, len(names))
    if event.target is not None:
        decision = decision or (known[event.target].decision if event.target in known else None)
        if decision is None:
            raise damaged(event, "target", "the number of a decision")
    return LogRow(
        seq=event.seq,
        kind=event.kind,
        at=event.at,
        arm=None if event.arm == NO_ARM else names[event.arm],
        decision=event.decision if event.target is None else decision,
        reward=event.value,
        probability=event.probability,
        among=None if event.among is None else [names[arm] for arm in json.loads(event.among)],
        holdout=None if event.holdout is None else event.holdout == 1,
        happened=event.happened,
        details=event.details,
    )


def frame(rows: Sequence[LogRow]) -> pandas.DataFrame:
    """Return rows as a table."""
    import numpy as np
    import pandas

    columns = dict(zip(LogRow._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    content: dict[str, object] = {name: list(columns.get(name, ())) for name in LogRow._fields}
    content["seq"] = np.array(content["seq"], np.int64)
    for name in ("at", "happened"):
        content[name] = pandas.to_datetime(np.array(content[name], np.float64), unit="s", utc=True)
    for name in ("reward", "probability"):
        content[name] = np.array(content[name], np.float64)
    for name in ("arm", "decision", "among", "holdout", "details"):
        content[name] = pandas.Series(content[name], dtype=object)
    return pandas.DataFrame(content)
