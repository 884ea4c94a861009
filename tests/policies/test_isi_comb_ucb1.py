import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from rotting.policies import UCB1, ISICombUCB1
from rotting.problems import Problem, Recovering


class Literal:
    """Blocks by dictionaries: rewards by (arm, tau), and every block that there is."""

    def __init__(self, n_arms, d):
        self.n_arms, self.d, self.t = n_arms, d, 0
        self.rewards, self.block, self.last = {}, (0,) * d, {}

    def select(self):
        return self.block[self.t % self.d]

    def update(self, arm, reward):
        place = self.t % self.d
        if arm in self.last:
            self.rewards.setdefault((arm, place - self.last[arm]), []).append(reward)
        self.last[arm] = place
        self.t += 1
        if place == self.d - 1:
            self.last = {}
            blocks = itertools.product(range(self.n_arms), repeat=self.d)
            self.block = max(blocks, key=self.worth)

    def bound(self, arm, tau):
        seen = self.rewards.get((arm, tau))
        if seen is None:
            return self.d * math.sqrt(1.5 * math.log(self.n_arms * self.d))
        return sum(seen) / len(seen) + math.sqrt(1.5 * math.log(self.t) / len(seen))

    def worth(self, block):
        last, worth = {}, 0.0
        for place, arm in enumerate(block):
            if arm in last:
                worth += self.bound(arm, place - last[arm])
            last[arm] = place
        return worth


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    d=st.integers(2, 4),
    rounds=st.integers(1, 80),
    stray=st.sampled_from([0.0, 0.2]),
)
def test_decides_as_the_literal_rule(seed, n_arms, d, rounds, stray):
    rng = np.random.default_rng(seed)
    agent, reference = ISICombUCB1(d).start(n_arms), Literal(n_arms, d)
    for t in range(rounds):
        chosen = agent.select()
        assert chosen == reference.select(), f"round {t + 1}"
        arm = int(rng.integers(n_arms)) if rng.random() < stray else chosen
        reward = float(rng.random())
        agent.update(arm, reward)
        reference.update(arm, reward)


def test_it_lets_arms_rest():
    """An arm that pays after two rounds without it, beside one that pays a little: 2, 2, 1 is the best cycle."""
    problem = Problem([[0.0, 0.0, 0.95], 0.15], dynamics=Recovering(z_max=2), noise="bernoulli", horizon=20_000)
    result = rotting.simulate([ISICombUCB1(d=4), UCB1(sigma=0.5)], problem, runs=5, seed=1, progress=False)
    last = result.regret.values[:, :, -1]
    assert (last[0] < last[1]).all()


def test_too_many_blocks_are_refused():
    with pytest.raises(ValueError, match=r"d=9.* 2\^20"):
        ISICombUCB1(d=9).start(10)
