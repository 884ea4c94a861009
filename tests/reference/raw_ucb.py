"""RAW-UCB, literally: argmax_i min_{h <= N_i} [mean of the last h + sqrt(2 sigma^2 alpha ln t / h)]."""

from __future__ import annotations

import math

from reference.sums import Histories


def index_width(t, alpha, sigma):
    return sigma * math.sqrt(2.0 * alpha * math.log(t))


class RAWUCB:
    def __init__(self, n_arms, alpha, sigma):
        self.history = Histories(n_arms)
        self.parameters = alpha, sigma
        self.indices = []  # of the last select()

    def update(self, arm, reward):
        self.history.append(arm, reward)

    def select(self):
        for arm in self.history.unpulled():
            return arm
        width = index_width(self.history.t, *self.parameters)
        self.indices = [
            min(total / h + width / math.sqrt(h) for h, total in enumerate(self.history.sums(arm), 1))
            for arm in self.history.arms
        ]
        return self.indices.index(max(self.indices))
