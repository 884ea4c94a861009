"""RAW-UCB's roofs: every start is covered once, by a roof that lies above its prefix sum, by a row, or as recent."""

import numba
import numpy as np
import pytest

from rotting import RAWUCB
from rotting.policies._contract.states import fresh_state
from rotting.policies._windows.bonus import SCALE, WEIGHT, WIDTH
from rotting.policies._windows.history import ROW, append, rough_window_sums
from rotting.policies._windows.index_proofs import (
    COUNT,
    FIRST,
    FIRST_ROW,
    HEIGHT,
    LAST,
    LAST_HEIGHT,
    LAST_START,
    RECENT,
    RETRY,
    ROW_COUNT,
    ROWS,
    STRETCHES,
    all_above,
    divide,
    lowest_window,
)
from rotting.policies.raw_ucb import _search

UNIT = 2.0**-10


def stretches_of(proofs, arm):
    """Return the stretches of an arm as (start, end, height at start, height at end)."""
    roofs = proofs.roofs[arm, :, : proofs.notes[arm, COUNT]]
    starts, ends = roofs[FIRST].astype(int), roofs[LAST_START].astype(int)
    return zip(starts, ends, roofs[HEIGHT], roofs[LAST_HEIGHT], strict=True)


def assert_covered(proofs, arm, prefix):
    """Assert that each start 0, 1, ..., n - 1 belongs to exactly one stretch, row, or the recent ones."""
    notes, times = proofs.notes[arm], np.zeros(len(prefix), int)
    assert notes[ROW_COUNT] <= ROWS
    assert notes[COUNT] <= STRETCHES
    for start, end, left, right in stretches_of(proofs, arm):
        times[start:end] += 1
        roof = left + (right - left) * np.arange(end - start + 1) / (end - start)
        assert np.all(prefix[start : end + 1] <= roof + 1e-9)
    for start in notes[FIRST_ROW : FIRST_ROW + notes[ROW_COUNT]]:
        times[start : start + ROW] += 1
    assert np.all(times[: notes[LAST]] == 1)
    assert np.all(times[notes[LAST] :] == 0)


def play(rewards, rounds, alpha=1.4, sigma=1.0, after=lambda agent, t: None):
    """Play RAW-UCB on tables of rewards; return the agent."""
    agent = RAWUCB(alpha=alpha, sigma=sigma).start(len(rewards))
    for t in range(rounds):
        arm = agent.select()
        agent.update(arm, rewards[arm, agent.pulls[arm]])
        after(agent, t)
    return agent


def prefixes(rewards, agent):
    """Return the prefix sums of every arm, exactly."""
    return [np.concatenate([[0.0], np.cumsum(rewards[arm, :n])]) for arm, n in enumerate(agent.pulls)]


@pytest.mark.parametrize("sigma", [0.05, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_start_is_covered_once(sigma, seed):
    draw = np.random.default_rng(seed)
    noise = draw.normal(size=(2, 6000)) - 0.2 * (np.arange(6000) > draw.integers(500, 3000, (2, 1)))
    rewards = np.rint(noise / UNIT) * UNIT

    def look(agent, t):
        if t % 37 == 0:
            for arm, prefix in enumerate(prefixes(rewards, agent)):
                assert_covered(agent._state.proofs, arm, prefix)

    agent = play(rewards, 6000, sigma=sigma, after=look)
    proofs, busy = agent._state.proofs, int(agent.pulls.argmax())
    assert agent.pulls[busy] - proofs.notes[busy, LAST] <= RECENT + 1
    assert proofs.notes[busy, COUNT] > 0


def test_stretches_are_split_no_further_than_needed():
    """After thousands of pulls, a few dozen stretches and few rows do: else nothing would be gained."""
    rewards = np.rint(np.random.default_rng(1).normal(size=(2, 40_000)) / UNIT) * UNIT
    agent = play(rewards, 40_000)
    notes = agent._state.proofs.notes
    assert notes[:, COUNT].max() < STRETCHES / 2
    assert notes[:, ROW_COUNT].max() < 12


def test_without_room_all_windows_are_compared():
    """Constant rewards without a bonus: all windows tie, no stretch is of use, and it is not tried in every round."""
    rewards = np.full((2, 2500), 0.5)
    agent = play(rewards, 2500, sigma=0.0)
    notes = agent._state.proofs.notes
    assert notes[0, RETRY] > 0
    assert notes[0, COUNT] == notes[0, LAST] == 0
    assert agent.explain().arms[0].index == 0.5


@pytest.mark.parametrize("t", [100, 10_000])
def test_an_explanation_finds_the_smallest_bound(t):
    """Whatever was divided for decisions before, at other levels."""
    rewards = np.rint(np.random.default_rng(2).normal(size=(2, 4000)) / UNIT) * UNIT
    agent = play(rewards, 4000)
    width = np.sqrt(2.0 * 1.4 * np.log(t))
    for arm, prefix in enumerate(prefixes(rewards, agent)):
        h = np.arange(1, len(prefix))
        bounds = (prefix[-1] - prefix[-1 - h]) / h + width / np.sqrt(h)
        index, window = _search(agent._state, arm, t)
        assert index == pytest.approx(bounds.min(), rel=1e-15)
        assert bounds[window - 1] == pytest.approx(bounds.min(), rel=1e-15)


@numba.njit
def build(state, rewards):
    """Give all rewards to arm 0."""
    for reward in rewards:
        append(state.history, 0, reward)


@numba.njit
def of_width(state, width):
    for slot in (WIDTH, SCALE, WEIGHT):
        state.bonus.numbers[slot] = width
    return state.bonus


@numba.njit
def divide_at(state, width, level):
    divide(state.history, state.proofs, 0, of_width(state, width), level)


@numba.njit
def surely_above(state, width, level):
    return all_above(state.history, state.proofs, 0, of_width(state, width), level)


@numba.njit
def lowest_below(state, width, level):
    return lowest_window(state.history, state.proofs, 0, of_width(state, width), level, np.inf)


def hard_rewards(draw):
    """Return rewards, multiples of UNIT, whose prefix sums are calm, rough, peaked, or change their slope."""
    n = int(draw.integers(1, 3000))
    rewards = draw.choice([0.0, 0.01, 1.0]) * draw.normal(size=n) + draw.choice([0.0, 0.5, -3.0])
    rewards += draw.choice([0.0, 0.3, -0.3]) * (np.arange(n) > draw.integers(n))
    for m in draw.integers(1, n, draw.integers(0, 12)) if n > 1 else ():
        peak = draw.uniform(0.2, 5.0) * np.sqrt(n - m)
        rewards[m - 1] += peak
        rewards[m] -= peak
    return np.rint(rewards / UNIT) * UNIT


@pytest.mark.parametrize("seed", range(40))
def test_what_is_sure_is_true(seed):
    """At levels around the smallest bound, after dividing at a lower level, when the arm had fewer pulls perhaps."""
    draw = np.random.default_rng(seed)
    for _ in range(25):
        rewards, width = hard_rewards(draw), float(draw.choice([0.0, 0.3, 1.0, 4.0]))
        offset = float(draw.choice([0.0, 2.0**20]))
        policy, early = RAWUCB(), int(draw.integers(0, len(rewards) + 1))
        state = policy.reserve(fresh_state(policy, 1), len(rewards))
        build(state, offset + rewards[:early])
        if early:
            divide_at(state, width, smallest(offset + rewards[:early], width) - draw.choice([0.0, 0.1, 1.0]))
        build(state, offset + rewards[early:])
        index = smallest(offset + rewards, width)
        far = 1e-6 * (abs(index) + width)
        for level in (index, index + far, index + 0.01, index + 1.0):
            assert not surely_above(state, width, level)
        lower = index - far - 0.01 * width  # the line in place of square roots needs a little
        divide_at(state, width, lower)
        if state.proofs.notes[0, RETRY] == 0:
            assert surely_above(state, width, lower)
        for level in (index, index + far, index + 0.01, index + 1.0):
            assert not surely_above(state, width, level)
        divide_at(state, width, index)
        window, mean = lowest_below(state, width, index)
        assert mean + width / np.sqrt(window) == index


def test_sums_that_lost_digits_prove_nothing():
    """After rewards of 2^40 rough sums are off by up to 2^-7, here upwards; the roofs are straight and exact."""
    rewards = np.repeat([2.0**40, -1.0, 1.01 * 2.0**-7 / 60], [128, 256, 60])
    policy, width = RAWUCB(), 4.0
    state = policy.reserve(fresh_state(policy, 1), len(rewards))
    build(state, rewards)
    divide_at(state, width, 0.0)
    window, mean = lowest_below(state, width, 0.0)
    assert window == 256 + 60
    assert rough_window_sums(state.history, window)[0][0] > mean * window + 2.0**-8
    index = mean + width / np.sqrt(window)
    state.proofs.notes[:] = 0
    divide_at(state, width, index - 0.1)
    for level in (index, index + 2.0**-20):
        assert not surely_above(state, width, level)


def test_without_room_for_stretches_all_windows_are_compared():
    """All bounds lie close above 0, so that no roof longer than a row is in order, but for one window below."""
    blocks, width, margin = 320, 4.0, 1e-5
    left = np.arange(blocks, 0, -1) * ROW  # the windows that begin at 0, ROW, 2 ROW, ...
    prefix = np.append(width * np.sqrt(left) - margin, 0.0)
    prefix[300] += 2 * margin
    policy = RAWUCB()
    state = policy.reserve(fresh_state(policy, 1), blocks * ROW)
    build(state, np.repeat(np.diff(prefix) / ROW, ROW))
    divide_at(state, width, 0.0)
    assert state.proofs.notes[0, RETRY] > blocks * ROW
    assert not surely_above(state, width, 0.0)
    assert lowest_below(state, width, 0.0)[0] == left[300]


def smallest(rewards, width):
    """Return the smallest upper confidence bound over all windows."""
    h = np.arange(1, len(rewards) + 1)
    return float(np.min(np.cumsum(rewards[::-1]) / h + width / np.sqrt(h)))
