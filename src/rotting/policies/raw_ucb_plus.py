"""RAW-UCB++: RAW-UCB that explores an arm only up to its share of the rounds, over every window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotting.policies._windows.bonus import ShareParameters
from rotting.policies.raw_ucb import RAWUCB


@dataclass(frozen=True)
class RAWUCBPlus(ShareParameters, RAWUCB):
    """Pull the arm with the largest index min over h <= N of [mean of the last h + sqrt(2 sigma^2 alpha ln(q) / h)].

    q = x (1 + ln x)^(beta / alpha) with x = max(t / (K h), 1): a window that holds more than its share of the rounds
    has no bonus. With `shared=False` x is t; then beta = 0 gives RAW-UCB itself, decision by decision. ln q is computed
    as ln x + (beta / alpha) ln(1 + ln x).

    References
    ----------
    Seznec (2020), "Sequential machine learning for intelligent tutoring systems", chapter on RAW-UCB++.

    Examples
    --------
    >>> agent = RAWUCBPlus(sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([21, 79])
    """

    def _settings(self) -> np.ndarray:
        return self.bonus_settings(self.alpha, self.told("sigma"))
