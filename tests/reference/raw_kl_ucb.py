"""RAW-klUCB, literally: argmax_i min_{h <= N_i} of the largest q with h kl(mean of the last h, q) <= c ln t."""

from __future__ import annotations

import math

from reference.kl_ucb import bound, clipped
from reference.sums import Histories


class RAWKLUCB:
    def __init__(self, n_arms, c=1.0):
        self.history = Histories(n_arms)
        self.c = c

    def update(self, arm, reward):
        self.history.append(arm, clipped(reward))

    def select(self):
        for arm in self.history.unpulled():
            return arm
        indices = [self.index(arm) for arm in self.history.arms]
        return indices.index(max(indices))

    def index(self, arm):
        explored = self.c * math.log(self.history.t)
        return min(bound(total / h, explored / h) for h, total in enumerate(self.history.sums(arm), 1))
