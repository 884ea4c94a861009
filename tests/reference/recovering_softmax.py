"""RecoveringSoftmax, literally: a list of all rounds, and every mean taken from it again in every round."""

from __future__ import annotations

import math

from rotting._core.randomness import uniform


class RecoveringSoftmax:
    def __init__(self, n_arms, gamma, half_life, tau, prior, least):
        self.K, self.gamma, self.half_life, self.tau = n_arms, gamma, half_life, tau
        self.prior, self.least = prior, least
        self.rounds = []  # (eligible arms, their probabilities, the arm that was pulled, its reward)

    def mean(self, pairs):
        """The weighted mean of rewards, and Kish's effective sample size."""
        weights = [1 / p for p, _ in pairs if p >= self.least]
        if not weights:
            return None, 0.0
        mean = sum(r / p for p, r in pairs if p >= self.least) / sum(weights)
        return mean, sum(weights) ** 2 / sum(w * w for w in weights)

    def lift(self, arm):
        eligible = [each for each in self.rounds if arm in each[0]]
        if not eligible:
            return 0.0
        prior = sum(reward for *_, reward in eligible) / len(eligible)
        sent = self.mean([(p[arm], reward) for _, p, chosen, reward in eligible if chosen == arm])
        kept = self.mean([(1 - p[arm], reward) for _, p, chosen, reward in eligible if chosen != arm])
        if self.prior == 0 and (sent[0] is None or kept[0] is None):
            return 0.0
        plus, minus = (
            prior if mean is None else (mean * n + prior * self.prior) / (n + self.prior) for mean, n in (sent, kept)
        )
        return (plus - minus) / minus if minus > 0 else 0.0

    def probabilities(self, eligible, rest):
        score = {
            arm: (self.lift(arm) - self.gamma * 0.5 ** (rest[arm] / self.half_life)) / self.tau for arm in eligible
        }
        best = max(score.values())
        weight = {arm: math.exp(score[arm] - best) for arm in eligible}
        return {arm: weight[arm] / sum(weight.values()) for arm in eligible}

    def select(self, eligible, rest, word):
        left = uniform(word, 0)
        found = self.probabilities(eligible, rest)
        for arm in sorted(eligible):
            left -= found[arm]
            if left < 0:
                return arm
        return max(eligible)

    def update(self, eligible, rest, arm, reward):
        if arm in eligible:
            self.rounds.append((list(eligible), self.probabilities(eligible, rest), arm, reward))
