"""The bars of a busy bandit: threads, processes, a distant database, workers that start or stop, an arm that is added.

Run it as `python benchmarks/busy.py [DATABASE ADDRESS ...]`; without an address, on a SQLite file in a temporary folder
and on a PostgreSQL server that it starts, if there is one. Every bar is printed with its target, and whether it is met;
the exit code is 1 if one is missed. A proxy that adds a millisecond to every round trip makes PostgreSQL distant.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import multiprocessing
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bar import Bar
from sqlalchemy.engine import make_url

from rotting import Bandit, EffFEWA
from rotting.bandit import TimedOut

ARMS = [f"arm {number}" for number in range(10)]
POLICY = EffFEWA(sigma=0.5)
SECONDS = 4.0
CONTEXT = multiprocessing.get_context("spawn")
Bars = Iterator[Bar]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("urls", nargs="*")
    parser.add_argument("--events", type=int, default=1_000_000, help="length of the log that an arm is added to")
    parser.add_argument("--only", choices=["threads", "distant", "processes", "arm", "worker", "stopped"])
    given = parser.parse_args()
    parts: dict[str, Callable[[str], Bars]] = {
        "threads": threads,
        "distant": far_away,
        "processes": processes,
        "worker": worker_starts,
        "stopped": writer_stops,
        "arm": partial(arm_added, events=given.events),
    }
    missed = 0
    with contextlib.ExitStack() as stack:
        for url in given.urls or [f"sqlite:///{tempfile.mkdtemp()}/bandits.db", *started_server(stack)]:
            print(make_url(url).render_as_string())
            for name, part in parts.items():
                for bar in part(url) if given.only in (None, name) else ():
                    print(f"  {bar}", flush=True)
                    missed += not bar.holds
    return int(missed > 0)


def started_server(stack: contextlib.ExitStack) -> list[str]:
    """Return the address of a PostgreSQL server, started as the tests do."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "bandit"))
    from conftest import running_server, server_programs  # type: ignore[import-not-found]

    programs = server_programs()
    return [] if programs is None else [stack.enter_context(running_server(*programs))]


def is_postgres(url: str) -> bool:
    return url.startswith("postgresql")


def opened(url: str, name: str) -> Bandit:
    bandit = Bandit.open(url, f"{name} {time.time_ns()}", POLICY, ARMS)
    bandit.reward(bandit.decide().id, 1.0)
    return bandit


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1e3 if times else float("nan")


# Threads.


def threads(url: str) -> Bars:
    """Decisions per second of one thread and of 64 that share a bandit: medians of turns."""
    one, many, slow = thread_rates(url)
    yield Bar("64 threads / one, decisions per second", many / one, 10.0 if is_postgres(url) else 3.0, at_least=True)
    yield Bar("p99 of 64 threads, ms", slow, 50.0)


def far_away(url: str) -> Bars:
    """The same with a millisecond between us and the database."""
    if is_postgres(url):
        with distant(url) as address:
            _, many, slow = thread_rates(address)
        yield Bar("64 threads, PostgreSQL 1 ms away, decisions per second", many, 3000.0, at_least=True)
        yield Bar("p99 of these, ms", slow, 50.0)


def thread_rates(url: str) -> tuple[float, float, float]:
    """Return the decisions per second of one thread and of 64, and p99 of 64 in milliseconds."""
    bandit = opened(url, "threads")
    gc.freeze()  # as docs/production.md advises
    turns = [(thread_rate(bandit, 1), thread_rate(bandit, 64)) for _ in range(3)]
    bandit.verify()
    bandit.close()
    singles, many = zip(*turns, strict=True)
    return (
        statistics.median(rate for rate, _ in singles),
        statistics.median(rate for rate, _ in many),
        statistics.median(percentile(times, 0.99) for _, times in many),
    )


def thread_rate(bandit: Bandit, number: int) -> tuple[float, list[float]]:
    end, times = time.perf_counter() + SECONDS, list[float]()

    def work(_: int) -> None:
        mine = []
        while (start := time.perf_counter()) < end:
            bandit.decide()
            mine.append(time.perf_counter() - start)
        times.extend(mine)

    run_threads(number, work)
    return len(times) / SECONDS, times


def run_threads(number: int, work: Callable[[int], None]) -> None:
    workers = [threading.Thread(target=work, args=(place,)) for place in range(number)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


# Processes.


def processes(url: str) -> Bars:
    """Decide + reward per second of one process and of eight."""
    bandit, rates, fair = opened(url, "processes"), {1: 0.0, 8: 0.0}, 0.0
    for _ in range(2):
        for number in rates:
            counts = [len(times) for times in in_processes(url, bandit.name, number)]
            rates[number] = max(rates[number], sum(counts) / SECONDS)
            fair = max(fair, min(counts) / max(counts)) if number == 8 else fair
    bandit.verify()
    yield Bar("8 processes / one, decide + reward per second", rates[8] / rates[1], 0.6, at_least=True)
    yield Bar("slowest of them / fastest", fair, 0.5, at_least=True)


def in_processes(url: str, name: str, number: int, meanwhile: Callable[[], None] | None = None) -> list[list[float]]:
    """Return the moments of all decisions of some processes, which begin together."""
    queue, barrier = CONTEXT.Queue(), CONTEXT.Barrier(number + 1)
    running = [CONTEXT.Process(target=play, args=(url, name, queue, barrier)) for _ in range(number)]
    for process in running:
        process.start()
    barrier.wait()
    if meanwhile is not None:
        meanwhile()
    times = [queue.get() for _ in running]
    for process in running:
        process.join()
    return times


def play(url: str, name: str, queue: multiprocessing.Queue[list[float]], barrier: threading.Barrier) -> None:
    with Bandit.open(url, name) as bandit:
        bandit.reward(bandit.decide().id, 1.0)
        barrier.wait()
        end, times = time.monotonic() + SECONDS, []
        while time.monotonic() < end:
            choice = bandit.decide()
            times.append(time.monotonic())
            bandit.reward(choice.id, 1.0)
    queue.put(times)


def longest_gap(times: list[list[float]]) -> float:
    every = sorted(moment for mine in times for moment in mine)
    return max(after - before for before, after in itertools.pairwise(every))


def arm_added(url: str, events: int) -> Bars:
    """The longest time without a decision of anybody when an arm is added to a long log, with 9 processes."""
    bandit = opened(url, "arm added")
    while bandit._log.state.seq < events:
        choices = bandit.decide(20_000)
        bandit.reward_many([(choice.id, float(place % 3 == 0)) for place, choice in enumerate(choices)])
    bandit.snapshot()

    def add() -> None:
        time.sleep(0.2 * SECONDS)
        bandit.add_arm("another")

    quiet = longest_gap(in_processes(url, bandit.name, 8))
    gap = longest_gap(in_processes(url, bandit.name, 8, add))
    yield Bar(f"seconds without a decision, an arm added to {events:,} events ({quiet:.2f} without)", gap, 0.2)


def worker_starts(url: str) -> Bars:
    """The slowest decisions of four processes, and of the same four while another starts and decides once.

    A process that starts takes a processor for a second or two, whatever it does. So a stranger that does the same on
    a database of its own is measured, too.
    """
    bandit = opened(url, "worker starts")
    stranger = f"sqlite:///{tempfile.mkdtemp()}/stranger.db"
    Bandit.open(stranger, bandit.name, POLICY, ARMS).close()
    waits: dict[str | None, list[float]] = {None: [], stranger: [], url: []}
    for _ in range(2):
        for address, found in waits.items():
            start = None if address is None else partial(start_worker, address, bandit.name)
            every = in_processes(url, bandit.name, 4, start)
            gaps = [after - before for mine in every for before, after in itertools.pairwise(mine)]
            found.append(percentile(gaps, 0.99))
    before, during_stranger, during = (min(found) for found in waits.values())
    yield Bar(f"p99 of four processes while a worker starts / before ({before:.1f} ms)", during / before, 1.3)
    yield Bar("the same / while a stranger to the database starts", during / during_stranger, 1.3)


def start_worker(url: str, name: str) -> None:
    time.sleep(0.1 * SECONDS)
    process = CONTEXT.Process(target=decide_once, args=(url, name))
    process.start()
    process.join()


def decide_once(url: str, name: str) -> None:
    with Bandit.open(url, name) as bandit:
        bandit.decide()


# A writer that is stopped.

STOPPED = """
import sys, time
from rotting import Bandit
from rotting.bandit.core.events import Question
log = Bandit.open(sys.argv[1], sys.argv[2])._log
with log.store.writing():
    log.store.look_up({log.bandit_id: Question(1)}, lock=True)
    print("in", flush=True)
    time.sleep(600)
"""


def writer_stops(url: str) -> Bars:
    """How much later than their deadline calls return while another process is stopped in mid-transaction."""
    bandit, late = opened(url, "stopped"), list[float]()
    other = subprocess.Popen([sys.executable, "-c", STOPPED, url, bandit.name], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    os.kill(other.pid, signal.SIGSTOP)

    def work(number: int) -> None:
        for turn in range(10):
            timeout, start = 0.1 + 0.05 * ((number + turn) % 4), time.monotonic()
            with contextlib.suppress(TimedOut):
                bandit.decide(timeout=timeout)
            late.append(time.monotonic() - start - timeout)

    run_threads(16, work)
    other.kill()
    other.wait()
    yield Bar(f"seconds beyond the deadline, the worst of {len(late)} calls with a stopped writer", max(late), 0.2)


# A distant database.


@contextlib.contextmanager
def distant(url: str, delay: float = 0.0005) -> Iterator[str]:
    """Yield the address of a proxy that holds back everything, in both directions, for half a millisecond."""
    address = make_url(url)
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = (address.host, address.port)
        threading.Thread(target=accept, args=(server, target, delay), daemon=True).start()
        near = address.set(host="127.0.0.1", port=server.getsockname()[1])
        yield near.render_as_string(hide_password=False)


def accept(server: socket.socket, target: tuple[str, int], delay: float) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            far = socket.create_connection(target)
            for one, other in ((client, far), (far, client)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=forward, args=(one, other, delay), daemon=True).start()


def forward(source: socket.socket, sink: socket.socket, delay: float) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(1 << 16):
            time.sleep(delay)
            sink.sendall(content)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(main())
