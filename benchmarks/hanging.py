"""A PostgreSQL server that hangs under load: every call is back in time, and all that was acknowledged is in the log.

Run it as `python benchmarks/hanging.py [--seconds 60]`. It starts a server, and two processes with threads and
coroutines that decide and reward with deadlines of 0.05 to 2 s. First all processes of the server are stopped
(SIGSTOP), then whatever is sent to it or by it is kept back by a proxy. Every bar is printed with its target, and
whether it is met; the exit code is 1 if one is missed. A thread that does nothing but sleep says how late the machine
itself is: on a busy one, calls may be late for that reason alone.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import psycopg
from bar import Bar
from busy import started_server
from sqlalchemy.engine import make_url

from rotting import Bandit, EffFEWA
from rotting.bandit import AsyncBandit, StorageError

PROCESSES, THREADS, COROUTINES = 2, 8, 8
DEADLINES = (0.05, 0.1, 0.3, 1.0, 2.0)
BEFORE, AFTER = 5.0, 15.0  # seconds of load before the server hangs, and after
LATE = 0.2  # seconds after its deadline within which a call returns
CONTEXT = multiprocessing.get_context("spawn")


class Call(NamedTuple):
    """A call of a caller."""

    what: str  # the key of a decision, or the decision that a reward is for
    is_reward: bool
    began: float
    timeout: float
    late: float  # seconds after its deadline
    outcome: str  # "acknowledged", "not written" or "unknown"
    thread: str
    decision: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the server hangs")
    seconds = parser.parse_args().seconds
    missed = 0
    with contextlib.ExitStack() as stack:
        urls = started_server(stack)
        if not urls:
            print("found no PostgreSQL")
        for url in urls:
            with passing(url) as (through, dropped):
                for name, address, hangs in (("stopped", url, stopped(url)), ("dropped", through, dropped)):
                    print(f"{name} for {seconds:g} s")
                    for bar in measured(name, url, address, hangs, seconds):
                        print(f"  {bar}", flush=True)
                        missed += not bar.holds
    return int(missed > 0)


def measured(name: str, url: str, address: str, hangs: AbstractContextManager[None], seconds: float) -> Iterator[Bar]:
    """Let a server hang under load, and say what became of the calls."""
    with Bandit.open(url, name, EffFEWA(sigma=0.5), ["red", "green", "blue"], reward_range=(0, 1)) as bandit:
        bandit.reward(bandit.decide().id, 1.0)
    end = time.time() + 5.0 + BEFORE + seconds + AFTER  # processes take some seconds to begin
    results: Any = CONTEXT.Queue()
    workers = [CONTEXT.Process(target=work, args=(address, name, end, results)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    time.sleep(5.0 + BEFORE)
    began = time.monotonic()
    with hangs:
        time.sleep(seconds)
    over = time.monotonic()
    found = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    calls = [call for part, _ in found for call in part]
    outcomes = collections.Counter(call.outcome for call in calls if began <= call.began < over)
    again = min(call.began for call in calls if call.began > over and call.outcome == "acknowledged") - over
    print(f"  {len(calls)} calls; those that began meanwhile: {dict(outcomes)}; again after {again:.2f} s")
    sleeper = [moment for _, moments in found for moment in moments]
    print(f"  latest call {max(call.late for call in calls):.3f} s, sleeper {max(late for _, late in sleeper):.3f} s")
    for call in sorted((call for call in calls if call.late > LATE), key=lambda call: -call.late)[:10]:
        end = call.began + call.timeout + call.late
        near = max((late for at, late in sleeper if call.began <= at <= end + 1.0), default=0.0)
        print(
            f"    late by {call.late:.3f} s of {call.timeout:g} s, {end - began:.2f} s after it began to hang, in "
            f"{call.thread}, {call.outcome}; the sleeper was late by {near:.3f} s then"
        )
    yield Bar(f"calls later than their deadline + {LATE} s", sum(call.late > LATE for call in calls), 0)
    lost, false = against_the_log(url, name, calls)
    yield Bar("acknowledged, and not in the log", lost, 0)
    yield Bar("said not to be written, and in the log", false, 0)


def against_the_log(url: str, name: str, calls: list[Call]) -> tuple[int, int]:
    """Return how many calls were acknowledged and are not in the log, or the other way round; the log must verify."""
    with Bandit.open(url, name) as bandit:
        bandit.verify()
        log = bandit.history()
    with psycopg.connect(plain(url)) as connection:
        written = connection.execute("SELECT key FROM rotting_events WHERE key IS NOT NULL").fetchall()
    keys = {key for (key,) in written}
    decided, rewarded = (set(log[log["kind"] == kind]["decision"]) for kind in ("decided", "rewarded"))
    lost = false = 0
    for call in calls:
        is_there = call.what in (rewarded if call.is_reward else keys)
        if call.outcome == "acknowledged":
            lost += not is_there or (not call.is_reward and call.decision not in decided)
        false += call.outcome == "not written" and is_there and not call.is_reward
    return lost, false


# Callers.


def work(address: str, name: str, end: float, results: Any) -> None:
    """Call until the end, and tell of all calls."""
    calls: list[Call] = []
    lateness: list[tuple[float, float]] = []
    with Bandit.open(address, name) as bandit:
        bandit.decide()  # kernels are loaded
        threads = [threading.Thread(target=call_in_a_thread, args=(bandit, end, calls)) for _ in range(THREADS)]
        threads.append(threading.Thread(target=sleep_only, args=(end, lateness)))
        for thread in threads:
            thread.start()
        asyncio.run(call_in_coroutines(bandit, end, calls))
        for thread in threads:
            thread.join()
    results.put((calls, lateness))


def sleep_only(end: float, lateness: list[tuple[float, float]]) -> None:
    """Note how late a thread is that only sleeps."""
    while time.time() < end:
        began = time.monotonic()
        time.sleep(0.02)
        lateness.append((time.monotonic(), time.monotonic() - began - 0.02))


def call_in_a_thread(bandit: Bandit, end: float, calls: list[Call]) -> None:
    dice = random.Random()
    while time.time() < end:
        key, timeout, began = new_key(dice), dice.choice(DEADLINES), time.monotonic()
        try:
            decision = bandit.decide(key=key, timeout=timeout).id
        except StorageError as error:
            calls.append(failed(key, False, began, timeout, error))
            continue
        calls.append(done(key, False, began, timeout, decision))
        timeout, began = dice.choice(DEADLINES), time.monotonic()
        try:
            bandit.reward(decision, 0.5, timeout=timeout)
        except StorageError as error:
            calls.append(failed(decision, True, began, timeout, error))
        else:
            calls.append(done(decision, True, began, timeout))


async def call_in_coroutines(bandit: Bandit, end: float, calls: list[Call]) -> None:
    shop = AsyncBandit(bandit)

    async def call() -> None:
        dice = random.Random()
        while time.time() < end:
            key, timeout, began = new_key(dice), dice.choice(DEADLINES), time.monotonic()
            try:
                decision = (await shop.decide(key=key, timeout=timeout)).id
            except StorageError as error:
                calls.append(failed(key, False, began, timeout, error))
            else:
                calls.append(done(key, False, began, timeout, decision))

    await asyncio.gather(*(call() for _ in range(COROUTINES)))


def new_key(dice: random.Random) -> str:
    return f"{dice.getrandbits(96):024x}"


def done(what: str, is_reward: bool, began: float, timeout: float, decision: str = "") -> Call:
    return call_of(what, is_reward, began, timeout, "acknowledged", decision)


def failed(what: str, is_reward: bool, began: float, timeout: float, error: StorageError) -> Call:
    return call_of(what, is_reward, began, timeout, "unknown" if error.may_be_written else "not written")


def call_of(what: str, is_reward: bool, began: float, timeout: float, outcome: str, decision: str = "") -> Call:
    late = time.monotonic() - began - timeout
    return Call(what, is_reward, began, timeout, late, outcome, threading.current_thread().name, decision)


# What hangs.


def plain(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


@contextlib.contextmanager
def stopped(url: str) -> Iterator[None]:
    """Stop all processes of a server."""
    first = subprocess.run(
        ["pgrep", "-o", "-f", f"postgres.* -p {make_url(url).port} "], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = subprocess.run(["pgrep", "-P", first], capture_output=True, text=True, check=True).stdout.split()
    processes = [int(first), *map(int, found)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@contextlib.contextmanager
def passing(url: str) -> Iterator[tuple[str, AbstractContextManager[None]]]:
    """Yield an address through a proxy, and what keeps back everything that passes through it."""
    target, passes = make_url(url), threading.Event()
    passes.set()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(65536):
                passes.wait()
                sink.sendall(content)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listening.accept()
                passes.wait()
                far = socket.create_connection((target.host, target.port))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    @contextlib.contextmanager
    def dropped() -> Iterator[None]:
        passes.clear()
        try:
            yield
        finally:
            passes.set()

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield target.set(port=listening.getsockname()[1]).render_as_string(hide_password=False), dropped()


if __name__ == "__main__":
    sys.exit(main())
