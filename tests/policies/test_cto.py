import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.policies.cto import CTO
from rotting.problems.curves import Constant, Drop, Power, Table


def literal_choice(rewards, formulas):
    """Levine et al.'s rule, every sum from scratch."""
    for arm, own in enumerate(rewards):
        if not own:
            return arm
    values = []
    for own in rewards:
        gaps = [abs(sum(own) - sum(mu(m) for m in range(len(own)))) for mu in formulas]
        values.append(formulas[gaps.index(min(gaps))](len(own)))
    return values.index(max(values))


FORMULAS = (
    lambda n: (n // 3 + 1.0) ** -0.3,
    lambda n: (n // 3 + 1.0) ** -0.8,
    lambda n: 1.0 if n < 10 else 0.25,
    lambda n: 0.5,
)
CURVES = (Power(0.3, step=3), Power(0.8, step=3), Drop(1.0, 0.25, 10), Constant(0.5))


@settings(max_examples=20, deadline=None)
@given(n_arms=st.integers(1, 5), noise=st.sampled_from([0.05, 0.5]), seed=st.integers(0, 2**32))
def test_every_decision_is_that_of_the_literal_rule(n_arms, noise, seed):
    rng = np.random.default_rng(seed)
    agent = CTO(CURVES).start(n_arms)
    follows = rng.integers(len(FORMULAS), size=n_arms)
    rewards = [[] for _ in range(n_arms)]
    for _ in range(60):
        arm = agent.select()
        assert arm == literal_choice(rewards, FORMULAS)
        reward = FORMULAS[follows[arm]](len(rewards[arm])) + noise * rng.normal()
        rewards[arm].append(reward)
        agent.update(arm, reward)


def test_the_first_curve_and_the_lowest_arm_win_ties():
    # A reward of 0 is as far from the first curve (mean 1) as from the second (mean -1).
    agent = CTO(curves=([1.0, 5.0], [-1.0, 9.0], [3.0, 7.0])).start(3)
    for arm, reward in enumerate([0.0, 3.0, 3.0]):
        assert agent.select() == arm
        agent.update(arm, reward)
    # Arm 0 promises 5 by the first curve (by the second, 9 would win); arms 1 and 2 promise 7 each.
    assert agent.select() == 1


def test_without_noise_it_pulls_as_the_oracle_does():
    curves = (Drop(1.0, 0.0, 50), Constant(0.5))
    agent = CTO(curves).start(2)
    for _ in range(140):
        arm = agent.select()
        agent.update(arm, curves[arm](int(agent.pulls[arm])))
    # The first reward of each arm gives its curve away.
    assert agent.pulls.tolist() == [50, 90]


def test_curves_are_kept_as_a_tuple_of_curves():
    policy = CTO(curves=[0.5, (1.0, 0.2), Power(0.5)])
    assert policy.curves == (Constant(0.5), Table((1.0, 0.2)), Power(0.5))
    assert hash(policy) == hash(CTO((0.5, (1.0, 0.2), Power(0.5))))


@pytest.mark.parametrize(
    ("curves", "error"), [((), ValueError), ("ab", TypeError), (0.5, TypeError), (Power(0.5), TypeError)]
)
def test_what_is_not_a_set_of_curves_is_refused(curves, error):
    with pytest.raises(error, match="CTO: curves"):
        CTO(curves)


@pytest.mark.parametrize("n_arms", [1, 2])
def test_rewards_of_any_size(n_arms):
    agent = CTO(curves=(Power(0.5), 1e300)).start(n_arms)
    for reward in (1e100, -1e100, 1e100, -1e100, 1e-300):
        assert 0 <= agent.select() < n_arms
        agent.update(agent.select(), reward)
    assert agent.t == 5
