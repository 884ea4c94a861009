"""A real Dask scheduler and real workers, each a process of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray
from distributed import Client

import rotting
from own_modules import problem_text, write_module
from rotting import FEWA, UCB1, EpsilonGreedy, Oracle, sweep
from rotting._core.compiling import kernel_digest
from rotting.errors import MissingExtra
from rotting.problems import ten_arm, two_arm
from rotting.sweeps import SweepError
from rotting.sweeps import cluster as clusters
from rotting.sweeps.folder import Folder

PACKAGE = Path(rotting.__file__).parent
POLICIES = (FEWA(), EpsilonGreedy(), Oracle(), UCB1())
PROBLEMS = (two_arm(L=1.0, horizon=4000), ten_arm())
RUNS = 40


class Cluster:
    """A scheduler and workers of one thread, as somebody would start them from the shell."""

    def __init__(self, folder: Path):
        self.folder, self.processes = folder, {}
        file = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        self._start("scheduler", ["scheduler", *options], PACKAGE.parent)
        while not file.exists() or not file.read_text().endswith("}"):
            time.sleep(0.02)
        self.address = json.loads(file.read_text())["address"]

    def _start(self, name: str, command: list[str], source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2"}
        with open(self.folder / f"{name}.log", "w") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "dask", *command], env=environment, stderr=log, stdout=log
            )

    def start_worker(self, name: str, source: Path = PACKAGE.parent) -> None:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)]
        self._start(name, ["worker", self.address, "--name", name, *options], source)

    def end(self, name: str) -> None:
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield started
    finally:
        for name in list(started.processes):
            started.end(name)


@pytest.fixture(scope="module")
def client(cluster):
    for name in ("first", "second"):
        cluster.start_worker(name)
    with Client(cluster.address, set_as_default=False) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected


def names(client):
    return {worker["name"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()}


def wait_for(client, expected):
    """Wait until the scheduler knows these workers and no others."""
    deadline = time.monotonic() + 60
    while names(client) != expected:
        assert time.monotonic() < deadline, f"workers: {names(client)}; expected {expected}"
        time.sleep(0.05)


def play(out, **named):
    return sweep(POLICIES, PROBLEMS, **{"runs": RUNS, "seed": 2, "out": out, "progress": False, **named})


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return what one thread of this process finds."""
    return play(tmp_path_factory.mktemp("alone"), threads=1)


def test_a_cluster_finds_the_same_though_a_worker_is_killed(cluster, client, alone, tmp_path, monkeypatch):
    original, written = Folder.write, []

    def write_and_kill(folder, block, encoded):
        original(folder, block, encoded)
        written.append(block)
        if len(written) == 3:
            cluster.end("second")  # with blocks under way and blocks that are finished but not yet fetched

    monkeypatch.setattr(Folder, "write", write_and_kill)
    xarray.testing.assert_identical(play(tmp_path / "out", cluster=cluster.address), alone)
    assert len(written) > 6
    assert names(client) == {"first"}
    assert len(written) == len(set(written))
    cluster.start_worker("second")
    wait_for(client, {"first", "second"})


def test_a_client_will_do_and_the_client_never_holds_many_blocks(client, alone, tmp_path, monkeypatch):
    original, most = Folder.write, []

    def write(folder, block, encoded):
        original(folder, block, encoded)
        most.append(len(client.futures))

    monkeypatch.setattr(Folder, "write", write)
    xarray.testing.assert_identical(play(tmp_path / "out", cluster=client), alone)
    assert max(most) <= 2 * clusters._IN_FLIGHT_PER_THREAD + 1
    assert client.status == "running"  # it is not ours to close
    deadline = time.monotonic() + 10
    while client.futures and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not client.futures


def test_workers_are_sent_the_users_own_modules(client, tmp_path):
    # The same workers, twice: the second time the module is edited.
    for factor, problem in ((1.0, problem_text("OnWorkers")), (0.0, PROBLEMS[0])):
        file = write_module(tmp_path, "own_on_workers", "OnWorkers", factor)
        policies = "OnWorkersPolicy"
        found, expected = (
            sweep(policies, problem, 8, out=tmp_path / f"{factor}-{where}", imports=[file], progress=False, **named)
            for where, named in (("cluster", {"cluster": client}), ("here", {"threads": 1}))
        )
        xarray.testing.assert_identical(found, expected)


def test_a_block_that_kills_every_worker_is_given_up(cluster, client, tmp_path, monkeypatch):
    """With no failure allowed, the death of one worker is one too many; what was finished stays."""
    client.run_on_scheduler(_allow, failures=0)
    original, written = Folder.write, []

    def write_and_kill(folder, block, encoded):
        original(folder, block, encoded)
        written.append(block)
        if len(written) == 2:
            cluster.end("second")

    monkeypatch.setattr(Folder, "write", write_and_kill)
    with pytest.raises(
        SweepError, match=r"runs \d+ to \d+ were given up: 1 workers died over them \(.* on .*same command again"
    ):
        play(tmp_path / "out", cluster=client)
    monkeypatch.setattr(Folder, "write", original)
    assert len(os.listdir(tmp_path / "out" / "blocks")) >= 2
    client.run_on_scheduler(_allow, failures=2)
    cluster.start_worker("second")
    wait_for(client, {"first", "second"})


def _allow(dask_scheduler, failures):
    dask_scheduler.allowed_failures = failures


_allow.__module__ = "__main__"  # sent by value: the scheduler does not know this file


def test_workers_with_other_kernels_are_refused_by_name(cluster, client, tmp_path):
    copy = tmp_path / "other" / "rotting"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with open(copy / "policies" / "ucb1.py", "a") as file:
        file.write("# edited\n")
    cluster.start_worker("edited", copy.parent)
    try:
        wait_for(client, {"first", "second", "edited"})
        address = next(
            at for at, worker in client.scheduler_info(n_workers=-1)["workers"].items() if worker["name"] == "edited"
        )
        with pytest.raises(SweepError) as refused:
            play(tmp_path / "out", cluster=client)
        assert f"1 of 3 workers do not run rotting {rotting.__version__}" in str(refused.value)
        assert address in str(refused.value)
        assert os.listdir(tmp_path / "out" / "blocks") == []
        # One that joins after the others were asked refuses by itself.
        task = (rotting.__version__, kernel_digest(), "cpu", (), ())
        task = client.submit(clusters.play_task, task, workers=[address], pure=False)
        with pytest.raises(SweepError, match=f"worker {address} runs rotting"):
            task.result()
    finally:
        cluster.end("edited")
    wait_for(client, {"first", "second"})


def test_a_worker_without_the_package_is_refused_by_name(cluster, client, tmp_path):
    (tmp_path / "rotting.py").write_text("raise ImportError('no rotting here')\n")
    cluster.start_worker("bare", tmp_path)
    try:
        wait_for(client, {"first", "second", "bare"})
        with pytest.raises(SweepError, match=r"1 of 3 workers.*tcp://.*no rotting here"):
            play(tmp_path / "out", cluster=client)
    finally:
        cluster.end("bare")
    wait_for(client, {"first", "second"})


def test_nobody_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "_TIMEOUT_SECONDS", 0.5)
    with pytest.raises(SweepError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        play(tmp_path / "out", cluster="tcp://127.0.0.1:9")
    for nonsense in ("", "nonsense", "nonsense://x:1", "tcp://host", "locale"):
        with pytest.raises(SweepError, match=f"cluster='{nonsense}' is not an address; expected tcp://HOST:PORT"):
            play(tmp_path / "out", cluster=nonsense)
    with pytest.raises(TypeError, match="cluster=5"):
        play(tmp_path / "out", cluster=5)


def test_without_dask_a_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r'pip install "rotting\[dask\]"'):
        play(tmp_path / "out", cluster="local")


def test_a_scheduler_without_workers_and_one_that_dies(tmp_path, monkeypatch):
    lonely = Cluster(tmp_path)
    try:
        monkeypatch.setattr(clusters, "_TIMEOUT_SECONDS", 1)
        with pytest.raises(SweepError, match="has no workers"):
            play(tmp_path / "out", cluster=lonely.address)
        monkeypatch.undo()
        lonely.start_worker("only")
        original = Folder.write

        def write_and_kill(folder, block, encoded):
            original(folder, block, encoded)
            if "scheduler" in lonely.processes:
                lonely.end("scheduler")

        monkeypatch.setattr(Folder, "write", write_and_kill)
        with pytest.raises(SweepError, match="connection to the Dask scheduler is lost"):
            play(tmp_path / "out", cluster=lonely.address)
    finally:
        for name in list(lonely.processes):
            lonely.end(name)
