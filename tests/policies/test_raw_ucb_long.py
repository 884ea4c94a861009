"""RAW-UCB against the literal rule, compiled, in long histories: every decision, or a sample of very costly ones.

The literal rule adds whole numbers, so it makes no rounding errors in sums: rewards are multiples of 2^-10. Means and
bonuses are rounded as the package rounds them.
"""

import math

import numba
import numpy as np
import pytest

from rotting import RAWUCB
from rotting.policies._contract.kernel import select, update
from rotting.policies._contract.states import fresh_state

UNIT = 1024  # rewards are whole multiples of 1 / UNIT


@numba.njit(error_model="numpy")
def literal_choice(prefix, pulls, t, alpha, sigma):
    """Return the arm that RAW-UCB pulls in round t; `prefix[arm, n]` is the sum of its first n rewards, times UNIT."""
    width = sigma * math.sqrt(2.0 * alpha * math.log(t))
    best, highest = -1, -np.inf
    for arm in range(len(pulls)):
        n = pulls[arm]
        if n == 0:
            return arm
        index = np.inf
        for h in range(1, n + 1):
            total = (prefix[arm, n] - prefix[arm, n - h]) / UNIT
            index = min(index, total / h + width / math.sqrt(h))
        if index > highest:
            best, highest = arm, index
    return best


@numba.njit(error_model="numpy")
def first_disagreement(state, rewards, rounds, every, stray, alpha, sigma):
    """Play RAW-UCB on `rewards[arm, n]` (times UNIT); return the first checked round in which it errs, and how it went.

    One pull in `stray` goes to another arm than the chosen one (0: none does).
    """
    n_arms = len(rewards)
    prefix, pulls = np.zeros((n_arms, rewards.shape[1] + 1), np.int64), np.zeros(n_arms, np.int64)
    checked = 0
    for t in range(1, rounds + 1):
        arm = select(state, t, np.uint64(0))
        if t % every == 0 or t > rounds - 20:
            checked += 1
            if literal_choice(prefix, pulls, t, alpha, sigma) != arm:
                return t, checked, pulls
        if stray > 0 and t % stray == 0:
            arm = (t // stray) % n_arms
        reward = rewards[arm, pulls[arm] % rewards.shape[1]]
        update(state, arm, reward / UNIT)
        prefix[arm, pulls[arm] + 1] = prefix[arm, pulls[arm]] + reward
        pulls[arm] += 1
    return 0, checked, pulls


def check(rewards, every, *, alpha=1.4, sigma=1.0, stray=0):
    policy = RAWUCB(alpha=alpha, sigma=sigma)
    n_arms, rounds = rewards.shape
    state = policy.reserve(fresh_state(policy, n_arms), rounds)
    wrong, checked, pulls = first_disagreement(state, rewards, rounds, every, stray, alpha, sigma)
    assert wrong == 0
    assert checked >= rounds // every
    return pulls


def whole(rewards):
    return np.rint(rewards * UNIT).astype(np.int64)


def noisy(means, sigma, seed, offset=0.0):
    noise = np.random.default_rng(seed).normal(scale=sigma, size=means.shape)
    return whole(offset + means + noise)


def two_arms(rounds, gap):
    means = np.zeros((2, rounds))
    means[1] = np.where(np.arange(rounds) < rounds // 4, gap, -gap)
    return means


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.4, 4.0])
@pytest.mark.parametrize(("rounds", "every"), [(8000, 1), (100_000, 173)])
def test_two_close_arms(alpha, rounds, every):
    check(noisy(two_arms(rounds, 0.1), 1.0, 3), every, alpha=alpha)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_noise_on_another_scale_than_thought(sigma):
    check(noisy(two_arms(20_000, 0.1), 1.0, 5), 7, sigma=sigma, stray=11)


@pytest.mark.parametrize("alpha", [0.1, 1.4])
def test_many_arms_that_drop_at_different_times(alpha):
    rounds, n_arms = 60_000, 20
    draw = np.random.default_rng(8)
    drops, depths = draw.integers(100, 5000, n_arms), draw.uniform(0.1, 1.5, n_arms)
    means = draw.uniform(0.0, 0.5, n_arms)[:, None] - depths[:, None] * (np.arange(rounds) >= drops[:, None])
    pulls = check(noisy(means, 1.0, 4), 50, alpha=alpha)
    assert pulls.min() > 5


def test_wear_out_of_clicks():
    """0/1 rewards whose rate falls from 0.1 to 0.02, and a scale of noise that is larger than it need be."""
    rounds = 30_000
    rates = 0.02 + 0.08 * np.exp(-np.arange(rounds) / np.array([[3000.0], [6000.0], [9000.0]]))
    clicks = (np.random.default_rng(5).random(rates.shape) < rates).astype(np.int64) * UNIT
    check(clicks, 11, sigma=0.5)


@pytest.mark.parametrize("sigma", [0.0, 0.05, 0.5])
def test_ties_of_whole_numbers(sigma):
    """Few values and no noise in the means: equal windows, and equal arms, in most rounds."""
    draw = np.random.default_rng(6)
    rewards = draw.choice([0, UNIT, UNIT, 2 * UNIT], size=(3, 4000)) - UNIT * (np.arange(4000) // 1500)
    check(rewards, 1, sigma=sigma, stray=3)
    check(np.full((3, 3000), UNIT), 1, sigma=sigma)


@pytest.mark.parametrize("seed", range(6))
def test_slow_drifts_and_sudden_shocks(seed):
    """Arms drift slowly, so that long windows decide; shocks make a few windows low, for a while or for good."""
    draw = np.random.default_rng(seed)
    n_arms, rounds = 3, 9000
    drifts = np.repeat(draw.choice([-0.2, -0.1, 0.0, 0.1], size=(n_arms, rounds // 300)), 300, axis=1)
    jitter = np.where(np.arange(rounds) % 2 == 0, 0.05, -0.05)
    shocks = np.where(draw.random((n_arms, rounds)) < 0.01, -12.0, 0.0)
    check(whole(drifts + jitter + shocks), 1, sigma=0.3, stray=17)


@pytest.mark.parametrize("seed", range(8))
def test_one_start_among_many_gives_the_index(seed):
    """Shocks up and right down again: the prefix sums have a peak of one pull, and only one window notices."""
    draw = np.random.default_rng(seed)
    n_arms, rounds = 2, 12_000
    rewards = np.zeros((n_arms, rounds))
    for arm in range(n_arms):
        for m in draw.integers(1, rounds, 40):
            peak = draw.uniform(0.5, 3.0) * math.sqrt(draw.integers(10, rounds // 2))
            rewards[arm, m - 1] += peak
            rewards[arm, m] -= peak
    check(whole(rewards + 0.02 * draw.normal(size=rewards.shape)), 1, sigma=0.4)


def test_rewards_around_a_billion():
    """A million pulls of 1e9 with unit noise: plain sums would have lost all of the noise's last digits."""
    check(noisy(two_arms(1_000_000, 0.01), 1.0, 6, offset=1e9), 9973)


def test_a_million_rounds():
    pulls = check(noisy(two_arms(1_000_000, 0.1), 1.0, 7), 9973)
    assert pulls.min() > 1000


@pytest.mark.soak
@pytest.mark.parametrize("alpha", [0.3, 1.4])
def test_ten_million_rounds(alpha):
    pulls = check(noisy(two_arms(10_000_000, 0.05), 1.0, 8), 30_011, alpha=alpha)
    assert pulls.min() > 1000
