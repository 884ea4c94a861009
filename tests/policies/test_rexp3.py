import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.exponential_weights import draw, probabilities
from rotting.policies.exp3 import Exp3
from rotting.policies.rexp3 import Rexp3
from side_by_side import assert_same_decisions, assert_survives_extremes


def literal(policy):
    """Besbes et al.: a fresh Exp3 in every batch."""

    def choose(history, n_arms, t, uniforms):
        k_log_k = n_arms * math.log(n_arms)
        batch = max(1, math.ceil(k_log_k ** (1 / 3) * (policy.horizon / policy.variation) ** (2 / 3)))
        gamma = policy.gamma
        if gamma is None:
            gamma = min(1.0, math.sqrt(k_log_k / ((math.e - 1) * batch)))
        since_restart = history[len(history) // batch * batch :]
        return draw(probabilities(since_restart, n_arms, gamma, policy.low, policy.high), uniforms(0))

    return choose


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    gamma=st.sampled_from([None, 0.05, 0.6]),
    variation=st.sampled_from([0.5, 5.0, 50.0, 1e6]),
    horizon=st.sampled_from([1, 150, 1000]),
)
def test_decides_as_the_literal_rule(seed, n_arms, gamma, variation, horizon):
    policy = Rexp3(gamma, variation, horizon, low=-2.0, high=3.0)
    assert_same_decisions(policy, literal(policy), n_arms=n_arms, rounds=120, seed=seed)


def test_batch_by_hand():
    # K = 2: K ln K = 1.386, its cube root 1.1150; (1000 / 1)^(2/3) = 100.
    assert Rexp3(horizon=1000).batch(2) == 112
    # K = 10: 23.026^(1/3) = 2.8449; (10000 / 10)^(2/3) = 100.
    assert Rexp3(variation=10.0).batch(10) == 285
    assert Rexp3().batch(1) == 1


def test_a_tiny_variation_means_no_restart():
    assert 10**16 < Rexp3(variation=1e-320).batch(2) < 2**62
    assert Rexp3(variation=1e-320).batch(1) == 1


def test_it_is_exp3_until_the_first_restart():
    policy = Rexp3(gamma=0.5, horizon=1000)
    restarted, plain = policy.start(2, seed=8), Exp3(gamma=0.5).start(2, seed=8)
    same = []
    for _ in range(400):
        same.append(restarted.select() == plain.select())
        for agent in (restarted, plain):
            agent.update(0, 1.0)
    assert all(same[:112])
    assert not all(same[112:])


def test_gamma_of_the_theory_by_hand():
    # K = 2, batch 112: sqrt(1.386294 / (1.718282 * 112)) = 0.084873.
    assert Rexp3(horizon=1000).initial_state(2).settings[0] == pytest.approx(0.084873, abs=1e-6)
    # K = 2, batch 1: sqrt(1.386294 / 1.718282) = 0.898215. K = 3, batch 1: sqrt(1.918) is more than 1.
    assert Rexp3(variation=1e9).initial_state(2).settings[0] == pytest.approx(0.898215, abs=1e-6)
    assert Rexp3(variation=1e9).initial_state(3).settings[0] == 1.0


@pytest.mark.parametrize(
    "policy",
    [Rexp3(), Rexp3(gamma=0.2), Rexp3(gamma=0.2, variation=1e-300), Rexp3(0.2, low=-1e100, high=1e100)],
)
def test_survives_extremes(policy):
    assert_survives_extremes(policy, rounds=1000)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ({"gamma": 0}, "gamma"),
        ({"gamma": 1.5}, "gamma"),
        ({"variation": 0}, "variation"),
        ({"horizon": 0}, "horizon"),
        ({"low": 1.0}, "low=1.0"),
        ({"low": 3, "high": 2}, "low < high"),
    ],
)
def test_bad_parameters_are_refused(bad, word):
    with pytest.raises(ValueError, match=word):
        Rexp3(**bad)
