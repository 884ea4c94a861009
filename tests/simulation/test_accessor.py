"""`result.rotting`: runs played again are the runs of the result, and pictures show them."""

import numpy as np
import pytest

import rotting
from rotting.errors import BadValue

PROBLEM = rotting.problems.two_arm(L=2.0, horizon=200)
POLICIES = {"FEWA": rotting.FEWA(), "Thompson": rotting.GaussianThompson(), "SWA": rotting.SWA()}


@pytest.fixture(scope="module")
def result():
    return rotting.simulate(POLICIES, PROBLEM, runs=3, seed=2, first_run=5)


@pytest.mark.parametrize("label", POLICIES)
def test_a_replay_is_the_run(result, label):
    played = result.rotting.replay(label, run=6)
    assert np.bincount(played.arms).tolist() == result.pulls.sel(policy=label, run=6).values.tolist()
    assert len(played.rewards) == 200


def test_what_is_another_run_is_refused(result):
    with pytest.raises(BadValue, match="pulls differ"):
        result.rotting.replay("FEWA", run=6, problem=rotting.problems.two_arm(L=0.1, horizon=200))
    with pytest.raises(BadValue, match="run"):
        result.rotting.replay("FEWA", run=0)
    with pytest.raises(BadValue, match="FEWA, Thompson, SWA"):
        result.rotting.replay("UCB1", run=6)
    own = rotting.Problem([0.0, 1.0], name="mine", horizon=50)
    played = rotting.simulate(rotting.UCB1(), own, runs=1)
    with pytest.raises(BadValue, match="problem="):
        played.rotting.replay()
    assert len(played.rotting.replay(problem=own).arms) == 50


def test_pictures(result):
    pulls = result.rotting.plot_pulls("FEWA", run=7).axes[0]
    ends = [line.get_ydata()[-1] for line in pulls.get_lines()]
    assert ends == result.pulls.sel(policy="FEWA", run=7).values.tolist()
    above, _ = result.rotting.plot_drops("FEWA", run=7).axes
    assert above.get_lines()
    with pytest.raises(BadValue, match="does not filter"):
        result.rotting.plot_drops("Thompson", run=7)
    assert len(result.rotting.plot_regret().axes[0].get_lines()) == 3


def test_differences_are_taken_run_by_run(result):
    axes = result.rotting.plot_differences("SWA").axes[0]
    line = next(line for line in axes.get_lines() if line.get_label() == "FEWA")
    expected = (result.regret.sel(policy="FEWA") - result.regret.sel(policy="SWA")).mean("run")
    np.testing.assert_allclose(line.get_ydata(), expected)
    with pytest.raises(BadValue, match="against"):
        result.rotting.plot_differences("UCB1")
    assert rotting.simulate(rotting.UCB1(), PROBLEM, runs=1).rotting.plot_differences().axes


def test_drops_are_those_of_the_explanations():
    one = rotting.simulate(rotting.FEWA(sigma=0.2), PROBLEM, runs=1)
    played = one.rotting.replay(explain=200)
    windows = sorted((t, v.window) for t, said in played.explanations.items() for v in said.arms if v.window)
    drawn = [line.get_xydata() for line in one.rotting.plot_drops().axes[0].get_lines()]
    assert sorted((int(t), int(h)) for points in drawn for t, h in points) == windows


def test_the_summary_as_a_table(result):
    frame = result.rotting.frame()
    assert frame["policy"].tolist() == list(POLICIES)
    assert frame["best"].sum() == 1


def test_html(result):
    html = result.rotting._repr_html_()
    assert html.count("<tr>") == 4
    assert "best" in html


def test_it_prints_its_summary():
    policies = {"FEWA": rotting.FEWA(), "UCB1": rotting.UCB1()}
    text = repr(rotting.simulate(policies, rotting.problems.two_arm(L=2), horizon=50, runs=3).rotting)
    assert "50 rounds, 3 runs" in text
    assert all(word in text for word in ("FEWA", "UCB1", "above best"))


def test_a_policy_can_be_called_by_its_name_alone():
    played = rotting.simulate([rotting.FEWA(), rotting.UCB1(), rotting.UCB1(sigma=2.0)], PROBLEM, runs=2)
    assert played.rotting.replay("FEWA").policy == "FEWA(alpha=0.06)"
    assert "FEWA(alpha=0.06)" in played.rotting.plot_differences("FEWA").axes[0].get_ylabel()
    with pytest.raises(BadValue, match="policy='UCB1' fits several of the policies"):
        played.rotting.replay("UCB1")
