"""Exact FEWA against the literal filter, compiled, in long histories: every decision, or a sample of very costly ones.

The literal filter adds whole numbers, so it makes no rounding errors at all: rewards are multiples of 2^-10.
"""

import math

import numba
import numpy as np
import pytest

from rotting import FEWA
from rotting.policies._contract.kernel import select, update
from rotting.policies._contract.states import fresh_state
from rotting.policies._windows.pairs import AFAR, LOUD

UNIT = 1024  # rewards are whole multiples of 1 / UNIT


@numba.njit(error_model="numpy")
def literal_choice(prefix, pulls, active, t, alpha, sigma):
    """Return the arm that FEWA pulls in round t; `prefix[arm, n]` is the sum of its first n rewards, times UNIT."""
    theta = sigma * math.sqrt(8.0 * max(0.0, alpha * math.log(t)))
    left = len(pulls)
    for arm in range(left):
        if pulls[arm] == 0:
            return arm
        active[arm] = arm
    h = 1
    while True:
        highest = -(1 << 62)
        for place in range(left):
            arm = active[place]
            highest = max(highest, prefix[arm, pulls[arm]] - prefix[arm, pulls[arm] - h])
        kept, least, fewest = 0, -1, 1 << 62
        for place in range(left):
            arm = active[place]
            gap = highest - (prefix[arm, pulls[arm]] - prefix[arm, pulls[arm] - h])
            if gap / UNIT <= theta * math.sqrt(h):
                active[kept] = arm
                kept += 1
                if pulls[arm] < fewest:
                    least, fewest = arm, pulls[arm]
        left = kept
        if fewest == h or left == 1:
            return least
        h += 1


@numba.njit(error_model="numpy")
def first_disagreement(state, rewards, every, alpha, sigma):
    """Play FEWA on `rewards[arm, n]` (times UNIT); return the first checked round in which it errs, and how it went."""
    n_arms, rounds = rewards.shape
    prefix = np.zeros((n_arms, rounds + 1), np.int64)
    pulls, active = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64)
    checked = 0
    for t in range(1, rounds + 1):
        arm = select(state, t, np.uint64(0))
        if t % every == 0 or t > rounds - 20:
            checked += 1
            if literal_choice(prefix, pulls, active, t, alpha, sigma) != arm:
                return t, checked, pulls
        reward = rewards[arm, pulls[arm]]
        update(state, arm, reward / UNIT)
        prefix[arm, pulls[arm] + 1] = prefix[arm, pulls[arm]] + reward
        pulls[arm] += 1
    return 0, checked, pulls


def check(alpha, sigma, rewards, every):
    policy = FEWA(alpha=alpha, sigma=sigma)
    n_arms, rounds = rewards.shape
    state = policy.reserve(fresh_state(policy, n_arms), rounds)
    wrong, checked, pulls = first_disagreement(state, rewards, every, alpha, sigma)
    assert wrong == 0
    assert checked >= rounds // every
    return pulls


def noisy(means, sigma, seed, offset=0.0):
    noise = np.random.default_rng(seed).normal(scale=sigma, size=means.shape)
    return np.rint((offset + means + noise) * UNIT).astype(np.int64)


@pytest.mark.parametrize("alpha", [0.01, 0.06, 0.3, 1.0, 5.0])
def test_two_close_arms(alpha):
    rounds = 100_000
    means = np.zeros((2, rounds))
    means[1] = np.where(np.arange(rounds) < rounds // 4, 0.05, -0.05)
    every = 1 if alpha < 0.1 else 20
    check(alpha, 1.0, noisy(means, 1.0, 3), every)


@pytest.mark.parametrize("alpha", [0.01, 0.06, 1.0, 5.0])
def test_many_arms_that_drop_at_different_times(alpha):
    rounds, n_arms = 100_000, 20
    draw = np.random.default_rng(8)
    drops, depths = draw.integers(100, 5000, n_arms), draw.uniform(0.1, 1.5, n_arms)
    means = draw.uniform(0.0, 0.5, n_arms)[:, None] - depths[:, None] * (np.arange(rounds) >= drops[:, None])
    pulls = check(alpha, 1.0, noisy(means, 1.0, 4), 5 if alpha < 0.1 else 50)
    assert pulls.min() > 5


def test_a_drop_that_long_windows_find():
    """One arm is far behind, at windows of ten thousands: that is settled from afar, and explained exactly."""
    rounds, policy = 200_000, FEWA(alpha=5.0)
    means = np.zeros((2, rounds))
    means[1] = np.where(np.arange(rounds) < 50_000, 0.15, -0.15)
    rewards = noisy(means, 1.0, 7)
    state = policy.reserve(fresh_state(policy, 2), rounds)
    wrong, _, pulls = first_disagreement(state, rewards, 100, 5.0, 1.0)
    assert wrong == 0
    assert state.proofs.notes[LOUD] > AFAR
    settled = state.dropped[1]
    verdict = policy.explain(state, rounds + 1).arms[1]
    behind = np.cumsum(rewards[0, : pulls[0]][::-1])[:settled] - np.cumsum(rewards[1, : pulls[1]][::-1])[:settled]
    dropping = behind / UNIT > np.sqrt(8.0 * 5.0 * math.log(rounds + 1) * np.arange(1, settled + 1))
    assert dropping[settled - 1]
    assert verdict.window == 1 + dropping.argmax() < settled


def test_wear_out_of_clicks():
    """0/1 rewards whose rate falls from 0.1 to 0.02, and a scale of noise that is larger than it need be."""
    rounds = 60_000
    rates = 0.02 + 0.08 * np.exp(-np.arange(rounds) / np.array([[3000.0], [6000.0], [9000.0]]))
    clicks = (np.random.default_rng(5).random(rates.shape) < rates).astype(np.int64) * UNIT
    check(0.06, 0.5, clicks, 5)


def test_rewards_around_a_billion():
    """A million pulls of 1e9 with unit noise: plain sums would have lost all of the noise's last digits."""
    means = np.zeros((2, 1_000_000))
    means[1, 200_000:] = -0.02
    check(0.06, 1.0, noisy(means, 1.0, 6, offset=1e9), 500)


@pytest.mark.parametrize("before", [0.2, 0.02])
@pytest.mark.parametrize("quiet", [700, 1500, 2100, 9000])
def test_quiet_for_long_and_then_as_loud_as_can_be(before, quiet):
    """What was proved in quiet times must expire in time when both arms go apart as fast as their rewards allow.

    Rewards alternate between +before and -before; then one arm gives +0.2 only and the other -0.2 only. Windows shorter
    than about 200 never drop anybody.
    """
    rounds = 2 * quiet + 2000
    rewards = np.where(np.arange(rounds) % 2 == 0, before, -before) * np.ones((2, 1))
    rewards[0, quiet:], rewards[1, quiet:] = 0.2, -0.2
    check(5.0, 0.3, np.rint(rewards * UNIT).astype(np.int64), 1)


@pytest.mark.parametrize("seed", range(6))
def test_slow_drifts_and_sudden_shocks(seed):
    """Arms drift apart slowly, so that long windows decide; shocks change from round to round who is left."""
    draw = np.random.default_rng(seed)
    n_arms, rounds = 3, 9000
    drifts = np.repeat(draw.choice([-0.2, -0.1, 0.0, 0.1, 0.2], size=(n_arms, rounds // 300)), 300, axis=1)
    jitter = np.where(np.arange(rounds) % 2 == 0, 0.05, -0.05)
    shocks = np.where(draw.random((n_arms, rounds)) < 0.01, -12.0, 0.0)
    check(5.0, 0.3, np.rint((drifts + jitter + shocks) * UNIT).astype(np.int64), 1)
