import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import swa
from reference.worlds import WORLDS, rewards_in
from rotting.policies.swa import SWA
from side_by_side import assert_same_run


@settings(max_examples=60, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 8),
    rounds=st.integers(1, 350),
    horizon=st.integers(1, 400),
    scale=st.sampled_from([1.0, -1.0, 1e12, 1e-12]),
    alpha=st.one_of(st.just(0.2), st.floats(0.002, 5)),
    sigma=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule(world, seed, n_arms, rounds, horizon, scale, alpha, sigma, stray):
    reference = swa.SWA(n_arms, alpha, sigma, horizon)
    rewards = rewards_in(world, n_arms, rounds, seed, scale)
    assert_same_run(SWA(alpha, sigma, horizon), reference, rewards, rounds=rounds, seed=seed, stray=stray)


@pytest.mark.parametrize("world", ["close", "walk", "drift", "coins", "spikes", "tenths"])
def test_decides_as_the_literal_rule_for_long(world):
    """A window of 103 rewards that slides over pages."""
    reference = swa.SWA(3, 0.2, 1.0, 3000)
    assert reference.window() == 103
    agent = assert_same_run(
        SWA(0.2, 1.0, 3000), reference, rewards_in(world, 3, 3000, 9), rounds=3000, seed=9, stray=0.1
    )
    assert agent.pulls.max() > 1000


def test_a_large_offset_costs_no_digit():
    rewards = [[1e9 + noise for noise in arm] for arm in rewards_in("close", 3, 10_000, 2)]
    reference = swa.SWA(3, 0.02, 1.0, 10_000)
    assert_same_run(SWA(0.02, 1.0, 10_000), reference, rewards, rounds=10_000, stray=0.1)


@pytest.mark.parametrize(
    ("alpha", "sigma", "n_arms", "horizon"),
    [(0.2, 1.0, 2, 10_000), (0.02, 1.0, 2, 10_000), (0.2, 0.2, 2, 1000), (0.06, 1.0, 10, 25_000), (0.2, 0.0, 3, 50)],
)
def test_the_window_is_that_of_the_formula(alpha, sigma, n_arms, horizon):
    product = alpha * 4 ** (2 / 3) * sigma ** (2 / 3) * n_arms ** (-2 / 3) * horizon ** (2 / 3)
    expected = max(1, math.ceil(product * math.log(math.sqrt(2) * horizon) ** (1 / 3)))
    assert swa.SWA(n_arms, alpha, sigma, horizon).window() == expected
    # Seen from outside: the exploration is a round-robin of that many rounds.
    agent = SWA(alpha, sigma, horizon).start(n_arms)
    chosen = []
    for _ in range(expected * n_arms + 20):
        chosen.append(agent.select())
        agent.update(chosen[-1], float(chosen[-1]))
    assert chosen == list(range(n_arms)) * expected + [n_arms - 1] * 20


def test_the_theoretical_alpha():
    rewards = rewards_in("drops", 2, 500, 3)
    reference = swa.SWA(2, None, 1.0, 500, mu_max=3.0)
    assert reference.window() == swa.SWA(2, 6 ** (-2 / 3), 1.0, 500).window() > 10
    assert_same_run(SWA(None, 1.0, 500, mu_max=3.0), reference, rewards, rounds=500)
    with pytest.raises(ValueError, match="mu_max"):
        SWA(alpha=None, horizon=10)


def test_a_horizon_is_needed_and_simulations_fill_it_in():
    with pytest.raises(ValueError, match="horizon"):
        SWA().start(2)
    assert SWA(0.06, 2.0).informed(None, 77) == SWA(0.06, 2.0, 77)
    assert SWA(0.06, 2.0, 5).informed(None, 77) == SWA(0.06, 2.0, 5)


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"sigma": -1}, {"horizon": 0}, {"horizon": 1.5}, {"mu_max": 0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        SWA(**bad)
