"""Following logs: what the page and the metrics show, kept up to date by reading each event once.

A `Tally` has a fixed size, however long the log is: a curve has at most 200 points, shares at most 120 periods.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from rotting.bandit import BanditError, Event, Store
from rotting.bandit.store import BanditRow
from rotting.serve.bandits import Directory
from rotting.serve.lanes import Lane
from rotting.serve.problems import note

Result = TypeVar("Result")

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

    def __init__(self, most: int):
        self.step = 1.0
        self._most = most
        self._sums: dict[tuple[int, int], float] = defaultdict(float)  # of a step and a column

    def add(self, place: float, column: int, value: float = 1.0) -> None:
        """Add a value."""
        while place >= self._most * self.step:
            finer, self._sums, self.step = self._sums, defaultdict(float), 2 * self.step
            for (step, each), total in finer.items():
                self._sums[step // 2, each] += total
        self._sums[int(place // self.step), column] += value

    def table(self, columns: int) -> np.ndarray:
        """Return the sums, a row for each step."""
        found = np.zeros((max((step + 1 for step, _ in self._sums), default=0), columns))
        for where, total in self._sums.items():
            found[where] = total
        return found


@dataclasses.dataclass
class ArmTally:
    """What the log says of one arm. The curve has number, sum and squares of its rewards, in the order they came."""

    name: str
    decided: int = 0
    rewarded: int = 0  # default rewards are rewards
    expired: int = 0
    sum: float = 0.0
    curve: Bins = dataclasses.field(default_factory=lambda: Bins(MOST_POINTS))

    def add(self, reward: float) -> None:
        """Add the next reward."""
        for column, value in enumerate((1.0, reward, reward**2)):
            self.curve.add(self.rewarded, column, value)
        self.rewarded += 1
        self.sum += reward


class Tally:
    """What the page and the metrics show of one bandit, after `seq` events."""

    def __init__(self, row: BanditRow):
        self.row = row
        self.seq = self.log_seq = 0  # log_seq: of the last event in the log, when it was last looked at
        self.start = self.at = self.rewarded_at = 0.0  # of the first decision, of the last event, of the last reward
        self.settled = 0  # decisions that no longer wait
        self.arms: list[ArmTally] = []
        self.shares = Bins(MOST_PERIODS)  # decisions of each arm, by seconds since the start
        self.last_decisions: deque[Event] = deque(maxlen=LAST_DECISIONS)
        self.recent_arms: deque[int] = deque(maxlen=RECENT)  # the arms of the last decisions
        self.delays: deque[float] = deque(maxlen=DELAYS)  # how long the last rewards took, in seconds

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
        late = [event for event in events if event.kind == "rewarded"][-DELAYS:]
        decisions = store.numbered(self.row.id, sorted({event.target or 0 for event in late}))
        self.delays.extend(event.at - decisions[event.target].at for event in late if event.target in decisions)
        for event in events:
            self._add(event)

    def _add(self, event: Event) -> None:
        kind, self.seq, self.at = event.kind, event.seq, event.at
        arm = self._arm(event.arm) if event.arm >= 0 else ArmTally("")
        if kind == "added":
            arm.name = str(event.name)
        elif kind == "decided":
            arm.decided += 1
            self.start = self.start or event.at
            self.shares.add(max(0.0, event.at - self.start), event.arm)
            self.recent_arms.append(event.arm)
            self.last_decisions.append(event)
        elif kind in ("expired", "rewarded"):
            self.settled += 1
            arm.expired += kind == "expired"
            self.rewarded_at = event.at if kind == "rewarded" else self.rewarded_at
        if event.value is not None:
            arm.add(event.value)

    def know_names(self, names: Iterable[str]) -> None:
        """Take over the names of arms: those that were added before a log was compacted are not in it."""
        for number, name in enumerate(names):
            self._arm(number).name = name

    def _arm(self, number: int) -> ArmTally:
        while number >= len(self.arms):
            self.arms.append(ArmTally(f"arm {len(self.arms)}"))
        return self.arms[number]


class Follower:
    """Reads the logs, each when it has changed and at most once a second. Its lane's thread alone touches tallies."""

    def __init__(self, lane: Lane, directory: Directory):
        self.tallies: dict[BanditRow, Tally] = {}
        self._lane = lane
        self._directory = directory
        self._wanted: set[str] = set()

    def want(self, bandit: str) -> None:
        """Read a log soon."""
        self._wanted.add(bandit)

    async def show(
        self, row: BanditRow, make: Callable[[Tally], Result], names: Iterable[str] = (), most: int = PORTION
    ) -> Result:
        """Return what is made of a bandit's tally with the next events added, so many at most; the rest comes soon.

        `names` are those of its arms, as far as they are known.
        """

        def read(store: Store) -> Result:
            tally = self._read(store, row, most)
            tally.know_names(names)
            return make(tally)

        return await self._lane.run(read)

    def _read(self, store: Store, row: BanditRow, most: int = PORTION) -> Tally:
        tally = self.tallies.setdefault(row, Tally(row))
        with store.reading():
            tally.read(store, most)
        if not tally.is_complete:
            self.want(row.name)
        return tally

    async def look(self) -> None:
        """Read the logs that are new or have changed, and forget those of bandits that were deleted."""
        await self._directory.refresh()
        wanted, self._wanted = self._wanted, set()
        rows = set(self._directory.by_name.values())
        for row in rows:
            if row.name in wanted or row not in self.tallies:
                await self._follow(row)
        await self._lane.run(lambda store: self._forget(rows))

    async def _follow(self, row: BanditRow) -> None:
        try:
            while not (await self._lane.run(lambda store: self._read(store, row))).is_complete:
                await asyncio.sleep(BREATH)
        except BanditError as error:
            note(error, "reading the log")
            self.want(row.name)

    def _forget(self, but: set[BanditRow]) -> None:
        self.tallies = {row: tally for row, tally in self.tallies.items() if row in but}
