"""M-UCB, literally: UCB1 with exploration in turn, started anew when two halves of a window differ."""

from __future__ import annotations

import math


class MUCB:
    def __init__(self, n_arms, window, threshold, gamma, sigma=1.0):
        self.n_arms, self.window, self.threshold, self.gamma, self.sigma = n_arms, window, threshold, gamma, sigma
        self.t, self.restart = 1, 0
        self.restarts = 0
        self.rewards = [[] for _ in range(n_arms)]

    def select(self):
        since = self.t - self.restart
        if self.gamma > 0:
            turn = since % max(self.n_arms, math.floor(self.n_arms / self.gamma))
            if turn == 0 and self.n_arms == max(self.n_arms, math.floor(self.n_arms / self.gamma)):
                turn = self.n_arms
            if 1 <= turn <= self.n_arms:
                return turn - 1
        pulls = [len(own) for own in self.rewards]
        if 0 in pulls:
            return pulls.index(0)
        width = self.sigma * math.sqrt(2 * math.log(since))
        indices = [math.fsum(own) / len(own) + width / math.sqrt(len(own)) for own in self.rewards]
        return indices.index(max(indices))

    def update(self, arm, reward):
        own = self.rewards[arm]
        own.append(reward)
        if len(own) >= self.window:
            half = self.window // 2
            last = own[-self.window :]
            if abs(math.fsum(last[half:]) - math.fsum(last[:half])) > self.threshold:
                self.rewards = [[] for _ in self.rewards]
                self.restart = self.t
                self.restarts += 1
        self.t += 1
