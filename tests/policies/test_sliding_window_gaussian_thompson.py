import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.forgetting_thompson import gaussian_choice
from rotting.policies.gaussian_thompson import GaussianThompson
from rotting.policies.sliding_window_gaussian_thompson import SlidingWindowGaussianThompson
from side_by_side import assert_same_choices, assert_same_keyed_decisions


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    tau=st.integers(1, 30),
    sigma=st.sampled_from([0.0, 0.3, 2.0]),
)
def test_decides_as_the_literal_rule(seed, n_arms, tau, sigma):
    def literal(history, n_arms, key):
        return gaussian_choice(history[-tau:], n_arms, sigma, key)

    policy = SlidingWindowGaussianThompson(tau, sigma)
    assert_same_keyed_decisions(policy, literal, n_arms=n_arms, rounds=45, seed=seed)


def test_a_window_that_never_fills_is_gaussian_thompson_bit_for_bit():
    values = np.linspace(-1, 2, 37).tolist()
    policy = SlidingWindowGaussianThompson(2000, 0.7)
    assert_same_choices(policy, GaussianThompson(0.7), rounds=2000, values=values)


@pytest.mark.parametrize("bad", [{"tau": 0}, {"sigma": -1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        SlidingWindowGaussianThompson(**bad)
