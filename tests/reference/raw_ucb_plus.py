"""RAW-UCB++, literally: argmax_i min_{h <= N_i} [mean of the last h + sqrt(2 sigma^2 alpha ln q / h)].

ln q = ln x + (beta / alpha) ln(1 + ln x), x = max(t / (K h), 1).
"""

from __future__ import annotations

import math

from reference.eff_fewa import Nested
from reference.sums import Histories


def bonus(t, n_arms, h, alpha, sigma, beta, shared):
    x = max(t / (n_arms * h), 1.0) if shared else t
    log_q = math.log(x) + beta / alpha * math.log(1.0 + math.log(x))
    return sigma * math.sqrt(2.0 * alpha * log_q) / math.sqrt(h)


class RAWUCBPlus:
    def __init__(self, n_arms, alpha, sigma, beta, shared=True):
        self.history = Histories(n_arms)
        self.parameters = alpha, sigma, beta, shared
        self.indices = []  # of the last select()

    def update(self, arm, reward):
        self.history.append(arm, reward)

    def select(self):
        for arm in self.history.unpulled():
            return arm
        t, n_arms = self.history.t, len(self.history.arms)
        self.indices = [
            min(total / h + bonus(t, n_arms, h, *self.parameters) for h, total in enumerate(self.history.sums(arm), 1))
            for arm in self.history.arms
        ]
        return self.indices.index(max(self.indices))


class EffRAWUCBPlus:
    """The same minimum over windows that are refreshed now and then."""

    def __init__(self, n_arms, alpha, sigma, grid, beta, shared=True):
        self.arms = [Nested(grid) for _ in range(n_arms)]
        self.parameters = alpha, sigma, beta, shared

    def update(self, arm, reward):
        self.arms[arm].update(reward)

    def select(self):
        pulls = [len(arm.rewards) for arm in self.arms]
        if 0 in pulls:
            return pulls.index(0)
        t, n_arms = 1 + sum(pulls), len(pulls)
        indices = [
            min(
                total / arm.size(j) + bonus(t, n_arms, arm.size(j), *self.parameters)
                for j, total in enumerate(arm.sums)
            )
            for arm in self.arms
        ]
        return indices.index(max(indices))
