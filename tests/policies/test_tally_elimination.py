import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting import UCB1, simulate
from rotting.policies import TallyElimination
from rotting.problems import Constant, Problem, Tally


def literal(n_arms, m, sigma, horizon, pay):
    """Play so many rounds, as loops over phases and arms; `pay(arm)` gives rewards. Return the arms."""
    played, rewards, left, n, before = [], [[] for _ in range(n_arms)], list(range(n_arms)), 1, None
    while len(played) < horizon:
        for arm in left:
            for place in range(n if arm == before else m + n):
                played.append(arm)
                reward = pay(arm)
                if arm == before or place >= m:
                    rewards[arm].append(reward)
            before = arm
        width = {arm: sigma * math.sqrt(2 * math.log(2 * n_arms * horizon) / len(rewards[arm])) for arm in left}
        mean = {arm: sum(rewards[arm]) / len(rewards[arm]) for arm in left}
        left = [arm for arm in left if mean[arm] >= max(mean.values()) - 2 * width[arm]]
        n *= 2
    return played[:horizon]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32), n_arms=st.integers(1, 5), m=st.integers(0, 4), sigma=st.sampled_from([0.02, 0.1, 0.5])
)
def test_decides_as_the_literal_rule(seed, n_arms, m, sigma):
    rng = np.random.default_rng(seed)
    table, used, again = rng.uniform(0, 1, n_arms)[:, None] + 0.1 * rng.normal(size=(n_arms, 400)), [0] * n_arms, []

    def pay(arm):
        used[arm] += 1
        return float(table[arm, used[arm] - 1])

    expected = literal(n_arms, m, sigma, 200, pay)
    agent = TallyElimination(m, sigma, 200).start(n_arms)
    for _ in range(200):
        arm = agent.select()
        again.append(arm)
        agent.update(arm, float(table[arm, agent.pulls[arm]]))
    assert again == expected


def test_it_finds_the_arm_that_is_best_in_the_long_run():
    """The first arm pays most when it is fresh and least when it is not; others alone tell nothing of that."""
    problem = Problem([[1.0, 0.6, 0.1], Constant(0.3), [0.5, 0.5, 0.4]], dynamics=Tally(m=2), sigma=0.1, horizon=4000)
    assert TallyElimination().informed(problem, 100).m == 2
    result = simulate([TallyElimination(sigma=0.1), UCB1(sigma=0.1)], problem, runs=5, seed=0, progress=False)
    pulls = result.pulls.values[0]
    assert (pulls[:, 2] > 3500).all()


@pytest.mark.parametrize("m", [0, 3])
def test_pulls_of_another_arm_break_the_row(m):
    agent = TallyElimination(m, 0.1, 100).start(2)
    for _ in range(m):
        agent.update(0, 1.0)
    agent.update(1, 1.0)
    for _ in range(m + 1):
        assert agent._state.counted.tolist() == [0, 0]
        assert agent.select() == 0
        agent.update(0, 1.0)
    assert agent._state.counted.tolist() == [1, 0]
