"""Policies of Levine, Crammer, Mannor (2017), literally: every sum from scratch."""

from __future__ import annotations

import math


class CTOSIM:
    """The arms that it may pull next; `formulas` are functions of the pulls so far."""

    def __init__(self, n_arms, formulas):
        self.formulas = formulas
        self.rewards = [[] for _ in range(n_arms)]

    def update(self, arm, reward):
        self.rewards[arm].append(reward)

    def choices(self):
        for arm, own in enumerate(self.rewards):
            if not own:
                return [arm]
        values = []
        for own in self.rewards:
            gaps = [abs(math.fsum(own) - math.fsum(mu(j) for j in range(len(own)))) for mu in self.formulas]
            values.append(self.formulas[gaps.index(min(gaps))](len(own)))
        best = [arm for arm, value in enumerate(values) if value == max(values)]
        fewest = min(len(self.rewards[arm]) for arm in best)
        return [arm for arm in best if len(self.rewards[arm]) == fewest]


class DCTOUCB:
    """`m` is the decision point, None for one in every round."""

    def __init__(self, n_arms, formulas, sigma, m=None):
        self.formulas, self.sigma, self.m = formulas, sigma, m
        self.rewards = [[] for _ in range(n_arms)]

    def update(self, arm, reward):
        self.rewards[arm].append(reward)

    def halves(self, values):
        half = len(values) // 2
        return math.fsum(values[:half]) - math.fsum(values[half:])

    def fitted(self, own):
        seen = own if self.m is None else own[: self.m]
        distances = [abs(self.halves(seen) - self.halves([mu(j) for j in range(len(seen))])) for mu in self.formulas]
        return self.formulas[distances.index(min(distances))], sorted(distances)

    def select(self, t):
        pulls = [len(own) for own in self.rewards]
        self.lead = math.inf
        if min(pulls) < (self.m or 1):
            return pulls.index(min(pulls))
        indices = []
        for own in self.rewards:
            mu, distances = self.fitted(own)
            if len(distances) > 1 and distances[0] > 1e-9:
                self.lead = min(self.lead, distances[1] - distances[0])
            constant = math.fsum(r - mu(j) for j, r in enumerate(own)) / len(own)
            bonus = math.sqrt(8 * self.sigma**2 * math.log(t) / len(own))
            indices.append(constant + mu(len(own)) + bonus)
        if len(indices) > 1:
            first, second = sorted(indices)[-1:-3:-1]
            self.lead = min(self.lead, first - second)
        return indices.index(max(indices))
