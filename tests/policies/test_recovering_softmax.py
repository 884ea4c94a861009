import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import recovering_softmax
from rotting import Uniform, simulate
from rotting._core.randomness import uniform, word
from rotting.errors import BadValue, RottingError
from rotting.policies import RecoveringSoftmax
from rotting.problems import push

KEY = np.uint64(11)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    rounds=st.integers(1, 60),
    gamma=st.sampled_from([0.0, 0.2]),
    tau=st.sampled_from([0.05, 0.3]),
    prior=st.sampled_from([0.0, 3.0, 100.0]),
    least=st.sampled_from([1e-6, 0.05]),
    stray=st.sampled_from([0.0, 0.2]),
)
def test_decides_as_the_literal_rule(seed, n_arms, rounds, gamma, tau, prior, least, stray):
    rng = np.random.default_rng(seed)
    agent = RecoveringSoftmax(gamma, 2.0, tau, prior, least).start(n_arms, seed=3)
    reference = recovering_softmax.RecoveringSoftmax(n_arms, gamma, 2.0, tau, prior, least)
    for t in range(1, rounds + 1):
        eligible = sorted(rng.permutation(n_arms)[: rng.integers(1, n_arms + 1)].tolist())
        rest = np.where(rng.random(n_arms) < 0.3, np.inf, rng.integers(1, 9, n_arms))
        agent.see(eligible, rest)
        expected = reference.probabilities(eligible, rest)
        np.testing.assert_allclose(agent.probabilities(), [expected.get(arm, 0.0) for arm in range(n_arms)], atol=1e-9)
        chosen = agent.select_at(t, KEY)
        assert chosen == reference.select(eligible, rest, np.uint64(word(KEY, t))), f"round {t}"
        arm = int(rng.integers(n_arms)) if rng.random() < stray else chosen
        reward = float(rng.random() < 0.3 + 0.1 * arm)
        agent.update(arm, reward)
        reference.update(eligible, rest, arm, reward)


def test_without_a_penalty_it_is_a_softmax_of_lifts_bit_for_bit():
    rng = np.random.default_rng(0)
    with_rests, without = (RecoveringSoftmax(gamma=0.0, tau=0.1, prior=5).start(3, seed=1) for _ in range(2))
    for _ in range(300):
        with_rests.see(rest=rng.uniform(0, 9, 3))
        arm = without.select()
        assert with_rests.select() == arm
        scores = without._state.scores
        weights = [math.exp((score - max(scores)) / 0.1) for score in scores]
        np.testing.assert_array_equal(without.probabilities(), [weight / sum(weights) for weight in weights])
        reward = float(rng.random() < 0.2 * (arm + 1))
        with_rests.update(arm, reward)
        without.update(arm, reward)


def test_with_an_endless_prior_it_is_uniform_among_the_eligible():
    problem = push(users=20, horizon=2000)
    policies = {"softmax": RecoveringSoftmax(prior=1e300, gamma=0.0), "uniform": Uniform()}
    result = simulate(policies, problem, runs=3, progress=False)
    earned = (result.oracle_reward - result.regret).isel(round=-1).transpose("policy", "run").values
    np.testing.assert_allclose(earned[0], earned[1], rtol=0.02)
    agent = RecoveringSoftmax(prior=1e300, gamma=0.0).start(4, seed=0)
    for t in range(1, 50):
        agent.see(eligible=[0, 2, 3])
        np.testing.assert_array_equal(agent.probabilities(), [1 / 3, 0, 1 / 3, 1 / 3])
        assert agent.select_at(t, KEY) == [0, 2, 3][int(uniform(np.uint64(word(KEY, t)), 0) * 3)]
        agent.update(2, 1.0)


def test_alone_it_counts_rounds_since_the_last_pull():
    agent = RecoveringSoftmax().start(3, seed=0)
    for arm in (1, 1, 0):
        agent.update(arm, 1.0)
    assert agent._state.rest.tolist() == [1.0, 2.0, np.inf]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"eligible": []}, "eligible"),
        ({"eligible": [3]}, "arm=3"),
        ({"rest": [1.0]}, "rest="),
        ({"rest": [1.0, -1.0, 0.0]}, "rest="),
        ({"rest": [1.0, float("nan"), 0.0]}, "rest="),
    ],
)
def test_what_cannot_be_seen_is_refused(seen, said):
    agent = RecoveringSoftmax().start(3, seed=0)
    with pytest.raises(RottingError, match=said):
        agent.see(**seen)
    with pytest.raises(BadValue, match="sees no"):
        Uniform().start(3).see(eligible=[1])
