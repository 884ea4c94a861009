import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import raw_kl_ucb
from rotting.policies.raw_kl_ucb import RAWKLUCB
from side_by_side import assert_same_run

VALUES = {"coins": [0.0, 1.0], "ties": [-1.0, 0.0, 0.25, 0.5, 1.0, 7.0], "tenths": np.arange(11) / 10}


def rewards_in(kind, n_arms, rounds, seed):
    """Return rewards that are lower after a while, at different times."""
    rng = np.random.default_rng(seed)
    rewards = rng.choice(VALUES[kind], (n_arms, rounds))
    for arm, drop in enumerate(rng.integers(1, rounds, n_arms)):
        rewards[arm, drop:] *= rng.choice([0.0, 0.5, 1.0])
    return rewards.tolist()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(sorted(VALUES)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    c=st.sampled_from([0.1, 1.0]),
    stray=st.sampled_from([0.0, 0.3]),
)
def test_decides_as_the_literal_rule(kind, seed, n_arms, c, stray):
    rewards = rewards_in(kind, n_arms, 25, seed)
    reference = raw_kl_ucb.RAWKLUCB(n_arms, c)
    assert_same_run(RAWKLUCB(c), reference, rewards, rounds=25, seed=seed, stray=stray)


@pytest.mark.parametrize("kind", ["coins", "tenths"])
def test_decides_as_the_literal_rule_for_long(kind):
    """Long enough that blocks of windows are proved to lie above; one round in 90 is looked at."""
    rewards = rewards_in(kind, 2, 1800, 7)
    reference = raw_kl_ucb.RAWKLUCB(2)
    assert_same_run(RAWKLUCB(1.0), reference, rewards, rounds=1800, seed=7, look=lambda t: t % 90 == 0)


def test_explanations_are_the_literal_indices():
    agent, reference = RAWKLUCB(1.0).start(2), raw_kl_ucb.RAWKLUCB(2)
    for n, reward in enumerate(rewards_in("coins", 1, 300, 3)[0]):
        agent.update(n % 2, reward)
        reference.update(n % 2, reward)
    verdicts = agent.explain().arms
    for arm in range(2):
        assert verdicts[arm].index == pytest.approx(1 - math.exp(-reference.index(arm)), rel=1e-9)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="RAWKLUCB: c=0"):
        RAWKLUCB(c=0)
