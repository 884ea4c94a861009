"""EFF-FEWA, literally: the paper's appendix E (EFF-FEWA, EFF_Filter, EFF_Update), all three readings, any grid."""

from __future__ import annotations

import math

from reference.fewa import filter_width, passing


class Blocks:
    """The main text for one arm: window 2^j is replaced by the pending sum of 2^j newer rewards.

    The reward that creates a window is not pending in it.
    """

    def __init__(self):
        self.rewards = []
        self.sums = []  # s^c, as sums
        self.pending = []  # s^p, as lists; n_{i,j} is their length

    def update(self, reward):
        self.rewards.append(reward)
        for j in range(len(self.sums)):
            self.pending[j].append(reward)
            if len(self.pending[j]) == 2**j:
                self.sums[j] = math.fsum(self.pending[j])
                self.pending[j] = []
        if len(self.rewards) == 2 ** len(self.sums):
            self.sums.append(math.fsum(self.rewards))
            self.pending.append([])

    def size(self, j):
        return 2**j


class Printed(Blocks):
    """EFF_Update of the appendix for one arm, line by line, n_{i,j} <- n_i + 1 read as n_{i,j} + 1."""

    def update(self, reward):
        self.rewards.append(reward)
        n = len(self.rewards)
        if n == 2 ** len(self.sums):  # exists j such that N = 2^j
            self.sums.append(math.fsum(self.rewards))
            self.pending.append([])
        for j in range(int(math.log2(n)) + 1):
            self.pending[j].append(reward)
            if len(self.pending[j]) == 2**j:
                self.sums[j] = math.fsum(self.pending[j])
                self.pending[j] = []


class Nested:
    """One arm's windows h_0 < h_1 < ..., h_{j+1} = ceil(m h_j), window h_j refreshed every w_j pulls.

    w_0 = 1, w_{j+1} = w_j ceil((h_{j+1} - h_j) / w_j). At m = 2, window 2^j is refreshed every 2^(j-1) pulls.
    """

    def __init__(self, grid):
        self.grid = grid
        self.sizes = [1]
        self.periods = [1]
        self.rewards = []
        self.sums = []
        self.ages = []  # pulls since a window was created

    def update(self, reward):
        self.rewards.append(reward)
        for j in range(len(self.sums)):
            self.ages[j] += 1
            if self.ages[j] % self.periods[j] == 0:
                self.sums[j] = math.fsum(self.rewards[-self.sizes[j] :])
        if len(self.rewards) == self.size(len(self.sums)):
            self.sums.append(math.fsum(self.rewards))
            self.ages.append(0)

    def size(self, j):
        while len(self.sizes) <= j:
            h, w = self.sizes[-1], self.periods[-1]
            # The larger of the two: close to 1, a rounded m h may be h itself.
            following = max(h + 1, math.ceil(self.grid * h))
            self.sizes.append(following)
            self.periods.append(w * math.ceil((following - h) / w))
        return self.sizes[j]


class EffFEWA:
    def __init__(self, n_arms, alpha, sigma, delta0=1.0, grid=2.0, refresh="nested"):
        kinds = {"blocks": Blocks, "printed": Printed, "nested": lambda: Nested(grid)}
        self.arms = [kinds[refresh]() for _ in range(n_arms)]
        self.printed = refresh == "printed"
        self.parameters = alpha, sigma, delta0
        self.dropped = [None] * n_arms  # the window that dropped each arm in the last select(), None: stayed

    def update(self, arm, reward):
        self.arms[arm].update(reward)

    def select(self):
        pulls = [len(arm.rewards) for arm in self.arms]
        if 0 in pulls:
            return pulls.index(0)
        theta = filter_width(1 + sum(pulls), *self.parameters)
        active = list(range(len(self.arms)))
        self.dropped = [None] * len(active)
        j = 0
        while True:
            h = self.arms[0].size(j)
            before = active
            active = passing(before, [self.arms[i].sums[j] for i in before], theta * math.sqrt(h))
            for i in set(before) - set(active):
                self.dropped[i] = h
            j += 1
            if self.printed:
                young = [i for i in active if pulls[i] <= 2**j]
            else:
                young = [i for i in active if len(self.arms[i].sums) <= j]  # no statistic at the next level
            if young:
                return min(young, key=lambda i: (pulls[i], i))
