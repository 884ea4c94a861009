import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import mucb
from rotting.policies.mucb import MUCB
from rotting.policies.ucb1 import UCB1
from side_by_side import TIES, assert_same_choices, assert_same_run


def levels(n_arms, rounds, seed):
    """Return rewards around levels that change now and then, few values among them."""
    rng = np.random.default_rng(seed)
    steps = np.repeat(rng.choice([0.1, 0.5, 0.9], (n_arms, rounds // 20 + 1)), 20, axis=1)[:, :rounds]
    return np.where(rng.random((n_arms, rounds)) < steps, 1.0, rng.choice([0.0, 0.125])).tolist()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    window=st.sampled_from([2, 8, 12]),
    threshold=st.sampled_from([0.0, 2.0, 2.5]),
    gamma=st.sampled_from([0.0, 0.2, 0.9, 1.0]),
)
def test_decides_as_the_literal_rule(seed, n_arms, window, threshold, gamma):
    reference = mucb.MUCB(n_arms, window, threshold, gamma, 0.5)
    policy = MUCB(window, threshold, gamma, sigma=0.5)
    agent = assert_same_run(policy, reference, levels(n_arms, 80, seed), rounds=80, seed=seed)
    assert agent._state.clock.tolist() == [80, reference.restart]


def test_without_exploration_and_changes_it_is_ucb1_bit_for_bit():
    assert_same_choices(MUCB(4, 1e300, 0.0, sigma=0.7), UCB1(0.7), rounds=1000, values=TIES)
    assert_same_choices(MUCB(4, 1e300, 0.0), UCB1(), rounds=1000, values=np.linspace(0, 1, 37).tolist())


def test_a_change_is_found_as_soon_as_the_window_shows_it():
    agent = MUCB(window=20, threshold=4.5, gamma=0.0).start(1)
    for _ in range(50):
        agent.update(0, 1.0)
    for _ in range(5):
        assert agent._state.clock[1] == 0
        agent.update(0, 0.0)  # the newer half has one zero more, and its sum is one less
    assert agent._state.clock.tolist() == [55, 55]
    assert agent._state.counted.tolist() == [0]


def test_parameters_of_the_theory():
    settings_of = MUCB(window=200, horizon=10_000, changes=4).initial_state(5).settings
    b = math.sqrt(100 * math.log(2 * 5 * 10_000**2))
    gamma = math.sqrt(4 * 5 * (2 * b + 3 * math.sqrt(200)) / 20_000)
    assert settings_of.tolist() == [1.0, 200.0, pytest.approx(b), math.floor(5 / gamma)]
    assert MUCB().informed(None, 77) == MUCB(horizon=77)
    assert MUCB(horizon=5).informed(None, 77) == MUCB(horizon=5)


@pytest.mark.parametrize("bad", [{"window": 3}, {"window": 0}, {"threshold": -1}, {"gamma": 2}, {"changes": -1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=f"MUCB: {next(iter(bad))}="):
        MUCB(**bad)
