"""The bars of the service, as ratios within one run: durable decisions against an endpoint that answers at once.

Run it as `python benchmarks/serve.py [DATABASE ADDRESS ...]`; without one, on a SQLite file in a temporary folder and
on a PostgreSQL server that it starts, if there is one. It needs wrk. The server, wrk and the database share the
processors, as they do for all rows. Every bar is printed with its target, and whether it is met; the exit code is 1 if
one is missed.
"""

from __future__ import annotations

import contextlib
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
from typing import NamedTuple

from bar import Bar
from busy import started_server

from rotting.serve import requests
from rotting.serve.routing import Request, route

CONNECTIONS = 64
SECONDS = 5
PORT = 8765
POST = 'wrk.method = "POST"\nwrk.body = "{}"\nwrk.headers["Content-Type"] = "application/json"\n'
DECISIONS, ECHO = "/v1/bandits/bench/decisions", "/echo"


class Measured(NamedTuple):
    """What wrk says: requests per second, and milliseconds."""

    rate: float
    median: float
    tail: float  # 99 %

    def __str__(self) -> str:
        return f"{self.rate:8,.0f}/s   p50 {self.median:6.1f} ms   p99 {self.tail:6.1f} ms"


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
    script = Path(tempfile.mkdtemp(), "post.lua")
    script.write_text(POST)
    rows: dict[str, list[Measured]] = {"answered at once": [], "durable": [], "durable, 8 at once": []}
    with server(url):
        for _ in range(3):
            rows["answered at once"].append(wrk(script, ECHO))
            rows["durable"].append(wrk(script, DECISIONS))
            rows["durable, 8 at once"].append(wrk(script, DECISIONS, connections=8))
    with server(url, "one commit per request"):
        rows["one commit each"] = [wrk(script, DECISIONS)]
    found = {name: Measured(*map(statistics.median, zip(*each, strict=True))) for name, each in rows.items()}
    for name, each in found.items():
        print(f"  {name:20} {each}")
    durable, half, is_sqlite = found["durable"], found["durable, 8 at once"], url.startswith("sqlite")
    at_once, single = durable.rate / found["answered at once"].rate, durable.rate / found["one commit each"].rate
    yield Bar("durable / answered at once, per second", at_once, 0.5 if is_sqlite else 0.3, at_least=True)
    yield Bar("durable / one commit each, per second", single, 4.0 if is_sqlite else 8.0, at_least=True)
    yield Bar("p99 at the highest load, ms", durable.tail, 100.0)
    yield Bar(f"p99 at {half.rate / durable.rate:.0%} of it, ms", half.tail, 25.0)
    yield Bar(
        "durable decisions per second (BanditDB's own figure, without waiting)", durable.rate, 10_000, at_least=True
    )


def wrk(script: Path, path: str, connections: int = CONNECTIONS) -> Measured:
    """Measure an endpoint, after a second in which everything gets warm."""
    address = f"http://127.0.0.1:{PORT}{path}"
    command = ["wrk", "-t1", f"-c{connections}", "--latency", "-s", str(script), address]
    subprocess.run([*command, "-d1s"], check=True, capture_output=True)
    said = subprocess.run([*command, f"-d{SECONDS}s"], check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in said, said
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate is not None
    return Measured(float(rate[1]), _milliseconds(said, "50%"), _milliseconds(said, "99%"))


def _milliseconds(said: str, quantile: str) -> float:
    found = re.search(rf"{quantile}\s+([\d.]+)(us|ms|s)", said)
    assert found is not None, said
    return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]]


@contextlib.contextmanager
def server(url: str, mode: str = "") -> Iterator[None]:
    """Run this file as a server."""
    process = subprocess.Popen([sys.executable, __file__, "--serve", url, mode])
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/livez").close()
                break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def serve(url: str, mode: str) -> None:
    """Serve a bandit, and an endpoint that parses the same body and answers at once."""
    from rotting import Bandit, EffFEWA
    from rotting.bandit import Choice, commit
    from rotting.serve import running
    from rotting.serve.service import Options

    @route("POST", ECHO, "client", 201)
    async def echo(request: Request, body: requests.Decide) -> requests.Decisions:
        """Answer at once."""
        choice = Choice("440a0f7bce-3-c1266a17a539", "red", "never tried", 1.0)
        return requests.Decisions(decisions=[choice] * int(body.n))

    if mode == "one commit per request":
        commit.LARGEST_TRANSACTION = 1
    Bandit.open(url, "bench", EffFEWA(sigma=0.5), [f"arm {number}" for number in range(10)], reward_wait=60.0).close()
    running.serve(Options(url=url), "127.0.0.1", PORT, lambda text: None)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main())
