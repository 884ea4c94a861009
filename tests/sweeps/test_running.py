"""Sweeps as a whole: the same bits as `simulate`, whatever happens to the process, the disk or the blocks."""

import errno
import filecmp
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

import rotting
from rotting import FEWA, UCB1, EpsilonGreedy, Oracle, Problem, simulate, sweep
from rotting.problems import Drop, stationary, ten_arm, two_arm
from rotting.sweeps import Plan, SweepError, blocks, open_results, running
from rotting.sweeps.folder import Folder
from rotting.sweeps.running import run_plan

POLICIES = (FEWA(), UCB1(), EpsilonGreedy(), Oracle())
PROBLEMS = (
    two_arm(L=1.0, horizon=300),
    Problem([0.2, Drop(0.9, 0.1, 30), 0.5], noise="bernoulli", name="mine", horizon=99),
)
RUNS = 6


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Cut small sweeps into blocks, too."""
    monkeypatch.setattr(blocks, "SHORTEST_NANOSECONDS", 10**6)


def play(out, **named):
    return sweep(POLICIES, PROBLEMS, **{"runs": RUNS, "seed": 5, "out": out, "threads": 1, "progress": False, **named})


def same_files(first: Path, second: Path) -> bool:
    names = sorted(file.name for file in (first / "blocks").iterdir())
    assert names == sorted(file.name for file in (second / "blocks").iterdir())
    _, different, unreadable = filecmp.cmpfiles(first / "blocks", second / "blocks", names, shallow=False)
    return not different and not unreadable and len(names) > 3


@pytest.fixture
def whole(tmp_path):
    """Return the folder of an uninterrupted sweep on one thread."""
    play(tmp_path / "whole")
    return tmp_path / "whole"


# What comes out.


def test_results_are_those_of_simulate(whole):
    for place, problem in enumerate(PROBLEMS):
        alone = simulate(POLICIES, problem, runs=RUNS, seed=5, progress=False)
        one = open_results(whole, problem=place)
        xarray.testing.assert_equal(one, alone.drop_vars(["seconds", "oracle_reward"]))
        assert one.attrs.items() >= {"problem": problem.name, "horizon": problem.horizon, "seed": 5}.items()


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_nothing(whole, tmp_path, threads):
    xarray.testing.assert_identical(play(tmp_path / "other", threads=threads), open_results(whole))
    assert same_files(tmp_path / "other", whole)


def test_horizon_and_rounds(tmp_path):
    result = play(tmp_path / "out", horizon=40, rounds=[1, 40])
    assert result["rounds"].values.tolist() == [[1, 40], [1, 40]]
    alone = simulate(POLICIES, PROBLEMS[1], horizon=40, rounds=[1, 40], runs=RUNS, seed=5, progress=False)
    np.testing.assert_array_equal(result.regret.values[1], alone.regret.values)


def test_one_of_each_will_do(tmp_path):
    assert sweep("UCB1", "ten_arm()", 2, out=tmp_path / "a", horizon=20).sizes["policy"] == 1
    assert sweep(UCB1(), ten_arm(), 2, out=tmp_path / "b", horizon=20).sizes["problem"] == 1


def test_a_policy_that_cannot_play_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(ValueError, match=r"cannot play two_arm"):
        sweep([rotting.SlidingWindowUCB(tau=10**15)], [two_arm()], 2, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# Interruptions.


@pytest.fixture
def computed(monkeypatch):
    """Return a list that grows by the number of every run that is played."""
    numbers, original = [], running.play

    def play(cells, *rest):
        numbers.extend(run for cell in cells for run in cell.runs)
        return original(cells, *rest)

    monkeypatch.setattr(running, "play", play)
    return numbers


def test_a_finished_sweep_computes_nothing(whole, computed):
    xarray.testing.assert_identical(play(whole), open_results(whole))
    assert computed == []


def test_only_missing_blocks_are_computed(whole, tmp_path, computed):
    play(tmp_path / "part")
    gone = sorted((tmp_path / "part" / "blocks").iterdir())[1:4]
    for file in gone:
        file.unlink()
    computed.clear()
    play(tmp_path / "part")
    assert len(computed) == sum(int(file.stem[10:]) - int(file.stem[:9]) for file in gone)
    assert same_files(tmp_path / "part", whole)


class StoppedError(Exception):
    """Stands for whatever ends a process."""


def test_interrupted_after_any_number_of_blocks(whole, tmp_path, monkeypatch):
    """After the first block, after the second, ...: each time it goes on from there."""
    out, original = tmp_path / "out", Folder.write
    count = len(list((whole / "blocks").iterdir()))
    for reached in range(1, count):

        def write_one(folder, block, encoded):
            original(folder, block, encoded)
            raise StoppedError

        monkeypatch.setattr(Folder, "write", write_one)
        with pytest.raises(StoppedError):
            play(out, threads=2)
        assert len(os.listdir(out / "blocks")) == reached
    monkeypatch.setattr(Folder, "write", original)
    play(out)
    assert same_files(out, whole)


LONG = (two_arm(L=1.0, horizon=30_000), ten_arm())
LONG_POLICIES = (FEWA(), UCB1())
CHILD = """
    import sys
    from rotting import FEWA, UCB1, sweep
    from rotting.problems import ten_arm, two_arm
    problems = [two_arm(L=1.0, horizon=30_000), ten_arm()]
    sweep([FEWA(), UCB1()], problems, runs=int(sys.argv[2]), out=sys.argv[1], threads=2, rounds=50)
"""


def killed_sometimes(folder: Path, runs: int, kills: int, seed: int) -> int:
    """Start a sweep again and again, killing it at random moments; return how often it was hit while at work."""
    chance = random.Random(seed)
    hits = 0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for _ in range(kills):
        before = len(os.listdir(folder / "blocks")) if folder.exists() else 0
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), str(runs)],
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        try:
            # Once it is at work, any moment will do.
            while process.poll() is None and (
                not (folder / "blocks").exists() or len(os.listdir(folder / "blocks")) <= before
            ):
                time.sleep(0.001)
            time.sleep(chance.uniform(0.0, 0.15))
            hits += process.poll() is None
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    return hits


def check_kills(tmp_path: Path, runs: int, kills: int) -> None:
    hits = killed_sometimes(tmp_path / "killed", runs, kills, seed=kills)
    assert hits == kills, "the sweep was finished before it was killed often enough: make it longer"
    killed = sweep(LONG_POLICIES, LONG, runs=runs, out=tmp_path / "killed", rounds=50, progress=False)
    quiet = sweep(LONG_POLICIES, LONG, runs=runs, out=tmp_path / "quiet", rounds=50, threads=1, progress=False)
    xarray.testing.assert_identical(killed, quiet)
    assert same_files(tmp_path / "killed", tmp_path / "quiet")
    assert sorted(os.listdir(tmp_path / "killed")) == ["blocks", "lock", "plan.json"]


def test_killed_at_random_moments(tmp_path, monkeypatch):
    monkeypatch.undo()  # blocks as they are in the other process
    check_kills(tmp_path, runs=240, kills=3)


@pytest.mark.soak
def test_killed_twenty_times_at_random_moments(tmp_path, monkeypatch):
    monkeypatch.undo()
    check_kills(tmp_path, runs=1500, kills=20)


def test_what_a_killed_process_leaves_is_cleared_away(whole, tmp_path):
    play(tmp_path / "out")
    (tmp_path / "out" / "blocks" / ".000000000-000000005.npz.123.tmp").write_bytes(b"half a block")
    (tmp_path / "out" / ".plan.json.123.tmp").write_bytes(b"half a plan")
    play(tmp_path / "out")
    assert same_files(tmp_path / "out", whole)
    assert sorted(os.listdir(tmp_path / "out")) == ["blocks", "lock", "plan.json"]


# Damage.


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def shorten(file):
    file.write_bytes(file.read_bytes()[:-100])


def empty(file):
    file.write_bytes(b"")


def exchange(file):
    other = sorted(file.parent.iterdir())[-1]
    file.write_bytes(other.read_bytes())


@pytest.mark.parametrize("damage", [flip, shorten, empty, exchange])
def test_a_damaged_block_is_reported_and_computed_again(whole, tmp_path, capsys, damage):
    play(tmp_path / "out")
    victim = sorted((tmp_path / "out" / "blocks").iterdir())[2]
    damage(victim)
    with pytest.raises(SweepError, match=f"{victim.name}.*damaged.*again"):
        open_results(tmp_path / "out")
    capsys.readouterr()
    result = play(tmp_path / "out")
    assert victim.name in capsys.readouterr().err
    xarray.testing.assert_identical(result, open_results(whole))
    assert same_files(tmp_path / "out", whole)


# Whose folder it is.


@pytest.mark.parametrize(
    "other", [{"seed": 6}, {"runs": 7}, {"rounds": 3}, {"horizon": 50}], ids=lambda other: next(iter(other))
)
def test_another_plan_is_refused_unless_told_otherwise(whole, tmp_path, other):
    before = {file: file.read_bytes() for file in whole.rglob("*.*")}
    with pytest.raises(SweepError, match=r"another plan.*overwrite="):
        play(whole, **other)
    assert {file: file.read_bytes() for file in whole.rglob("*.*")} == before
    xarray.testing.assert_identical(play(whole, **other, overwrite=True), play(tmp_path / "new", **other))
    assert same_files(whole, tmp_path / "new")


def test_another_version_is_another_plan(whole):
    plan = Plan(POLICIES, PROBLEMS, RUNS, 5, kernels="0123456789abcdef")
    with pytest.raises(SweepError, match="other kernels"):
        run_plan(plan, whole, progress=False)


def test_the_same_plan_is_resumed_even_if_it_may_be_overwritten(whole, computed):
    play(whole, overwrite=True)
    assert computed == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_with_other_files_is_left_alone(tmp_path, overwrite):
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(SweepError, match=r"thesis\.tex"):
        play(tmp_path, overwrite=overwrite)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(SweepError, match="cannot be used"):
        play(tmp_path / "out")


def test_the_second_process_is_told_who_holds_the_folder(tmp_path):
    """The first process is a real one, in the middle of a sweep that would take hours."""
    code = (
        "import sys; from rotting import FEWA, sweep; from rotting.problems import ten_arm\n"
        "sweep(FEWA(), ten_arm(), runs=10**7, rounds=1, out=sys.argv[1], threads=1, progress=False)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], env=environment)
    try:
        while not (tmp_path / "out" / "blocks").exists():
            assert holder.poll() is None
            time.sleep(0.01)
        with pytest.raises(SweepError, match=rf"held by process {holder.pid} on \S+ since \d{{4}}-"):
            sweep(FEWA(), ten_arm(), runs=10**7, rounds=1, out=tmp_path / "out", threads=1, progress=False)
        with pytest.raises(SweepError, match="held by process"):
            play(tmp_path / "out", overwrite=True)
    finally:
        holder.kill()
        holder.wait()
    # A killed process holds nothing.
    play(tmp_path / "out", overwrite=True)


# The disk.


def test_a_full_disk_is_explained_and_the_sweep_resumed(whole, tmp_path, monkeypatch):
    out, original, left = tmp_path / "out", Path.write_bytes, [3]

    def write_bytes(file, content):
        left[0] -= 1
        if left[0] < 0:
            original(file, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(file, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    before = threading.active_count()
    with pytest.raises(SweepError, match=r"disk of '.*out' is full.*same command again"):
        play(out, threads=3)
    monkeypatch.setattr(Path, "write_bytes", original)
    assert threading.active_count() == before  # nobody is left computing
    assert len(os.listdir(out / "blocks")) == 3
    play(out)
    assert same_files(out, whole)


def test_a_disk_that_is_really_full(tmp_path):
    """A file system of 200 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True)
    if mount.returncode:
        pytest.skip(f"NOT TESTED: this user cannot mount a small file system: {mount.stderr.decode().strip()}")
    try:
        big = {"policies": UCB1(), "problems": stationary([0.0, 1.0]), "runs": 400, "horizon": 256, "progress": False}
        with pytest.raises(SweepError, match="is full"):
            sweep(**big, out=disk / "out")
        kept = len(os.listdir(disk / "out" / "blocks"))
        assert kept > 0
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        sweep(**big, out=disk / "out")
        sweep(**big, out=tmp_path / "quiet")
        assert same_files(disk / "out", tmp_path / "quiet")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
