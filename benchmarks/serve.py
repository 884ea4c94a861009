"""The bars of the service, as ratios within one run: durable decisions against an endpoint that answers at once.

Run it as `python benchmarks/serve.py [DATABASE ADDRESS ...]`; without one, on a SQLite file in a temporary folder and
on a PostgreSQL server that it starts, if there is one. It needs wrk. The server, wrk and the database share the
processors, as they do for all rows. Every bar is printed with its target, and whether it is met; the exit code is 1 if
one is missed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bar import Bar
from busy import started_server

from rotting.serve import requests
from rotting.serve.routing import Request, route
from rotting.serve.running import cores

CONNECTIONS = 64
SECONDS = 5
PORT = 8765
POST = 'wrk.method = "POST"\nwrk.body = "{}"\nwrk.headers["Content-Type"] = "application/json"\n'
DECISIONS, ECHO = "/v1/bandits/bench/decisions", "/echo"


class Measured(NamedTuple):
    """What wrk says: requests per second, and milliseconds; and what it cost."""

    rate: float
    median: float
    tail: float  # 99 %
    cost: float  # microseconds of processor time per request, of all processes of the server

    def __str__(self) -> str:
        return f"{self.rate:8,.0f}/s   p50 {self.median:6.1f} ms   p99 {self.tail:6.1f} ms   {self.cost:4.0f} us"


def main() -> int:
    if shutil.which("wrk") is None:
        sys.exit("this needs wrk: apt-get install wrk")
    missed = 0
    with contextlib.ExitStack() as stack:
        for url in sys.argv[1:] or [f"sqlite:///{tempfile.mkdtemp()}/bench.db", *started_server(stack)]:
            print(url)
            for bar in bars(url):
                print(f"  {bar}", flush=True)
                missed += not bar.holds
    return int(missed > 0)


def bars(url: str) -> Iterator[Bar]:
    """Measure them, in turns: the median of each kind of row counts."""
    script, slots = (Path(tempfile.mkdtemp(), name) for name in ("post.lua", "slots.lua"))
    script.write_text(POST)
    slots.write_text(POST.replace("{}", '{\\"n\\": 5}'))
    rows: dict[str, list[Measured]] = {}

    def add(name: str, *given: Any) -> None:
        rows.setdefault(name, []).append(wrk(*given))

    for _ in range(3):
        with server(url, cores()) as process:
            add("answered at once", process, script, ECHO)
            add("durable", process, script, DECISIONS)
            add("durable, 5 slots", process, slots, DECISIONS)
            add("durable, 8 at once", process, script, DECISIONS, 8)
        with server(url, 1) as process:
            add("durable, one process", process, script, DECISIONS)
    with server(url, 1, "one commit per request") as process:
        add("one commit each", process, script, DECISIONS)
    found = {name: Measured(*map(statistics.median, zip(*each, strict=True))) for name, each in rows.items()}
    for name, each in found.items():
        print(f"  {name:20} {each}")
    durable, half, is_sqlite = found["durable"], found["durable, 8 at once"], url.startswith("sqlite")
    at_once, single = durable.rate / found["answered at once"].rate, durable.rate / found["one commit each"].rate
    yield Bar("processor time per durable decision, us", durable.cost, 130.0 if is_sqlite else 140.0)
    yield Bar("the same for five slots / for one", found["durable, 5 slots"].cost / durable.cost, 1.5)
    yield Bar("durable / answered at once, per second", at_once, 0.5 if is_sqlite else 0.3, at_least=True)
    yield Bar("durable / one commit each, per second", single, 4.0 if is_sqlite else 8.0, at_least=True)
    yield Bar("p99 at the highest load, ms", durable.tail, 100.0)
    yield Bar(f"p99 at {half.rate / durable.rate:.0%} of it, ms", half.tail, 25.0)
    yield Bar("durable decisions per second", durable.rate, 10_000, at_least=True)


def wrk(process: int, script: Path, path: str, connections: int = CONNECTIONS) -> Measured:
    """Measure an endpoint of a server, after a second in which everything gets warm."""
    address = f"http://127.0.0.1:{PORT}{path}"
    command = ["wrk", "-t1", f"-c{connections}", "--latency", "-s", str(script), address]
    subprocess.run([*command, "-d1s"], check=True, capture_output=True)
    before = seconds_used(process)
    said = subprocess.run([*command, f"-d{SECONDS}s"], check=True, capture_output=True, text=True).stdout
    used = seconds_used(process) - before
    assert "Non-2xx" not in said, said
    rate, number = re.search(r"Requests/sec:\s+([\d.]+)", said), re.search(r"(\d+) requests in", said)
    assert rate is not None
    assert number is not None
    return Measured(float(rate[1]), _milliseconds(said, "50%"), _milliseconds(said, "99%"), 1e6 * used / int(number[1]))


def seconds_used(process: int) -> float:
    """Return the processor time of a process and of those that it has started, on Linux."""
    folder = Path(f"/proc/{process}")
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    children = (folder / "task" / str(process) / "children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(seconds_used(int(child)) for child in children)


def _milliseconds(said: str, quantile: str) -> float:
    found = re.search(rf"{quantile}\s+([\d.]+)(us|ms|s)", said)
    assert found is not None, said
    return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]]


@contextlib.contextmanager
def server(url: str, processes: int, mode: str = "") -> Iterator[int]:
    """Run this file as a server, and yield the number of its process."""
    process = subprocess.Popen([sys.executable, __file__, "--serve", url, str(processes), mode])
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/livez").close()
                break
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def serve(url: str, processes: int, mode: str) -> None:
    """Serve a bandit, and an endpoint that parses the same body and answers at once."""
    from rotting import Bandit, EffFEWA
    from rotting.bandit import Choice, commit
    from rotting.serve import running
    from rotting.serve.service import Options

    @route("POST", ECHO, "client", 201, here=True)
    async def echo(request: Request, body: requests.Decide) -> requests.Decisions:
        """Answer at once."""
        choice = Choice("440a0f7bce-3-c1266a17a539", "red", "never tried", 1.0)
        return requests.Decisions(decisions=[choice] * int(body.n))

    if mode == "one commit per request":
        commit.LARGEST_TRANSACTION = 1
    Bandit.open(url, "bench", EffFEWA(sigma=0.5), [f"arm {number}" for number in range(10)], reward_wait=60.0).close()
    running.serve(Options(url=url, processes=processes), "127.0.0.1", PORT, lambda text: None)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(main())
