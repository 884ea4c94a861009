import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.policies.aucb import AUCB
from rotting.policies.ucb1 import UCB1
from rotting.problems.curves import Constant, Drop, Exponential, Linear, Logistic, Power, Table

TRENDS = [
    (Constant(2.0), lambda n: 2.0),
    (Power(0.5, step=4), lambda n: (n // 4 + 1) ** -0.5),
    (Drop(1.0, 0.3, 7), lambda n: 1.0 if n < 7 else 0.3),
    (Exponential(start=1.0, rate=0.05, floor=0.1), lambda n: 0.1 + 0.9 * math.exp(-0.05 * n)),
    (Table((0.2, 0.9, 0.4)), lambda n: (0.2, 0.9, 0.4)[min(n, 2)]),
]


def literal_choice(rewards, trend, sigma, t):
    """The index of ALGORITHMS.md, every sum from scratch."""
    for arm, own in enumerate(rewards):
        if not own:
            return arm
    indices = []
    for own in rewards:
        n = len(own)
        mean = sum(reward / trend(m) for m, reward in enumerate(own)) / n
        indices.append((mean + sigma * math.sqrt(2 * math.log(t)) / math.sqrt(n)) * trend(n))
    return indices.index(max(indices))


@settings(max_examples=20, deadline=None)
@given(
    n_arms=st.integers(1, 5),
    sigma=st.sampled_from([0.0, 0.2, 1.0]),
    trend=st.sampled_from(TRENDS),
    seed=st.integers(0, 2**32),
)
def test_every_decision_is_that_of_the_literal_rule(n_arms, sigma, trend, seed):
    curve, formula = trend
    rng = np.random.default_rng(seed)
    agent = AUCB(trend=curve, sigma=sigma).start(n_arms)
    rewards = [[] for _ in range(n_arms)]
    for t in range(1, 80):
        arm = agent.select()
        assert arm == literal_choice(rewards, formula, sigma, t)
        reward = (arm + 1) / n_arms * formula(len(rewards[arm])) + 0.3 * rng.normal()
        rewards[arm].append(reward)
        agent.update(arm, reward)


def test_without_a_trend_it_is_ucb1():
    rng = np.random.default_rng(5)
    ours, theirs = AUCB().start(3), UCB1().start(3)
    for _ in range(300):
        arm = ours.select()
        assert arm == theirs.select()
        reward = rng.normal(arm / 4)
        ours.update(arm, reward)
        theirs.update(arm, reward)


@pytest.mark.parametrize(
    "trend",
    [
        0.0,
        -1.0,
        [1.0, 0.0, 1.0],
        Linear(1.0, 0.1),
        Drop(1.0, -1.0, 3),
        Exponential(1.0, 0.1, -0.1),
        Exponential(0.0, 0.1),
    ],
)
def test_a_trend_that_is_not_positive_everywhere_is_refused(trend):
    with pytest.raises(ValueError, match="expected a trend > 0"):
        AUCB(trend=trend)


def test_what_stands_for_a_curve_becomes_one():
    assert AUCB(trend=0.5).trend == Constant(0.5)
    assert AUCB(trend=[1.0, 0.5]).trend == Table((1.0, 0.5))


@pytest.mark.parametrize("trend", [Exponential(1.0, 200.0), Power(300.0), Logistic(1.0, 1.0, 0.001), Constant(1e-320)])
@pytest.mark.parametrize("n_arms", [1, 3])
def test_a_trend_that_underflows_and_rewards_of_any_size_leave_indices_finite(trend, n_arms):
    agent = AUCB(trend=trend, sigma=0.0).start(n_arms)
    for reward in (1e100, -1e100) * 6:
        arm = agent.select()
        assert 0 <= arm < n_arms
        agent.update(arm, reward)
        assert np.all(np.isfinite(agent._state.totals))
    if n_arms == 3:
        # Arms that paid well by the trend are told apart from those that did not, however small the trend is.
        agent = AUCB(trend=trend, sigma=0.0).start(3)
        for reward in (-1.0, 1.0, -1.0):
            agent.update(agent.select(), reward)
        assert agent.select() == 1
