"""Sweeps that grow: only what is new is played, and the folder ends up as if it had been made at once."""

import contextlib
import filecmp
import shutil
from pathlib import Path

import numpy as np
import pytest

from rotting import UCB1, EpsilonGreedy, Uniform, open_results, sweep
from rotting.play import threads
from rotting.problems import stationary, two_arm
from rotting.sweeps import Plan, SweepError, blocks, running
from rotting.sweeps.blocks import encode
from rotting.sweeps.folder import Folder
from rotting.sweeps.running import run_plan

POLICIES = (UCB1(), EpsilonGreedy())
PROBLEMS = (two_arm(L=1.0, horizon=60), stationary([0.0, 0.5, 1.0]))
OLD = Path(__file__).parents[1] / "data" / "v0_1" / "sweep"


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "SHORTEST_NANOSECONDS", 10**6)


@pytest.fixture
def played(monkeypatch):
    """Return a list that grows by one number with every run that is played."""
    runs, original = [], running.play

    def play(cells, *rest):
        runs.extend(run for cell in cells for run in cell.runs)
        return original(cells, *rest)

    monkeypatch.setattr(running, "play", play)
    return runs


def play(out, runs=5, policies=POLICIES, problems=PROBLEMS, **named):
    named = {"seed": 3, "rounds": 6, "horizon": 60, "threads": 1, "progress": False, **named}
    return sweep(policies, problems, runs, out=out, **named)


def same(first: Path, second: Path) -> bool:
    """Say whether two folders hold the same files, byte by byte (their locks apart)."""

    def files(path):
        return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file() and file.name != "lock")

    _, different, unreadable = filecmp.cmpfiles(first, second, files(first), shallow=False)
    return files(first) == files(second) and not different and not unreadable and len(files(first)) > 3


def test_from_200_runs_to_400(tmp_path, played):
    one = {"policies": UCB1(), "problems": PROBLEMS[0]}
    play(tmp_path / "out", 200, **one)
    assert len(played) == 200
    play(tmp_path / "whole", 400, **one)
    played.clear()
    play(tmp_path / "out", 400, **one, extend=True)
    assert sorted(played) == list(range(200, 400))
    assert same(tmp_path / "out", tmp_path / "whole")


def test_more_of_everything_in_any_order(tmp_path, played):
    more = {
        "runs": 9,
        "policies": [Uniform(), *POLICIES[::-1]],
        "problems": [PROBLEMS[1], two_arm(L=0.5, horizon=60), PROBLEMS[0]],
    }
    play(tmp_path / "whole", **more)
    play(tmp_path / "out")
    played.clear()
    play(tmp_path / "out", **more, extend=True)
    assert len(played) == 9 * 9 - 5 * 4
    assert same(tmp_path / "out", tmp_path / "whole")
    played.clear()
    play(tmp_path / "out", **more, extend=True)  # nothing is left to do
    assert played == []


def test_interrupted_anywhere_and_extended_again(tmp_path, monkeypatch, played):
    play(tmp_path / "whole", 12)
    original = Folder.write
    for after in range(3):
        out = tmp_path / f"out{after}"
        play(out, 4)
        played.clear()
        for runs in (8, 12):
            written = []

            def write(self, block, encoded, written=written, after=after):
                if len(written) == after:
                    raise KeyboardInterrupt
                original(self, block, encoded)
                written.append(block)

            monkeypatch.setattr(Folder, "write", write)
            with pytest.raises(KeyboardInterrupt):
                play(out, runs, extend=True)
        monkeypatch.setattr(Folder, "write", original)
        play(out, 12)  # what was begun goes on without being told so
        assert same(out, tmp_path / "whole")
        assert set(played) == set(range(4, 12))  # the first four runs never again


@pytest.mark.parametrize("step", ["before anything moves", "before the plan is written"])
def test_killed_while_blocks_are_set_aside(tmp_path, monkeypatch, step, played):
    play(tmp_path / "whole", 6)
    play(tmp_path / "out", 4)
    with monkeypatch.context() as killed:
        if step == "before anything moves":
            killed.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        else:
            killed.setattr(Folder, "_write_imports", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            play(tmp_path / "out", 6, extend=True)
    played.clear()
    assert open_results(tmp_path / "out").sizes["run"] == 4
    play(tmp_path / "out", 6, extend=True)
    assert set(played) == {4, 5}
    assert same(tmp_path / "out", tmp_path / "whole")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"runs": 3}, "the plan has 3 runs of each cell instead of 5"),
        ({"policies": [UCB1(), Uniform()]}, "the plan lacks the policy EpsilonGreedy"),
        ({"problems": PROBLEMS[:1]}, "the plan lacks the problem stationary"),
        ({"runs": 9, "seed": 4}, "the plan has another seed"),
        ({"runs": 9, "rounds": 7}, "the plan has another rounds"),
        ({"runs": 9, "horizon": 59}, "the plan lacks the problem"),
    ],
)
def test_less_and_other_is_refused_and_nothing_is_touched(tmp_path, other, says):
    play(tmp_path / "out")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*")}
    with pytest.raises(SweepError, match=f"cannot be extended: {says}"):
        play(tmp_path / "out", **other, extend=True)
    with pytest.raises(SweepError, match="extend= keeps them"):
        play(tmp_path / "out", **other)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*")} == before


def test_what_is_damaged_is_played_again(tmp_path, capsys, played):
    play(tmp_path / "whole", 8)
    play(tmp_path / "out")
    victim = min((tmp_path / "out" / "blocks").iterdir())
    victim.write_bytes(victim.read_bytes()[:-70])
    played.clear()
    play(tmp_path / "out", 8, extend=True)
    assert "is damaged" in capsys.readouterr().err
    assert 0 in played
    assert len(played) < 8 * 4
    assert same(tmp_path / "out", tmp_path / "whole")


def test_overwriting_an_extension_that_was_begun(tmp_path):
    play(tmp_path / "whole")
    play(tmp_path / "out", 8)
    (tmp_path / "out" / "earlier" / "1").mkdir(parents=True)
    play(tmp_path / "out", overwrite=True)
    assert same(tmp_path / "out", tmp_path / "whole")


# Other versions.


def test_a_folder_of_version_0_1_is_extended(tmp_path, capsys, played):
    shutil.copytree(OLD, tmp_path / "out")
    old = open_results(tmp_path / "out")
    plan = Folder.at(OLD).plan
    more = Plan((*plan.policies, Uniform()), plan.problems, 6, plan.seed, plan.rounds)
    run_plan(more, tmp_path / "out", threads=1, extend=True)
    assert "one run of each of its 4 cells was played again, and is the same" in capsys.readouterr().err
    assert len(played) == 6 * 6 - 4 * 4 + 4
    new = open_results(tmp_path / "out")
    assert np.array_equal(new.regret[:, :2, :4], old.regret)
    run_plan(more, tmp_path / "whole", threads=1, progress=False)
    whole = open_results(tmp_path / "whole")
    assert np.array_equal(new.pulls, whole.pulls)
    np.testing.assert_allclose(new.regret, whole.regret, atol=1e-8)


@pytest.mark.parametrize("changed", ["regret", "pulls"])
def test_results_that_this_version_does_not_have_are_refused(tmp_path, changed):
    other = Plan(POLICIES, PROBLEMS[:1], 4, kernels="0123456789abcdef")
    run_plan(other, tmp_path / "out", threads=1, progress=False)
    made = Folder.at(tmp_path / "out")
    for block in made.blocks():
        content = made.read(block)
        content.regrets[0] += changed == "regret"
        content.pulls[0] += changed == "pulls"
        made.write(block, encode(content))
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*")}
    with pytest.raises(
        SweepError, match=r"this version plays run 0 of (UCB1|EpsilonGreedy)\(.*\) on two_arm.* otherwise"
    ):
        run_plan(Plan(POLICIES, PROBLEMS[:1], 6), tmp_path / "out", threads=1, progress=False, extend=True)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*")} == before  # as if nothing had been tried
    assert not (tmp_path / "out" / "earlier").exists()


def test_a_failed_write_ends_the_work_at_once(tmp_path, monkeypatch):
    closed = []

    def place(cells, tell):
        try:
            yield from threads(1)(cells, tell)
        finally:
            closed.append(True)

    def full(*_):
        raise OSError("no room")

    plan = Plan(POLICIES, PROBLEMS[:1], 4)
    monkeypatch.setattr(running, "opened", lambda *_: contextlib.nullcontext(place))
    monkeypatch.setattr(Folder, "write", full)
    with pytest.raises(OSError, match="no room"):
        run_plan(plan, tmp_path / "out", progress=False)
    assert closed == [True]
