"""The bandit in a simulated world: one seed drives the clock, who runs when, what fails, and what clients ask.

    python -m rotting.testing.simulator --seeds 1000 --jobs 16

Several processes share bandits whose logs are in a `Place` in memory. Everything runs in one thread, so a seed replays
exactly: at every point where a process touches the store, the world may let another process do something in between,
move the clock, lose an answer, fail, or end the process. Every few steps it is checked that what was promised holds.
A seed that fails is shrunk to the steps that it needs.

In company (`--company`), callers in coroutines of one process wait in the same line, and some give up at any point; and
processes end and start while others work. Threads that share a process are not simulated: the tests of the queue and
the chaos tests see to them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rotting.bandit import Bandit, BanditError, Bandits, Choice, DamagedLog, Decide, Outcome, StorageError, TimedOut
from rotting.bandit.core.requests import Change
from rotting.bandit.line import Ticket
from rotting.bandit.store import BanditRow, Deadline, Event, kept_by
from rotting.policies import EffFEWA
from rotting.testing.memory import MemoryStore, Place

NAMES = ("hero", "aside")
LATE = 0.2  # seconds after its deadline within which a call returns
MOST_POINTS = 20_000  # at which the store is touched in one step
STEPS, CHECK_EVERY = 60, 10
LARGEST_BATCH = 3  # decisions of one request
REPEATED = 2  # requests of each kind that are asked for again when promises are checked
COMPANY = 2**32  # steps from this number on are in company
GIVES_UP = 0.1  # the probability that a caller in a coroutine gives up at a point
# The probabilities that it repeats the key of another, that what it asks for fails, that a log is damaged meanwhile.
SAME_KEY, FAILS, IS_DAMAGED = 0.3, 0.1, 0.1
WAIT = 0.01  # seconds that a process waits before it looks again whether a log is free


class CrashError(BaseException):
    """A process ends here."""


class BrokenPromiseError(AssertionError):
    """What was promised does not hold."""


@dataclasses.dataclass
class Acknowledged:
    """What clients have been told, of one bandit."""

    decisions: dict[str, str] = dataclasses.field(default_factory=dict)  # arms by identifier
    rewards: dict[str, float] = dataclasses.field(default_factory=dict)
    keys: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # identifiers of their decisions
    refused: set[str] = dataclasses.field(default_factory=set)  # keys of requests that were not written
    keyless: int = 0  # decisions without a key that were, or may have been, written


class FailedError(Exception):
    """What the policy of a user raises."""


def _fail(*_: object) -> list[Event]:
    raise FailedError


class Asked(NamedTuple):
    """What a coroutine has asked for; without a key, it is something that fails."""

    ticket: Ticket
    name: str
    key: str | None


class Process:
    """A process that has the bandits open."""

    def __init__(self, place: Place):
        opened = Bandits(MemoryStore(place), background=run_now)
        self.bandits = {name: opened.get(name) for name in NAMES}


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
        self._trouble = 0.0  # the probability that something happens at a point
        self._running: list[int] = []  # the processes that are in the middle of something
        self._waiting: list[Any] = []  # tickets of callers in coroutines
        self.counts: Counter[str] = Counter()
        self.known = {name: Acknowledged() for name in NAMES}
        self.place = Place(lambda: self._wall, self._fault, self._wait)
        self._make()
        self._processes: list[Process | None] = [None] * processes
        self._folder = tempfile.TemporaryDirectory(prefix="rotting-")  # of what was compacted

    def monotonic(self) -> float:
        """Return the time by which deadlines are kept."""
        return self._monotonic

    def _make(self) -> None:
        store = MemoryStore(self.place)
        settings: dict[str, Any] = {
            "policy": repr(EffFEWA(sigma=0.5)),
            "epsilon": 0.2,
            "reward_wait": 50.0,
            "default_reward": 0.25,
        }
        if self.seed % 4 == 1:
            settings["holdout"] = 0.25
        for number, name in enumerate(NAMES):
            row = BanditRow(0, name, f"token{number}", "00" * 16, json.dumps(settings))
            store.add(row, [Event(arm + 1, "added", self._wall, arm, f"arm {arm}") for arm in range(3)])

    # What goes wrong.

    def _fault(self, point: str) -> None:
        self._points += 1
        if self._points > MOST_POINTS:
            raise BrokenPromiseError("what was begun has no end")
        self._tick(self._dice.random() * 0.002)
        for ticket in self._waiting:
            if not ticket.is_settled and self._dice.random() < GIVES_UP:
                self.counts[f"given up at {point}"] += 1
                ticket.abandoned = True
        if self._dice.random() >= self._trouble:
            return
        what = self._dice.choice(("other", "other", "other", "slow", "clock", "fail", "crash"))
        self.counts[f"{what} at {point}"] += 1
        if what == "other" and self._depth < 2:
            self._step(self._dice.randrange(2**32), 0.5)
        elif what == "slow":
            self._tick(self._dice.choice((0.05, 0.3, 2.0)))
        elif what == "clock":
            self._wall += self._dice.choice((-3600.0, -1.0, 1.0, 60.0, 3600.0))
        elif what == "fail":
            error = StorageError("the disk is full" if point != "written" else "the connection broke")
            error.may_be_written = point in ("sent", "written")
            raise error
        elif what == "crash":
            raise CrashError

    def _tick(self, seconds: float) -> None:
        self._wall += seconds
        self._monotonic += seconds

    def _wait(self, _: object) -> float:
        self._tick(WAIT)
        return WAIT

    # What happens.

    def step(self, seed: int) -> None:
        """Let one process do something, with all that may happen meanwhile."""
        self._points = 0
        self._step(seed, 0.15)

    def _step(self, seed: int, least: float) -> None:
        """Let a process that does nothing now do something; the dice of a step are its own."""
        before = self._dice, self._trouble
        self._dice = random.Random(seed)
        self._trouble = self._dice.choice((0.0, least, 0.4))
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
            self._dice, self._trouble = before

    def _act(self, number: int) -> None:
        process = self._processes[number]
        try:
            if process is None:
                process = self._processes[number] = Process(self.place)
            name = self._dice.choice(NAMES)
            what = self._dice.choices(
                (self._decide, self._reward, self._again, self._change, self._upkeep), (10, 8, 4, 1, 2)
            )[0]
            self.counts[what.__name__[1:]] += 1
            timeout = self._dice.choice((0.0, 0.1, 1.0, 5.0))
            until = self._monotonic + timeout
            stalled, is_free = self._stalls(), self._is_free(timeout)
            try:
                what(process.bandits[name], self.known[name], timeout)
            except BanditError as error:
                self.counts[type(error).__name__] += 1
                if is_free and isinstance(error, TimedOut):
                    raise BrokenPromiseError("a call waited until its deadline, and nothing was in its way") from None
            in_time = self._monotonic <= until + LATE or self._stalls() > stalled
            if not in_time and what != self._upkeep:
                raise BrokenPromiseError(f"a call returned {self._monotonic - until:.2f} s after its deadline")
        except StorageError:
            self._processes[number] = None  # it could not even open its bandits

    def _is_free(self, timeout: float) -> bool:
        """Say whether nothing is in the way of a call that has enough time."""
        return self._trouble == 0.0 and self._depth == 1 and timeout >= 1.0

    def _act_in_company(self, number: int) -> None:
        """Let a process start and do something, or carry out what several coroutines ask for at once."""
        process = self._processes[number]
        if process is None or self._dice.random() < 0.3:
            self.counts["start"] += 1
            self._processes[number] = None
            self._act(number)
            return
        self.counts["together"] += 1
        stalled, timeout = self._stalls(), self._dice.choice((0.0, 0.1, 1.0, 5.0))
        deadline, waited, asked = Deadline(timeout), self._waiting, list[Asked]()
        damaged = self._dice.choice(NAMES) if self._dice.random() < IS_DAMAGED else None
        if damaged is not None and not self._has_last(process.bandits[damaged]):
            damaged = None
        for _ in range(self._dice.randrange(2, 6)):
            name, key = self._dice.choice(NAMES), f"coroutine {self._dice.random()}"
            same = [each.key for each in asked if each.name == name and each.key is not None]
            if same and self._dice.random() < SAME_KEY:
                key = same[0]
            fails, log = self._dice.random() < FAILS, process.bandits[name]._log
            request = Change(_fail) if fails else Decide(1, key=key)
            ticket = log.commits.put(log, [request], deadline, lambda: None)
            asked.append(Asked(ticket, name, None if fails else key))
        self._waiting = [each.ticket for each in asked]
        try:
            with contextlib.nullcontext() if damaged is None else self._damaged(process.bandits[damaged]):
                for ticket in self._waiting:
                    ticket.log.commits.lead_for(ticket)
        finally:
            self._waiting = waited
        for each in asked:
            if not each.ticket.abandoned:
                self._note(process.bandits[each.name], each, each.name == damaged)
        for (name, again), number in Counter((each.name, each.key) for each in asked).items():
            if again is not None and number > 1:  # what one was told is not true of the other
                self.known[name].refused.discard(again)
        if self._monotonic > deadline.at + LATE and self._stalls() == stalled:
            raise BrokenPromiseError(f"coroutines waited {self._monotonic - deadline.at:.2f} s beyond their deadline")

    def _stalls(self) -> int:
        """Return how often time has passed that the process which acts could not see: it slept, or others acted."""
        return sum(self.counts[f"{what} at {each}"] for what in ("slow", "other") for each in POINTS)

    def _decide(self, bandit: Bandit, known: Acknowledged, timeout: float) -> None:
        number = self._dice.choice((1, 1, LARGEST_BATCH))
        if self._dice.random() < 0.5:
            key = f"key {len(known.keys) + len(known.refused)} {self._dice.random()}"
            self._ask(bandit, known, key, number, timeout)
            return
        known.keyless += number  # until it is said that they were not written
        try:
            known.decisions |= {choice.id: choice.arm for choice in bandit.decide(number, timeout=timeout)}
        except BanditError as error:
            if not (isinstance(error, StorageError) and error.may_be_written):
                known.keyless -= number
            raise

    def _again(self, bandit: Bandit, known: Acknowledged, timeout: float) -> None:
        if known.keys:
            key = self._dice.choice(list(known.keys))
            self._ask(bandit, known, key, max(1, len(known.keys[key])), timeout)

    def _ask(self, bandit: Bandit, known: Acknowledged, key: str, number: int, timeout: float) -> None:
        self._answered(bandit, known, key, lambda: bandit.decide(number, key=key, timeout=timeout))

    def _note(self, bandit: Bandit, asked: Asked, is_damaged: bool) -> None:
        """Take note of the result of a coroutine's request. What is wrong with one of them concerns no other."""
        known, key = self.known[asked.name], asked.key
        try:
            if key is None:
                asked.ticket.result()
                raise BrokenPromiseError("what failed has a result")
            self._answered(bandit, known, key, lambda: choices_of(*asked.ticket.result()))
            if is_damaged:
                raise BrokenPromiseError(f"{key!r} was written to a log that is damaged")
        except FailedError:
            if key is not None:
                raise BrokenPromiseError(f"{key!r} failed for another request") from None
        except BanditError as error:
            self.counts[type(error).__name__] += 1
            if isinstance(error, TimedOut) and self._is_free(asked.ticket.deadline.timeout):
                raise BrokenPromiseError(f"{key!r} waited until its deadline, and nothing was in its way") from None
            if isinstance(error, DamagedLog) and not is_damaged:
                raise BrokenPromiseError(f"{key!r} was told that a log is damaged, which is not") from None

    def _has_last(self, bandit: Bandit) -> bool:
        """Say whether the last event that a process knows is in the log: it may have been compacted since."""
        return any(event.seq == bandit._state.seq for event in self.place.content.logs[bandit._log.bandit_id])

    @contextlib.contextmanager
    def _damaged(self, bandit: Bandit) -> Iterator[None]:
        """Let the last event that a process knows be another for a while, in which nothing else goes wrong."""
        logs, number, trouble = self.place.content.logs, bandit._log.bandit_id, self._trouble
        log, self._trouble = logs[number], 0.0
        logs[number] = [event._replace(at=event.at + (event.seq == bandit._state.seq)) for event in log]
        self.counts["damaged"] += 1
        try:
            yield
        finally:
            logs[number], self._trouble = log, trouble

    def _answered(self, bandit: Bandit, known: Acknowledged, key: str, answer: Callable[[], list[Choice]]) -> None:
        try:
            choices = answer()
        except StorageError as error:
            self.counts["unknown" if error.may_be_written else "not written"] += 1
            if key not in known.keys:
                if error.may_be_written:
                    known.refused.discard(key)
                else:
                    known.refused.add(key)
            raise
        ids = [choice.id for choice in choices]
        if bandit._state.seq < max(map(_seq, ids)):
            raise BrokenPromiseError(f"{ids} were acknowledged, and the state is that after event {bandit._state.seq}")
        compacted = bandit._state.sealed
        if known.keys.setdefault(key, ids) != ids and not any(_seq(each) <= compacted for each in known.keys[key]):
            raise BrokenPromiseError(f"{key!r} gave {known.keys[key]}, then {ids}")
        known.keys[key] = ids
        known.refused.discard(key)
        known.decisions |= {choice.id: choice.arm for choice in choices}

    def _reward(self, bandit: Bandit, known: Acknowledged, timeout: float) -> None:
        if not known.decisions:
            return
        decision = self._dice.choice(list(known.decisions))
        value = known.rewards.get(decision, self._dice.random())
        if self._dice.random() < 0.2:
            bandit.shown(decision, timeout=timeout)
        elif bandit.reward(decision, value, timeout=timeout) in (True, False):
            known.rewards[decision] = value

    def _change(self, bandit: Bandit, known: Acknowledged, timeout: float) -> None:
        arms = list(bandit.arms)
        match self._dice.randrange(4):
            case 0:
                bandit.change_arms(add=[f"arm {len(arms)} {self._dice.random()}"], timeout=timeout)
            case 1:
                bandit.change_arms(retire=arms[1:2], timeout=timeout)
            case 2:
                bandit.change_arms(restore=arms, timeout=timeout)
            case _:
                bandit.change(epsilon=self._dice.choice((0.0, 0.1, 0.5)), timeout=timeout)

    def _upkeep(self, bandit: Bandit, known: Acknowledged, timeout: float) -> None:
        match self._dice.randrange(4):
            case 0:
                bandit.snapshot()
            case 1:
                bandit.expire(timeout=timeout)
            case _:
                self.counts["compact"] += 1
                upto = bandit._state.seq - self._dice.randrange(20)
                bandit.compact(upto, Path(self._folder.name) / f"{self.counts['compact']}.jsonl")

    # What was promised.

    def check(self) -> None:
        """Check all promises, as a process that has just been started, and those that are running."""
        self._trouble, self._points = 0.0, 0
        fresh = Process(self.place)
        for name, known in self.known.items():
            bandit = fresh.bandits[name]
            bandit.verify()
            for process in self._processes:
                if process is not None:
                    log = process.bandits[name]._log
                    with log.reading():
                        different = log.state.difference(bandit._state)
                    if different is not None:
                        raise BrokenPromiseError(f"two processes have different states of {name}, in {different!r}")
            self._check_log(bandit, known)
            self._check_again(bandit, known)

    def _check_again(self, bandit: Bandit, known: Acknowledged) -> None:
        """Check that whoever asks for the same again gets the same; nothing is written, and no time passes."""
        before = self._wall, self._monotonic, self._dice
        self._dice = random.Random(0)
        there = bandit._state.sealed + 1
        for key, ids in list(known.keys.items())[-REPEATED:]:
            if min(map(_seq, ids)) >= there and [each.id for each in bandit.decide(len(ids), key=key)] != ids:
                raise BrokenPromiseError(f"{key!r} no longer gives {ids}")
        for decision, value in list(known.rewards.items())[-REPEATED:]:
            if _seq(decision) >= there and bandit.reward(decision, value):
                raise BrokenPromiseError(f"the reward of {decision} was taken again")
        self._wall, self._monotonic, self._dice = before

    @staticmethod
    def _check_log(bandit: Bandit, known: Acknowledged) -> None:
        rows = [row for portion in bandit.rows() for row in portion]
        sealed = bandit._state.sealed
        decided = Counter(row.decision for row in rows if row.kind == "decided")
        arms = {row.decision: row.arm for row in rows if row.kind == "decided"}
        rewards = {row.decision: row.reward for row in rows if row.kind == "rewarded"}
        settled = Counter(
            row.decision for row in rows if row.kind in ("rewarded", "expired") and row.reward is not None
        )
        for decision, arm in known.decisions.items():
            if _seq(decision) > sealed and (decided[decision] != 1 or arms[decision] != arm):
                raise BrokenPromiseError(
                    f"decision {decision} was acknowledged, and is there {decided[decision]} times"
                )
        for decision, value in known.rewards.items():
            if _seq(decision) > sealed and rewards.get(decision) != value:
                raise BrokenPromiseError(f"reward {value} of {decision} was acknowledged, and is not there")
        if settled and max(settled.values()) > 1:
            raise BrokenPromiseError("a decision has two rewards")
        stored = bandit._log.store
        with stored.lock, stored.reading():
            events = [event for event in stored.events(bandit._log.bandit_id) if event.kind == "decided"]
        keys = [event.key for event in events if event.key is not None]
        keyless = len(events) - sum(event.batch or 0 for event in events)
        if keyless > known.keyless + (LARGEST_BATCH - 1 if sealed else 0):  # a request may have lost its key
            raise BrokenPromiseError(f"{keyless} decisions without a key, of {known.keyless} that were asked for")
        if doubled := [key for key, number in Counter(keys).items() if number > 1]:
            raise BrokenPromiseError(f"{doubled[0]!r} was carried out twice")
        if wrong := known.refused & set(keys):
            raise BrokenPromiseError(f"{min(wrong)!r} was said not to be written, and was")


POINTS = ("connect", "read", "lock", "append", "sent", "written")


def choices_of(outcome: Outcome) -> list[Choice]:
    """Return the choices of an outcome; if it is an error, raise it."""
    if isinstance(outcome, BanditError):
        raise outcome
    assert isinstance(outcome, list)
    return outcome


def _seq(decision: str) -> int:
    return int(decision.split("-")[1])


# Seeds.


def steps_of(seed: int, number: int = STEPS, company: bool = False) -> list[int]:
    """Return what a seed lets happen: a number for each step; every third one may be in company."""
    dice = random.Random(seed)
    return [dice.randrange(COMPANY) + COMPANY * (company and place % 3 == 0) for place in range(number)]


def play(seed: int, steps: Sequence[int]) -> tuple[Exception | None, Counter[str]]:
    """Play some steps of a seed; returns what went wrong, if anything, and what happened how often."""
    world = World(seed)
    try:
        with kept_by(world.monotonic):
            for place, each in enumerate(steps, start=1):
                world.step(each)
                if place % CHECK_EVERY == 0 or place == len(steps):
                    world.check()
    except Exception as error:
        return error, world.counts
    return None, world.counts


def shrunk(seed: int, steps: list[int]) -> list[int]:
    """Return few of the steps with which a seed still fails: first halves are left out, then quarters, ..."""
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            fewer = steps[:start] + steps[start + size :]
            if play(seed, fewer)[0] is not None:
                steps = fewer
                break
        else:
            size //= 2
    return steps


def fails(seed: int, company: bool = False) -> tuple[int, str | None, Counter[str]]:
    """Play a seed; returns it, what went wrong in words, and what happened how often."""
    error, counts = play(seed, steps_of(seed, company=company))
    return seed, None if error is None else f"{type(error).__name__}: {error}", counts


def failures(
    seeds: Sequence[int], jobs: int = 1, company: bool = False
) -> Iterator[tuple[int, str | None, Counter[str]]]:
    """Play seeds, on so many processors."""
    if jobs == 1:
        yield from map(partial(fails, company=company), seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(partial(fails, company=company), seeds, chunksize=8)


def main() -> int:
    """Play seeds; print those that fail, with the steps that they need, and what happened how often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes to play them in")
    parser.add_argument("--company", action="store_true", help="with coroutines that give up, and processes that start")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    failed = 0
    for seed, words, counts in failures(range(given.first, given.first + given.seeds), given.jobs, given.company):
        total += counts
        if words is not None:
            failed += 1
            steps = shrunk(seed, steps_of(seed, company=given.company))
            print(f"seed {seed} fails: {words}\n  steps {steps}", flush=True)
    for what, number in sorted(total.items()):
        print(f"{number:9,}  {what}")
    print(f"{failed} of {given.seeds} seeds failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
