"""`rotting design`, from the user's side of it, up to the bandit that runs the experiment."""

import json

import pytest

from rotting import Bandit, EffFEWA
from rotting.logs import make_log


@pytest.fixture
def log(run):
    make_log(arms=5, exposures=4000, pace="steady", spread=0.2, seed=1).to_csv("log.csv", index=False)
    return "log.csv"


def test_a_bandit_can_run_what_is_designed(run, log):
    found = run("design", log)
    assert (found.code, found.err) == (0, "")
    assert "Rest creative" in found.out
    assert "Price:" in found.out
    experiment = found.out.split("--experiment '")[1].split("'")[0]
    names = [f"creative {number}" for number in range(1, 6)]
    with Bandit.open("sqlite:///own.db", "hero", EffFEWA(), names, reward_range=(0, 1)):
        pass
    assert (
        run("bandit", "change", "sqlite:///own.db", "hero", "--experiment", experiment).out == "Changed experiment.\n"
    )
    with Bandit.open("sqlite:///own.db", "hero") as bandit:
        assert bandit.settings.experiment["rest"] == json.loads(experiment)["rest"]
    assert run("bandit", "change", "sqlite:///own.db", "hero", "--experiment", "none").code == 0


def test_a_holdout_is_designed(run, log):
    found = run("design", log, "--gap", "0.3")
    assert "of decisions show any arm, for 28 days" in found.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--power", "2"], "power"),
        (["--since", "2020-01-01"], "not within the log"),
        (["--gap", "0.0001"], "within"),
    ],
)
def test_what_makes_no_sense_is_refused(run, log, arguments, said):
    found = run("design", log, *arguments)
    assert found.code == 2
    assert said in found.err


def test_an_experiment_that_is_no_json_is_refused(run):
    with Bandit.open("sqlite:///own.db", "hero", EffFEWA(), ["red", "green"], reward_range=(0, 1)):
        pass
    found = run("bandit", "change", "sqlite:///own.db", "hero", "--experiment", "soon")
    assert found.code == 2
    assert "JSON" in found.err
