"""Policies that identify the best arm, literally: phases and means as the papers write them."""

from __future__ import annotations

import math
from fractions import Fraction

from reference.red_ucb import REdUCB


class Phases:
    """Pull each arm of `left` until it has the pulls of the phase, the one with the fewest first; then leave fewer."""

    def __init__(self, n_arms, horizon):
        self.horizon, self.rewards = horizon, [[] for _ in range(n_arms)]
        self.left, self.before, self.phase = list(range(n_arms)), [0] * n_arms, 0
        self.lengths = self.phases(n_arms)

    def select(self):
        return min(self.left, key=lambda arm: (len(self.rewards[arm]) - self.before[arm], arm))

    def update(self, arm, reward):
        self.rewards[arm].append(reward)
        if self.phase < len(self.lengths):
            pulls, kept = self.lengths[self.phase]
            if all(len(self.rewards[arm]) - self.before[arm] >= pulls for arm in self.left):
                best_first = sorted(self.candidates(), key=lambda arm: (-self.score(arm), arm))
                self.left, self.phase = sorted(best_first[:kept]), self.phase + 1
                self.before = [len(each) for each in self.rewards]

    def candidates(self):
        return self.left

    def recommend(self):
        return min(self.left, key=lambda arm: (-self.score(arm), arm))

    def mean(self, arm, h):
        return math.fsum(self.rewards[arm][-h:]) / h if h else -math.inf


class SuccessiveRejects(Phases):
    def __init__(self, n_arms, horizon, share=1.0):
        self.share = share
        super().__init__(n_arms, horizon)

    def phases(self, n_arms):
        log_bar = Fraction(1, 2) + sum(Fraction(1, arm) for arm in range(2, n_arms + 1))
        n = [0] + [max(math.ceil((self.horizon - n_arms) / log_bar / (n_arms + 1 - j)), 0) for j in range(1, n_arms)]
        found = []
        for j in range(1, n_arms):
            if n[j] > n[j - 1]:
                found.append((n[j] - n[j - 1], n_arms - j))
            elif found:  # what this phase rejects is rejected with what the one before does
                found[-1] = (found[-1][0], n_arms - j)
        return found

    def score(self, arm):
        n = len(self.rewards[arm])
        return self.mean(arm, min(max(math.floor(self.share * n), 1), n))


class SequentialHalving(Phases):
    def __init__(self, n_arms, horizon, share=None, phases=None):
        self.share, self.count = share, phases
        super().__init__(n_arms, horizon)

    def phases(self, n_arms):
        count, left, found = self.count or math.ceil(math.log2(n_arms)), n_arms, []
        for phase in range(count):
            kept = 1 if phase == count - 1 else math.ceil(left / 2)
            pulls = self.horizon // (left * count)
            if pulls:
                found.append((pulls, kept))
            elif found:
                found[-1] = (found[-1][0], kept)
            left = kept
        return found

    def score(self, arm):
        n = len(self.rewards[arm])
        h = n - self.before[arm] if self.share is None else min(max(math.floor(self.share * n), 1), n)
        return self.mean(arm, h)


class RottingRejects(SuccessiveRejects):
    def __init__(self, n_arms, horizon, sigma, delta):
        self.width = sigma * math.sqrt(2 * math.log(1 / delta))
        super().__init__(n_arms, horizon)

    def candidates(self):
        return range(len(self.rewards))

    def score(self, arm):
        windows = []
        while (h := len(self.rewards[arm]) >> len(windows)) > 0:
            windows.append(h)
        for place, h in enumerate(windows):
            shorter = windows[place + 1 :]
            if all(self.mean(arm, h) - self.mean(arm, s) <= self.width * math.sqrt(1 / s - 1 / h) for s in shorter):
                return self.mean(arm, h)
        return -math.inf

    def recommend(self):
        return min(range(len(self.rewards)), key=lambda arm: (-self.score(arm), arm))


class RUCBE:
    def __init__(self, n_arms, sigma, a, horizon, share=0.25):
        self.estimates, self.a, self.sigma, self.horizon = REdUCB(n_arms, 0.0, share), a, sigma, horizon

    def update(self, arm, reward):
        self.estimates.update(arm, reward)

    def window(self, arm):
        return math.floor(self.estimates.share * len(self.estimates.rewards[arm]))

    def index(self, arm, a):
        n, h = len(self.estimates.rewards[arm]), self.window(arm)
        return self.estimates.index(arm, self.horizon) + self.sigma * (self.horizon - n + h - 1) * math.sqrt(a / h**3)

    def select(self):
        pulls = [len(rewards) for rewards in self.estimates.rewards]
        if self.window(pulls.index(min(pulls))) == 0:
            return pulls.index(min(pulls))
        return min(range(len(pulls)), key=lambda arm: (-self.index(arm, self.a), arm))

    def recommend(self):
        known = [arm for arm in range(len(self.estimates.rewards)) if self.window(arm)]
        return min(known, key=lambda arm: (-self.index(arm, 0.0), arm), default=0)
