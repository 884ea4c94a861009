import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting import UCB1, FreeUCB, simulate
from rotting.errors import BadValue
from rotting.problems import Blocking, Problem


class Literal:
    """UCB over lists of (round, reward) of pulls that found the arm free."""

    def __init__(self, delays, sigma):
        self.delays, self.sigma, self.t = delays, sigma, 1
        self.good = [[] for _ in delays]

    def free_from(self, arm):
        return self.good[arm][-1][0] + self.delays[arm] if self.good[arm] else 0

    def select(self):
        free = [arm for arm in range(len(self.delays)) if self.free_from(arm) <= self.t]
        for arm in free:
            if not self.good[arm]:
                return arm
        if not free:
            when = [self.free_from(arm) for arm in range(len(self.delays))]
            return when.index(min(when))
        width = self.sigma * math.sqrt(2 * math.log(self.t))
        index = {}
        for arm in free:
            rewards = [reward for _, reward in self.good[arm]]
            index[arm] = sum(rewards) / len(rewards) + width / math.sqrt(len(rewards))
        return max(index, key=index.get)

    def update(self, arm, reward):
        if self.free_from(arm) <= self.t:
            self.good[arm].append((self.t, reward))
        self.t += 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    delays=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    rounds=st.integers(1, 120),
    stray=st.sampled_from([0.0, 0.2]),
)
def test_decides_as_the_literal_rule(seed, delays, rounds, stray):
    rng = np.random.default_rng(seed)
    agent, reference = FreeUCB(delays, 0.5).start(len(delays)), Literal(delays, 0.5)
    for t in range(rounds):
        chosen = agent.select()
        assert chosen == reference.select(), f"round {t + 1}"
        arm = int(rng.integers(len(delays))) if rng.random() < stray else chosen
        reward = float(rng.normal(0.3 * arm))
        agent.update(arm, reward)
        reference.update(arm, reward)


def test_where_nothing_is_blocked_it_is_ucb1_bit_for_bit():
    rng = np.random.default_rng(1)
    mine, ucb1 = FreeUCB(sigma=0.7).start(4), UCB1(sigma=0.7).start(4)
    for _ in range(1000):
        arm = mine.select()
        assert arm == ucb1.select()
        reward = float(rng.normal(0.1 * arm))
        mine.update(arm, reward)
        ucb1.update(arm, reward)


def test_it_is_told_the_delays_and_never_pulls_a_blocked_arm_while_another_is_free():
    problem = Problem([0.9, 0.8, 0.7, 0.1], sigma=0.1, dynamics=Blocking(delays=[3, 3, 3, 1]), horizon=2000)
    assert FreeUCB().informed(problem, 100).delays == (3, 3, 3, 1)
    result = simulate([FreeUCB(sigma=None), UCB1(sigma=0.1)], problem, runs=5, seed=0, progress=False)
    regret = result.regret.isel(round=-1).mean("run").values
    assert abs(regret[0]) < 0.02 * 2000 < regret[1]


def test_delays_that_do_not_fit_are_refused():
    with pytest.raises(BadValue, match="delays="):
        FreeUCB(delays=(2, 3)).start(3)
    with pytest.raises(BadValue, match="delays"):
        FreeUCB(delays=0)
