"""ROGUE-UCB and ROGUE-TS, literally: a list of pulls, and linear algebra on all of them in every round."""

from __future__ import annotations

import math

import numpy as np

from rotting._core.randomness import normal, uniform


class Rogue:
    def __init__(self, n_arms, rates, span, sigma, radius=1.0, floor=0.0):
        self.K, self.span, self.sigma, self.radius, self.floor = n_arms, span, sigma, radius, floor
        self.rates = [number / rates for number in range(rates)]
        self.ridge = (sigma / span) ** 2
        self.played = []
        self.seen = [[] for _ in range(n_arms)]  # (the round, the reward)

    def tired(self, arm, rate, rounds):
        """s of an arm after so many rounds."""
        s = 0.0
        for other in self.played[:rounds]:
            s = rate * (s + (other == arm))
        return s

    def design(self, arm, rate):
        return np.array([[1.0, -self.tired(arm, rate, t)] for t, _ in self.seen[arm]])

    def fit(self, arm, rate):
        """Level and drop, what is left, and the matrix."""
        x, y = self.design(arm, rate), np.array([reward for _, reward in self.seen[arm]])
        matrix = x.T @ x + self.ridge * np.eye(2)
        found = np.linalg.solve(matrix, x.T @ y)
        return found, ((y - x @ found) ** 2).sum() + self.ridge * (found**2).sum(), matrix

    def index(self, arm, t):
        fits = [self.fit(arm, rate) for rate in self.rates]
        best = min(range(len(fits)), key=lambda each: fits[each][1])
        parameters, n = fits[best][0], len(self.seen[arm])
        means = self.design(arm, self.rates[best]) @ parameters
        eta = self.span**2 / (2 * self.sigma**2)
        room = 2 * self.sigma**2 * n * self.radius * math.sqrt(eta * math.log(t) / (4 * n))
        room += self.ridge * (parameters**2).sum()
        values = []
        for rate in self.rates:
            x = self.design(arm, rate)
            matrix = x.T @ x + self.ridge * np.eye(2)
            nearest = np.linalg.solve(matrix, x.T @ means)
            left = ((means - x @ nearest) ** 2).sum() + self.ridge * (nearest**2).sum()
            if left <= room:
                v = np.array([1.0, -self.tired(arm, rate, len(self.played))])
                values.append(v @ nearest + math.sqrt((room - left) * (v @ np.linalg.solve(matrix, v))))
        return max(values)

    def indices(self, t):
        return [math.inf if not seen else self.index(arm, t) for arm, seen in enumerate(self.seen)]

    def draws(self, word):
        values = []
        for arm in range(self.K):
            fits = [self.fit(arm, rate) for rate in self.rates]
            logs = np.array([-0.5 * (left / self.sigma**2 + math.log(np.linalg.det(m))) for _, left, m in fits])
            weights = np.exp(logs - logs.max())
            place = int(np.searchsorted(np.cumsum(weights), uniform(word, arm) * weights.sum(), side="right"))
            parameters, _, matrix = fits[place]
            v = np.array([1.0, -self.tired(arm, self.rates[place], len(self.played))])
            spread = self.sigma * math.sqrt(v @ np.linalg.solve(matrix, v))
            values.append(v @ parameters + spread * normal(word, self.K + arm))
        return values

    def thompson(self, word):
        for arm, seen in enumerate(self.seen):
            if not seen:
                return arm, math.inf
        if uniform(word, 2 * self.K) < self.K * self.floor:
            return int(uniform(word, 2 * self.K + 1) * self.K), math.inf
        values = self.draws(word)
        ordered = sorted(values)
        return int(np.argmax(values)), ordered[-1] - ordered[-2] if self.K > 1 else math.inf

    def update(self, arm, reward):
        self.seen[arm].append((len(self.played), reward))
        self.played.append(arm)
