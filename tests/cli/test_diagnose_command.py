"""`rotting diagnose`, from the user's side of it."""

import json
from pathlib import Path

import pytest

from rotting import cli
from rotting.cli import diagnose
from rotting.logs import make_log
from rotting.logs.worth import gain


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Return a function that runs a command in a folder with a small log."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gain, "PLAYED_DRAWS", 4)
    make_log(arms=2, exposures=150).to_csv("log.csv", index=False)
    Path("odd.csv").write_text("x,y\n1,2\n")

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["diagnose", *arguments])
        return stopped.value.code, *capsys.readouterr()

    return run


def test_a_log_is_diagnosed(run):
    code, out, err = run("log.csv", "--out", "here")
    assert (code, err) == (0, "")
    assert out.startswith("Columns: arm: creative (guessed), reward: click (guessed), time: timestamp (guessed)")
    assert "300 rows, 0 dropped" in out
    assert Path("here/report.html").read_text().startswith("<!doctype html>")
    written = json.loads(Path("here/diagnosis.json").read_text())
    assert written["summary"] in out
    assert "FEWA" in out


def test_the_demo(run, monkeypatch):
    monkeypatch.setattr(diagnose, "DEMO", {**diagnose.DEMO, "arms": 2, "exposures": 300})
    code, out, _ = run("--demo", "--seed", "3")
    assert code == 0
    assert Path("report/report.html").exists()
    assert "600 rows" in out


def test_the_demo_has_a_clear_answer(run):
    """At its own size, with a few draws: wear-out, what drives it, and how fast."""
    code, *_ = run("--demo")
    assert code == 0
    written = json.loads(Path("report/diagnosis.json").read_text())
    assert (written["verdict"], written["driver"]) == ("rotting", "exposure")
    assert all(arm["rotting"] for arm in written["arms"])
    # From 8 % to about 2 %: half is lost after about half of the exposures, and speeds differ by a factor of two.
    assert all(1000 < arm["half_life"] < 40_000 for arm in written["arms"] if arm["half_life"] is not None)


@pytest.mark.parametrize("log", ["nowhere.csv", "log.csv::shown", "empty.csv"])
def test_no_empty_folder_stays_behind(run, log):
    Path("empty.csv").write_text("arm,reward\n")
    Path("mine").mkdir()
    assert run(log, "--out", "mine/new/report")[0] == 2
    assert list(Path("mine").iterdir()) == []
    assert run(log, "--out", "mine")[0] == 2
    assert Path("mine").is_dir()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "LOG is missing"),
        (["log.csv", "--demo"], "either a LOG or --demo"),
        (["nowhere.csv"], "No such file"),
        (["log.csv", "--arm", "creativ"], "--arm 'creativ' is not a column of the log; did you mean 'creative'?"),
        (["odd.csv"], "no column looks like the arm; the log has 'x', 'y'; name it with --arm"),
        (["log.csv", "--reward", "timestamp"], "row 1: '2024-03-"),
        (["log.csv", "--out", "log.csv"], "--out 'log.csv' cannot be made a folder"),
        (["log.csv", "--seed", "x"], "--seed 'x'"),
        (["log.csv", "--reward-delay", "soon"], "--reward-delay 'soon' is no delay"),
        (["log.csv::shown"], "is not a database"),
    ],
)
def test_mistakes_are_one_line(run, arguments, said):
    code, out, err = run(*arguments)
    assert code == 2
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert said in err
    assert "Wrote" not in out
