"""The bars of a busy bandit: threads, processes, a distant database, an arm that is added, a worker that starts.

Run it as `python benchmarks/busy.py [DATABASE ADDRESS] [--distant] [--events N]`; without an address, a SQLite file in
a temporary folder. `--distant` puts a proxy in front of PostgreSQL that adds a millisecond to every round trip.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

from sqlalchemy.engine import make_url

from rotting import Bandit, EffFEWA

ARMS = [f"arm {number}" for number in range(10)]
POLICY = EffFEWA(sigma=0.5)
SECONDS = 5.0
CONTEXT = multiprocessing.get_context("spawn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--distant", action="store_true")
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--only", choices=["threads", "processes", "arm", "worker"])
    given = parser.parse_args()
    url = given.url or f"sqlite:///{tempfile.mkdtemp()}/bandits.db"
    parts: dict[str, Callable[[str], None]] = {
        "threads": threads,
        "processes": processes,
        "arm": partial(arm_added, events=given.events),
        "worker": worker_starts,
    }
    with distant(url) if given.distant else contextlib.nullcontext(url) as address:
        for name, part in parts.items():
            if given.only in (None, name):
                part(address)


def opened(url: str, name: str) -> Bandit:
    bandit = Bandit.open(url, f"{name} {time.time_ns()}", POLICY, ARMS)
    bandit.reward(bandit.decide().id, 1.0)
    return bandit


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1e3 if times else float("nan")


# Threads.


def threads(url: str) -> None:
    """Decisions per second of one thread and of 64 that share a bandit, best of three, in turns."""
    bandit, rates = opened(url, "threads"), {1: 0.0, 64: 0.0}
    slow = float("inf")
    for _ in range(3):
        for number in rates:
            rate, times = thread_rate(bandit, number)
            rates[number] = max(rates[number], rate)
            slow = min(slow, percentile(times, 0.99)) if number == 64 else slow
    print(
        f"64 threads / one: {rates[64] / rates[1]:.1f} (>= 10 on PostgreSQL, >= 3 on SQLite); {rates[64]:.0f} and "
        f"{rates[1]:.0f} decisions/s (>= 3000/s if distant); p99 {slow:.0f} ms (< 50)"
    )
    bandit.verify()


def thread_rate(bandit: Bandit, number: int) -> tuple[float, list[float]]:
    end, times = time.perf_counter() + SECONDS, list[float]()

    def work() -> None:
        mine = []
        while (start := time.perf_counter()) < end:
            bandit.decide()
            mine.append(time.perf_counter() - start)
        times.extend(mine)

    workers = [threading.Thread(target=work) for _ in range(number)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(times) / SECONDS, times


# Processes.


def processes(url: str) -> None:
    """Decide + reward per second of one process and of eight."""
    bandit, rates, fair = opened(url, "processes"), {1: 0.0, 8: 0.0}, 0.0
    for _ in range(2):
        for number in rates:
            counts = [len(times) for times in in_processes(url, bandit.name, number)]
            rates[number] = max(rates[number], sum(counts) / SECONDS)
            fair = max(fair, min(counts) / max(counts)) if number == 8 else fair
    print(
        f"8 processes / one: {rates[8] / rates[1]:.2f} (>= 0.6); {rates[8]:.0f} and {rates[1]:.0f} decide + reward/s; "
        f"slowest / fastest {fair:.2f} (>= 0.5)"
    )
    bandit.verify()


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


def arm_added(url: str, events: int) -> None:
    """The longest time without a decision of anybody when an arm is added to a long log, with 9 processes."""
    bandit = opened(url, "arm added")
    while bandit._log.state.seq < events:
        choices = bandit.decide(20_000)
        bandit.reward_many([(choice.id, float(place % 3 == 0)) for place, choice in enumerate(choices)])
    bandit.snapshot()

    def add() -> None:
        time.sleep(0.2 * SECONDS)
        started = time.perf_counter()
        bandit.add_arm("another")
        print(f"adding took {time.perf_counter() - started:.1f} s")

    quiet = longest_gap(in_processes(url, bandit.name, 8))
    gap = longest_gap(in_processes(url, bandit.name, 8, add))
    print(f"longest gap while an arm is added to {events:,} events: {gap:.2f} s (< 0.2 s); without {quiet:.2f} s")


def worker_starts(url: str) -> None:
    """The slowest decisions of four processes, and of the same four while others start."""
    bandit = opened(url, "worker starts")

    def start() -> None:
        time.sleep(0.3 * SECONDS)
        in_processes(url, bandit.name, 1)

    waits = []
    for meanwhile in (None, start):
        gaps = [
            after - before
            for mine in in_processes(url, bandit.name, 4, meanwhile)
            for before, after in itertools.pairwise(mine)
        ]
        waits.append(percentile(gaps, 0.99))
    print(f"p99 of four processes while another starts / before: {waits[1] / waits[0]:.2f} (<= 1.3); {waits[1]:.1f} ms")


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
    main()
