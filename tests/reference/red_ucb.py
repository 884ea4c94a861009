"""R-ed-UCB, literally: the estimate of Metelli et al. (2022) as a sum over the last h rewards, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction


class REdUCB:
    def __init__(self, n_arms, sigma, share=0.25, alpha=4.0):
        self.sigma, self.share, self.alpha = sigma, share, alpha
        self.rewards = [[] for _ in range(n_arms)]

    def update(self, arm, reward):
        self.rewards[arm].append(Fraction(reward))

    def index(self, arm, t):
        x = [None, *self.rewards[arm]]  # x[l] is the reward of pull number l = 1, 2, ...
        n = len(x) - 1
        h = math.floor(self.share * n)
        if h == 0:
            return math.inf
        estimate = sum(x[l] + (t - l) * (x[l] - x[l - h]) / h for l in range(n - h + 1, n + 1)) / h  # noqa: E741
        log_of_inverse_delta = self.alpha * math.log(t)
        return float(estimate) + self.sigma * (t - n + h - 1) * math.sqrt(10 * log_of_inverse_delta / h**3)

    def select(self):
        pulls = [len(rewards) for rewards in self.rewards]
        if min(pulls) < 2:
            return pulls.index(min(pulls))
        indices = [self.index(arm, 1 + sum(pulls)) for arm in range(len(pulls))]
        return indices.index(max(indices))
