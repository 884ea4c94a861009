"""Following logs: what the page and the metrics show, kept up to date by reading each event once.

A `Tally` has a fixed size, however long the log is: a curve has at most 200 points, shares at most 120 periods.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rotting.bandit import BanditError, Event, Store, open_store
from rotting.serve.bandits import Directory, Entry
from rotting.serve.problems import note

MOST_POINTS = 200
MOST_PERIODS = 120
DELAYS = 1000  # the last so many rewards
LAST_DECISIONS = 20
RECENT = 500  # decisions, for the shares of late
PORTION = 20_000  # events read at once
BREATH = 0.02  # seconds between portions: those who decide come first
PAUSE = 1.0  # seconds between looks at a log


class Curve:
    """Means of rewards in a row, at most 200 of them: when there are more, neighbours become one."""

    def __init__(self) -> None:
        self.size = 1  # rewards per mean
        self.sums = np.zeros(0)
        self.squares = np.zeros(0)
        self.rest = np.zeros(0)  # rewards that do not fill another mean

    def add(self, values: np.ndarray) -> None:
        """Add rewards, in the order they came."""
        rest = np.concatenate([self.rest, values])
        while len(rest) >= self.size:
            number = min(MOST_POINTS - len(self.sums), len(rest) // self.size)
            rows = rest[: number * self.size].reshape(number, self.size)
            rest = rest[number * self.size :]
            self.sums = np.concatenate([self.sums, rows.sum(axis=1)])
            self.squares = np.concatenate([self.squares, (rows**2).sum(axis=1)])
            if len(self.sums) == MOST_POINTS:
                self.sums = self.sums.reshape(-1, 2).sum(axis=1)
                self.squares = self.squares.reshape(-1, 2).sum(axis=1)
                self.size *= 2
        self.rest = rest


class Shares:
    """Decisions per arm in periods of equal length, at most 120 of them: when there are more, neighbours become one."""

    def __init__(self) -> None:
        self.start: float | None = None
        self.seconds = 1.0  # of a period
        self.counts = np.zeros((0, 0), np.int64)  # periods x arms

    def add(self, times: np.ndarray, arms: np.ndarray, number: int) -> None:
        """Add decisions of a bandit with so many arms."""
        if len(times) == 0:
            return
        if self.start is None:
            self.start = float(times[0])
        last = max(float(times[-1]), self.start)
        while (last - self.start) / self.seconds >= MOST_PERIODS:
            padded = np.pad(self.counts, ((0, len(self.counts) % 2), (0, 0)))
            self.counts = padded[0::2] + padded[1::2]
            self.seconds *= 2
        places = np.maximum(((times - self.start) / self.seconds).astype(np.int64), 0)
        rows = max(len(self.counts), int(places.max()) + 1)
        self.counts = np.pad(self.counts, ((0, rows - len(self.counts)), (0, number - self.counts.shape[1])))
        np.add.at(self.counts, (places, arms), 1)


class Logged(NamedTuple):
    """A decision in the log."""

    seq: int
    at: float
    arm: int
    decision: str
    probability: float | None


class Tally:
    """What the page and the metrics show of one bandit, after `seq` events. Hold `lock` while you use it."""

    def __init__(self, bandit: str, bandit_id: int):
        self.bandit = bandit
        self.lock = threading.Lock()
        self.seq = 0
        self.log_seq = 0  # of the last event in the log, when it was last looked at
        self.at = 0.0
        self.names: list[str] = []
        self.decided: list[int] = []
        self.rewarded: list[int] = []  # default rewards among them
        self.expired: list[int] = []
        self.sums: list[float] = []
        self.settled = 0  # decisions that no longer wait
        self.curves: list[Curve] = []
        self.shares = Shares()
        self.last_decisions: deque[int] = deque(maxlen=LAST_DECISIONS)  # their seqs
        self.recent_arms: deque[int] = deque(maxlen=RECENT)  # the arms of the last decisions
        self.last_rewards: deque[tuple[int, float]] = deque(maxlen=DELAYS)  # seqs of decisions, times
        self._id = bandit_id

    @property
    def pending(self) -> int:
        """How many decisions wait for a reward."""
        return max(0, sum(self.decided) - self.settled)

    @property
    def is_complete(self) -> bool:
        """Whether all of the log that was there at the last look is included."""
        return self.seq >= self.log_seq

    def read(self, store: Store, most: int | None = None) -> bool:
        """Add the next events of the log, so many at most; False if there are no more."""
        most = PORTION if most is None else most
        events = store.events(self._id, self.seq, limit=most)
        newest = store.last_seq(self._id)
        with self.lock:
            self.log_seq = newest
            if events:
                self._add(events)
        return len(events) == most

    def _add(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind == "added":
                self._know(event.arm, str(event.name))
        kind, at = np.array([each.kind for each in events]), np.array([each.at for each in events], np.float64)
        arm = np.array([each.arm for each in events], np.int64)
        value = np.array([each.value for each in events], np.float64)  # None becomes NaN
        self._make_room(int(arm.max()) + 1)
        decided = kind == "decided"
        paid = ~np.isnan(value) & (arm >= 0)
        expired = kind == "expired"
        self.shares.add(at[decided], arm[decided], len(self.names))
        for number in range(len(self.names)):
            mine = arm == number
            self.decided[number] += int((mine & decided).sum())
            self.expired[number] += int((mine & expired).sum())
            rewards = value[mine & paid]
            self.rewarded[number] += len(rewards)
            self.sums[number] += float(rewards.sum())
            self.curves[number].add(rewards)
        self.settled += int((expired | (kind == "rewarded")).sum())
        self.last_decisions.extend([each.seq for each in events if each.kind == "decided"][-LAST_DECISIONS:])
        self.recent_arms.extend(arm[decided][-RECENT:].tolist())
        self.last_rewards.extend(
            (events[place].target or 0, events[place].at) for place in np.flatnonzero(kind == "rewarded")[-DELAYS:]
        )
        self.seq, self.at = events[-1].seq, events[-1].at

    def know_names(self, names: Iterable[str]) -> None:
        """Take over the names of the arms: those that were added before a log was compacted are not in it."""
        with self.lock:
            for arm, name in enumerate(names):
                self._know(arm, name)

    def _know(self, arm: int, name: str) -> None:
        self._make_room(arm + 1)
        self.names[arm] = name

    def _make_room(self, arms: int) -> None:
        while len(self.names) < arms:
            self.names.append(f"arm {len(self.names)}")
            for counts in (self.decided, self.rewarded, self.expired):
                counts.append(0)
            self.sums.append(0.0)
            self.curves.append(Curve())

    def delays(self, store: Store) -> list[float]:
        """Return how long the last rewards took, in seconds."""
        with self.lock:
            rewards = list(self.last_rewards)
        found = store.numbered(self._id, sorted({target for target, _ in rewards}))
        return [at - found[target].at for target, at in rewards if target in found]

    def recent(self, store: Store) -> list[Logged]:
        """Return the last decisions, the latest first."""
        with self.lock:
            numbers = list(self.last_decisions)
        found = store.numbered(self._id, numbers).values()
        logged = (Logged(each.seq, each.at, each.arm, each.decision or "", each.probability) for each in found)
        return sorted(logged, reverse=True)


class Follower:
    """A thread that reads the logs, each when it has changed and at most once a second, and says what it has read."""

    def __init__(self, url: str, directory: Directory, changed: Callable[[str], None]):
        self.store = open_store(url)
        self.tallies: dict[str, Tally] = {}
        self._entries: dict[str, Entry] = {}  # whose tallies they are
        self._directory = directory
        self._changed = changed  # called from the thread
        self._wanted: set[str] = set()
        self._lock = threading.Lock()  # of what is wanted
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="rotting-follower", daemon=True)
        self._thread.start()

    def want(self, bandit: str) -> None:
        """Read a log soon."""
        with self._lock:
            self._wanted.add(bandit)

    def read_now(self, bandit: str, most: int | None = None) -> Tally:
        """Return a bandit's tally with the next events of its log added, so many at most; the rest comes soon."""
        entry = self._directory.find(bandit)
        if self._entries.get(bandit) != entry:  # it is new, or was deleted and made again
            self._entries[bandit], self.tallies[bandit] = entry, Tally(bandit, entry.id)
        tally = self.tallies[bandit]
        with self.store.lock, self.store.reading():
            if tally.read(self.store, most):
                self.want(bandit)
        return tally

    def close(self) -> None:
        """End the thread."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        self.store.close()

    def _run(self) -> None:
        while not self._closing:
            with self._lock:
                wanted, self._wanted = self._wanted, set()
            self._forget_deleted()
            for bandit in sorted(wanted):
                try:
                    self._follow(bandit)
                except BanditError as error:
                    note(error, "reading the log")
                    self.want(bandit)
            self._wake.wait(PAUSE)

    def _forget_deleted(self) -> None:
        """Look which bandits there are, and forget those that were deleted."""
        try:
            self._directory.refresh()
        except BanditError as error:
            note(error, "listing the bandits")
            return
        for bandit in [name for name in self.tallies if not self._directory.knows(name)]:
            del self.tallies[bandit], self._entries[bandit]

    def _follow(self, bandit: str) -> None:
        if not self._directory.knows(bandit):
            return
        before = self.tallies[bandit].seq if bandit in self.tallies else -1
        while not self._closing:
            tally = self.read_now(bandit)
            if tally.is_complete:
                break
            time.sleep(BREATH)
        if self.tallies[bandit].seq != before:
            self._changed(bandit)
