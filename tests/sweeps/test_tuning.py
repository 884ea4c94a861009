"""Tuning: who stays, on which runs, and what is said about it."""

import dataclasses

import numpy as np
import pytest

import rotting
from rotting import FEWA, UCB1, Greedy, SlidingWindowUCB, simulate, tune
from rotting.errors import BadValue
from rotting.problems import Problem, stationary, ten_arm, two_arm
from rotting.sweeps import tuning
from rotting.sweeps.tuning import expand

PROBLEM = two_arm(L=2.0, horizon=1000)


def quietly(*given, **named):
    return tune(*given, **{"progress": False, **named})


def test_the_finalists_have_played_the_runs_of_simulate():
    found = quietly(FEWA(), [PROBLEM, ten_arm()], {"alpha": [0.01, 0.06, 0.3, 1.0, 5.0]}, runs=32, seed=4, horizon=1000)
    assert [trial.runs for trial in found.trials] == [32, 32, 16, 8, 8]
    assert {trial.policy.alpha for trial in found.trials} == {0.01, 0.06, 0.3, 1.0, 5.0}
    for trial in found.trials:
        for problem, regret in zip(found.problems, trial.regret, strict=True):
            alone = simulate(trial.policy, problem, horizon=1000, runs=trial.runs, seed=4, progress=False)
            assert regret == pytest.approx(float(alone.regret[0, :, -1].mean()))
    assert found.best == found.trials[0].policy
    assert found.trials[0].score <= found.trials[1].score
    assert found.lead_low <= found.trials[1].score - found.trials[0].score <= found.lead_high


def test_it_finds_what_is_clearly_better():
    """FEWA(5) is far worse than FEWA(0.06) here: by more than ten standard errors with 16 runs."""
    found = quietly(FEWA(), PROBLEM, {"alpha": [5.0, 0.06]}, runs=16)
    assert found.best == FEWA(alpha=0.06)
    assert found.lead_low > 0


def test_threads_change_nothing():
    first, second = (quietly(FEWA(), PROBLEM, runs=8, threads=threads) for threads in (1, 3))
    assert first == second


def test_without_a_grid_the_first_number_is_tried_around_what_it_is():
    values = tuning.default_grid(FEWA())["alpha"]
    assert len(values) == 9
    assert 0.06 in values
    assert (min(values), max(values)) == pytest.approx((0.06 / 16, 0.06 * 16))
    assert all(isinstance(value, int) for value in tuning.default_grid(SlidingWindowUCB(tau=10))["tau"])
    with pytest.raises(ValueError, match="no number to tune"):
        quietly(Greedy(), PROBLEM)


def test_several_parameters_are_combined():
    found = quietly("FEWA", ["two_arm(L=2, horizon=200)"], {"alpha": [0.1, 1.0], "sigma": [0.5, 1.0]}, runs=4)
    assert {(trial.policy.alpha, trial.policy.sigma) for trial in found.trials} == {
        (alpha, sigma) for alpha in (0.1, 1.0) for sigma in (0.5, 1.0)
    }


@pytest.mark.parametrize("count", range(1, 18))
def test_any_number_of_candidates(count):
    found = quietly(UCB1(), stationary([0.0, 1.0]), {"sigma": np.linspace(0.1, 2, count).tolist()}, runs=8, horizon=20)
    assert len(found.trials) == count
    assert found.trials[0].runs == 8
    assert sum(trial.runs == 8 for trial in found.trials) <= 3
    assert [trial.runs for trial in found.trials] == sorted((trial.runs for trial in found.trials), reverse=True)
    assert (found.lead_low is None) == (count == 1)


def test_it_warns_of_its_bias():
    assert "optimistically biased" in quietly(FEWA(), PROBLEM, {"alpha": [0.06]}, runs=1).warning


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"policy": FEWA}, "is not a policy; expected such as FEWA"),
        ({"grid": {"beta": [1]}}, "grid= names 'beta', which FEWA does not have; its parameters are alpha"),
        ({"grid": {"alpha": []}}, "expected a list of values"),
        ({"grid": {"alpha": [-1]}}, "alpha=-1"),
        ({"problems": []}, "problems is empty"),
        ({"runs": 0}, "runs=0"),
    ],
)
def test_nonsense_is_refused(named, says):
    with pytest.raises((TypeError, ValueError), match=says):
        quietly(**{"policy": FEWA(), "problems": PROBLEM, "runs": 2, **named})


def test_values_are_taken_from_arrays_and_ranges():
    policy = FEWA()
    listed = [dataclasses.replace(policy, alpha=alpha) for alpha in (0.1, 0.2, 0.3)]
    for values in (np.linspace(0.1, 0.3, 3), (0.1, 0.2, 0.3), iter([0.1, 0.2, 0.3])):
        assert [round(each.alpha, 12) for each in expand(policy, {"alpha": values})] == [each.alpha for each in listed]
    assert [each.tau for each in expand(rotting.SlidingWindowUCB(), {"tau": range(5, 8)})] == [5, 6, 7]
    for values in (np.ones((2, 2)), np.array([]), "0.1", 0.1):
        with pytest.raises(BadValue, match="a list of values, or an array"):
            expand(policy, {"alpha": values})


def test_a_problem_without_differences_is_left_out_and_named():
    same = Problem([0.5, 0.5], noise="none", name="same", horizon=40)
    grid = {"alpha": [0.03, 0.3]}
    other = "two_arm(L=2, horizon=200)"
    both, alone = (tune(FEWA(), played, grid, runs=8) for played in ([same, other], other))
    assert both.left_out == ("same",)
    assert alone.left_out == ()
    assert [trial.score for trial in both.trials] == [trial.score for trial in alone.trials]
    assert "Left out of it, as all candidates have the same regret: same." in str(both)
    assert "Regret against the oracle (greedy: optimal)." in str(both)
