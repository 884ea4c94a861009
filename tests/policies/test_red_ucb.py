import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from reference import red_ucb
from reference.worlds import rewards_in
from rotting import REdUCB
from rotting.policies.red_ucb import index_of
from side_by_side import assert_same_run


def same_indices(agent, reference):
    """Assert that the O(1) indices are those of the definition, as far as numbers go."""
    for arm, window in enumerate(agent._state.window):
        if window > 0:
            expected = reference.index(arm, agent.t + 1)
            assert index_of(agent._state, arm, agent.t + 1) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    world=st.sampled_from(["close", "walk", "drops", "spikes"]),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    rounds=st.integers(1, 60),
    sigma=st.sampled_from([0.01, 0.1, 1.0]),
    share=st.sampled_from([0.25, 0.5]),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_definition(world, seed, n_arms, rounds, sigma, share, stray):
    reference = red_ucb.REdUCB(n_arms, sigma, share)
    rewards = rewards_in(world, n_arms, rounds, seed)
    policy = REdUCB(sigma, share)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray, compare=same_indices)


@pytest.mark.parametrize("world", ["close", "fallen"])
def test_indices_are_those_of_the_definition_for_long(world):
    reference = red_ucb.REdUCB(2, 0.1)
    rewards = rewards_in(world, 2, 1500, 3)
    agent = assert_same_run(
        REdUCB(0.1), reference, rewards, rounds=1500, seed=3, compare=same_indices, look=lambda t: t % 211 == 0
    )
    assert agent.pulls.max() > 500


def test_finds_the_arm_that_will_be_best():
    problem = rotting.problems.rising(sigma=0.001, horizon=10_000)
    result = rotting.simulate(REdUCB(sigma=0.001), problem, runs=1, seed=0, progress=False)
    pulls = result.pulls.isel(policy=0, run=0).values
    assert pulls.argmax() == problem.oracle(10_000).pulls.argmax()
    assert pulls.max() > 7000


@pytest.mark.parametrize("bad", [{"sigma": -1}, {"share": 0.6}, {"alpha": 0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        REdUCB(**bad)
