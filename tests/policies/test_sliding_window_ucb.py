import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.policies.sliding_window_ucb import SlidingWindowUCB
from side_by_side import TIES, assert_same_decisions, assert_survives_extremes, first_best, rewards_of


def literal(policy):
    def choose(history, n_arms, t, uniforms):
        indices = []
        for rewards in rewards_of(history[-policy.tau :], n_arms):
            n = len(rewards)
            if n == 0:
                indices.append(math.inf)
                continue
            bonus = policy.scale * math.sqrt(policy.xi * math.log(min(t, policy.tau)) / n)
            indices.append(math.fsum(rewards) / n + bonus)
        return first_best(indices)

    return choose


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    tau=st.integers(1, 60),
    xi=st.sampled_from([0.0, 0.6, 2.0]),
    scale=st.sampled_from([0.0, 0.5, 1.0]),
    values=st.sampled_from([(), TIES]),
)
def test_decides_as_the_literal_rule(seed, n_arms, tau, xi, scale, values):
    policy = SlidingWindowUCB(tau, xi, scale)
    assert_same_decisions(policy, literal(policy), n_arms=n_arms, rounds=150, seed=seed, values=values)


@pytest.mark.parametrize(("tau", "reach"), [(100, 4), (4, 4), (3, 3)])
def test_the_bonus_by_hand(tau, reach):
    # Round t = 4 after pulls of 0, 0, 1: the gap of means that makes up for the bonuses of N = 2 and N = 1.
    gap = math.sqrt(0.6 * math.log(reach)) * (1 - 1 / math.sqrt(2))
    for offset, expected in ((-1e-9, 1), (1e-9, 0)):
        agent = SlidingWindowUCB(tau=tau).start(n_arms=2)
        for arm in (0, 0, 1):
            agent.update(arm, gap + offset if arm == 0 else 0.0)
        assert agent.select() == expected


def test_the_default_window_slides_as_the_literal_one():
    policy = SlidingWindowUCB()
    assert policy == SlidingWindowUCB(tau=200, xi=0.6, scale=1.0)
    choices = assert_same_decisions(policy, literal(policy), n_arms=3, rounds=700, seed=5)
    assert set(choices) == {0, 1, 2}


def test_a_huge_reward_leaves_no_trace_in_the_window():
    # Arm 0 gives 1e100 once, then 0.3; arm 1 gives 0.2. Ten rounds later nothing may be left of the 1e100:
    # a sum kept by subtracting would hold 0 for arm 0 (1e100 + 0.3 - 1e100) and prefer arm 1.
    agent = SlidingWindowUCB(tau=10, scale=0.0).start(n_arms=2)
    agent.update(0, 1e100)
    for _ in range(5):
        agent.update(0, 0.3)
        agent.update(1, 0.2)
    assert agent.select() == 0
    agent.update(1, 0.2)
    agent.update(1, 0.5)
    agent.update(1, 0.5)
    # Window of the last ten: arm 0 three times 0.3, arm 1 (0.2 * 5 + 0.5 * 2) / 7 = 0.286.
    assert agent.select() == 0
    agent.update(1, 0.5)
    assert agent.select() == 1  # (0.2 * 5 + 0.5 * 3) / 8 = 0.3125


def test_sums_do_not_drift():
    """After 200 000 rounds, the sums are those of the window alone, to the last few bits."""
    tau = 7
    agent = SlidingWindowUCB(tau=tau).start(n_arms=2)
    rng = np.random.default_rng(0)
    arms, rewards = rng.integers(2, size=200_000).tolist(), (rng.normal(size=200_000) * 1e3).tolist()
    for arm, reward in zip(arms, rewards, strict=True):
        agent.update(arm, reward)
    state = agent._state
    for i in range(2):
        inside = [reward for arm, reward in zip(arms[-tau:], rewards[-tau:], strict=True) if arm == i]
        assert state.seen[i] == len(inside)
        assert state.past[i] + state.present[i] == pytest.approx(math.fsum(inside), rel=0, abs=1e-11)


def test_an_arm_that_left_the_window_is_pulled_again():
    agent = SlidingWindowUCB(tau=4, scale=0.0).start(n_arms=2)
    chosen = []
    for _ in range(12):
        chosen.append(agent.select())
        agent.update(chosen[-1], [1.0, 0.0][chosen[-1]])
    assert chosen == [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("policy", [SlidingWindowUCB(), SlidingWindowUCB(tau=20), SlidingWindowUCB(tau=30, xi=0.0)])
def test_survives_extremes(policy):
    assert_survives_extremes(policy)


@pytest.mark.parametrize("bad", [{"tau": 0}, {"tau": 1.5}, {"xi": -0.1}, {"scale": -1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        SlidingWindowUCB(**bad)
