"""RGP-UCB and RGP-TS, literally: Gaussian process regression on all rewards at once, and every sequence tried."""

from __future__ import annotations

import itertools
import math

import numpy as np

from rotting._core.randomness import normal


class RGP:
    def __init__(self, n_arms, d, z_max, start, lengthscale, sigma, noisy, thompson):
        self.K, self.d, self.z_max, self.lengthscale = n_arms, d, z_max, lengthscale
        self.sigma, self.noisy, self.thompson = sigma, noisy, thompson
        self.seen = [([], []) for _ in range(n_arms)]  # rests and rewards
        self.z = [start] * n_arms
        self.plan = []
        self.lead = math.inf

    def kernel(self, a, b):
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        return np.exp(-((a[:, None] - b) ** 2) / (2 * self.lengthscale**2))

    def belief(self, arm):
        """The mean and the covariance of the arm's curve at all rests."""
        grid = np.arange(self.z_max + 1)
        z, y = self.seen[arm]
        solve = np.linalg.inv(self.kernel(z, z) + self.sigma**2 * np.eye(len(z)))
        cross = self.kernel(grid, z)
        return cross @ solve @ np.array(y), self.kernel(grid, grid) - cross @ solve @ cross.T

    def rests(self, sequence):
        """The rest of each arm of a sequence when it is pulled."""
        z, found = list(self.z), []
        for arm in sequence:
            found.append(z[arm])
            z = [min(each + 1, self.z_max) for each in z]
            z[arm] = 0
        return found

    def select(self, t, word):
        for arm, (rests, _) in enumerate(self.seen):
            if not rests:
                return arm
        if not self.plan:
            length, added = min(self.d, self.K), self.sigma**2 if self.noisy else 0.0
            beliefs = [self.belief(arm) for arm in range(self.K)]
            width = math.sqrt(2 * math.log(self.K**length * self.z_max * (t + length - 1) ** 2))
            if self.thompson:
                drawn = [self.drawn(arm, *beliefs[arm], word, added) for arm in range(self.K)]
            values = {}
            for sequence in itertools.permutations(range(self.K), length):
                pairs = list(zip(sequence, self.rests(sequence), strict=True))
                if self.thompson:
                    values[sequence] = sum(drawn[arm][z] for arm, z in pairs)
                else:
                    variance = sum(max(beliefs[arm][1][z, z], 0) + added for arm, z in pairs)
                    values[sequence] = sum(beliefs[arm][0][z] for arm, z in pairs) + width * math.sqrt(variance)
            best = sorted(values.values())
            self.lead = best[-1] - best[-2] if len(best) > 1 else math.inf
            self.plan = list(max(values, key=values.get))
        return self.plan[0]

    def drawn(self, arm, mean, covariance, word, added):
        size = self.z_max + 1
        if min(self.d, self.K) == 1:
            z = self.z[arm]
            return {z: mean[z] + math.sqrt(max(covariance[z, z], 0) + added) * normal(word, arm)}
        factor = np.linalg.cholesky(covariance + (added + 1e-9) * np.eye(size))
        return mean + factor @ np.array([normal(word, arm * size + z) for z in range(size)])

    def update(self, arm, reward):
        self.seen[arm][0].append(self.z[arm])
        self.seen[arm][1].append(reward)
        self.z = [min(each + 1, self.z_max) for each in self.z]
        self.z[arm] = 0
        self.plan = self.plan[1:]
