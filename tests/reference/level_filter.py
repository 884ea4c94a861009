"""The level filter, literally: Bayes' rule over the 101 levels that an arm may have started with."""

from __future__ import annotations

import math


class LevelFilter:
    def __init__(self, n_arms, width, kept, rule):
        self.width, self.kept, self.rule = width, kept, rule
        self.rewards = [[] for _ in range(n_arms)]
        self.chances = [[1 / 101] * 101 for _ in range(n_arms)]

    def payout(self, level, pulls):
        for _ in range(pulls):
            level *= self.kept
        return math.ceil(level) / 101 if self.rule == "kaggle" else level / 100

    def update(self, arm, reward):
        pulls, reward = len(self.rewards[arm]), min(max(reward, 0.0), 1.0)
        payouts = [self.payout(float(level), pulls) for level in range(101)]
        likelihoods = [reward * p + (1.0 - reward) * (1.0 - p) for p in payouts]
        evidence = 0.0
        for chance, likelihood in zip(self.chances[arm], likelihoods, strict=True):
            evidence += chance * likelihood
        if evidence > 0:
            self.chances[arm] = [c * (x / evidence) for c, x in zip(self.chances[arm], likelihoods, strict=True)]
        self.rewards[arm].append(reward)

    def index(self, arm):
        payouts = [self.payout(float(level), len(self.rewards[arm])) for level in range(101)]
        mean = variance = 0.0
        for chance, p in zip(self.chances[arm], payouts, strict=True):
            mean += chance * p
        for chance, p in zip(self.chances[arm], payouts, strict=True):
            variance += chance * (p - mean) ** 2
        return mean + self.width * math.sqrt(variance)

    def select(self):
        indices = [self.index(arm) for arm in range(len(self.rewards))]
        return indices.index(max(indices))
