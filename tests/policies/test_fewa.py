import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import fewa
from reference.worlds import WORLDS, rewards_in
from rotting.policies.fewa import FEWA
from side_by_side import assert_same_run, assert_survives_extremes


def pair(n_arms, *parameters):
    """Return the policy and its literal transcription."""
    return FEWA(*parameters), fewa.FEWA(n_arms, *parameters)


@settings(max_examples=100, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 8),
    rounds=st.integers(1, 350),
    scale=st.sampled_from([1.0, -1.0, 1e12, 1e-12]),
    alpha=st.one_of(st.just(0.06), st.floats(0.01, 5)),
    noise=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    delta0=st.one_of(st.just(1.0), st.floats(0.1, 10)),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule(world, seed, n_arms, rounds, scale, alpha, noise, delta0, stray):
    policy, reference = pair(n_arms, alpha, noise * abs(scale), delta0)
    rewards = rewards_in(world, n_arms, rounds, seed, scale)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray)


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


@pytest.mark.parametrize(
    ("world", "rounds", "n_arms", "alpha", "sigma", "stray"),
    [
        ("close", 3000, 3, 0.06, 1.0, 0.05),
        ("walk", 2000, 3, 0.3, 20.0, 0.3),
        ("drift", 1500, 2, 0.06, 1.0, 0.05),
        ("coins", 1500, 3, 0.06, 0.5, 0.05),
        ("spikes", 1500, 3, 0.06, 5.0, 0.3),
        ("tenths", 1500, 2, 0.01, 0.2, 0.5),
    ],
)
def test_decides_as_the_literal_rule_for_long(world, rounds, n_arms, alpha, sigma, stray):
    """Windows of many tiles, strides and pages, in every round."""
    policy, reference = pair(n_arms, alpha, sigma)
    rewards = rewards_in(world, n_arms, rounds, 9)
    agent = assert_same_run(policy, reference, rewards, rounds=rounds, seed=9, stray=stray)
    assert sorted(agent.pulls)[-2] > 256


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("world", ["close", "walk", "drift", "coins", "spikes", "drops"])
def test_decides_as_the_literal_rule_now_and_then(world, seed):
    """Long histories of many kinds, compared in one round of 67."""
    rng = np.random.default_rng(seed)
    n_arms, alpha, sigma = int(rng.integers(2, 5)), 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-1, 1)
    policy, reference = pair(n_arms, alpha, sigma)
    rewards = rewards_in(world, n_arms, 4000, seed)
    assert_same_run(
        policy, reference, rewards, rounds=4000, seed=seed, stray=0.2 * seed, look=lambda t: t % 67 == 0
    )


def test_a_large_offset_costs_no_digit():
    """Rewards 1e9 + N(0, 1): prefix sums of 1e13 leave a double three digits for the noise."""
    rng = np.random.default_rng(9)
    noise = rng.normal(size=(3, 20_000)) - np.array([[0.0], [0.03], [0.06]])
    noise[1, 6000:] -= 0.05
    policy, reference = pair(3, 0.06, 1.0)
    agent = assert_same_run(
        policy, reference, (1e9 + noise).tolist(), rounds=20_000, stray=0.02, look=lambda t: t % 97 == 0
    )
    # The filter must have had something to do, at windows of thousands.
    assert agent.pulls.max() > 2 * agent.pulls.min() > 4000


def alpha_for(t):
    """Return alpha such that alpha ln(t) = 2 to the last bit: theta is 4 sigma in round t."""
    alpha = 2 / math.log(t)
    for candidate in (alpha, math.nextafter(alpha, 0), math.nextafter(alpha, 9)):
        if candidate * math.log(t) == 2:
            return candidate
    return None


def on_the_threshold(window, surplus, *, offset, extra, spread):
    """Return the arm chosen when arm 1 trails by 4 sqrt(window) at `window`, and by `surplus` ulps more.

    Arm 1 has the fewest pulls: it is chosen if it stays. `spread`: the gap grows over the window; otherwise it comes
    with a single reward. `extra`: pulls beyond the window.
    """
    root = math.isqrt(window)
    limit = 4.0 * root
    ahead = [4.0 / root] * window if spread else [0.0] * (window - 1) + [limit]
    best = [offset + gap for gap in ahead] + [offset] * (extra + 1)
    total = math.fsum(best[:window])
    assert total - offset * window == limit
    ulp = max(math.ulp(total), math.ulp(limit))
    best[window - 1] += surplus * ulp
    assert math.fsum(best[:window]) - offset * window == limit + surplus * ulp
    while alpha_for(len(best) + window + extra + 1) is None:
        best.append(offset)
    t = len(best) + window + extra + 1
    policy, reference = pair(2, alpha_for(t), 1.0)
    assert fewa.filter_width(t, *reference.parameters) == 4.0
    agent = policy.start(2)
    for arm, rewards in enumerate((best, [offset] * (window + extra))):
        for reward in reversed(rewards):
            agent.update(arm, reward)
            reference.update(arm, reward)
    assert agent.t + 1 == t
    assert agent.select() == reference.select()
    return agent.select()


@pytest.mark.parametrize("offset", [0.0, 1024.0, -3.0])
@pytest.mark.parametrize("extra", [0, 3, 700])
@pytest.mark.parametrize("window", [1, 4, 9, 16, 25, 64, 81, 100, 144, 225, 256, 289, 400, 625, 1024])
def test_on_the_threshold_an_arm_stays(window, extra, offset):
    for spread in (False, True) if math.isqrt(window).bit_count() == 1 else (False,):
        assert on_the_threshold(window, 0, offset=offset, extra=extra, spread=spread) == 1
        assert on_the_threshold(window, 1, offset=offset, extra=extra, spread=spread) == 0
        assert on_the_threshold(window, -1, offset=offset, extra=extra, spread=spread) == 1


def test_the_filter_by_hand():
    # Round t = 8 with alpha = 1: theta = sqrt(8 ln 8) = 4.08, times sqrt(2) = 5.77, times sqrt(3) = 7.06.
    for oldest, expected in ((1.0, 1), (3.1, 0)):
        agent = FEWA(alpha=1.0).start(2)
        for reward in (oldest, 2.0, 2.0, 0.0):
            agent.update(0, reward)
        for reward in (0.0, 0.0, 0.0):
            agent.update(1, reward - 1.0 if oldest > 3 else reward)
        # Gaps of sums at windows 1, 2, 3: 0, 2, 4; or 1, 4, 7. Neither is dropped; with two more each, arm 1 is.
        assert agent.select() == 1
        agent = FEWA(alpha=1.0).start(2)
        for reward in (0.0, oldest + 3, 3.0, -1.0):
            agent.update(0, reward)
        for reward in (0.0, 0.0, -1.0):
            agent.update(1, reward)
        # Gaps 0, 3, 6 + oldest: 7.0 stays and 9.1 does not.
        assert agent.select() == expected


def test_without_noise_it_is_greedy_with_memory():
    # sigma = 0: the best last reward; on ties the best last two; and so on; then the fewest pulls.
    agent = FEWA(sigma=0.0).start(3)
    for arm, rewards in enumerate(([9.0, 1.0, 2.0], [0.0, 1.5, 2.0], [9.0, 1.0])):
        for reward in rewards:
            agent.update(arm, reward)
    assert agent.select() == 1
    agent.update(1, 0.0)
    agent.update(2, 2.0)
    assert agent.select() == 0  # equal to arm 2 at every window
    agent.update(0, 2.0)
    assert agent.select() == 0  # 2 + 2 beats 1 + 2


def test_delta0_above_one_makes_the_first_rounds_strict():
    # The logarithm is never below 0: delta0 = 10 and alpha = 1 leave no width at all before t = 10.
    agent = FEWA(alpha=1.0, delta0=10.0).start(2)
    agent.update(0, math.nextafter(1.0, 2.0))
    agent.update(1, 1.0)
    for _ in range(8):
        assert agent.select() == 0
        agent.update(0, math.nextafter(1.0, 2.0))
    assert agent.t == 10
    assert agent.select() == 1


def test_survives_extremes():
    assert_survives_extremes(FEWA())
    assert_survives_extremes(FEWA(sigma=0.0))


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"sigma": -1}, {"delta0": 0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        FEWA(**bad)
