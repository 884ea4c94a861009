import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import swa
from reference.worlds import WORLDS, rewards_in
from rotting.policies.wswa import WSWA
from side_by_side import assert_same_run

REFERENCES = {False: swa.WSWA, True: swa.RestartedWSWA}


@pytest.mark.parametrize("restart", [False, True])
@settings(max_examples=50, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 8),
    rounds=st.integers(1, 350),
    scale=st.sampled_from([1.0, -1.0, 1e12, 1e-12]),
    alpha=st.one_of(st.just(0.2), st.floats(0.002, 5)),
    sigma=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule(restart, world, seed, n_arms, rounds, scale, alpha, sigma, stray):
    reference = REFERENCES[restart](n_arms, alpha, sigma)
    rewards = rewards_in(world, n_arms, rounds, seed, scale)
    assert_same_run(WSWA(alpha, sigma, restart), reference, rewards, rounds=rounds, seed=seed, stray=stray)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("world", ["close", "walk", "drift", "coins", "spikes", "tenths"])
def test_decides_as_the_literal_rule_for_long(world, restart):
    reference = REFERENCES[restart](3, 0.1, 1.0)
    rewards = rewards_in(world, 3, 4000, 9)
    assert_same_run(WSWA(0.1, 1.0, restart), reference, rewards, rounds=4000, seed=9, stray=0.1)


def test_the_theoretical_alpha():
    rewards = rewards_in("drops", 2, 500, 3)
    assert_same_run(WSWA(None, mu_max=3.0), swa.WSWA(2, None, 1.0, mu_max=3.0), rewards, rounds=500)
    with pytest.raises(ValueError, match="mu_max"):
        WSWA(alpha=None)


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"sigma": -1}, {"restart": "yes"}, {"mu_max": 0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        WSWA(**bad)
