import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import raw_ucb_plus
from reference.worlds import WORLDS, rewards_in
from rotting import EffRAWUCB, EffRAWUCBPlus, RAWUCBPlus
from rotting.policies._windows.bonus import MISSING, ShareParameters, begin_round, bonus_at, low_log, rises
from rotting.policies.raw_ucb import RAWUCB
from side_by_side import assert_same_run, assert_survives_extremes


def same_indices(agent, reference):
    """Assert that every index is the same to the last bit."""
    if agent.pulls.min() > 0:
        assert [verdict.index for verdict in agent.explain().arms] == reference.indices


GAMES = {
    "world": st.sampled_from(sorted(WORLDS)),
    "seed": st.integers(0, 2**32),
    "n_arms": st.integers(1, 6),
    "rounds": st.integers(1, 120),
    "alpha": st.sampled_from([1.4, 0.1, 4.0]),
    "noise": st.sampled_from([0.0, 0.05, 0.3, 1.0, 100.0]),
    "beta": st.sampled_from([0.0, 1.0, 3.5]),
    "stray": st.sampled_from([0.0, 0.1, 1.0]),
}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(**GAMES)
def test_decides_as_the_literal_rule(world, seed, n_arms, rounds, alpha, noise, beta, stray):
    reference = raw_ucb_plus.RAWUCBPlus(n_arms, alpha, noise, beta)
    rewards = rewards_in(world, n_arms, rounds, seed)
    policy = RAWUCBPlus(alpha, noise, beta)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray, look=lambda t: t % 3 == 0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(**GAMES, grid=st.sampled_from([2.0, 1.3, 1.01]))
def test_the_efficient_form_decides_as_the_literal_rule(world, seed, n_arms, rounds, alpha, noise, beta, stray, grid):
    reference = raw_ucb_plus.EffRAWUCBPlus(n_arms, alpha, noise, grid, beta)
    rewards = rewards_in(world, n_arms, rounds, seed)
    policy = EffRAWUCBPlus(alpha, noise, grid, beta)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray)


@pytest.mark.parametrize(
    ("world", "beta"), [("close", 0.0), ("drift", 3.0), ("coins", 0.0), ("drops", 0.0), ("fallen", 3.0)]
)
def test_decides_as_the_literal_rule_for_long(world, beta):
    """Windows of many blocks, on both sides of the share t / K, where stretches and rows are at work."""
    reference = raw_ucb_plus.RAWUCBPlus(3, 1.4, 0.5, beta)
    rewards = rewards_in(world, 3, 2500, 9)
    agent = assert_same_run(
        RAWUCBPlus(1.4, 0.5, beta),
        reference,
        rewards,
        rounds=2500,
        seed=9,
        stray=0.1,
        compare=same_indices,
        look=lambda t: t % 37 == 0,
    )
    assert agent.pulls.max() > 2500 / 3  # windows beyond t / K


@pytest.mark.parametrize("world", ["close", "coins", "spikes"])
def test_with_q_equal_to_t_it_is_raw_ucb(world):
    rewards = rewards_in(world, 3, 3000, 4)
    plain, same = (policy.start(3) for policy in (RAWUCB(sigma=0.5), RAWUCBPlus(sigma=0.5, shared=False)))
    for t in range(3000):
        arm = plain.select()
        assert same.select() == arm
        if t % 100 == 99:
            assert [v.index for v in plain.explain().arms] == [v.index for v in same.explain().arms]
        for agent in (plain, same):
            agent.update(arm, rewards[arm][agent.pulls[arm]])


def test_with_q_equal_to_t_the_efficient_form_is_eff_raw_ucb():
    rewards = rewards_in("close", 3, 2000, 4)
    plain, same = (policy.start(3) for policy in (EffRAWUCB(sigma=0.5), EffRAWUCBPlus(sigma=0.5, shared=False)))
    for _ in range(2000):
        arm = plain.select()
        assert same.select() == arm
        reward = rewards[arm][plain.pulls[arm]]
        plain.update(arm, reward)
        same.update(arm, reward)


@pytest.mark.parametrize("t", [2, 40, 1000, 123_456, 10**9])
@pytest.mark.parametrize("beta", [0.0, 3.5])
def test_rises_never_exceed_the_bonus(t, beta):
    """What proofs rest on: the table of recent windows and the straight lines lie below h times the bonus."""
    parameters = ShareParameters(beta)
    made = parameters.new_bonus()
    rounds = (max(2, round(t / 1.003)), t) if t > 400 else (t,)
    for now in rounds:  # the table may be a little old
        begin_round(made, parameters.bonus_settings(1.4, 1.0), now, 2)
    windows = np.unique(np.geomspace(1, t, 200).astype(int))
    exact = np.array([h * bonus_at(made, float(h)) for h in windows])
    safe = 1 + 1e-12
    for h, value in zip(windows, exact, strict=True):
        if h <= 128:
            assert made.recent[128 - h] <= value * safe
    for low, high in zip(range(0, 190), range(10, 200), strict=False):
        if high < len(windows):
            top, bottom = rises(made, float(windows[high]), float(windows[low]))
            line = np.interp(windows[low : high + 1], [windows[low], windows[high]], [bottom, top])
            assert (line <= exact[low : high + 1] * safe + 1e-9).all()


def test_the_quick_logarithm_is_never_too_large_and_hardly_too_small():
    for x in [1.0, 1.0 + 2.0**-52, 2.0 - 2.0**-52, 2.0, *np.geomspace(1, 1e300, 10_001)]:
        assert -1e-12 <= np.log(x) - low_log(x) <= MISSING


def test_survives_extremes():
    assert_survives_extremes(RAWUCBPlus())
    assert_survives_extremes(RAWUCBPlus(sigma=0.0, beta=2.0))
    assert_survives_extremes(EffRAWUCBPlus())


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"sigma": -1}, {"beta": -1}, {"shared": 1}])
def test_bad_parameters_are_refused(bad):
    for policy in (RAWUCBPlus, EffRAWUCBPlus):
        with pytest.raises(ValueError, match=next(iter(bad))):
            policy(**bad)
