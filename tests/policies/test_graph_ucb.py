import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from reference import aged
from reference.worlds import rewards_in
from rotting.policies import GraphUCB, REdUCB, RLessUCB
from rotting.policies._contract.suited import mismatches
from rotting.problems import Growth, Problem, Restless, TriggerGraph
from side_by_side import assert_same_choices, assert_same_run

GAMES = {
    "world": st.sampled_from(["close", "walk", "drops", "spikes"]),
    "seed": st.integers(0, 2**32),
    "n_arms": st.integers(1, 4),
    "rounds": st.integers(1, 60),
    "sigma": st.sampled_from([0.01, 0.1, 1.0]),
    "share": st.sampled_from([0.25, 0.5]),
    "stray": st.sampled_from([0.0, 0.1, 1.0]),
}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(**GAMES)
def test_graph_ucb_decides_as_the_definition(world, seed, n_arms, rounds, sigma, share, stray):
    matrix = np.random.default_rng(seed).integers(0, 2, (n_arms, n_arms))
    reference, rewards = aged.AgedArms(matrix, sigma, share), rewards_in(world, n_arms, rounds, seed)
    policy = GraphUCB(matrix=matrix, sigma=sigma, share=share)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(**GAMES)
def test_rless_ucb_decides_as_the_definition(world, seed, n_arms, rounds, sigma, share, stray):
    reference = aged.AgedArms(np.ones((n_arms, n_arms), int), sigma, share)
    rewards = rewards_in(world, n_arms, rounds, seed)
    assert_same_run(RLessUCB(sigma, share), reference, rewards, rounds=rounds, seed=seed, stray=stray)


VALUES = np.random.default_rng(5).normal(size=40).tolist()


def test_where_every_arm_triggers_all_it_is_rless_ucb():
    assert_same_choices(GraphUCB(matrix=np.ones((3, 3))), RLessUCB(), rounds=600, values=VALUES)


def test_where_no_arm_triggers_another_it_is_red_ucb():
    assert_same_choices(GraphUCB(), REdUCB(), rounds=600, values=VALUES)


def problem_with(dynamics):
    curves = [Growth(0.0, 0.01, 0.6), Growth(0.0, 0.002, 1.0), 0.3]
    return Problem(curves, dynamics=dynamics, sigma=0.01, horizon=3000, allow_increasing=True)


def test_they_find_the_arm_that_will_be_best():
    restless, groups = problem_with(Restless()), problem_with(TriggerGraph.groups([0, 0, 1]))
    for policy, problem in ((RLessUCB(sigma=None), restless), (GraphUCB(sigma=None), groups)):
        assert not mismatches(policy, problem)
        result = rotting.simulate(policy, problem, runs=2, progress=False)
        assert (result.pulls.values[0, :, 1] > 2000).all()


def test_a_simulation_tells_the_graph():
    problem = problem_with(TriggerGraph.groups([0, 1, 0]))
    told = GraphUCB().informed(problem, 100)
    assert told.matrix == ((1, 0, 1), (0, 1, 0), (1, 0, 1))
    assert rotting.parse_policy(repr(told)) == told


def test_other_arms_are_warned_of():
    falling = Problem([1.0, [1.0, 0.5]], restless=True)
    assert "fall" in mismatches(RLessUCB(), falling)[0].text
    assert "Rested" in mismatches(GraphUCB(), Problem([1.0]))[0].text


@pytest.mark.parametrize("bad", [{"matrix": [[1, 0]]}, {"matrix": [[2]]}, {"share": 0.6}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        GraphUCB(**bad)


def test_a_graph_of_other_arms_is_refused():
    with pytest.raises(ValueError, match="is for 2 arms, not 3"):
        GraphUCB(matrix=((1, 0), (0, 1))).start(3)
