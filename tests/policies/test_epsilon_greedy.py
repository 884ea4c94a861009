import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rotting.policies.epsilon_greedy import EpsilonGreedy
from side_by_side import TIES, assert_same_decisions, assert_survives_extremes, first_best, rewards_of


def literal(policy):
    def choose(history, n_arms, t, uniforms):
        if uniforms(0) < policy.epsilon:
            return int(uniforms(1) * n_arms)
        arms = rewards_of(history, n_arms)
        return first_best([sum(rewards) / len(rewards) if rewards else math.inf for rewards in arms])

    return choose


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 6),
    epsilon=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    values=st.sampled_from([(), TIES]),
)
def test_decides_as_the_literal_rule(seed, n_arms, epsilon, values):
    policy = EpsilonGreedy(epsilon)
    assert_same_decisions(policy, literal(policy), n_arms=n_arms, rounds=120, seed=seed, values=values)


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_the_share_of_exploration_is_epsilon(epsilon):
    """The worse of two arms has probability epsilon / 2; refuses a right policy once in 1000 seeds."""
    agent = EpsilonGreedy(epsilon).start(n_arms=2, seed=21)
    agent.update(0, 0.0)
    agent.update(1, 1.0)
    for _ in range(5000):
        arm = agent.select()
        agent.update(arm, float(arm))
    assert binomtest(int(agent.pulls[0]) - 1, 5000, epsilon / 2).pvalue > 1e-3


def test_epsilon_one_never_looks_at_rewards():
    agent = EpsilonGreedy(1.0).start(n_arms=3, seed=4)
    chosen = []
    for _ in range(300):
        chosen.append(agent.select())
        agent.update(chosen[-1], [0.0, 0.0, 1.0][chosen[-1]])
    assert min(chosen.count(arm) for arm in range(3)) > 60  # each Binomial(300, 1/3): below 61 once in 10^6


def test_the_coin_and_the_arm_are_different_numbers():
    # Were the arm drawn from the coin's own uniform number (< epsilon), only low arms would ever be explored.
    agent = EpsilonGreedy(0.2).start(n_arms=10, seed=5)
    for _ in range(2000):
        agent.update(agent.select(), 0.0)
    assert agent.pulls[9] > 10


@pytest.mark.parametrize("policy", [EpsilonGreedy(), EpsilonGreedy(0.0), EpsilonGreedy(0.3)])
def test_survives_extremes(policy):
    assert_survives_extremes(policy)


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match="epsilon"):
        EpsilonGreedy(bad)
