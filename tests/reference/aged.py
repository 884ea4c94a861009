"""R-less-UCB and GraphUCB, literally: slopes over ages, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction


class AgedArms:
    def __init__(self, matrix, sigma, share=0.25, alpha=4.0):
        self.matrix, self.sigma, self.share, self.alpha = matrix, sigma, share, alpha
        self.pulled, self.seen = [], [[] for _ in matrix]  # of each arm: (age, reward) of each pull

    def update(self, arm, reward):
        self.pulled.append(arm)
        age = sum(self.matrix[arm][other] for other in self.pulled)
        self.seen[arm].append((age, Fraction(reward)))

    def index(self, arm, t):
        seen = [None, *self.seen[arm]]  # seen[l] is that of pull number l = 1, 2, ...
        n = len(seen) - 1
        h = math.floor(self.share * n)
        if h == 0:
            return math.inf
        estimate = Fraction(0)
        for l in range(n - h + 1, n + 1):  # noqa: E741
            (age, x), (before, y) = seen[l], seen[l - h]
            estimate += x + (t - age) * (x - y) / (age - before) if age > before else x
        width = self.sigma * (t - seen[n - h + 1][0]) * math.sqrt(10 * self.alpha * math.log(t) / h**3)
        return float(estimate / h) + width

    def select(self):
        pulls = [len(seen) for seen in self.seen]
        if min(pulls) < 2:
            return pulls.index(min(pulls))
        indices = [self.index(arm, 1 + sum(pulls)) for arm in range(len(pulls))]
        return indices.index(max(indices))
