"""LinUCRL, literally: regressions by NumPy, plans by value iteration over tuples of arms."""

from __future__ import annotations

import itertools
import math

import numpy as np


class LinUCRL:
    def __init__(
        self, n_arms, window, degree, factor, alpha=2.0, ridge=0.5, discount=0.99, sweeps=100, reading="paper"
    ):
        self.K, self.w, self.d = n_arms, window, degree
        self.factor, self.alpha, self.ridge, self.discount, self.sweeps = factor, alpha, ridge, discount, sweeps
        self.program = reading == "program"
        self.seen = [[] for _ in range(n_arms)]  # (x, reward) of each pull
        self.last = ()  # the last w arms, the latest first
        self.before = None  # pulls of each arm before this episode

    def features(self, last, arm):
        rho = sum(1 / tau for tau, other in enumerate(last, 1) if other == arm)
        return np.array([rho**j for j in range(self.d + 1)])

    def update(self, arm, reward):
        self.seen[arm].append((self.features(self.last, arm), reward))
        self.last = (arm, *self.last)[: self.w]
        pulls = [len(seen) for seen in self.seen]
        if min(pulls) == 0:
            return
        if self.program:
            here = pulls[arm] - (self.before or [0] * self.K)[arm]
            if not (here > 1 and here >= (self.before or [0] * self.K)[arm]):
                return
        elif self.before is not None:
            here = pulls[arm] - self.before[arm]
            if not (here > 1 and here >= self.before[arm]):
                return
        self.before = pulls
        self.plan()

    def plan(self):
        t = sum(map(len, self.seen)) + (not self.program)
        length = sum((1 + math.log(self.w)) ** j for j in range(self.d + 1))
        reward = {}
        for arm, seen in enumerate(self.seen):
            X, r = np.array([x for x, _ in seen]), np.array([r for _, r in seen])
            inverse = np.linalg.inv(self.ridge * np.eye(self.d + 1) + X.T @ X)
            theta = inverse @ X.T @ r
            inside = self.K * t**self.alpha * (1 + len(seen) * length / self.ridge)
            c = math.sqrt((self.d + 1) * math.log(inside)) + math.sqrt(self.ridge)
            for s in itertools.product(range(self.K), repeat=self.w):
                x = self.features(s, arm)
                reward[s, arm] = theta @ x + self.factor * c * math.sqrt(x @ inverse @ x)
        values = dict.fromkeys(itertools.product(range(self.K), repeat=self.w), 0.0)
        for _ in range(self.sweeps):
            values = {
                s: max(reward[s, a] + self.discount * values[(a, *s)[: self.w]] for a in range(self.K)) for s in values
            }
        self.worth = {(s, a): r + self.discount * values[(a, *s)[: self.w]] for (s, a), r in reward.items()}

    def select(self):
        for arm, seen in enumerate(self.seen):
            if not seen:
                return arm
        s = (*self.last, *[0] * self.w)[: self.w]
        if not hasattr(self, "worth"):
            self.lead = math.inf
            return 0
        worths = [self.worth[s, arm] for arm in range(self.K)]
        self.lead = sorted(worths)[-1] - sorted(worths)[-2] if self.K > 1 else math.inf
        return worths.index(max(worths))
