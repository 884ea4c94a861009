import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import eff_raw_ucb, raw_ucb
from reference.worlds import WORLDS, rewards_in
from rotting.policies.eff_raw_ucb import EffRAWUCB
from side_by_side import assert_same_run, assert_survives_extremes

GRIDS = [2.0, 1.5, 1.1, 1.01]


def pair(n_arms, *parameters):
    """Return the policy and its literal transcription."""
    return EffRAWUCB(*parameters), eff_raw_ucb.EffRAWUCB(n_arms, *parameters)


@settings(max_examples=60, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 8),
    rounds=st.integers(1, 350),
    scale=st.sampled_from([1.0, -1.0, 1e12, 1e-12]),
    alpha=st.one_of(st.just(1.4), st.floats(0.01, 5)),
    noise=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    grid=st.one_of(st.sampled_from(GRIDS), st.floats(1, 2, exclude_min=True)),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule(world, seed, n_arms, rounds, scale, alpha, noise, grid, stray):
    policy, reference = pair(n_arms, alpha, noise * abs(scale), grid)
    rewards = rewards_in(world, n_arms, rounds, seed, scale)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray)


@pytest.mark.parametrize("world", ["close", "walk", "drift", "coins", "spikes", "tenths"])
@pytest.mark.parametrize("grid", GRIDS[:3])
def test_decides_as_the_literal_rule_for_long(world, grid):
    policy, reference = pair(3, 1.4, {"spikes": 5.0}.get(world, 0.5), grid)
    rewards = rewards_in(world, 3, 2000, 9)
    assert_same_run(policy, reference, rewards, rounds=2000, seed=9, stray=0.2)


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_a_fine_grid_is_raw_ucb(world):
    rewards = rewards_in(world, 3, 500, 4)
    policy = EffRAWUCB(alpha=1.4, sigma=0.5, grid=1 + 1e-9)
    assert_same_run(policy, raw_ucb.RAWUCB(3, 1.4, 0.5), rewards, rounds=500, seed=4, stray=0.2)


def test_a_stored_sum_waits_for_its_refresh():
    # Without noise, the index is the least of the stored means. After 0, 8, 8, 8, 8: windows 1 and 2 have means of 8,
    # window 4 still holds 0, 8, 8, 8 until the sixth pull.
    agent = EffRAWUCB(sigma=0.0).start(2)
    agent.update(0, 7.0)
    for reward in (0.0, 8.0, 8.0, 8.0, 8.0):
        agent.update(1, reward)
    assert agent.select() == 0
    agent.update(1, 8.0)
    assert agent.select() == 1


@pytest.mark.parametrize("policy", [EffRAWUCB(), EffRAWUCB(sigma=0.0), EffRAWUCB(grid=1.5)])
def test_survives_extremes(policy):
    assert_survives_extremes(policy)


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"sigma": -1}, {"grid": 1}, {"grid": 2.1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        EffRAWUCB(**bad)
