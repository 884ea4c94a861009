"""Window sums, exact and rounded once, for all windows of an arm."""

from __future__ import annotations

import math
from itertools import accumulate

# Rewards are read as whole multiples of 2^-200, so that Python's integers add them exactly.
BITS = 200


def window_sums(rewards):
    """Return [W(1), W(2), ..., W(N)], W(h) = math.fsum of the last h rewards, but in O(N) instead of O(N^2)."""
    return _rounded_sums([whole(reward) for reward in rewards])


def _rounded_sums(wholes):
    """Return the same, of rewards in units of 2^-BITS."""
    # float() of an integer rounds correctly.
    return [math.ldexp(float(total), -BITS) for total in accumulate(reversed(wholes))]


def whole(reward):
    """Return the reward in units of 2^-BITS."""
    scaled = math.ldexp(reward, BITS)
    assert scaled == int(scaled), f"{reward!r} is too fine for the slow side"
    return int(scaled)


class Histories:
    """The rewards of every arm, and the sums of all their windows."""

    def __init__(self, n_arms):
        self.rewards = [[] for _ in range(n_arms)]
        self._wholes = [[] for _ in range(n_arms)]
        self._sums = [[] for _ in range(n_arms)]

    def append(self, arm, reward):
        self.rewards[arm].append(reward)
        self._wholes[arm].append(whole(reward))

    @property
    def t(self):
        """The number of the coming round."""
        return 1 + sum(self.pulls(arm) for arm in self.arms)

    @property
    def arms(self):
        return range(len(self.rewards))

    def pulls(self, arm):
        return len(self.rewards[arm])

    def unpulled(self):
        """Return the arms without a pull, in order."""
        return [arm for arm in self.arms if self.pulls(arm) == 0]

    def sums(self, arm):
        """Return [W(1), ..., W(N)] of an arm; they only change when it is pulled."""
        if len(self._sums[arm]) != self.pulls(arm):
            self._sums[arm] = _rounded_sums(self._wholes[arm])
        return self._sums[arm]
