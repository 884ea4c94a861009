"""The policies for infinitely many arms, literally: Kim, Vojnovic, Yun (2022) and (2024).

Arms are numbered 0, 1, 2, ...; after the last one, the first comes again.
"""

from __future__ import annotations

import math

from reference.exponential_weights import draw


class OneByOne:
    """Stay with an arm until it is time to leave it."""

    def __init__(self, n_arms):
        self.n_arms, self.k, self.rewards = n_arms, 0, []

    def select(self):
        return self.k

    def update(self, arm, reward):
        if arm == self.k:
            self.rewards.append(reward)
            if self.leaves():
                self.k, self.rewards = (self.k + 1) % self.n_arms, []


class UCBTP(OneByOne):
    def __init__(self, n_arms, rho, delta, horizon):
        super().__init__(n_arms)
        self.rho, self.delta, self.horizon = rho, delta, horizon

    def leaves(self):
        mu = 0.0
        for n, reward in enumerate(self.rewards, 1):
            mu = (mu * (n - 1) + reward + self.rho * (n - 1)) / n
        n = len(self.rewards)
        return mu - self.rho * n + math.sqrt(8 * math.log(self.horizon) / n) < 1 - self.delta


class UCBTASW(OneByOne):
    def __init__(self, n_arms, delta, horizon):
        super().__init__(n_arms)
        self.delta, self.horizon = delta, horizon

    def leaves(self):
        windows = [2**i for i in range(60) if 2**i <= len(self.rewards)]
        bounds = [math.fsum(self.rewards[-n:]) / n + math.sqrt(12 * math.log(self.horizon) / n) for n in windows]
        return min(bounds) < 1 - self.delta


class AUCBTP(UCBTP):
    """`uniforms` gives a uniform number for each round in which a block begins."""

    def __init__(self, n_arms, horizon, uniforms):
        super().__init__(n_arms, 1.0, 1.0, horizon)
        self.uniforms, self.block, self.t = uniforms, [], 0
        self.H = math.ceil(math.sqrt(horizon))
        self.B = max(math.ceil(1.5 * math.log2(self.H)) - 2, 1)
        self.alpha = min(1, math.sqrt(self.B * math.log(self.B) / ((math.e - 1) * math.ceil(horizon / self.H))))
        self.w = [1.0] * self.B

    def p(self):
        return [(1 - self.alpha) * w / sum(self.w) + self.alpha / self.B for w in self.w]

    def select(self):
        if not self.block:
            self.j = draw(self.p(), self.uniforms(self.t + 1))
            self.rho = 2.0 ** -(self.j + 3)
            self.delta = self.rho ** (1 / 3)
        return self.k

    def update(self, arm, reward):
        super().update(arm, reward)
        self.t += 1
        self.block.append(reward)
        if len(self.block) == self.H:
            log = math.log(self.horizon)
            gain = 0.5 + sum(self.block) / (186 * self.H * log + 4 * math.sqrt(self.H * log))
            self.w[self.j] *= math.exp(self.alpha / (self.B * self.p()[self.j]) * gain)
            self.block, self.rewards = [], []


class AUCBTASW(UCBTASW):
    def __init__(self, n_arms, horizon, uniforms):
        super().__init__(n_arms, 1.0, math.ceil(math.sqrt(horizon)))
        self.uniforms, self.block, self.t, self.T = uniforms, [], 0, horizon
        self.H = math.ceil(math.sqrt(horizon))
        self.B = max(math.ceil(math.log2(self.H)), 1)
        self.alpha = min(1, math.sqrt(self.B * math.log(self.B) / ((math.e - 1) * math.ceil(horizon / self.H))))
        self.w = [1.0] * self.B

    def p(self):
        return [(1 - self.alpha) * w / sum(self.w) + self.alpha / self.B for w in self.w]

    def select(self):
        if not self.block:
            self.j = draw(self.p(), self.uniforms(self.t + 1))
            self.delta = 0.5**self.j
        return self.k

    def update(self, arm, reward):
        super().update(arm, reward)
        self.t += 1
        self.block.append(reward)
        if len(self.block) == self.H:
            log = math.log(self.T)
            gain = 0.5 + sum(self.block) / (100 * self.H * log + 4 * math.sqrt(self.H * log))
            self.w[self.j] *= math.exp(self.alpha / (self.B * self.p()[self.j]) * gain)
            if self.rewards:
                self.k = (self.k + 1) % self.n_arms
            self.block, self.rewards = [], []


class SSUCB:
    def __init__(self, n_arms, sigma, horizon):
        self.sigma = sigma
        self.rewards = [[] for _ in range(min(n_arms, math.ceil(math.sqrt(horizon))))]
        self.t = 1

    def select(self):
        for arm, rewards in enumerate(self.rewards):
            if not rewards:
                return arm
        width = self.sigma * math.sqrt(2 * math.log(1 + self.t * math.log(self.t) ** 2))
        indices = [sum(rewards) / len(rewards) + width / math.sqrt(len(rewards)) for rewards in self.rewards]
        return indices.index(max(indices))

    def update(self, arm, reward):
        self.t += 1
        if arm < len(self.rewards):
            self.rewards[arm].append(reward)
