import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from reference import glr_kl_ucb
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.kl_ucb import KLUCB
from side_by_side import assert_same_choices, assert_same_run

RESTARTS: set[tuple[bool, bool]] = set()  # (local?, any?) of the games below


def levels(n_arms, rounds, seed):
    """Return rewards, fractions and some to be clipped among them, around levels that change now and then."""
    rng = np.random.default_rng(seed)
    steps = np.repeat(rng.choice([0.0, 0.5, 1.0], (n_arms, rounds // 20 + 1)), 20, axis=1)[:, :rounds]
    return np.where(rng.random((n_arms, rounds)) < steps, rng.choice([1.0, 3.0]), rng.choice([0.0, 0.125])).tolist()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    local=st.booleans(),
    alpha0=st.sampled_from([0.0, 0.2, 1.0]),
    delta=st.sampled_from([0.01, 1.0]),
    every=st.sampled_from([1, 3]),
    step=st.sampled_from([1, 4]),
)
def test_decides_as_the_literal_rule(seed, n_arms, local, alpha0, delta, every, step):
    reference = glr_kl_ucb.GLRKLUCB(n_arms, local=local, alpha0=alpha0, delta=delta, every=every, step=step)
    policy = GLRKLUCB(local, alpha0, delta, every, step)
    agent = assert_same_run(policy, reference, levels(n_arms, 60, seed), rounds=60, seed=seed)
    assert agent._state.clock.tolist() == [60, reference.restarts]
    RESTARTS.add((local, reference.restarts > 0))


def test_the_games_above_had_restarts_and_none():
    assert len(RESTARTS) == 4


def test_without_exploration_and_tests_it_is_kl_ucb_bit_for_bit():
    fractions = np.linspace(0, 1, 37).tolist()
    assert_same_choices(GLRKLUCB(False, 0.0, every=10**9), KLUCB(), rounds=1000, values=fractions)
    # A threshold that is out of reach: the ratio is at most n ln 2.
    assert_same_choices(GLRKLUCB(True, 0.0, 1e-300, 1, 1), KLUCB(), rounds=900, values=[0.0, 1.0])


def restarts_of(rewards, delta, step):
    """Return after which of an arm's 0/1 rewards it restarts, all splits being computed; sums are exact."""
    restarts, begin = [], 0

    def entropy(p):
        return -special.xlogy(p, p) - special.xlogy(1 - p, 1 - p)

    for end in range(1, len(rewards) + 1):
        sums = np.cumsum(rewards[begin:end])
        n = len(sums)
        s = np.arange(step, n, step)
        older, newer = sums[s - 1] / s, (sums[-1] - sums[s - 1]) / (n - s)
        ratios = n * entropy(sums[-1] / n) - s * entropy(older) - (n - s) * entropy(newer)
        if np.any(ratios > math.log(n**1.5 / delta)):
            restarts.append(end)
            begin = end
    return restarts


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("seed", range(6))
def test_long_histories_are_tested_in_blocks_as_split_by_split(step, seed):
    rng = np.random.default_rng(seed)
    # Long stretches and short bumps, of which some are changes and others nearly.
    lengths = rng.choice([15, 40, 300, 600], 8)
    chances = np.repeat(rng.choice([0.02, 0.4, 0.5, 0.6, 0.97], 8), lengths)
    rewards = (rng.random(len(chances)) < chances).astype(float)
    agent = GLRKLUCB(True, 0.0, 0.05, 1, step).start(1)
    found = []
    for n, reward in enumerate(rewards.tolist(), 1):
        agent.update(0, reward)
        if agent._state.clock[1] > len(found):
            found.append(n)
    assert found == restarts_of(rewards, 0.05, step)
    assert found


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_a_change_within_a_block_is_found(first):
    """Tested once, after 1024 rewards: only in the middle of the block 512..767 do the sums show anything."""
    rewards = [0.0, 1.0] * 256 + [first] * 128 + [1 - first] * 128 + [0.0, 1.0] * 128
    agent = GLRKLUCB(True, 0.0, 0.05, 1024, 1).start(1)
    agent.update_many([0] * 1024, rewards)
    assert glr_kl_ucb.has_changed(rewards, 0.05, 128)
    assert agent._state.clock.tolist() == [1024, 1]


def test_parameters_of_the_theory():
    first = GLRKLUCB(horizon=10_000).initial_state(5).settings.tolist()
    assert first == [pytest.approx(math.sqrt(5 * math.log(10_000) / 10_000)), math.log(100), 10.0, 5.0, 0.0]
    assert GLRKLUCB(local=True).initial_state(5).settings[3:].tolist() == [10.0, 1.0]
    assert GLRKLUCB().informed(None, 77) == GLRKLUCB(horizon=77)
    assert GLRKLUCB(horizon=5).informed(None, 77) == GLRKLUCB(horizon=5)


@pytest.mark.parametrize("bad", [{"alpha0": 2}, {"delta": 0}, {"every": 0}, {"step": 0}, {"local": 1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=f"GLRKLUCB: {next(iter(bad))}="):
        GLRKLUCB(**bad)
