"""Following logs: what the page and the metrics show, kept up to date by reading each event once.

A `Tally` has a fixed size, however long the log is: a curve has at most 200 points, shares at most 120 periods.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from rotting.bandit import BanditError, Event, Store, open_store
from rotting.bandit.store import BanditRow
from rotting.serve.bandits import Directory
from rotting.serve.problems import note

MOST_POINTS = 200
MOST_PERIODS = 120
DELAYS = 1000  # the last so many rewards
LAST_DECISIONS = 20
RECENT = 500  # decisions, for the shares of late
PORTION = 20_000  # events read at once
BREATH = 0.02  # seconds between portions: those who decide come first
PAUSE = 1.0  # seconds between looks at a log


class Bins:
    """Sums in columns over places from 0 on, in equal steps: when there are too many, neighbours become one."""

    def __init__(self, most: int, columns: int):
        self.step = 1.0
        self.sums = np.zeros((0, columns))
        self._most = most

    def add(self, places: np.ndarray, columns: np.ndarray, values: np.ndarray | float) -> None:
        """Add values at these places, in these columns."""
        if len(places) == 0:
            return
        while places.max() // self.step >= self._most:
            padded = np.pad(self.sums, ((0, len(self.sums) % 2), (0, 0)))
            self.sums, self.step = padded[0::2] + padded[1::2], 2 * self.step
        steps = (places // self.step).astype(np.int64)
        needed = (int(steps.max()) + 1, int(columns.max()) + 1)
        more = [(0, max(0, least - there)) for least, there in zip(needed, self.sums.shape, strict=True)]
        self.sums = np.pad(self.sums, more)
        np.add.at(self.sums, (steps, columns), values)


class ArmTally:
    """What the log says of one arm. The curve has number, sum and squares of its rewards, in the order they came."""

    def __init__(self, name: str):
        self.name = name
        self.decided = self.rewarded = self.expired = 0  # default rewards are rewards
        self.curve = Bins(MOST_POINTS, 3)

    @property
    def sum(self) -> float:
        """The sum of its rewards."""
        return float(self.curve.sums[:, 1].sum())

    def add(self, decided: int, expired: int, rewards: np.ndarray) -> None:
        """Add the next events."""
        places = np.arange(self.rewarded, self.rewarded + len(rewards), dtype=float)
        values = np.stack([np.ones(len(rewards)), rewards, rewards**2], axis=1)
        self.curve.add(places[:, None], np.arange(3), values)
        self.decided += decided
        self.expired += expired
        self.rewarded += len(rewards)


class Tally:
    """What the page and the metrics show of one bandit, after `seq` events."""

    def __init__(self, row: BanditRow):
        self.row = row
        self.seq = 0
        self.log_seq = 0  # of the last event in the log, when it was last looked at
        self.start = self.at = 0.0  # of the first decision, of the last event
        self.arms: list[ArmTally] = []
        self.settled = 0  # decisions that no longer wait
        self.shares = Bins(MOST_PERIODS, 0)  # decisions of each arm, by seconds since the start
        self.last_decisions: deque[Event] = deque(maxlen=LAST_DECISIONS)
        self.recent_arms: deque[int] = deque(maxlen=RECENT)  # the arms of the last decisions
        self.delays: deque[float] = deque(maxlen=DELAYS)  # how long the last rewards took, in seconds
        self.rewarded_at = 0.0

    @property
    def decided(self) -> int:
        """How many decisions there are."""
        return sum(arm.decided for arm in self.arms)

    @property
    def pending(self) -> int:
        """How many decisions wait for a reward."""
        return max(0, self.decided - self.settled)

    @property
    def is_complete(self) -> bool:
        """Whether all of the log that was there at the last look is included."""
        return self.seq >= self.log_seq

    def read(self, store: Store, most: int = PORTION) -> None:
        """Add the next events of the log, so many at most."""
        events = store.events(self.row.id, self.seq, limit=most)
        self.log_seq = store.last_seq(self.row.id)
        if not events:
            return
        late = [event for event in events if event.kind == "rewarded"][-DELAYS:]
        decisions = store.numbered(self.row.id, sorted({event.target or 0 for event in late}))
        self.delays.extend(event.at - decisions[event.target].at for event in late if event.target in decisions)
        self.rewarded_at = late[-1].at if late else self.rewarded_at
        self._add(events)
        self.seq, self.at = events[-1].seq, events[-1].at

    def _add(self, events: Sequence[Event]) -> None:
        kind, at = np.array([each.kind for each in events]), np.array([each.at for each in events], np.float64)
        arm = np.array([each.arm for each in events], np.int64)
        value = np.array([each.value for each in events], np.float64)  # None becomes NaN
        self.know_names([f"arm {number}" for number in range(len(self.arms), int(arm.max()) + 1)], len(self.arms))
        for event in events:
            if event.kind == "added":
                self.arms[event.arm].name = str(event.name)
        decided, expired, paid = kind == "decided", kind == "expired", ~np.isnan(value)
        for number, each in enumerate(self.arms):
            mine = arm == number
            each.add(int((mine & decided).sum()), int((mine & expired).sum()), value[mine & paid])
        if decided.any():
            self.start = self.start or float(at[decided][0])
            places = np.maximum(at[decided] - self.start, 0.0)
            self.shares.add(places, arm[decided], 1.0)
        self.settled += int((expired | (kind == "rewarded")).sum())
        self.last_decisions.extend([each for each in events if each.kind == "decided"][-LAST_DECISIONS:])
        self.recent_arms.extend(arm[decided][-RECENT:].tolist())

    def know_names(self, names: Iterable[str], first: int = 0) -> None:
        """Take over the names of arms: those that were added before a log was compacted are not in it."""
        for number, name in enumerate(names, first):
            if number == len(self.arms):
                self.arms.append(ArmTally(name))
            self.arms[number].name = name


class Follower:
    """A thread that reads the logs, each when it has changed and at most once a second."""

    def __init__(self, url: str, directory: Directory):
        self.tallies: dict[str, Tally] = {}
        self.lock = threading.Lock()  # of the tallies
        self._store = open_store(url)
        self._directory = directory
        self._wanted: set[str] = set()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rotting-follower", daemon=True)
        self._thread.start()

    def want(self, bandit: str) -> None:
        """Read a log soon."""
        self._wanted.add(bandit)

    def read_now(self, bandit: str, names: Iterable[str] = (), most: int = PORTION) -> Tally:
        """Return a copy of a bandit's tally with the next events added, so many at most; the rest comes soon.

        `names` are those of its arms, as far as they are known.
        """
        with self.lock:
            tally = self._read(bandit, most)
            tally.know_names(names)
            return copy.deepcopy(tally)

    def _read(self, bandit: str, most: int) -> Tally:
        row = self._directory.find(bandit)
        tally = self.tallies.get(bandit)
        if tally is None or tally.row != row:  # it is new, or was deleted and made again
            tally = self.tallies[bandit] = Tally(row)
        with self._store.lock, self._store.reading():
            tally.read(self._store, most)
        if not tally.is_complete:
            self.want(bandit)
        return tally

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        self._thread.join()
        self._store.close()

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except BanditError as error:
                note(error, "reading the logs")
            if self._closing.wait(PAUSE):
                return

    def look(self) -> None:
        """Read the logs that have changed, and forget those that were deleted."""
        self._directory.refresh()
        for bandit, tally in list(self.tallies.items()):
            if self._directory.by_name.get(bandit) != tally.row:
                with self.lock:
                    del self.tallies[bandit]
                self.want(bandit)
        wanted, self._wanted = self._wanted, set()
        for bandit in sorted(wanted):
            try:
                self._follow(bandit)
            except BanditError as error:
                note(error, "reading the log")
                self.want(bandit)

    def _follow(self, bandit: str) -> None:
        while bandit in self._directory.by_name and not self._closing.is_set():
            with self.lock:
                tally = self._read(bandit, PORTION)
            if tally.is_complete:
                return
            time.sleep(BREATH)
