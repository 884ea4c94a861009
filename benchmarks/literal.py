"""FEWA as the pseudo-code has it, compiled: every window of every active arm, one by one, O(K t) per round.

The yardstick for how much the package's exact FEWA saves. It keeps plain prefix sums in one array per arm.
"""

import math

import numba
import numpy as np

from rotting.problems.kernel import Pulls, draw_reward, value_now


@numba.njit(error_model="numpy")
def play_literally(problem, noise_keys, horizon, alpha, sigma):
    """Play FEWA(alpha, sigma) for `horizon` rounds; return the pulls of each arm."""
    n_arms = len(noise_keys)
    prefix = np.zeros((n_arms, horizon + 1))
    pulls = np.zeros(n_arms, np.int64)
    memory = Pulls(pulls)
    active = np.zeros(n_arms, np.int64)
    for t in range(1, horizon + 1):
        arm = t - 1 if t <= n_arms else _choose(prefix, pulls, active, t, alpha, sigma)
        n = pulls[arm]
        mean = value_now(problem, memory, arm, t)
        prefix[arm, n + 1] = prefix[arm, n] + draw_reward(problem, arm, mean, noise_keys[arm], n)
        pulls[arm] = n + 1
    return pulls


@numba.njit(error_model="numpy")
def _choose(prefix, pulls, active, t, alpha, sigma):
    theta = sigma * math.sqrt(8.0 * alpha * math.log(t))
    left = len(pulls)
    active[:] = np.arange(left)
    h = 1
    while True:
        highest = -np.inf
        for place in range(left):
            arm = active[place]
            highest = max(highest, prefix[arm, pulls[arm]] - prefix[arm, pulls[arm] - h])
        kept, least = 0, active[0]
        fewest = 1 << 62
        for place in range(left):
            arm = active[place]
            if highest - (prefix[arm, pulls[arm]] - prefix[arm, pulls[arm] - h]) <= theta * math.sqrt(h):
                active[kept] = arm
                kept += 1
                if pulls[arm] < fewest:
                    least, fewest = arm, pulls[arm]
        left = kept
        if fewest == h:
            return least
        h += 1
