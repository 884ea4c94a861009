"""Policies that identify the best arm, beside literal ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import identification as literal
from reference.worlds import rewards_in
from rotting.policies import RSR, RUCBE, RottingRejects, SequentialHalving, SuccessiveRejects
from side_by_side import assert_same_run

WORLDS = ["close", "walk", "drops", "spikes"]
SHARES = st.sampled_from([0.1, 0.25, 1.0])
GAMES = {
    "world": st.sampled_from(WORLDS),
    "seed": st.integers(0, 2**32),
    "n_arms": st.integers(1, 9),
    "horizon": st.integers(1, 120),
    "stray": st.sampled_from([0.0, 0.1, 1.0]),
}


def same_recommendation(agent, reference):
    assert agent.recommend() == reference.recommend()


def assert_same(policy, reference, world, seed, n_arms, horizon, stray):
    rounds = horizon + 10
    rewards = rewards_in(world, n_arms, rounds, seed)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray, compare=same_recommendation)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(share=SHARES, **GAMES)
def test_successive_rejects_decides_as_the_literal_rule(share, world, seed, n_arms, horizon, stray):
    reference = literal.SuccessiveRejects(n_arms, horizon, share)
    policy = (SuccessiveRejects if seed % 2 else RSR)(horizon=horizon, share=share)
    assert_same(policy, reference, world, seed, n_arms, horizon, stray)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(share=st.none() | SHARES, phases=st.sampled_from([None, None, 1, 3]), **GAMES)
def test_sequential_halving_decides_as_the_literal_rule(share, phases, world, seed, n_arms, horizon, stray):
    reference = literal.SequentialHalving(n_arms, horizon, share, phases)
    policy = SequentialHalving(horizon=horizon, share=share, phases=phases)
    assert_same(policy, reference, world, seed, n_arms, horizon, stray)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(sigma=st.sampled_from([0.0, 0.1, 1.0]), delta=st.sampled_from([0.05, 0.5, 1.0]), **GAMES)
def test_rotting_rejects_decides_as_the_literal_rule(sigma, delta, world, seed, n_arms, horizon, stray):
    reference = literal.RottingRejects(n_arms, horizon, sigma, delta)
    policy = RottingRejects(horizon=horizon, sigma=sigma, delta=delta)
    assert_same(policy, reference, world, seed, n_arms, horizon, stray)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(sigma=st.sampled_from([0.01, 0.1, 1.0]), a=st.sampled_from([0.0, 0.1, 50.0]), **GAMES)
def test_rucbe_decides_as_the_literal_rule(sigma, a, world, seed, n_arms, horizon, stray):
    reference = literal.RUCBE(min(n_arms, 4), sigma, a, horizon)
    assert_same(RUCBE(sigma=sigma, a=a, horizon=horizon), reference, world, seed, min(n_arms, 4), horizon, stray)


def test_rsr_of_all_rewards_is_successive_rejects():
    rng = np.random.default_rng(0)
    one, other = RSR(horizon=200, share=1.0).start(5), SuccessiveRejects(horizon=200).start(5)
    for _ in range(200):
        arm, same = one.select(), other.select()
        assert arm == same
        assert one.recommend() == other.recommend()
        reward = float(rng.normal())
        one.update(arm, reward)
        other.update(arm, reward)


def test_an_arm_that_was_rejected_is_recommended_when_the_others_wear_out():
    agent = RottingRejects(sigma=0.01, horizon=240).start(4)
    for _ in range(240):
        arm = agent.select()
        agent.update(arm, 0.5 if arm == 3 else 0.9 - 0.01 * agent.pulls[arm] - 0.01 * arm)
    worth = [0.5 if arm == 3 else 0.9 - 0.01 * agent.pulls[arm] - 0.01 * arm for arm in range(4)]
    assert agent.recommend() == np.argmax(worth)


def test_rucbe_explores_so_much_that_the_bound_says_something():
    told = RUCBE(sigma=1.0, horizon=1000).start(3)._state.settings
    assert told[3] ** 2 == pytest.approx(10 * np.log(2 * 1000 * 3))
