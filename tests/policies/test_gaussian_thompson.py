import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rotting._core.randomness import CHOICE, normal, stream_key, word
from rotting.policies.gaussian_thompson import GaussianThompson


def literal_choice(rewards, sigma, key, t):
    """The rule of ALGORITHMS.md on lists of rewards."""
    for arm, own in enumerate(rewards):
        if not own:
            return arm
    draw = np.uint64(word(key, t))
    samples = [sum(own) / len(own) + sigma / math.sqrt(len(own)) * normal(draw, arm) for arm, own in enumerate(rewards)]
    return samples.index(max(samples))


@settings(max_examples=15, deadline=None)
@given(n_arms=st.integers(1, 5), sigma=st.sampled_from([0.0, 0.3, 2.0]), seed=st.integers(0, 2**32))
def test_every_decision_is_that_of_the_literal_rule(n_arms, sigma, seed):
    rng = np.random.default_rng(seed)
    agent = GaussianThompson(sigma).start(n_arms, seed)
    key = stream_key(seed, CHOICE)
    rewards = [[] for _ in range(n_arms)]
    for t in range(1, 60):
        arm = agent.select()
        assert arm == literal_choice(rewards, sigma, key, t)
        reward = rng.normal(arm / 3, 1.0)
        rewards[arm].append(reward)
        agent.update(arm, reward)


def test_arms_win_as_often_as_their_posteriors_say():
    # P(N(0.1, 1/9) > N(0.4, 1/4)); 4000 independent agents, two-sided binomial test at 0.1 %.
    exact = stats.norm.cdf((0.1 - 0.4) / math.sqrt(1 / 9 + 1 / 4))
    wins = 0
    for seed in range(4000):
        agent = GaussianThompson(sigma=1.0).start(2, seed)
        for arm, reward, times in ((0, 0.1, 9), (1, 0.4, 4)):
            for _ in range(times):
                agent.update(arm, reward)
        wins += agent.select() == 0
    assert stats.binomtest(wins, 4000, exact).pvalue > 0.001


def test_without_noise_the_best_mean_wins_and_ties_go_to_the_lowest_arm():
    agent = GaussianThompson(sigma=0.0).start(3, seed=1)
    for arm, reward in enumerate([0.2, 0.7, 0.7]):
        assert agent.select() == arm
        agent.update(arm, reward)
    assert agent.select() == 1


@pytest.mark.parametrize("sigma", [0.0, 1.0, 1e300])
def test_rewards_of_any_size(sigma):
    agent = GaussianThompson(sigma).start(2, seed=0)
    for reward in (1e100, -1e100, 1e100, -1e100, 1e-300):
        assert agent.select() in (0, 1)
        agent.update(agent.select(), reward)
    assert agent.t == 5
