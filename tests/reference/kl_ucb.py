"""KL-UCB, literally: the largest q with N kl(mean, q) <= ln t + c ln ln t, by bisection down to the last bit."""

from __future__ import annotations

import math


def kl(p, y):
    """Return kl(p, q) of Bernoulli laws at 1 - q = e^-y."""
    success = p * (math.log(p) - math.log(-math.expm1(-y))) if p > 0 else 0.0
    failure = (1 - p) * (math.log(1 - p) + y) if p < 1 else 0.0
    return success + failure


def bound(p, level):
    """Return -ln(1 - q) of the largest q with kl(p, q) <= level."""
    if p >= 1:
        return math.inf
    low = -math.log1p(-p)
    if level <= 0:
        return low
    high = low + 1
    while kl(p, high) <= level:
        high = low + 2 * (high - low)
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return low
        if kl(p, middle) <= level:
            low = middle
        else:
            high = middle


def clipped(reward):
    return min(max(reward, 0.0), 1.0)


class KLUCB:
    def __init__(self, n_arms, c=0.0):
        self.rewards = [[] for _ in range(n_arms)]
        self.c = c

    def update(self, arm, reward):
        self.rewards[arm].append(clipped(reward))

    def explored(self, t):
        loglog = self.c * math.log(math.log(t)) if self.c and t > 1 else 0.0
        return max(0.0, math.log(t) + loglog)

    def select(self):
        pulls = [len(rewards) for rewards in self.rewards]
        if 0 in pulls:
            return pulls.index(0)
        explored = self.explored(1 + sum(pulls))
        bounds = [bound(math.fsum(own) / len(own), explored / len(own)) for own in self.rewards]
        return bounds.index(max(bounds))
