"""`rotting evaluate`, from the user's side of it."""

import json
from pathlib import Path

import pytest

from logs_with_probabilities import uniform_log
from rotting import cli


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Return a function that runs the command in a folder with a small log."""
    monkeypatch.chdir(tmp_path)
    uniform_log(600).to_csv("log.csv", index=False)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["evaluate", *arguments])
        return stopped.value.code, *capsys.readouterr()

    return run


def test_policies_are_evaluated(run):
    code, out, err = run("log.csv", "--policy", "UCB1(sigma=0.5)", "--policy", "FEWA(sigma=0.5)", "--out", "here")
    assert (code, err) == (0, "")
    assert "Target 1" in out
    assert "Target 2" in out
    written = json.loads(Path("here/evaluation.json").read_text())
    assert written["summary"] in out
    assert Path("here/evaluation.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["log.csv"], "--policy is missing"),
        (["nowhere.csv", "--policy", "UCB1()"], "nowhere.csv"),
        (["log.csv", "--policy", "Nonsense()"], "'Nonsense' does not exist"),
        (["log.csv", "--policy", "UCB1()", "--wears", "weather"], "--wears 'weather' is not known"),
        (["log.csv", "--policy", "UCB1()", "--probability", "click"], "expected above 0 and at most 1"),
        (["log.csv", "--policy", "UCB1()", "--probability", "arm"], "is empty, or no number"),
        (["log.csv", "--policy", "UCB1()", "--bandit", "hero"], "--bandit 'hero' is not in a database"),
        (["sqlite:///none.db", "--policy", "UCB1()"], "give --bandit"),
        (["sqlite:///none.db", "--policy", "UCB1()", "--bandit", "hero"], "none.db"),
    ],
)
def test_mistakes_end_with_one_line(run, arguments, said):
    code, _, err = run(*arguments)
    assert code == 2
    assert err.startswith("Error:")
    assert err.count("\n") == 1
    assert said in err
    assert not Path("evaluation").exists()
    assert not Path("none.db").exists()
