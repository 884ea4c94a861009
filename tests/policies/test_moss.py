import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.policies.moss import MOSS
from side_by_side import TIES, assert_same_decisions, assert_survives_extremes, first_best, rewards_of


def literal(policy):
    def choose(history, n_arms, t, uniforms):
        horizon = t if policy.horizon is None else policy.horizon
        indices = []
        for rewards in rewards_of(history, n_arms):
            n = len(rewards)
            if n == 0:
                indices.append(math.inf)
                continue
            log = max(0.0, math.log(horizon / (n_arms * n)))
            indices.append(sum(rewards) / n + policy.sigma * math.sqrt(log / n))
        return first_best(indices)

    return choose


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 6),
    sigma=st.sampled_from([0.0, 0.3, 1.0, 5.0]),
    horizon=st.sampled_from([None, 1, 60, 120, 10**6]),
    values=st.sampled_from([(), TIES]),
)
def test_decides_as_the_literal_rule(seed, n_arms, sigma, horizon, values):
    policy = MOSS(sigma, horizon)
    assert_same_decisions(policy, literal(policy), n_arms=n_arms, rounds=120, seed=seed, values=values)


def test_an_arm_pulled_more_than_its_share_has_no_bonus():
    # T / (K N) = 10 / (2 * 5) = 1 after five pulls of arm 0: its index is its mean.
    agent = MOSS(sigma=1.0, horizon=10).start(n_arms=2)
    for _ in range(5):
        agent.update(0, 1.0)
    # Arm 1: 0 + sqrt(ln(5) / 1) = 1.27 after one pull.
    agent.update(1, 0.0)
    assert agent.select() == 1
    # -0.35 + 1.27 = 0.92 < 1
    lower = MOSS(sigma=1.0, horizon=10).start(n_arms=2)
    for _ in range(5):
        lower.update(0, 1.0)
    lower.update(1, -0.35)
    assert lower.select() == 0


def test_the_anytime_form_differs_from_a_given_horizon():
    # At t = 3 with one pull each: ln(3 / 2) against ln(1000 / 2); a second arm pulled twice tells them apart.
    def play(policy):
        agent = policy.start(n_arms=2)
        for arm, reward in ((0, 1.0), (0, 1.0), (1, 0.0)):
            agent.update(arm, reward)
        return agent.select()

    assert play(MOSS()) == 0  # 1 + 0 > 0 + sqrt(ln 2)
    assert play(MOSS(horizon=1000)) == 0  # 1 + sqrt(ln(250) / 2) = 2.66 > sqrt(ln 500) = 2.49
    assert play(MOSS(sigma=2.0)) == 1  # 1 + 0 < 2 sqrt(ln 2) = 1.67
    assert play(MOSS(sigma=2.0, horizon=4)) == 1  # 1 + 0 < 2 sqrt(ln 2)
    assert play(MOSS(sigma=2.0, horizon=2)) == 0  # no bonus left for either


@pytest.mark.parametrize("policy", [MOSS(), MOSS(sigma=0.0), MOSS(horizon=50), MOSS(sigma=0.0, horizon=1)])
def test_survives_extremes(policy):
    assert_survives_extremes(policy)


@pytest.mark.parametrize("bad", [{"sigma": -1}, {"horizon": 0}, {"horizon": 2.5}, {"sigma": float("nan")}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        MOSS(**bad)
