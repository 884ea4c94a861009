"""CTO with its authors' tie rule, and D-CTO-UCB, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import levine
from rotting import CTO, CTOSIM, UCB1
from rotting.errors import BadValue
from rotting.policies import DCTOUCB
from rotting.problems.curves import Constant, Drop, Power

FORMULAS = (
    lambda n: (n // 3 + 1.0) ** -0.3,
    lambda n: (n // 3 + 1.0) ** -0.8,
    lambda n: 1.0 if n < 10 else 0.25,
)
CURVES = (Power(0.3, step=3), Power(0.8, step=3), Drop(1.0, 0.25, 10))


def world(seed, n_arms, constant=0.0):
    """Return a function that gives the next reward of an arm."""
    rng = np.random.default_rng(seed)
    follows, levels = rng.integers(len(FORMULAS), size=n_arms), constant * rng.random(n_arms)
    return lambda arm, n: float(FORMULAS[follows[arm]](n) + levels[arm] + 0.2 * rng.normal())


@settings(max_examples=200, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), n_arms=st.integers(1, 5), rounds=st.integers(1, 60))
def test_cto_chooses_among_those_that_the_authors_may_choose(seed, n_arms, rounds):
    agent, reference = CTOSIM(CURVES).start(n_arms, seed=seed), levine.CTOSIM(n_arms, FORMULAS)
    reward_of = world(seed, n_arms)
    for _ in range(rounds):
        arm = agent.select()
        assert arm in reference.choices()
        reward = reward_of(arm, len(reference.rewards[arm]))
        agent.update(arm, reward)
        reference.update(arm, reward)


def test_every_one_of_equals_is_pulled_as_often():
    """Four arms that promise the same, one of them pulled more often: each of the others in a third of the rounds."""
    agent = CTOSIM((1.0,)).start(4)
    agent.update_many([0, 1, 2, 3, 2], [1.0] * 5)
    counts = np.bincount([agent.select_at(6, np.uint64(key)) for key in range(3000)], minlength=4)
    assert counts[2] == 0
    assert np.all(abs(counts[[0, 1, 3]] - 1000) < 4 * np.sqrt(3000 * 2 / 9))


def test_where_no_two_promise_the_same_both_rules_agree():
    curves = tuple(Power(theta, start=1.0 + theta) for theta in (0.11, 0.23, 0.37))
    rng = np.random.default_rng(2)
    one, other = CTO(curves).start(3), CTOSIM(curves).start(3, seed=5)
    for _ in range(300):
        values = one._state.values[one.pulls > 0]
        if len(set(values.tolist())) == 3 or one.t < 3:
            assert one.select() == other.select()
        arm, reward = one.select(), float(rng.normal())
        one.update(arm, reward)
        other.update(arm, reward)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    rounds=st.integers(1, 60),
    m=st.sampled_from([None, 1, 2, 5]),
    stray=st.sampled_from([0.0, 0.3]),
)
def test_decides_as_the_literal_rule(seed, n_arms, rounds, m, stray):
    """Where two curves or two arms are as good, to 1e-9, either is right."""
    rng = np.random.default_rng(seed)
    agent, reference = DCTOUCB(CURVES, m, 0.2).start(n_arms), levine.DCTOUCB(n_arms, FORMULAS, 0.2, m)
    reward_of = world(seed, n_arms, constant=0.5)
    for t in range(1, rounds + 1):
        expected = reference.select(t)
        assert agent.select() == expected or reference.lead < 1e-9, f"round {t}"
        arm = int(rng.integers(n_arms)) if rng.random() < stray else expected
        reward = reward_of(arm, len(reference.rewards[arm]))
        agent.update(arm, reward)
        reference.update(arm, reward)


@pytest.mark.parametrize("m", [None, 1])
def test_with_a_curve_that_is_0_it_is_ucb1_with_twice_the_scale(m):
    """Rewards are eighths, whose sums are exact either way."""
    rng = np.random.default_rng(4)
    mine, ucb1 = DCTOUCB((Constant(0.0),), m, 0.25).start(5), UCB1(sigma=0.5).start(5)
    for _ in range(2000):
        arm = mine.select()
        assert arm == ucb1.select()
        reward = float(rng.integers(-8, 12)) / 8 - 0.125 * arm
        mine.update(arm, reward)
        ucb1.update(arm, reward)


def test_with_one_curve_the_decision_point_changes_nothing():
    rng = np.random.default_rng(6)
    one, other = DCTOUCB((CURVES[0],), None, 0.25).start(3), DCTOUCB((CURVES[0],), 1, 0.25).start(3)
    for _ in range(500):
        arm = one.select()
        assert arm == other.select()
        reward = float(rng.normal())
        one.update(arm, reward)
        other.update(arm, reward)


def test_curves_are_settled_at_the_decision_point():
    agent = DCTOUCB((Constant(1.0), Drop(1.0, 0.0, 2)), m=4, sigma=0.1).start(1)
    for reward in (1.0, 1.0, 1.0, 1.0):
        agent.update(0, reward)
    assert agent._state.fitted.tolist() == [0]
    for _ in range(40):
        agent.update(0, -5.0)
    assert agent._state.fitted.tolist() == [0]


def test_what_is_not_a_set_of_curves_is_refused():
    with pytest.raises(BadValue, match="DCTOUCB: curves"):
        DCTOUCB(())
