import math
from fractions import Fraction
from itertools import accumulate

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.sums import window_sums
from reference.worlds import WORLDS, rewards_in
from rotting.policies._windows import history as package
from rotting.policies.fewa import FEWA
from rotting.policies.raw_ucb import RAWUCB

append, band, rounding, window_sum = package.append, package.band, package.rounding, package.window_sum
rough_prefix = package.rough_prefix


@numba.njit
def fill(history, arms, rewards):
    for arm, reward in zip(arms, rewards):  # noqa: B905 (numba knows no strict)
        append(history, arm, reward)


@numba.njit
def all_window_sums(history, arm, rough):
    n = history.pulls[arm]
    sums = np.empty(n)
    for h in range(1, n + 1):
        rest = rough_prefix(history, arm, n - h)
        sums[h - 1] = rough_prefix(history, arm, n) - rest if rough else window_sum(history, arm, h)
    return sums


@numba.njit
def band_of(history, arm, first, last):
    return band(history, arm, first, last)


@numba.njit
def slack_of(history):
    return rounding(history)


def history_of(arms, rewards, n_arms):
    history = package.reserve(package.empty_history(n_arms), len(arms))
    fill(history, np.array(arms, np.int64), np.array(rewards, np.float64))
    return history


def per_arm(arms, rewards, n_arms):
    return [[reward for arm, reward in zip(arms, rewards, strict=True) if arm == i] for i in range(n_arms)]


# Within some sixteen orders of magnitude between the largest prefix sum and the smallest reward, double-double
# arithmetic is exact.
REWARDS = st.one_of(
    st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-9),
    st.integers(-5, 5).map(float),
    st.sampled_from([0.1, 0.2, 0.3, -0.1, 1e6, -1e6, 2.0**-20]),
)


@settings(max_examples=100, deadline=None)
@given(pulls=st.lists(st.tuples(st.integers(0, 2), REWARDS), max_size=100))
def test_window_sums_are_exact_and_rounded_once(pulls):
    arms, rewards = [arm for arm, _ in pulls], [reward for _, reward in pulls]
    history = history_of(arms, rewards, 3)
    for arm, own in enumerate(per_arm(arms, rewards, 3)):
        expected = [math.fsum(own[-h:]) for h in range(1, len(own) + 1)]
        assert all_window_sums(history, arm, False).tolist() == expected
        assert window_sums(own) == expected  # the slow side follows the same rule
    assert history.pulls.tolist() == [arms.count(arm) for arm in range(3)]


@settings(max_examples=50, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    length=st.one_of(st.integers(1, 3000), st.sampled_from([255, 256, 257, 511, 512, 513])),
    scale=st.sampled_from([1.0, 1e12, 1e-12, 0.3]),
    offset=st.sampled_from([0.0, 1e3, -1e9]),
)
def test_window_sums_of_long_histories(world, seed, length, scale, offset):
    rewards = ((np.array(rewards_in(world, 2, length, seed)) + offset) * scale).tolist()
    arms = [0, 1] * length
    history = history_of(arms, [rewards[arm][n // 2] for n, arm in enumerate(arms)], 2)
    for arm in (0, 1):
        expected = window_sums(rewards[arm])
        assert all_window_sums(history, arm, False).tolist() == expected
        rough = all_window_sums(history, arm, True)
        assert np.abs(rough - expected).max() <= slack_of(history) / 8
        for h in (1, length, (length + 1) // 2):
            assert expected[h - 1] == math.fsum(rewards[arm][-h:])


def test_what_double_double_cannot_hold():
    """The stated limit: beyond 32 digits between a prefix sum and a reward, the reward loses digits, not more."""
    history = history_of([0, 0, 0], [1e20, 1e-12, 1e-12], 1)
    assert all_window_sums(history, 0, False)[:2] == pytest.approx([1e-12, 2e-12], rel=0, abs=1e20 * 2.0**-105)


def readable(last, n):
    """Say whether `band` may be asked: the block that holds `last` has ended by n."""
    return (last // package.BLOCK + 1) * package.BLOCK <= n


@settings(max_examples=150, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    n=st.integers(16, 1500),
    scale=st.sampled_from([1.0, 1e12, 1e-12]),
    offset=st.sampled_from([0.0, 1.0, 1e3, -1e9]),
    where=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5),
)
def test_a_band_encloses_its_stretch(world, seed, n, scale, offset, where):
    rewards = ((np.array(rewards_in(world, 1, n, seed)[0]) + offset) * scale).tolist()
    history = history_of([0] * n, rewards, 1)
    prefix = list(accumulate(map(Fraction, rewards), initial=Fraction(0)))
    slack = Fraction(slack_of(history)) / 8  # what the module says of its own rounding
    assert slack == max(abs(Fraction(float(s))) for s in prefix) * Fraction(2) ** -49
    for ends in where:
        first, last = sorted(int(share * n) for share in ends)
        last = min(last, n - package.BLOCK)
        if first > last:
            continue
        assert readable(last, n)
        height, slope, under, over = map(Fraction, band_of(history, 0, first, last))
        for m in range(first, last + 1):
            deviation = prefix[m] - (height + slope * (m - first))
            assert under - slack <= deviation <= over + slack


def test_bands_as_the_policies_ask_for_them():
    """Windows h..end, of histories up to 20 000 pulls, in extended precision."""
    rng = np.random.default_rng(1)
    for offset in (0.0, 1e3, 1e9):
        for shape in (np.zeros(20_000), np.linspace(3, -3, 20_000), np.cumsum(rng.normal(size=20_000))):
            rewards = offset + shape + rng.normal(size=20_000)
            history = history_of(np.zeros(20_000, np.int64), rewards, 1)
            prefix = np.concatenate([[0], np.cumsum(rewards.astype(np.longdouble))])
            slack = slack_of(history)
            for _ in range(300):
                h = int(2 ** rng.uniform(6, math.log2(20_000)))
                end = min(20_000, h + int(2 ** rng.uniform(0, 14)))
                first, last = 20_000 - end, 20_000 - h
                assert readable(last, 20_000)
                height, slope, under, over = band_of(history, 0, first, last)
                line = np.longdouble(height) + np.longdouble(slope) * np.arange(last - first + 1)
                deviations = prefix[first : last + 1] - line
                assert deviations.min() >= under - slack
                assert deviations.max() <= over + slack


def test_bands_are_tight():
    """A band that is useless would enclose too: straight histories have bands of no width, noise of little."""
    straight = history_of([0] * 4096, [0.75] * 4096, 1)
    rng = np.random.default_rng(0)
    noise = history_of([0] * 4096, rng.normal(size=4096) + 5, 1)
    for first, last in ((0, 15), (3, 200), (1000, 3000), (17, 4000)):
        height, slope, under, over = band_of(straight, 0, first, last)
        assert (height, slope, under, over) == (0.75 * first, 0.75, 0.0, 0.0)
        _, slope, under, over = band_of(noise, 0, first, last)
        assert abs(slope - 5) < 4 / math.sqrt(last - first)
        assert over - under < 6 * math.sqrt(last - first + 16)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    chunks=st.lists(st.integers(0, 700), min_size=1, max_size=6),
    lopsided=st.booleans(),
)
def test_reserve_keeps_what_there_is_and_makes_enough_room(seed, n_arms, chunks, lopsided):
    rng = np.random.default_rng(seed)
    history = package.empty_history(n_arms)
    arms, rewards = np.empty(0, np.int64), np.empty(0)
    for chunk in chunks:
        before = [all_window_sums(history, arm, False) for arm in range(n_arms)]
        history = package.reserve(history, chunk)
        for arm in range(n_arms):
            assert np.array_equal(all_window_sums(history, arm, False), before[arm])
        more = np.full(chunk, rng.integers(n_arms)) if lopsided else rng.integers(n_arms, size=chunk)
        arms, rewards = np.append(arms, more), np.append(rewards, rng.normal(size=chunk))
        # Compiled code does not check bounds: see here that everything has its place.
        pages = len(history.low) // package.PAGE
        needed = (np.bincount(arms, minlength=n_arms) // package.PAGE + 1).sum()
        assert needed <= pages == len(history.outlines) // package.NODES
        assert np.bincount(arms, minlength=n_arms).max() // package.PAGE < history.page.shape[1]
        fill(history, more, rewards[len(rewards) - chunk :])
        assert history.used[0] == needed
    for arm, own in enumerate(per_arm(arms.tolist(), rewards.tolist(), n_arms)):
        assert all_window_sums(history, arm, False).tolist() == window_sums(own)


def test_reserve_leaves_a_roomy_history_alone():
    history = package.reserve(package.empty_history(3), 1000)
    assert package.reserve(history, 1000) is history
    assert package.reserve(history, 5000) is not history


def test_asking_for_little_room_again_and_again_moves_each_number_about_eight_times():
    history, moved, longest = package.empty_history(2), 0, 0
    for _ in range(1500):
        before = history
        history = package.reserve(history, 256)
        moved += len(before.high) if history.high is not before.high else 0
        longest += history.page is not before.page
        fill(history, np.zeros(256, np.int64), np.zeros(256))
    assert moved < 10 * len(history.high)
    assert longest < 80


def nbytes(state):
    """Return the memory of all distinct arrays in a state."""
    arrays = {}

    def visit(part):
        for field in part:
            if isinstance(field, tuple):
                visit(field)
            else:
                arrays[id(field)] = field.nbytes

    visit(state)
    return sum(arrays.values())


@pytest.mark.parametrize("policy", [FEWA(), RAWUCB()])
@pytest.mark.parametrize("shares", [[1] * 10, [1] + [0] * 9, [2**i for i in range(10)]])
def test_a_pull_takes_at_most_25_bytes(policy, shares):
    agent = policy.start(10)
    rng = np.random.default_rng(0)
    for arm in rng.choice(10, size=100_000, p=np.array(shares) / sum(shares)).tolist():
        agent.update(arm, 0.5)
    assert nbytes(agent._state) <= 25 * 100_000
