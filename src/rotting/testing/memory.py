"""Logs in memory: for tests, and the model of what every store does. It fails when it is told to.

Nothing survives the process. A `Place` is what several stores share, as processes share a database.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self

from rotting.bandit import ClosedBandit, StorageError
from rotting.bandit.store import (
    NO_LIMIT,
    BanditRow,
    Batch,
    Condition,
    Contention,
    Deadline,
    Event,
    Facts,
    Key,
    Question,
    Seal,
    Snapshot,
)

LOOK_AGAIN = 0.01  # seconds after which a store that waits for others looks at the clock


@dataclasses.dataclass
class Content:
    """All that a place holds. Logs only grow; what deletes from one puts another list in its place."""

    bandits: dict[int, BanditRow] = dataclasses.field(default_factory=dict)
    logs: dict[int, list[Event]] = dataclasses.field(default_factory=dict)
    snapshots: dict[int, Snapshot] = dataclasses.field(default_factory=dict)
    seals: dict[int, list[Seal]] = dataclasses.field(default_factory=dict)
    keys: dict[str, Key] = dataclasses.field(default_factory=dict)

    def now(self) -> Content:
        """Return what is here now, whatever is appended or replaced later."""
        logs = {bandit: log[:] for bandit, log in self.logs.items()}
        seals = {bandit: some[:] for bandit, some in self.seals.items()}
        return Content(dict(self.bandits), logs, dict(self.snapshots), seals, dict(self.keys))


class Place:
    """What stores in memory share.

    `fault` is called with the name of what is about to happen: "connect", "read", "lock", "append" (nothing is written
    yet), "sent" (nothing is written, which the caller cannot know), "written" (it is written, which the caller cannot
    know). Whatever it raises ends the block. `clock` says the time in seconds since 1970; `wait` lets others go on, and
    says how long that took. While `hangs` says so, nobody gets an answer.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        fault: Callable[[str], None] = lambda point: None,
        wait: Callable[[threading.Condition], float] | None = None,
        hangs: Callable[[], bool] = lambda: False,
    ):
        self.content = Content()
        self.locked: dict[int, MemoryStore] = {}  # which store has locked a log
        self.lock = threading.Condition(threading.RLock())  # of all of this
        self.numbers = itertools.count(1)
        self.clock, self.fault, self.hangs = clock, fault, hangs
        self.starts = 0  # how often it was restarted
        self.lost = 0  # answers to appends
        self._wait = wait

    def restart(self) -> None:
        """End all blocks in progress, as a server does that is restarted."""
        with self.lock:
            self.starts += 1
            self.locked.clear()

    def broken(self, point: str) -> StorageError:
        """Return the error that a connection broke at some point."""
        error = StorageError("the connection broke")
        error.may_be_written = point in ("sent", "written")
        self.lost += error.may_be_written
        return error

    def wait(self) -> float:
        """Let others go on, with the lock released; returns how many seconds that took."""
        if self._wait is not None:
            return self._wait(self.lock)
        start = time.monotonic()
        self.lock.wait(LOOK_AGAIN)
        return time.monotonic() - start


class MemoryStore:
    """A store in memory; see `rotting.bandit.Store`."""

    def __init__(self, place: Place):
        self.place = place
        self.lock = threading.RLock()
        self.address = "'memory'"
        self._deadline = Deadline()
        self._seen: Content | None = None  # by the block in progress
        self._start = place.starts  # of the place, when that block began
        self._closed = False

    def prepare(self) -> None:
        """Do nothing."""

    def condition(self) -> Condition:
        """Say that bandits can be held."""
        return "ready"

    def is_missing(self) -> bool:
        """Say that it is there."""
        return False

    def owns_file(self, path: str | os.PathLike[str]) -> bool:
        """Say that there is no file."""
        return False

    def another(self) -> Self:
        """Return another store for the same place."""
        return type(self)(self.place)

    def disconnect(self) -> None:
        """Forget the block in progress."""
        self._leave()

    def close(self) -> None:
        """Refuse all later blocks."""
        self._leave()
        self._closed = True

    def clock(self) -> float:
        """Return the time that all stores of the place share."""
        return self.place.clock()

    def check_writable(self) -> None:
        """Raise what an append would."""
        with self.writing():
            self._pass("append")

    # Blocks.

    @contextlib.contextmanager
    def reading(self, deadline: Deadline | None = None) -> Iterator[None]:
        """Begin a block in which all that is read is of one moment."""
        with self._block(deadline):
            self._pass("read")
            with self.place.lock:
                self._seen = self.place.content.now()
            yield

    @contextlib.contextmanager
    def reading_now(self) -> Iterator[None]:
        """Go on with the block in progress, or begin one."""
        if self._seen is not None:
            yield
        else:
            with self.reading():
                yield

    @contextlib.contextmanager
    def writing(self, deadline: Deadline | None = None) -> Iterator[None]:
        """Begin a block of one turn to write."""
        with self._block(deadline):
            self._seen = self.place.content
            yield

    @contextlib.contextmanager
    def _block(self, deadline: Deadline | None) -> Iterator[None]:
        if self._closed:
            raise ClosedBandit("this bandit is closed", hint="open it again")
        self._leave()
        self._deadline = deadline or Deadline()
        self._start = self.place.starts
        self._pass("connect")
        try:
            yield
        finally:
            self._leave()

    def _pass(self, point: str) -> None:
        """Let happen what may happen here; it may take longer than there is time."""
        self.place.fault(point)
        while (hangs := self.place.hangs()) and not self._deadline.is_over():
            self.place.wait()
        may_be_written = point in ("sent", "written")
        has_waited = hangs or (point != "connect" and self._deadline.timeout > 0.0)
        if has_waited and self._deadline.is_over():
            self.place.lost += may_be_written
            raise self._deadline.error("the database", may_be_written)
        if self._start != self.place.starts:
            raise self.place.broken(point)

    def _leave(self) -> None:
        self._seen = None
        with self.place.lock:
            for bandit in [each for each, owner in self.place.locked.items() if owner is self]:
                del self.place.locked[bandit]

    @property
    def _content(self) -> Content:
        assert self._seen is not None, "outside of a block"
        return self._seen

    # Bandits.

    def bandits(self, prefix: str = "") -> list[BanditRow]:
        """Return the bandits whose names begin with a prefix."""
        return [row for row in self._content.bandits.values() if row.name.startswith(prefix) and row.name]

    def find(self, **by: str | int) -> BanditRow | None:
        """Return the bandit of that name, token or id."""
        return next((row for row in self.bandits() if by.items() <= row._asdict().items()), None)

    def add(self, row: BanditRow, events: Sequence[Event], *, deadline: Deadline | None = None) -> BanditRow:
        """Add a bandit with the first events of its log."""
        with self._changing(deadline) as content:
            if (found := self.find(name=row.name)) is not None:
                return found
            row = row._replace(id=next(self.place.numbers))
            content.bandits[row.id], content.logs[row.id] = row, list(events)
            return row

    def take_name(self, bandit: int) -> None:
        """Begin to delete a bandit."""
        with self._changing() as content:
            content.bandits[bandit] = content.bandits[bandit]._replace(name="")

    def delete_events(self, bandit: int, upto: int, number: int, *, deadline: Deadline | None = None) -> int:
        """Delete the oldest events of a log."""
        with self._changing(deadline) as content:
            log = content.logs[bandit]
            gone = [event for event in log if event.seq <= upto][:number]
            content.logs[bandit] = log[len(gone) :]
            return len(gone)

    def delete_rest(self, bandit: int, *, deadline: Deadline | None = None) -> None:
        """Delete all else that there is of a bandit."""
        with self._changing(deadline) as content:
            for each in (content.bandits, content.logs, content.snapshots, content.seals):
                each.pop(bandit, None)

    @contextlib.contextmanager
    def _changing(self, deadline: Deadline | None = None) -> Iterator[Content]:
        """Change something in one durable transaction."""
        with self.writing(deadline):
            self._pass("append")
            with self.place.lock:
                yield self.place.content

    # Logs.

    def look_up(
        self, questions: Mapping[int, Question], lock: bool = False, patience: float = math.inf
    ) -> dict[int, Facts]:
        """Answer questions about any number of bandits."""
        self._pass("lock" if lock else "read")
        with self.place.lock:
            if lock:
                locked = self._lock(list(questions), patience)
                questions = {bandit: questions[bandit] for bandit in locked}
            return {bandit: self._facts(self._log(bandit), asked) for bandit, asked in questions.items()}

    def _lock(self, bandits: list[int], patience: float) -> list[int]:
        """Wait for the first, take of the others what is free."""
        left = patience
        while not self._is_free(bandits[0]):
            if self._deadline.is_over():
                raise self._deadline.error("other writers")
            if left <= 0.0:
                raise Contention("another writer is at work")
            left -= self.place.wait()
        taken = [bandit for bandit in bandits if self._is_free(bandit)]
        self.place.locked.update(dict.fromkeys(taken, self))
        return taken

    def _is_free(self, bandit: int) -> bool:
        return self.place.locked.get(bandit, self) is self

    def _log(self, bandit: int) -> list[Event]:
        return self._content.logs.get(bandit, [])

    @staticmethod
    def _facts(log: list[Event], asked: Question) -> Facts:
        about: dict[int, list[Event]] = {}
        for event in log if asked.decisions else ():
            number = event.seq if event.target is None else event.target
            if number in asked.decisions and (event.target is not None or event.kind == "decided"):
                about.setdefault(number, []).append(event)
        keyed: dict[str, list[Event]] = {}
        for first in log if asked.keys else ():
            if first.key is not None and first.key in asked.keys:
                last = first.seq + (first.batch or 1)
                keyed[first.key] = [event for event in log if first.seq <= event.seq < last]
        return Facts([event for event in log if asked.after is not None and event.seq >= asked.after], about, keyed)

    def append(self, batches: Mapping[int, Batch]) -> set[int]:
        """Append to logs; returns the bandits for which that was accepted."""
        self._pass("append")
        self._pass("sent")
        with self.place.lock:
            accepted = {bandit for bandit, batch in batches.items() if self._is_next(bandit, batch)}
            content = self.place.content
            for bandit in accepted:
                batch = batches[bandit]
                _refuse_doubles([*content.logs[bandit], *batch.events])
                content.logs[bandit] += batch.events
                if batch.snapshot is not None:
                    content.snapshots[bandit] = batch.snapshot
                if batch.seal is not None:
                    content.seals.setdefault(bandit, []).append(batch.seal)
        if accepted:
            self._pass("written")
        return accepted

    def _is_next(self, bandit: int, batch: Batch) -> bool:
        log = self.place.content.logs.get(bandit)
        return self._is_free(bandit) and bool(log) and (log[-1].seq, log[-1].at) == (batch.seq, batch.at)  # type: ignore[index]

    def events(
        self, bandit: int, after: int = 0, upto: int = NO_LIMIT, limit: int = NO_LIMIT, arm: int | None = None
    ) -> list[Event]:
        """Return events in order."""
        found = (event for event in self._log(bandit) if after < event.seq <= upto and arm in (None, event.arm))
        return list(itertools.islice(found, min(limit, 2**31)))

    def numbered(self, bandit: int, numbers: Sequence[int]) -> dict[int, Event]:
        """Return the events of these numbers."""
        return {event.seq: event for event in self._log(bandit) if event.seq in set(numbers)}

    def last_seq(self, bandit: int) -> int:
        """Return the number of the last event."""
        log = self._log(bandit)
        return log[-1].seq if log else 0

    def rewards(self, bandit: int, after: int, upto: int) -> list[tuple[int, int, float]]:
        """Return number, arm and value of the events that have a value."""
        found = self.events(bandit, after, upto)
        return [(event.seq, event.arm, event.value) for event in found if event.value is not None]

    def latest_rewards(self, bandit: int, number: int) -> list[tuple[float, int, float]]:
        """Return time, arm and value of the latest rewards that were not imported."""
        own = [event for event in self._log(bandit) if event.kind != "imported"]
        return [(event.at, event.arm, event.value) for event in own[::-1] if event.value is not None][:number]

    def exposures(self, bandit: int, after: int, upto: int) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """Return how many decisions were shown, and those of them that are not after `after`."""
        events = self.events(bandit, after, upto)
        shown = {
            (event.arm, event.target)
            for event in events
            if event.target is not None and (event.kind == "shown" or event.value is not None)
        }
        return dict(Counter(arm for arm, _ in shown)), [each for each in shown if each[1] <= after]

    # Snapshots, seals, keys.

    def snapshot(self, bandit: int, content: bool = True) -> Snapshot | None:
        """Return the snapshot of a bandit."""
        found = self._content.snapshots.get(bandit)
        return found if found is None or content else found._replace(content=b"")

    def put_snapshot(
        self, bandit: int, snapshot: Snapshot, interval: int = 0, *, deadline: Deadline | None = None
    ) -> None:
        """Replace the snapshot, unless there is a newer one."""
        with self._changing(deadline) as content:
            known = self.snapshot(bandit)
            if known is None or known.seq <= snapshot.seq - interval:
                content.snapshots[bandit] = snapshot

    def seals(self, bandit: int, newest: bool = False, content: bool = True) -> list[Seal]:
        """Return the seals of a bandit."""
        found = self._content.seals.get(bandit, [])
        found = found[-1:] if newest else found
        return [seal if content else seal._replace(content=b"") for seal in found]

    def access_keys(self) -> list[Key]:
        """Return all keys."""
        return sorted(self._content.keys.values(), key=lambda row: row.created)

    def put_access_key(self, row: Key) -> None:
        """Add a key, or replace one."""
        with self._changing() as content:
            content.keys[row.id] = row


def _refuse_doubles(log: Sequence[Event]) -> None:
    """Refuse, as an index does, two outcomes of one kind for one decision, or one key twice."""
    outcomes = [(event.target, event.kind) for event in log if event.target is not None]
    keys = [event.key for event in log if event.key is not None]
    if len(set(outcomes)) < len(outcomes) or len(set(keys)) < len(keys):
        raise StorageError("an outcome, or a key, is there already")
