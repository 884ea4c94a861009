import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from rotting._core.gamma import log_gamma_sample
from rotting._core.randomness import CHOICE, stream_key, word
from rotting.policies.beta_thompson import BetaThompson, beta_sample_logit


@pytest.mark.parametrize("shape", [0.02, 0.5, 1.0, 1.7, 12.0, 5e4])
def test_gamma_samples_follow_the_gamma_law(shape):
    # Kolmogorov-Smirnov on 4000 samples; a right sampler fails with probability 0.1 % per shape.
    logs = np.array([log_gamma_sample(stream_key(7, n), shape) for n in range(4000)])
    assert stats.kstest(logs, lambda x: special.gammainc(shape, np.exp(x))).pvalue > 0.001


@pytest.mark.parametrize(("a", "b"), [(0.1, 3.0), (0.5, 0.5), (1.0, 1.0), (2.0, 5.0), (300.0, 40.0)])
def test_beta_samples_follow_the_beta_law(a, b):
    logits = np.array([beta_sample_logit(stream_key(11, n), a, b) for n in range(4000)])
    assert stats.kstest(special.expit(logits), stats.beta(a, b).cdf).pvalue > 0.001


def test_arms_win_as_often_as_their_posteriors_say():
    # Posteriors Beta(4, 3) and Beta(2, 2); 4000 independent agents, two-sided binomial test at 0.1 %.
    first, second = stats.beta(4, 3), stats.beta(2, 2)
    exact = integrate.quad(lambda p: first.pdf(p) * second.cdf(p), 0, 1)[0]
    wins = 0
    for seed in range(4000):
        agent = BetaThompson().start(2, seed)
        for arm, reward in ((0, 1), (0, 0), (0, 1), (0, 0), (0, 1), (1, 0), (1, 1)):
            agent.update(arm, reward)
        wins += agent.select() == 0
    assert stats.binomtest(wins, 4000, exact).pvalue > 0.001


@settings(max_examples=10, deadline=None)
@given(
    n_arms=st.integers(1, 4),
    prior=st.tuples(st.floats(0.01, 5), st.floats(0.01, 5)),
    seed=st.integers(0, 2**32),
)
def test_counts_are_successes_and_failures_with_fractions_and_clipping(n_arms, prior, seed):
    rng = np.random.default_rng(seed)
    agent = BetaThompson(*prior).start(n_arms, seed)
    key = stream_key(seed, CHOICE)
    successes, failures = [prior[0]] * n_arms, [prior[1]] * n_arms
    for t in range(1, 40):
        draw = np.uint64(word(key, t))
        samples = [
            beta_sample_logit(np.uint64(word(draw, arm)), successes[arm], failures[arm]) for arm in range(n_arms)
        ]
        arm = agent.select()
        assert arm == samples.index(max(samples))
        reward = float(rng.choice([0.0, 1.0, 0.25, -3.0, 7.5]))
        agent.update(arm, reward)
        part = {-3.0: 0.0, 7.5: 1.0}.get(reward, reward)
        successes[arm] += part
        failures[arm] += 1 - part


@pytest.mark.parametrize("prior", [1e-200, 1e-3, 1.0, 1e6])
def test_priors_of_any_size_give_every_arm_a_chance(prior):
    # 60 agents, 3 exchangeable arms: some arm is never chosen with probability below 1e-9.
    assert {BetaThompson(prior, prior).start(3, seed).select() for seed in range(60)} == {0, 1, 2}


@pytest.mark.parametrize("prior", [5e-324, 1.0, 1.7e308])
@pytest.mark.parametrize("n_arms", [1, 2])
def test_rewards_of_any_size(prior, n_arms):
    agent = BetaThompson(prior, prior).start(n_arms, seed=0)
    for reward in (1e100, -1e100, 1e100, -1e100, 1e-300):
        assert 0 <= agent.select() < n_arms
        agent.update(agent.select(), reward)
    state = agent._state
    for arm in range(n_arms):
        assert not np.isnan(beta_sample_logit(stream_key(1, arm), state.successes[arm], state.failures[arm]))
