"""A simulated world: processes that share bandits, what clients ask of them, and what goes wrong meanwhile.

Everything runs in one thread. At every point where a process touches the store, the world may let another process do
something in between, move the clock, lose an answer, break a connection, fill the disk, stop or restart the server, or
end the process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rotting.bandit import (
    Bandit,
    BanditError,
    Bandits,
    DamagedLog,
    Decide,
    KeyConflict,
    Segments,
    StorageError,
    UnknownBandit,
    UnknownDecision,
    VerificationFailed,
)
from rotting.bandit.core.requests import Change
from rotting.bandit.line import Ticket
from rotting.bandit.segments import Template
from rotting.bandit.store import BanditRow, Deadline, Event
from rotting.testing.clients import OPERATIONS, POLICIES, WITHOUT_TIMEOUT, Client
from rotting.testing.memory import MemoryStore, Place
from rotting.testing.promises import Acknowledged, BrokenPromiseError, choices_of

TEMPLATE, SEGMENT = "page/{user}", "page/one"
NAMES = ("hero", "aside", SEGMENT)
USED = (4, 4, 1)  # how often, in proportion
SETTINGS: tuple[dict[str, Any], ...] = (
    {"default_reward": 0.25},
    {"default_reward": 0.25, "holdout": 0.25},
    {"default_reward": 0.25, "count": "shown", "sigma": "auto"},
    {"min_exposures": 1, "exposure_period": 3600.0},
)
TIMEOUTS = (0.0, 0.1, 1.0, 5.0)
PAUSES = (0.0, 0.01, 1.0, 20.0)  # seconds between two steps
LATE = 0.2  # seconds after its deadline within which a call returns
MOST_POINTS = 20_000  # at which the store is touched in one step
COMPANY = 2**32  # steps from this number on are in company
# What happens at a point, if anything does, and how often in proportion. An outage goes on for a while: the disk is
# full, or the server is down, or does not answer.
FAULTS = {"other": 6, "slow": 2, "clock": 2, "fail": 2, "crash": 2, "full": 1, "down": 1, "hang": 1}
OUTAGES = (0.05, 0.5, 3.0)  # seconds
# The probabilities that a coroutine repeats the key of another, that what it asks for fails, that a log is damaged
# meanwhile, and that a caller gives up at a point.
SAME_KEY, FAILS, IS_DAMAGED, GIVES_UP = 0.5, 0.1, 0.15, (0.0, 0.1)
WAIT = 0.01  # seconds that a process waits before it looks again whether a log is free
# What nobody is told of a log that nobody has touched.
UNHEARD = UnknownDecision, KeyConflict, UnknownBandit, DamagedLog, VerificationFailed


class CrashError(BaseException):
    """A process ends here."""


class FailedError(Exception):
    """What the policy of a user raises."""


def _fail(*_: object) -> list[Event]:
    raise FailedError


@dataclasses.dataclass
class Asked:
    """What a coroutine has asked for; without a key, it is something that fails."""

    ticket: Ticket
    name: str
    key: str | None
    error: BanditError | None = None  # it was told when its time was over


class Process:
    """A process that opens bandits when it needs them."""

    def __init__(self, place: Place):
        self._all = Bandits(MemoryStore(place), background=run_now)
        self.bandits: dict[str, Bandit] = {}

    def get(self, name: str) -> Bandit:
        """Return a bandit."""
        if name not in self.bandits:
            self.bandits[name] = self._segment() if name == SEGMENT else self._all.get(name)
        return self.bandits[name]

    def _segment(self) -> Bandit:
        return Segments(Template(TEMPLATE), self._all.get(TEMPLATE), siblings=0).bandit(user="one")


def run_now(work: Callable[[], None]) -> None:
    """Do what others do in the background."""
    work()


class World:
    """Everything that happens in one simulation."""

    def __init__(self, seed: int, processes: int = 3):
        self.seed = seed
        self._dice = random.Random(seed)
        self._wall, self._monotonic = 1e9, 0.0
        self._depth = self._points = 0
        self._unseen = 0  # how often time has passed that the process which acts could not see
        self._trouble = self._gives_up = (
            0.0  # the probability that something happens at a point, that a caller gives up
        )
        self._outages: dict[str, float] = defaultdict(float)  # until when they go on
        self._running: list[int] = []  # the processes that are in the middle of something
        self._waiting: list[Asked] = []  # callers in coroutines
        self._doing = ""
        self.counts: Counter[str] = Counter()
        self.known: dict[str, Acknowledged] = defaultdict(Acknowledged)
        self.place = Place(lambda: self._wall, self._fault, self._wait, lambda: self._is_out("hang"))
        self._make()
        self._processes: list[Process | None] = [None] * processes
        self._folder = tempfile.TemporaryDirectory(prefix="rotting-")  # of what was compacted

    def monotonic(self) -> float:
        """Return the time by which deadlines are kept."""
        return self._monotonic

    def _make(self) -> None:
        store = MemoryStore(self.place)
        settings = {"policy": repr(POLICIES[0]), "epsilon": 0.2, "reward_wait": 50.0, "reward_range": [0.0, 1.0]}
        settings |= SETTINGS[self.seed % len(SETTINGS)]
        for number, name in enumerate(("hero", "aside", TEMPLATE)):
            row = BanditRow(0, name, f"token{number}", "00" * 16, json.dumps(settings))
            store.add(row, [Event(arm + 1, "added", self._wall, arm, f"arm {arm}") for arm in range(3)])

    # What goes wrong.

    def _fault(self, point: str) -> None:
        self._points += 1
        if self._points > MOST_POINTS:
            raise BrokenPromiseError("what was begun has no end")
        self._tick(self._dice.random() * 0.002)
        self._let_callers_go(point)
        if point == "append" and self._is_out("full"):
            raise StorageError("the disk is full")
        if point == "connect" and self._is_out("down"):
            raise StorageError("the server does not listen")
        if self._dice.random() >= self._trouble:
            return
        [what] = self._dice.choices(list(FAULTS), list(FAULTS.values()))
        self.counts[f"{what} at {point}"] += 1
        self.counts[f"{what} during {self._doing}"] += 1
        match what:
            case "other":
                self._unseen += 1
                if self._depth < 2:
                    self._step(self._dice.randrange(2**32), 0.5)
            case "slow":
                self._unseen += 1
                self._tick(self._dice.choice((0.05, 0.3, 2.0)))
            case "clock":
                self._wall += self._dice.choice((-3600.0, -1.0, 1.0, 60.0, 3600.0))
            case "fail":
                raise self.place.broken(point)
            case "crash":
                raise CrashError
            case outage:
                self._outages[outage] = self._monotonic + self._dice.choice(OUTAGES)
                if outage == "down":
                    self.place.restart()

    def _let_callers_go(self, point: str) -> None:
        """Let callers in coroutines give up, at any point or when their time is over."""
        for asked in self._waiting:
            ticket = asked.ticket
            if not ticket.is_settled and self._dice.random() < self._gives_up:
                self.counts[f"given up at {point}"] += 1
                ticket.abandoned = True
            elif not ticket.is_settled and ticket.deadline.is_over():
                asked.error = ticket.withdraw() or ticket.deadline.error("the database", may_be_written=True)
                ticket.abandoned = True

    def _is_out(self, what: str) -> bool:
        return self._monotonic < self._outages[what]

    def _tick(self, seconds: float) -> None:
        self._wall += seconds
        self._monotonic += seconds

    def _wait(self, _: object) -> float:
        self._tick(WAIT)
        return WAIT

    @contextlib.contextmanager
    def _calm(self) -> Iterator[None]:
        """Let nothing go wrong for a while."""
        before = self._trouble, self._outages
        self._trouble, self._outages = 0.0, defaultdict(float)
        try:
            yield
        finally:
            self._trouble, self._outages = before

    # What happens.

    def step(self, seed: int) -> None:
        """Let one process do something, with all that may happen meanwhile."""
        self._points = 0
        self._step(seed, 0.15)

    def _step(self, seed: int, least: float) -> None:
        """Let a process that does nothing now do something; the dice of a step are its own."""
        before = self._dice, self._trouble, self._doing
        self._dice = random.Random(seed)
        self._trouble = self._dice.choice((0.0, least, 0.4))
        if self._depth == 0:
            self._tick(self._dice.choice(PAUSES))
        idle = [number for number in range(len(self._processes)) if number not in self._running]
        number = self._dice.choice(idle)
        self._running.append(number)
        self._depth += 1
        try:
            (self._act if seed < COMPANY else self._act_in_company)(number)
        except CrashError:
            self._processes[number] = None
        finally:
            self._running.remove(number)
            self._depth -= 1
            self._dice, self._trouble, self._doing = before

    def _act(self, number: int) -> None:
        name = self._dice.choices(NAMES, USED)[0]
        bandit = self._opened(number, name)
        if bandit is None:
            return
        [self._doing] = self._dice.choices(list(OPERATIONS), list(OPERATIONS.values()))
        self.counts[self._doing] += 1
        timeout = self._dice.choice(TIMEOUTS)
        until, unseen, is_free = self._monotonic + timeout, self._unseen, self._is_free(timeout)
        try:
            getattr(self._client(bandit, name, timeout), self._doing)()
        except BanditError as error:
            self._judge(error, is_free)
        is_late = self._monotonic > until + LATE and self._unseen == unseen
        if is_late and self._doing not in WITHOUT_TIMEOUT:
            raise BrokenPromiseError(f"a call returned {self._monotonic - until:.2f} s after its deadline")

    def _client(self, bandit: Bandit, name: str, timeout: float) -> Client:
        return Client(bandit, self.known[name], timeout, self._dice, Path(self._folder.name))

    def _opened(self, number: int, name: str) -> Bandit | None:
        """Return a bandit of a process, which begins if need be; None if it could not even open it."""
        self._doing = "open"
        process = self._processes[number]
        if process is None:
            process = self._processes[number] = Process(self.place)
        try:
            return process.get(name)
        except StorageError:
            self._processes[number] = None
            return None

    def _is_free(self, timeout: float) -> bool:
        """Say whether nothing is in the way of a call that has enough time."""
        is_out = any(map(self._is_out, ("full", "down", "hang")))
        return self._trouble == 0.0 and self._depth == 1 and timeout >= 1.0 and not is_out

    def _judge(self, error: BanditError, is_free: bool, is_damaged: bool = False) -> None:
        """Count an error, and refuse one that nobody may get."""
        self.counts[type(error).__name__] += 1
        if isinstance(error, StorageError):
            self.counts["unknown" if error.may_be_written else "not written"] += 1
            if is_free:
                raise BrokenPromiseError(f"a call failed, and nothing was in its way: {error}") from None
        if type(error) in UNHEARD and not (is_damaged and isinstance(error, DamagedLog)):
            raise BrokenPromiseError(f"somebody was told: {error}") from None

    def _act_in_company(self, number: int) -> None:
        """Let a process start and do something, or carry out what several coroutines ask for at once."""
        if self._processes[number] is None or self._dice.random() < 0.3:
            self.counts["start"] += 1
            self._processes[number] = None
            self._act(number)
            return
        bandits = [self._opened(number, name) for name in NAMES]
        if None in bandits:
            return
        self._doing = "together"
        self.counts["together"] += 1
        self._together(dict(zip(NAMES, bandits, strict=True)))  # type: ignore[arg-type]

    def _together(self, bandits: dict[str, Bandit]) -> None:
        """Carry out what several coroutines of a process ask for at once, each with a deadline of its own."""
        asked: list[Asked] = []
        for _ in range(self._dice.randrange(2, 6)):
            asked.append(self._asked(bandits, asked))
        [damaged] = self._dice.choices((None, *NAMES), (1 - IS_DAMAGED, *(IS_DAMAGED / 3,) * 3))
        is_free, before = [self._is_free(each.ticket.deadline.timeout) for each in asked], self._waiting
        self._waiting, self._gives_up = asked, self._dice.choice(GIVES_UP)
        try:
            with self._damaged(None if damaged is None else bandits[damaged]) as is_damaged:
                for each in asked:
                    each.ticket.log.commits.lead_for(each.ticket)
        finally:
            self._waiting, self._gives_up = before, 0.0
        for each, was_free in zip(asked, is_free, strict=True):
            if each.error is not None or not each.ticket.abandoned:
                self._note(bandits[each.name], each, was_free, is_damaged if each.name == damaged else False)

    def _asked(self, bandits: dict[str, Bandit], others: list[Asked]) -> Asked:
        name, key = self._dice.choices(NAMES, USED)[0], f"coroutine {self._dice.random()}"
        same = [each.key for each in others if each.name == name and each.key is not None]
        if same and self._dice.random() < SAME_KEY:
            key = same[0]
        fails, log = self._dice.random() < FAILS, bandits[name]._log
        request = Change(_fail) if fails else Decide(1, key=key)
        ticket = log.commits.put(log, [request], Deadline(self._dice.choice(TIMEOUTS)), lambda: None)
        if not fails:
            self.known[name].maybe[key] += 1
            self.known[name].asked[key] = 1
        return Asked(ticket, name, None if fails else key)

    def _note(self, bandit: Bandit, asked: Asked, is_free: bool, is_damaged: bool | None) -> None:
        """Take note of the result of a coroutine's request. What is wrong with one of them concerns no other."""
        known, key = self.known[asked.name], asked.key
        try:
            if asked.error is not None:
                raise asked.error
            outcomes = asked.ticket.result()
            if key is None:
                raise BrokenPromiseError("what failed has a result")
            known.note(bandit, key, choices_of(*outcomes))
            if is_damaged:
                raise BrokenPromiseError(f"{key!r} was written to a log that is damaged")
        except FailedError:
            if key is not None:
                raise BrokenPromiseError(f"{key!r} failed for another request") from None
        except BanditError as error:
            if key is not None and not getattr(error, "may_be_written", False):
                known.maybe[key] -= 1
            self._judge(error, is_free, is_damaged is not False)

    @contextlib.contextmanager
    def _damaged(self, bandit: Bandit | None) -> Iterator[bool | None]:
        """Change an event of a log for a while, in which nothing else goes wrong; yields whether everybody notices.

        Whoever knows the last event notices if that is another. If it is a reward that is missing, those notice who
        have to learn it: None.
        """
        if bandit is None:
            yield False
            return
        log, last, logs = bandit._log.bandit_id, bandit._state.seq, self.place.content.logs
        is_last = self._dice.random() < 0.5
        found = [
            each for each in logs[log] if (each.seq == last if is_last else each.kind == "rewarded" and each.seq < last)
        ]
        if not found:  # it may have been compacted since
            yield False
            return
        event = self._dice.choice(found)
        other = event._replace(at=event.at + 1.0) if is_last else event._replace(value=None)
        self.counts["damaged"] += 1
        with self._calm():
            logs[log] = [other if each is event else each for each in logs[log]]
            try:
                yield True if is_last else None
            finally:
                logs[log] = [event if each is other else each for each in logs[log]]

    # What was promised.

    def check(self) -> None:
        """Check all promises, as a process that has just been started, and those that are running."""
        before = self._wall, self._monotonic, self._dice
        self._dice, self._points = random.Random(0), 0
        with self._calm():
            fresh = Process(self.place)
            for name in NAMES:
                if name != SEGMENT or name in self.known:
                    self._check(fresh.get(name), name)
        self._wall, self._monotonic, self._dice = before

    def _check(self, bandit: Bandit, name: str) -> None:
        bandit.verify()
        for process in self._processes:
            log = process.bandits[name]._log if process is not None and name in process.bandits else None
            if log is None:
                continue
            with log.reading():
                different = log.state.difference(bandit._state)
            if different is not None:
                raise BrokenPromiseError(f"two processes have different states of {name}, in {different!r}")
            if len(log.commits.line):
                raise BrokenPromiseError("somebody waits, and nobody carries it out")
        self.known[name].check(bandit)

    def end(self) -> None:
        """Check that all goes on once nothing is wrong any more."""
        with self._calm():
            self._depth = 1
            for number in range(len(self._processes)):
                for name in NAMES:
                    bandit = self._opened(number, name)
                    assert bandit is not None
                    self._client(bandit, name, 1.0).ask(f"last {number}", 1)
