"""CUSUM-UCB, literally: the two-sided CUSUM test computed anew from an arm's rewards since its last restart."""

from __future__ import annotations

import math


def has_changed(rewards, first, drift, threshold):
    """Say whether rewards have moved away from the mean of the first rewards, `first` of them."""
    if len(rewards) <= first:
        return False
    level = math.fsum(rewards[:first]) / first
    up = down = 0.0
    for reward in rewards[first:]:
        up = max(0.0, up + ((reward - level) - drift))
        down = max(0.0, down + ((level - reward) - drift))
    return max(up, down) >= threshold


def since_restarts(history, n_arms, first, drift, threshold):
    """Return each arm's rewards since its last restart, and how many restarts there were."""
    rewards, restarts = [[] for _ in range(n_arms)], 0
    for arm, reward in history:
        rewards[arm].append(reward)
        if has_changed(rewards[arm], first, drift, threshold):
            rewards[arm] = []
            restarts += 1
    return rewards, restarts


def choose(rewards, alpha, xi, uniforms):
    """Return the arm to pull; `uniforms(j)` is the round's j-th uniform number."""
    n_arms = len(rewards)
    if uniforms(0) < alpha:
        return int(n_arms * uniforms(1))
    pulls = [len(own) for own in rewards]
    if 0 in pulls:
        return pulls.index(0)
    width = math.sqrt(xi * math.log(sum(pulls)))
    indices = [math.fsum(own) / len(own) + width / math.sqrt(len(own)) for own in rewards]
    return indices.index(max(indices))
