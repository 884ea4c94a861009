"""Elimination of rising arms, literally: totals added up round by round."""

from __future__ import annotations


class RisingElimination:
    def __init__(self, n_arms, horizon, highest=1.0):
        self.horizon, self.highest = horizon, highest
        self.rewards = [[] for _ in range(n_arms)]
        self.left = set(range(n_arms))

    def update(self, arm, reward):
        self.rewards[arm].append(reward)
        if min(map(len, self.rewards)) < 2:
            return
        rounds = max(self.horizon - sum(map(len, self.rewards)), 0)
        pessimistic = [sum([rewards[-1]] * rounds) for rewards in self.rewards]
        optimistic = []
        for rewards in self.rewards:
            step = max(rewards[-1] - rewards[-2], 0.0)
            steps = [min(rewards[-1] + s * step, max(self.highest, rewards[-1])) for s in range(1, rounds + 1)]
            optimistic.append(sum(steps))
        best = max(pessimistic[arm] for arm in self.left)
        self.left = {arm for arm in self.left if not optimistic[arm] < best}

    def select(self):
        return min(self.left, key=lambda arm: (len(self.rewards[arm]), arm))
