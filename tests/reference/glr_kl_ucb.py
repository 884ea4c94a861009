"""GLR-klUCB, literally: every split of an arm's rewards since its last restart, by its likelihood ratio."""

from __future__ import annotations

import math

from reference.kl_ucb import bound, clipped


def kl(p, q):
    """Return kl(p, q) of Bernoulli laws."""
    success = p * math.log(p / q) if p > 0 else 0.0
    failure = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return success + failure


def has_changed(rewards, delta, step):
    n, mean = len(rewards), math.fsum(rewards) / len(rewards)
    for s in range(step, n, step):
        older, newer = math.fsum(rewards[:s]) / s, math.fsum(rewards[s:]) / (n - s)
        if s * kl(older, mean) + (n - s) * kl(newer, mean) > math.log(n**1.5 / delta):
            return True
    return False


class GLRKLUCB:
    def __init__(self, n_arms, *, local, alpha0, delta, every, step):
        self.n_arms, self.local, self.alpha0, self.delta = n_arms, local, alpha0, delta
        self.every, self.step = every, step
        self.t, self.restarts = 1, 0
        self.rewards = [[] for _ in range(n_arms)]
        self.restarted = [0] * n_arms

    def select(self):
        if self.alpha0 > 0:
            period = math.floor(self.n_arms / min(1.0, self.alpha0 * math.sqrt(1 + self.restarts)))
            turn = (self.t - 1) % period
            if turn < self.n_arms:
                return turn
        pulls = [len(own) for own in self.rewards]
        if 0 in pulls:
            return pulls.index(0)
        bounds = [
            bound(math.fsum(own) / len(own), math.log(self.t - since) / len(own))
            for own, since in zip(self.rewards, self.restarted, strict=True)
        ]
        return bounds.index(max(bounds))

    def update(self, arm, reward):
        self.rewards[arm].append(clipped(reward))
        if self.t % self.every == 0 and has_changed(self.rewards[arm], self.delta, self.step):
            self.restarts += 1
            for other in [arm] if self.local else range(self.n_arms):
                self.rewards[other] = []
                self.restarted[other] = self.t
        self.t += 1
