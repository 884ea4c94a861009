import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.forgetting_thompson import beta_choice, discounted
from rotting.policies.beta_thompson import BetaThompson
from rotting.policies.discounted_beta_thompson import DiscountedBetaThompson
from side_by_side import assert_same_choices, assert_same_keyed_decisions

# Fractions and rewards to be clipped among them.
VALUES = (0.0, 1.0, 0.25, -3.0, 7.5)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    gamma=st.sampled_from([0.1, 0.75, 0.95, 1.0]),
    prior=st.tuples(st.floats(0.01, 5), st.floats(0.01, 5)),
)
def test_decides_as_the_literal_rule(seed, n_arms, gamma, prior):
    def literal(history, n_arms, key):
        return beta_choice(discounted(history, gamma), n_arms, prior, key)

    policy = DiscountedBetaThompson(gamma, *prior)
    assert_same_keyed_decisions(policy, literal, n_arms=n_arms, rounds=45, seed=seed, values=VALUES)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.3, 1e-5)])
def test_without_discount_it_is_beta_thompson_bit_for_bit(prior):
    fractions = np.linspace(0, 1, 37).tolist()
    assert_same_choices(DiscountedBetaThompson(1.0, *prior), BetaThompson(*prior), rounds=2000, values=fractions)


def test_every_arm_is_discounted_once_a_round():
    agent = DiscountedBetaThompson(gamma=0.5).start(n_arms=3)
    for arm, reward in ((0, 1.0), (1, 1.0), (2, 0.0)):
        agent.update(arm, reward)
    assert agent._state.successes.tolist() == [1.25, 1.5, 1.0]
    assert agent._state.failures.tolist() == [1.0, 1.0, 2.0]


@pytest.mark.parametrize("bad", [{"gamma": 0}, {"gamma": 1.5}, {"prior_successes": 0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        DiscountedBetaThompson(**bad)
