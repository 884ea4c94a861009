"""Small simulations, and players in plain Python: what the tests of simulations share."""

import math

import numpy as np

from rotting import Problem, simulate
from rotting.problems import Drop, Exponential

PROBLEM = Problem([Drop(1.0, 0.2, 50), 0.6, Exponential(0.9, 0.02)], sigma=0.5, name="small", horizon=120)


def quietly(policies, problem=PROBLEM, **named):
    return simulate(policies, problem, **{"runs": 4, "progress": False, **named})


def assert_same(first, second):
    np.testing.assert_array_equal(first.regret.values, second.regret.values)
    np.testing.assert_array_equal(first.pulls.values, second.pulls.values)


class RoundRobin:
    """A Python policy, as a user would write it."""

    def __init__(self, n_arms):
        self.n_arms, self.t = n_arms, 0

    def select(self):
        return self.t % self.n_arms

    def update(self, arm, reward):
        self.t += 1


class PythonUCB1:
    """UCB1(sigma=0.5), written down again."""

    def __init__(self, n_arms):
        self.totals, self.pulls = [0.0] * n_arms, [0] * n_arms

    def select(self):
        width = 0.5 * math.sqrt(2.0 * math.log(sum(self.pulls) + 1))
        indices = [
            math.inf if n == 0 else total / n + width / math.sqrt(n)
            for total, n in zip(self.totals, self.pulls, strict=True)
        ]
        return np.int64(indices.index(max(indices)))

    def update(self, arm, reward):
        self.totals[arm] += reward
        self.pulls[arm] += 1
