import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.drift import ADWIN

from rotting.policies.adwin_ucb import AdwinUCB
from rotting.policies.ucb1 import UCB1


class RiverWindow:
    """River's window without the reset that its public class makes after each change."""

    def __init__(self, delta):
        self.window = ADWIN(delta=delta, clock=1)._helper

    def update(self, reward):
        self.window.update(reward)

    @property
    def width(self):
        return self.window.get_width()

    @property
    def mean(self):
        return self.window.get_total() / self.width

    @property
    def spread(self):
        return self.window.get_variance()


@settings(max_examples=25, deadline=None)
@given(
    levels=st.lists(st.floats(-3, 3), min_size=1, max_size=6),
    length=st.integers(5, 250),
    noise=st.sampled_from([0.05, 0.3, 1.0]),
    scale=st.sampled_from([0.1, 1.0, 1000.0]),
    delta=st.sampled_from([0.002, 0.05, 0.9]),
    seed=st.integers(0, 2**32),
)
def test_windows_are_those_of_river(levels, length, noise, scale, delta, seed):
    rng = np.random.default_rng(seed)
    agent, river = AdwinUCB(delta=delta).start(1), RiverWindow(delta)
    state = agent._state
    for level in levels:
        for _ in range(length):
            reward = scale * (level + noise * rng.normal())
            agent.update(0, reward)
            river.update(reward)
            assert state.widths[0] == river.width
            assert math.isclose(state.totals[0] / state.widths[0], river.mean, rel_tol=1e-7, abs_tol=1e-7 * scale)


@pytest.mark.parametrize("kind", ["0/1", "drifting"])
def test_long_windows_are_those_of_river(kind):
    rng = np.random.default_rng(3)
    agent, river = AdwinUCB().start(1), RiverWindow(0.002)
    state, cuts, width = agent._state, 0, 0
    for n in range(20_000):
        mean = (0.3 if n < 11_000 else 0.55) if kind == "0/1" else n / 4000
        reward = float(rng.random() < mean) if kind == "0/1" else mean + rng.normal()
        agent.update(0, reward)
        river.update(reward)
        assert state.widths[0] == river.width
        cuts += state.widths[0] <= width
        width = state.widths[0]
    assert math.isclose(state.totals[0] / width, river.mean, rel_tol=1e-9)
    assert math.isclose(state.spreads[0], river.spread, rel_tol=1e-7)
    assert cuts > 0


@settings(max_examples=15, deadline=None)
@given(
    n_arms=st.integers(1, 4),
    sigma=st.sampled_from([0.0, 0.5, 1.0]),
    bonus=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_every_decision_is_the_largest_index_on_rivers_windows(n_arms, sigma, bonus, seed):
    rng = np.random.default_rng(seed)
    agent = AdwinUCB(sigma=sigma, bonus=bonus).start(n_arms)
    windows = [RiverWindow(0.002) for _ in range(n_arms)]
    for t in range(1, 250):
        empty = [arm for arm, window in enumerate(windows) if not window.width]
        indices = [
            window.mean + bonus * sigma * math.sqrt(2 * math.log(t) / window.width) if window.width else math.inf
            for window in windows
        ]
        arm = agent.select()
        assert arm == (empty[0] if empty else indices.index(max(indices)))
        # Each arm falls by 4 after its own 40th pull.
        reward = arm / n_arms - 4 * (agent.pulls[arm] >= 40) + 0.5 * rng.normal()
        agent.update(arm, reward)
        windows[arm].update(reward)


def test_a_window_without_changes_is_ucb1s():
    rng = np.random.default_rng(8)
    ours, theirs = AdwinUCB(sigma=0.3).start(3), UCB1(sigma=0.3).start(3)
    for _ in range(400):
        arm = ours.select()
        assert arm == theirs.select()
        reward = rng.uniform() * 0.5 + arm / 8
        ours.update(arm, reward)
        theirs.update(arm, reward)


def test_what_is_left_after_a_change_is_exact():
    # Rewards of 1e16 swallow those of 1/3: subtracting them from running sums would leave nothing right.
    agent = AdwinUCB().start(1)
    for _ in range(100):
        agent.update(0, 1e16)
    for _ in range(200):
        agent.update(0, 1 / 3)
    state = agent._state
    assert 100 < state.widths[0] <= 200
    assert math.isclose(state.totals[0] / state.widths[0], 1 / 3, rel_tol=1e-12)
    assert 0 <= state.spreads[0] < 1e-12


@pytest.mark.parametrize("n_arms", [1, 2])
@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_rewards_of_any_size(n_arms, sigma):
    rng = np.random.default_rng(1)
    agent = AdwinUCB(sigma=sigma).start(n_arms)
    for reward in rng.choice([1e100, -1e100, 0.0, 1e-300, 5.0], size=3000):
        assert 0 <= agent.select() < n_arms
        agent.update(agent.select(), float(reward))
    state = agent._state
    assert np.all(np.isfinite(state.totals))
    assert np.all(np.isfinite(state.spreads))
    assert np.all(state.widths >= np.minimum(state.pulls, 5))


@pytest.mark.parametrize("bad", [{"delta": 0.0}, {"delta": 1.5}, {"bonus": 2}, {"sigma": -1.0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=f"AdwinUCB: {next(iter(bad))}="):
        AdwinUCB(**bad)
