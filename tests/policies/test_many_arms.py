"""The policies for more arms than can be tried: UCB-TP, AUCB-TP, UCBT-ASW and SSUCB."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from reference import many_arms
from rotting import AUCBTASW, AUCBTP, SSUCB, UCBTASW, UCBTP
from rotting._core.randomness import CHOICE, stream_key, uniform, word
from side_by_side import assert_same_run

GAMES = {
    "seed": st.integers(0, 2**32),
    "n_arms": st.integers(1, 30),
    "rounds": st.integers(1, 120),
    "spread": st.sampled_from([0.0, 0.3, 3.0]),
    "stray": st.sampled_from([0.0, 0.1]),
}


def rewards_of_arms(seed, n_arms, rounds, spread):
    """Return rewards of arms that are worth 0 to 1 and wear, some of them far below, so that arms are left."""
    rng = np.random.default_rng(seed)
    levels = rng.uniform(-3, 1, (n_arms, 1)) - 0.05 * np.arange(rounds)
    return (levels + spread * rng.normal(size=levels.shape)).tolist()


games = settings(max_examples=200, deadline=None, derandomize=True)


@games
@given(**GAMES, rho=st.sampled_from([0.05, 0.0, 0.3]), delta=st.sampled_from([0.1, 0.5]))
def test_ucb_tp_decides_as_the_literal_rule(seed, n_arms, rounds, spread, stray, rho, delta):
    reference = many_arms.UCBTP(n_arms, rho, delta, 500)
    rewards = rewards_of_arms(seed, n_arms, rounds, spread)
    assert_same_run(UCBTP(rho, delta, 500), reference, rewards, rounds=rounds, seed=seed, stray=stray)


@games
@given(**GAMES, delta=st.sampled_from([0.1, 0.5]))
def test_ucbt_asw_decides_as_the_literal_rule(seed, n_arms, rounds, spread, stray, delta):
    reference = many_arms.UCBTASW(n_arms, delta, 500)
    rewards = rewards_of_arms(seed, n_arms, rounds, spread)
    policy = UCBTASW(delta=delta, horizon=500)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray)


@games
@given(**GAMES, horizon=st.sampled_from([1, 30, 500]))
def test_ssucb_decides_as_the_literal_rule(seed, n_arms, rounds, spread, stray, horizon):
    reference = many_arms.SSUCB(n_arms, 0.7, horizon)
    rewards = rewards_of_arms(seed, n_arms, rounds, spread)
    assert_same_run(SSUCB(0.7, horizon), reference, rewards, rounds=rounds, seed=seed, stray=stray)


@games
@given(**GAMES, horizon=st.sampled_from([2, 300, 2000]), kind=st.sampled_from([AUCBTP, AUCBTASW]))
def test_what_guesses_decides_as_the_literal_rule(seed, n_arms, rounds, spread, stray, horizon, kind):
    key = stream_key(seed, CHOICE)
    reference = getattr(many_arms, kind.__name__)(n_arms, horizon, lambda t: uniform(np.uint64(word(key, t)), 0))
    rewards = rewards_of_arms(seed, n_arms, rounds, spread)
    rng, agent = np.random.default_rng(seed), kind(horizon).start(n_arms, seed)
    for t in range(rounds):
        assert agent.select() == reference.select(), f"round {t + 1}"
        arm = int(rng.integers(n_arms)) if rng.random() < stray else reference.select()
        reward = rewards[arm][agent.pulls[arm]]
        agent.update(arm, reward)
        reference.update(arm, reward)


def test_delta_is_the_theory_s_where_none_is_given():
    assert UCBTP(rho=0.001, horizon=100).initial_state(3).settings[1] == pytest.approx(0.1)
    assert UCBTP(rho=0.0, horizon=10_000).initial_state(3).settings[1] == pytest.approx(0.01)
    assert UCBTASW(variation=1.0, beta=1.0, horizon=1000).threshold() == pytest.approx(0.1)
    assert UCBTASW(variation=0.0, beta=1.0, horizon=10_000).threshold() == pytest.approx(0.01)
    assert UCBTASW(variation=1.0, beta=2.0, horizon=10_000).threshold() == pytest.approx(0.1)


@pytest.mark.parametrize("policy", [UCBTP(0.3), AUCBTP(), UCBTASW()])
def test_among_some_arms_it_goes_on_to_one_of_them(policy):
    """The arm it is at is gone: the next one that there is comes, and after the last one the first."""
    agent = policy.informed(None, 100).start(5)
    for _ in range(400):
        if agent.select() == 2:
            break
        agent.update(agent.select(), -50.0)
    assert agent.select() == 2
    choices = [agent.select_among(arms, np.uint64(0))[0] for arms in ([0, 2, 4], [0, 1, 4], [0, 1])]
    assert choices == [2, 4, 0]
    assert agent.select() == 2


def test_they_leave_arms_that_wear():
    """A fixed sample of arms is worn out at some time; those that go on to new ones have less regret."""
    problem = rotting.problems.many_arms(n_arms=3000, rho=0.02, horizon=20_000)
    policies = [UCBTP(0.02), UCBTASW(variation=400.0), AUCBTP(), SSUCB()]
    result = rotting.simulate(policies, problem, runs=3, seed=1, progress=False)
    regret = result.regret.isel(round=-1).mean("run").values
    assert (regret[:3] < 0.9 * regret[3]).all(), regret


def test_the_horizon_is_needed():
    for policy in (UCBTP(), AUCBTP(), UCBTASW(), SSUCB()):
        with pytest.raises(ValueError, match="horizon"):
            policy.start(2)
