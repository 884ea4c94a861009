import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from rotting.policies.uniform import Uniform, uniform_arm
from side_by_side import assert_same_decisions


def literal(history, n_arms, t, uniforms):
    return int(uniforms(0) * n_arms)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**70), n_arms=st.integers(1, 50))
def test_decides_as_the_literal_rule(seed, n_arms):
    assert_same_decisions(Uniform(), literal, n_arms=n_arms, rounds=100, seed=seed)


@pytest.mark.parametrize("n_arms", [2, 3, 10])
def test_all_arms_are_equally_likely(n_arms):
    """Chi-square of 10 000 draws; refuses a right policy once in 1000 seeds (the seed is fixed)."""
    agent = Uniform().start(n_arms, seed=11)
    for _ in range(10_000):
        agent.update(agent.select(), 0.0)
    assert chisquare(agent.pulls).pvalue > 1e-3


def test_successive_choices_are_independent():
    """Chi-square over pairs of successive choices; refuses a right policy once in 1000 seeds."""
    agent = Uniform().start(3, seed=12)
    pairs, before = np.zeros((3, 3)), 0
    for _ in range(10_000):
        arm = agent.select()
        pairs[before, arm] += 1
        before = arm
        agent.update(arm, 0.0)
    assert chisquare(pairs.ravel()).pvalue > 1e-3


def test_the_largest_word_still_gives_an_arm():
    # SplitMix64 is a bijection: undo it on a word of 64 ones to find the key of the largest uniform number.
    mask, golden = 2**64 - 1, 0x9E3779B97F4A7C15
    z = mask
    z = _unshift(z, 31) * pow(0x94D049BB133111EB, -1, 2**64) & mask
    z = _unshift(z, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & mask
    top = np.uint64((_unshift(z, 30) - golden) & mask)
    for n_arms in (1, 2, 3, 10, 1000):
        assert uniform_arm(top, 0, n_arms) == n_arms - 1


def _unshift(z, shift):
    """Undo z ^= z >> shift."""
    result = z
    for _ in range(64 // shift + 1):
        result = z ^ (result >> shift)
    return result


def test_rewards_do_not_matter():
    quiet, loud = Uniform().start(4, seed=3), Uniform().start(4, seed=3)
    for _ in range(100):
        arm = quiet.select()
        assert arm == loud.select()
        quiet.update(arm, 0.0)
        loud.update(arm, 1e100)
