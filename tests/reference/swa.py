"""SWA and wSWA, literally: Levine, Crammer, Mannor (2017), and the doubling of the horizon with or without memory."""

from __future__ import annotations

import math


class SWA:
    """SWA for a known horizon; alpha=None asks for the theoretical (2 mu_max)^(-2/3)."""

    def __init__(self, n_arms, alpha, sigma, horizon, mu_max=None):
        if alpha is None:
            alpha = (2 * mu_max) ** (-2 / 3)
        self.factor = alpha * (4 * sigma / n_arms) ** (2 / 3)
        self.horizon = horizon
        self.rewards = [[] for _ in range(n_arms)]

    def window(self):
        """Return M."""
        horizon = self.horizon
        size = self.factor * horizon ** (2 / 3) * math.log(math.sqrt(2) * horizon) ** (1 / 3)
        return max(1, math.ceil(size))

    def select(self):
        window = self.window()
        pulls = [len(rewards) for rewards in self.rewards]
        if min(pulls) < window:
            return pulls.index(min(pulls))
        sums = [math.fsum(rewards[-window:]) for rewards in self.rewards]
        return sums.index(max(sums))

    def update(self, arm, reward):
        self.rewards[arm].append(reward)


class WSWA(SWA):
    """SWA that keeps its samples and its clock when the horizon doubles."""

    def __init__(self, n_arms, alpha, sigma, mu_max=None):
        super().__init__(n_arms, alpha, sigma, horizon=1, mu_max=mu_max)
        self.clock = 0

    def update(self, arm, reward):
        super().update(arm, reward)
        self.clock += 1
        if self.clock == self.horizon:
            self.horizon *= 2
            self.double()

    def double(self):
        pass


class RestartedWSWA(WSWA):
    """SWA anew at each doubling: samples and clock are forgotten, so a horizon of T lasts for T rounds."""

    def double(self):
        self.rewards = [[] for _ in self.rewards]
        self.clock = 0
