import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.rogue import Rogue
from rotting import UCB1, simulate
from rotting._core.randomness import word
from rotting.policies import RogueTS, RogueUCB
from rotting.problems import Linear, Problem, Satiation

KEY = np.uint64(5)
ARMS = Problem(
    [Linear(1.0, 0.6, -5.0), Linear(0.8, 0.3, -5.0), Linear(0.4, 0.0, -5.0)],
    sigma=0.1,
    dynamics=Satiation(gamma=0.7),
    horizon=2000,
)
GAMES = given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    rates=st.integers(1, 5),
    sigma=st.sampled_from([0.1, 1.0]),
    rounds=st.integers(1, 40),
    stray=st.sampled_from([0.0, 0.3]),
)
# Closer values than this may come out either way.
CLOSE = 1e-7


@settings(max_examples=200, deadline=None, derandomize=True)
@GAMES
def test_ucb_decides_as_the_literal_rule(seed, n_arms, rates, sigma, rounds, stray):
    rng = np.random.default_rng(seed)
    agent, reference = RogueUCB(rates, 0.3, 1.0, sigma).start(n_arms), Rogue(n_arms, rates, 1.0, sigma, 0.3)
    for t in range(1, rounds + 1):
        chosen, indices = agent.select(), reference.indices(t)
        largest = max(indices)
        assert indices[chosen] == largest or indices[chosen] >= largest - CLOSE * max(1.0, abs(largest)), f"round {t}"
        arm = int(rng.integers(n_arms)) if rng.random() < stray else chosen
        reward = float(rng.normal(0.2 * arm - 0.1 * (t % 3), sigma))
        agent.update(arm, reward)
        reference.update(arm, reward)


@settings(max_examples=200, deadline=None, derandomize=True)
@GAMES
def test_ts_decides_as_the_literal_rule(seed, n_arms, rates, sigma, rounds, stray):
    rng = np.random.default_rng(seed)
    agent = RogueTS(rates, 1.0, 1.0, sigma, floor=0.1).start(n_arms)
    reference = Rogue(n_arms, rates, 1.0, sigma, floor=0.1)
    for t in range(1, rounds + 1):
        chosen = agent.select_at(t, KEY)
        expected, lead = reference.thompson(np.uint64(word(KEY, t)))
        assert chosen == expected or lead < 1e-6, f"round {t}"
        arm = int(rng.integers(n_arms)) if rng.random() < stray else chosen
        reward = float(rng.normal(0.2 * arm - 0.1 * (t % 3), sigma))
        agent.update(arm, reward)
        reference.update(arm, reward)


@pytest.mark.parametrize("policy", [RogueUCB(radius=0.05, sigma=0.1), RogueTS(sigma=0.1)])
def test_they_learn_how_arms_tire(policy):
    result = simulate([policy, UCB1(sigma=0.1)], ARMS, runs=5, progress=False)
    mine, ucb1 = (result.oracle_reward - result.regret).isel(round=-1).mean("run").values
    greedy = ARMS.oracle(2000, kind="greedy").reward[-1]  # who knows all, and looks no further ahead than they do
    assert ucb1 < 0.9 * greedy < 0.97 * greedy < mine
    agent = policy.start(3)
    for arm in np.random.default_rng(1).integers(3, size=400).tolist():
        s = float(agent._state.tired[arm, 7])
        agent.update(arm, [1.0, 0.8, 0.4][arm] - [0.6, 0.3, 0.0][arm] * s)
    assert agent._state.best[:2].tolist() == [7, 7]
    np.testing.assert_allclose(agent._state.fitted[:2], [[1.0, 0.6], [0.8, 0.3]], atol=0.01)


def test_the_floor_keeps_every_arm():
    result = simulate(RogueTS(sigma=0.1, floor=0.1), ARMS, runs=3, progress=False)
    assert (result.pulls.values > 0.08 * 2000).all()
