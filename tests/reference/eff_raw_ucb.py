"""EFF-RAW-UCB, literally: RAW-UCB's minimum over windows that are refreshed now and then."""

from __future__ import annotations

import math

from reference.eff_fewa import Nested
from reference.raw_ucb import index_width


class EffRAWUCB:
    def __init__(self, n_arms, alpha, sigma, grid=2.0):
        self.arms = [Nested(grid) for _ in range(n_arms)]
        self.parameters = alpha, sigma

    def update(self, arm, reward):
        self.arms[arm].update(reward)

    def select(self):
        pulls = [len(arm.rewards) for arm in self.arms]
        if 0 in pulls:
            return pulls.index(0)
        width = index_width(1 + sum(pulls), *self.parameters)
        indices = [
            min(total / arm.size(j) + width / math.sqrt(arm.size(j)) for j, total in enumerate(arm.sums))
            for arm in self.arms
        ]
        return indices.index(max(indices))
