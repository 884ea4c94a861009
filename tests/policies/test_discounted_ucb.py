import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.policies.discounted_ucb import DiscountedUCB
from side_by_side import assert_same_decisions, assert_survives_extremes, first_best


def literal(policy):
    def choose(history, n_arms, t, uniforms):
        counts, sums = [0.0] * n_arms, [0.0] * n_arms
        for s, (arm, reward) in enumerate(history, start=1):
            weight = policy.gamma ** (len(history) - s)
            counts[arm] += weight
            sums[arm] += weight * reward
        pulled = {arm for arm, _ in history}
        for arm in range(n_arms):
            if arm not in pulled:
                return arm
        if policy.force_below_one:
            for arm in range(n_arms):
                if counts[arm] < 1:
                    return arm
        log = max(0.0, math.log(sum(counts)))
        indices = [
            sums[arm] / counts[arm] + 2 * policy.scale * math.sqrt(policy.xi * log / counts[arm])
            for arm in range(n_arms)
        ]
        return first_best(indices)

    return choose


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    gamma=st.sampled_from([0.3, 0.7, 0.9, 0.99, 0.997, 1.0]),
    xi=st.sampled_from([0.0, 0.5, 2.0]),
    scale=st.sampled_from([0.5, 1.0]),
    force=st.booleans(),
)
def test_decides_as_the_literal_rule(seed, n_arms, gamma, xi, scale, force):
    policy = DiscountedUCB(gamma, xi, scale, force)
    assert_same_decisions(policy, literal(policy), n_arms=n_arms, rounds=120, seed=seed)


def test_the_unit_of_weight_changes_without_a_trace():
    # gamma = 0.6 reaches a weight of 1e100 every 450 rounds.
    policy = DiscountedUCB(gamma=0.6)
    choices = assert_same_decisions(policy, literal(policy), n_arms=3, rounds=1000, seed=3)
    assert set(choices) == {0, 1, 2}


def test_a_mean_outlives_the_weight_of_its_rewards():
    # Without a bonus, arm 1 is not touched for 5000 rounds: its count is 0.5^5000, nothing in floating point.
    agent = DiscountedUCB(gamma=0.5, xi=0.0).start(n_arms=2)
    agent.update(1, 0.3)
    for _ in range(5000):
        agent.update(0, 0.4)
    assert agent.select() == 0
    agent.update(0, 0.1)
    assert agent.select() == 1  # arm 0: (0.4 + 0.1) / 2 = 0.25 < 0.3
    agent.update(1, 0.2)
    assert agent.select() == 0  # all of arm 1 is now the 0.2


def test_arms_are_forced_below_one_only_when_asked():
    def choices(policy):
        agent = policy.start(n_arms=2)
        chosen = []
        for _ in range(40):
            chosen.append(agent.select())
            agent.update(chosen[-1], [100.0, 0.0][chosen[-1]])
        return chosen

    assert choices(DiscountedUCB(gamma=0.9))[2:] == [0] * 38
    forced = choices(DiscountedUCB(gamma=0.9, force_below_one=True))
    # Rounds 1, 2: first pulls. Round 3: counts 0.9 and 1, arm 0 is forced. Round 4: arm 1 (0.9) is forced.
    # Then counts 1.629 and 1.81: free until 1.81 * 0.9^k < 1, k = 6.
    assert forced[:11] == [0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1]


def test_the_default_bonus_is_sqrt_2_log():
    # Counts 1.997 * 0.997 (two pulls of arm 0, then one of arm 1) and 1.
    n_0 = 0.997 * 1.997
    gap = math.sqrt(2 * math.log(n_0 + 1)) * (1 - 1 / math.sqrt(n_0))
    for offset, expected in ((-1e-9, 1), (1e-9, 0)):
        agent = DiscountedUCB().start(n_arms=2)
        for arm in (0, 0, 1):
            agent.update(arm, gap + offset if arm == 0 else 0.0)
        assert agent.select() == expected


@pytest.mark.parametrize(
    "policy",
    [
        DiscountedUCB(),
        DiscountedUCB(gamma=1.0),
        DiscountedUCB(gamma=1e-200),
        DiscountedUCB(gamma=5e-324),
        DiscountedUCB(gamma=0.1, xi=0.0),
        DiscountedUCB(force_below_one=True),
    ],
)
def test_survives_extremes(policy):
    assert_survives_extremes(policy)


@pytest.mark.parametrize("bad", [{"gamma": 0}, {"gamma": 1.01}, {"xi": -1}, {"scale": -1}, {"force_below_one": 1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        DiscountedUCB(**bad)
