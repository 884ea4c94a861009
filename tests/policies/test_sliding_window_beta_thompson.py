import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.forgetting_thompson import beta_choice
from rotting.policies.beta_thompson import BetaThompson
from rotting.policies.sliding_window_beta_thompson import SlidingWindowBetaThompson
from side_by_side import assert_same_choices, assert_same_keyed_decisions

# Fractions and rewards to be clipped among them.
VALUES = (0.0, 1.0, 0.25, -3.0, 7.5)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    tau=st.integers(1, 30),
    prior=st.tuples(st.floats(0.01, 5), st.floats(0.01, 5)),
)
def test_decides_as_the_literal_rule(seed, n_arms, tau, prior):
    def literal(history, n_arms, key):
        return beta_choice([(*pull, 1.0) for pull in history[-tau:]], n_arms, prior, key)

    policy = SlidingWindowBetaThompson(tau, *prior)
    assert_same_keyed_decisions(policy, literal, n_arms=n_arms, rounds=45, seed=seed, values=VALUES)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.3, 1e-5)])
def test_a_window_that_never_fills_is_beta_thompson_bit_for_bit(prior):
    fractions = np.linspace(0, 1, 37).tolist()
    assert_same_choices(SlidingWindowBetaThompson(2000, *prior), BetaThompson(*prior), rounds=2000, values=fractions)


def test_counts_do_not_drift():
    """After 50 000 rounds of rewards that do not add up exactly, counts are those of the window alone."""
    tau, rng = 7, np.random.default_rng(0)
    agent = SlidingWindowBetaThompson(tau).start(n_arms=2)
    arms, rewards = rng.integers(2, size=50_000), rng.random(50_000)
    agent.update_many(arms, rewards)
    state = agent._state
    for i in range(2):
        inside = rewards[-tau:][arms[-tau:] == i]
        counted = state.past[:, i] + state.present[:, i]
        np.testing.assert_allclose(counted, [1 + inside.sum(), 1 + (1 - inside).sum()], rtol=0, atol=1e-14)


@pytest.mark.parametrize("bad", [{"tau": 0}, {"tau": 1.5}, {"prior_successes": 0}, {"prior_failures": -1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        SlidingWindowBetaThompson(**bad)
