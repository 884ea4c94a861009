import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import raw_ucb
from reference.worlds import WORLDS, rewards_in
from rotting import Agent
from rotting.policies.raw_ucb import RAWUCB
from side_by_side import assert_same_run, assert_survives_extremes


def pair(n_arms, *parameters):
    """Return the policy and its literal transcription."""
    return RAWUCB(*parameters), raw_ucb.RAWUCB(n_arms, *parameters)


def same_indices(agent, reference):
    """Assert that every index is the same to the last bit."""
    if agent.pulls.min() > 0:
        assert [verdict.index for verdict in agent.explain().arms] == reference.indices


@settings(max_examples=60, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 8),
    rounds=st.integers(1, 350),
    scale=st.sampled_from([1.0, -1.0, 1e12, 1e-12]),
    alpha=st.one_of(st.just(1.4), st.floats(0.01, 5)),
    noise=st.sampled_from([0.0, 0.05, 0.3, 1.0, 100.0]),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule(world, seed, n_arms, rounds, scale, alpha, noise, stray):
    policy, reference = pair(n_arms, alpha, noise * abs(scale))
    rewards = rewards_in(world, n_arms, rounds, seed, scale)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray, compare=same_indices)


@settings(max_examples=100, deadline=None)
@given(
    histories=st.lists(
        st.lists(st.one_of(st.integers(-4, 4).map(float), st.floats(-1e3, 1e3, width=32)), min_size=1, max_size=40),
        min_size=1,
        max_size=4,
    ),
    alpha=st.floats(0.01, 5),
    sigma=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule_after_any_history(histories, alpha, sigma):
    policy, reference = pair(len(histories), alpha, sigma)
    agent = policy.start(len(histories))
    for arm, rewards in enumerate(histories):
        for reward in rewards:
            agent.update(arm, reward)
            reference.update(arm, reward)
            assert agent.select() == reference.select()


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("alpha", [0.5, 1.4, 4.0])
def test_decides_as_the_literal_rule_when_calm_ends(alpha, noise):
    """Calm, in which the agent may learn to look at many windows at once; then a few windows give the index."""
    # Long strides near the present: `band` once looked at blocks that had not ended, and read beyond its arrays.
    rng = np.random.default_rng(7)
    for _ in range(40):
        pulls, depth, length = rng.integers((300, 16, 1), (1500, 300, 40)).tolist()
        swing = 2 * raw_ucb.index_width(pulls, alpha, 1.0) * math.sqrt(depth + length)
        changes = [0.0] * pulls + [swing] + [0.0] * (length - 1) + [-swing] + [0.0] * (depth - 1)
        offset = float(rng.choice([0.0, 1.0, -20.0]))
        policy, reference = pair(1, alpha, 1.0)
        agent = policy.start(1)
        for change in changes:
            reward = offset + change + noise * float(rng.normal())
            agent.update(0, reward)
            reference.update(0, reward)
            if agent.t <= pulls:
                agent.select()
        reference.select()
        same_indices(agent, reference)


@pytest.mark.parametrize(
    ("world", "rounds", "sigma", "stray"),
    [
        ("close", 2000, 1.0, 0.05),
        ("walk", 1500, 1.0, 0.5),
        ("drift", 1500, 0.3, 0.2),
        ("coins", 1500, 0.5, 0.05),
        ("spikes", 1500, 5.0, 0.3),
        ("tenths", 1500, 0.2, 0.5),
        ("fallen", 1000, 0.0, 0.5),
    ],
)
def test_decides_as_the_literal_rule_for_long(world, rounds, sigma, stray):
    """Windows of many blocks and pages, in every round."""
    policy, reference = pair(3, 1.4, sigma)
    rewards = rewards_in(world, 3, rounds, 9)
    agent = assert_same_run(policy, reference, rewards, rounds=rounds, seed=9, stray=stray, compare=same_indices)
    assert agent.pulls.max() > 400


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("world", ["close", "walk", "drift", "coins", "spikes", "drops", "fallen", "apart"])
def test_decides_as_the_literal_rule_now_and_then(world, seed):
    """Long histories of many kinds, compared in one round of 101."""
    rng = np.random.default_rng(seed)
    n_arms, alpha, sigma = int(rng.integers(2, 5)), 10 ** rng.uniform(-2, 0.6), 10 ** rng.uniform(-1, 1)
    policy, reference = pair(n_arms, alpha, sigma)
    rewards = rewards_in(world, n_arms, 4000, seed)
    assert_same_run(
        policy,
        reference,
        rewards,
        rounds=4000,
        seed=seed,
        stray=0.3 * seed,
        compare=same_indices,
        look=lambda t: t % 101 == 0,
    )


@pytest.mark.parametrize("world", ["close", "coins", "drift", "levels"])
def test_decides_as_the_literal_rule_among_some_arms(world):
    """Arms are retired and come back: decisions among those left are made in views, which share the history."""
    rng = np.random.default_rng(3)
    policy, reference = pair(5, 1.4, 0.3)
    rewards = rewards_in(world, 5, 3000, 3)
    agent = policy.start(5)
    for t in range(3000):
        arms = sorted(rng.choice(5, rng.integers(1, 6), replace=False).tolist()) if t % 7 == 0 else [0, 1, 2, 3, 4]
        chosen, _ = agent.select_among(arms, np.uint64(0))
        if t % 49 == 0 and t > 5:
            reference.select()
            assert chosen == max(arms, key=lambda arm: (reference.indices[arm], -arm))
        agent.update(chosen, rewards[chosen][agent.pulls[chosen]])
        reference.update(chosen, rewards[chosen][reference.history.pulls(chosen)])


def test_goes_on_after_loading(tmp_path):
    """Proofs are not saved: they are found anew, and decisions stay the same."""
    rewards = rewards_in("close", 2, 6000, 5)
    agent = RAWUCB().start(2)
    for t in range(6000):
        if t % 1500 == 700:
            agent.save(tmp_path / "agent.npz")
            loaded = Agent.load(tmp_path / "agent.npz")
            assert not loaded._state.proofs.notes.any()
        arm = agent.select()
        agent.update(arm, rewards[arm][agent.pulls[arm]])
        if t >= 700:
            assert loaded.select() == arm
            loaded.update(arm, rewards[arm][loaded.pulls[arm]])


def test_a_large_offset_costs_no_digit():
    rng = np.random.default_rng(9)
    noise = rng.normal(size=(3, 20_000)) - np.array([[0.0], [0.05], [0.1]])
    policy, reference = pair(3, 1.4, 1.0)
    agent = assert_same_run(
        policy,
        reference,
        (1e9 + noise).tolist(),
        rounds=20_000,
        stray=0.02,
        compare=same_indices,
        look=lambda t: t % 97 == 0,
    )
    assert agent.pulls.min() > 500


@pytest.mark.parametrize("window", [1, 2, 16, 33, 64, 100, 256, 257, 600, 1024])
@pytest.mark.parametrize("extra", [0, 1, 500])
def test_the_minimum_is_found_at_any_window(window, extra):
    # Without noise, arm 1's index is its least mean: (window - 1 - (window - 1) / 2) / window or so, at one window.
    # Arm 0 is constant: a tie goes to it, and so does anything above.
    low = 1.0 - 0.5 * window  # brings the mean at `window` down to exactly 1/2
    for bump, expected in ((0.0, 0), (2.0**-30, 1), (-(2.0**-30), 0)):
        policy, reference = pair(2, 1.4, 0.0)
        agent = policy.start(2)
        for reward in [1.0] * extra + [low + bump * window] + [1.0] * (window - 1):
            agent.update(1, reward)
            reference.update(1, reward)
        for _ in range(40):
            agent.update(0, 0.5)
            reference.update(0, 0.5)
        assert agent.select() == reference.select() == expected
        assert reference.indices == pytest.approx([0.5, 0.5], abs=1e-8)
        same_indices(agent, reference)


def test_the_index_by_hand():
    # Round t = 4 after arm 0: 1, 0 and arm 1: r. Arm 0's bonus at windows 1, 2: sqrt(2 ln 4) = 1.665, 1.177.
    # Its index: min(0 + 1.665, 0.5 + 1.177) = 1.665.
    for reward, expected in ((-1e-9, 0), (0.0, 0), (1e-9, 1)):
        agent = RAWUCB(alpha=1.0).start(2)
        agent.update(0, 1.0)
        agent.update(0, 0.0)
        agent.update(1, reward)
        assert agent.select() == expected
    # With -1, 0 the minimum is at window 2: -0.5 + 1.177 = 0.677.
    gap = -0.5 + math.sqrt(math.log(4)) - math.sqrt(2 * math.log(4))
    for offset, expected in ((-1e-9, 0), (1e-9, 1)):
        agent = RAWUCB(alpha=1.0).start(2)
        agent.update(0, -1.0)
        agent.update(0, 0.0)
        agent.update(1, gap + offset)
        assert agent.select() == expected


def test_survives_extremes():
    assert_survives_extremes(RAWUCB())
    assert_survives_extremes(RAWUCB(sigma=0.0))


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"sigma": -1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        RAWUCB(**bad)
