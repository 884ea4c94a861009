"""FEWA, literally: algorithms 1 (FEWA) and 2 (Filter) of the paper, all windows 1..N one by one."""

from __future__ import annotations

import math

from reference.sums import Histories


def filter_width(t, alpha, sigma, delta0):
    """Return theta: the filter at window h keeps gaps of window sums up to theta sqrt(h) = 2 h c(h, delta_t)."""
    log_of_inverse_delta = max(0.0, alpha * math.log(t) - math.log(delta0))
    return sigma * math.sqrt(8.0 * log_of_inverse_delta)


def passing(active, sums, limit):
    """Return the active arms whose sum lies within `limit` (inclusive) of the largest; `sums` belong to `active`."""
    largest = max(sums)
    if not largest - min(sums) > limit:
        return active
    return [arm for arm, total in zip(active, sums, strict=True) if not largest - total > limit]


class FEWA:
    def __init__(self, n_arms, alpha, sigma, delta0=1.0):
        self.history = Histories(n_arms)
        self.parameters = alpha, sigma, delta0
        self.dropped = [None] * n_arms  # the window that dropped each arm in the last select(), None: stayed

    def update(self, arm, reward):
        self.history.append(arm, reward)

    def select(self):
        history = self.history
        for arm in history.unpulled():
            return arm
        theta = filter_width(history.t, *self.parameters)
        pulls = [history.pulls(arm) for arm in history.arms]
        window_sums = [history.sums(arm) for arm in history.arms]
        active = list(history.arms)
        self.dropped = [None] * len(active)
        shortest = min(pulls)  # of the active arms
        h = 1
        while True:
            before = active
            active = passing(before, [window_sums[arm][h - 1] for arm in before], theta * math.sqrt(h))
            if len(active) < len(before):
                for arm in set(before) - set(active):
                    self.dropped[arm] = h
                shortest = min(pulls[arm] for arm in active)
            if h == shortest:
                return min(active, key=lambda arm: (pulls[arm], arm))
            h += 1
