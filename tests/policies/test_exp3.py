import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from reference.exponential_weights import draw, probabilities
from rotting.errors import BadValue
from rotting.policies.exp3 import Exp3
from side_by_side import assert_same_decisions, assert_survives_extremes


def literal(policy):
    def choose(history, n_arms, t, uniforms):
        return draw(probabilities(history, n_arms, policy.gamma, policy.low, policy.high), uniforms(0))

    return choose


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    gamma=st.sampled_from([0.01, 0.1, 0.7, 1.0]),
    span=st.sampled_from([(0.0, 1.0), (-2.0, 2.0), (0.5, 0.7)]),
)
def test_decides_as_the_literal_rule(seed, n_arms, gamma, span):
    policy = Exp3(gamma, *span)
    assert_same_decisions(policy, literal(policy), n_arms=n_arms, rounds=100, seed=seed)


def test_arms_are_drawn_with_the_probabilities_of_the_rule():
    """Chi-square over 3000 first draws after a fixed history; refuses a right policy once in 1000 seeds."""
    history = [(0, 0.9), (1, 0.2), (0, 0.8), (2, 0.5), (0, 1.0)] * 4
    counts = [0, 0, 0]
    for seed in range(3000):
        agent = Exp3(gamma=0.4).start(n_arms=3, seed=seed)
        for arm, reward in history:
            agent.update(arm, reward)
        counts[agent.select()] += 1
    expected = probabilities(history, 3, 0.4, 0.0, 1.0)
    assert max(expected) > 1.5 * min(expected)
    assert chisquare(counts, [3000 * p for p in expected]).pvalue > 1e-3


def test_an_arm_comes_back_from_a_weight_that_underflowed():
    # With gamma = 1/2, a reward of 1 adds 1/3 to the log-weight of the leader of two arms (p = 3/4) and 1 to
    # that of the other (p = 1/4).
    agent = Exp3(gamma=0.5).start(n_arms=2, seed=31)
    for _ in range(6000):
        agent.update(0, 1.0)  # 2000 ahead: e^-2000 is 0 in floating point
    shares = []
    for rewards in (1900, 200):
        for _ in range(rewards):
            agent.update(1, 1.0)
        share = 0
        for _ in range(1000):
            share += agent.select() == 1
            agent.update(0, 0.0)  # a reward of 0 changes no weight, but moves the clock
        shares.append(share)
    # Refuses a right policy once in 1000 seeds.
    assert binomtest(shares[0], 1000, 0.25).pvalue > 5e-4
    assert binomtest(shares[1], 1000, 0.75).pvalue > 5e-4


def test_weights_never_overflow():
    agent = Exp3(gamma=1.0).start(n_arms=2, seed=0)
    for _ in range(20_000):
        agent.update(1, 1.0)
    state = agent._state
    assert state.weights.max() <= math.exp(101)
    assert state.log_weights[1] - state.log_weights[0] == pytest.approx(20_000, rel=1e-12)


def test_rewards_outside_the_range_are_clipped():
    inside, outside = Exp3(0.3, -1.0, 1.0).start(3, seed=2), Exp3(0.3, -1.0, 1.0).start(3, seed=2)
    for t in range(200):
        arm = inside.select()
        assert arm == outside.select()
        inside.update(arm, [1.0, -1.0][t % 2])
        outside.update(arm, [7.0, -1e100][t % 2])


@pytest.mark.parametrize("policy", [Exp3(), Exp3(0.2, -1e100, 1e100), Exp3(0.2, -8e307, 8e307), Exp3(0.2, 0.0, 1e-99)])
def test_one_arm_and_huge_rewards(policy):
    agent = policy.start(n_arms=1, seed=0)
    for reward in (1e100, -1e100, 0.0) * 100:
        assert agent.select() == 0
        agent.update(0, reward)
    agent = policy.start(n_arms=3, seed=0)
    for reward in (1e100, -1e100, 0.0) * 100:
        agent.update(agent.select(), reward)


def test_a_range_that_overflows_is_refused():
    """Every reward would be 0 of it, and nothing learnt."""
    with pytest.raises(BadValue, match="endless"):
        Exp3(0.2, -1e308, 1e308)


@pytest.mark.parametrize("policy", [Exp3(), Exp3(0.2, -1e100, 1e100)])
def test_survives_extremes(policy):
    assert_survives_extremes(policy, rounds=1000)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ({"gamma": 0}, "gamma"),
        ({"gamma": 1.5}, "gamma"),
        ({"low": 1.0}, "low=1.0"),
        ({"low": 3, "high": 2}, "low < high"),
    ],
)
def test_bad_parameters_are_refused(bad, word):
    with pytest.raises(ValueError, match=word):
        Exp3(**bad)
