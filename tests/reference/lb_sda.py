"""LB-SDA, literally: rounds of duels over lists of rewards."""

from __future__ import annotations

import math


class LBSDA:
    def __init__(self, n_arms, forced):
        self.rewards = [[] for _ in range(n_arms)]
        self.due, self.r, self.forced = set(range(n_arms)), 0, forced

    def select(self):
        return min(self.due)

    def update(self, arm, reward):
        self.rewards[arm].append(reward)
        self.due.discard(arm)
        if self.due:
            return
        self.r += 1
        most = max(map(len, self.rewards))
        tied = [arm for arm, own in enumerate(self.rewards) if len(own) == most]
        leader = max(tied, key=lambda arm: (math.fsum(self.rewards[arm]), -arm))
        for challenger, own in enumerate(self.rewards):
            n = len(own)
            if n == most:
                continue
            wins = math.fsum(own) >= math.fsum(self.rewards[leader][-n:]) if n else True
            if wins or n < math.sqrt(self.forced * math.log(self.r)):
                self.due.add(challenger)
        self.due = self.due or {leader}
