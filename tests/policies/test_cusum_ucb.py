import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import cusum_ucb
from rotting.policies.cusum_ucb import CUSUMUCB
from side_by_side import assert_same_decisions

RESTARTS: list[int] = []  # before every decision of the games below


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    first=st.integers(1, 6),
    drift=st.sampled_from([0.0, 0.125]),
    threshold=st.sampled_from([0.5, 2.0]),
    alpha=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_decides_as_the_literal_rule(seed, n_arms, first, drift, threshold, alpha):

    def literal(history, n_arms, t, uniforms):
        rewards, restarts = cusum_ucb.since_restarts(history, n_arms, first, drift, threshold)
        RESTARTS.append(restarts)
        return cusum_ucb.choose(rewards, alpha, 0.5, uniforms)

    policy = CUSUMUCB(first, drift, threshold, alpha)
    assert_same_decisions(policy, literal, n_arms=n_arms, rounds=45, seed=seed, values=(0.0, 0.25, 1.0))


def test_the_games_above_had_restarts_and_times_without():
    assert {0, 1, 2} <= set(RESTARTS)


def test_a_change_is_found_by_hand():
    # Level 0.5; then each 0 adds 0.5 - 0.125 to what went down: 1.5 after four of them.
    agent = CUSUMUCB(first=4, drift=0.125, threshold=1.5, alpha=0.0).start(2)
    for reward in (0.5, 0.25, 0.75, 0.5, 0.0, 0.0, 0.0):
        agent.update(0, reward)
    assert agent._state.moved.tolist() == [[0.0, 1.125], [0.0, 0.0]]
    agent.update(1, 1.0)
    agent.update(0, 0.0)
    assert agent._state.counted.tolist() == [0, 1]
    assert agent.select() == 0  # of which nothing is known any more


def test_parameters_of_the_theory():
    settings_of = CUSUMUCB(horizon=10_000, changes=4).initial_state(5).settings
    alpha = math.sqrt(4 / 10_000 * math.log(2500))
    assert settings_of.tolist() == [0.5, pytest.approx(alpha), 200.0, 0.1, pytest.approx(math.log(2500))]
    assert CUSUMUCB().informed(None, 77) == CUSUMUCB(horizon=77)
    assert CUSUMUCB(horizon=5).informed(None, 77) == CUSUMUCB(horizon=5)
    assert CUSUMUCB(horizon=1).initial_state(2).settings[4] == 1.0


@pytest.mark.parametrize("bad", [{"first": 0}, {"drift": -1}, {"threshold": 0}, {"alpha": 2}, {"changes": 0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=f"CUSUMUCB: {next(iter(bad))}="):
        CUSUMUCB(**bad)
