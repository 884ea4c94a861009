"""EFF-RAW-UCB++: RAW-UCB++ on exponentially growing windows, with a few stored sums per arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotting.policies._windows.bonus import ShareParameters
from rotting.policies.eff_raw_ucb import EffRAWUCB


@dataclass(frozen=True)
class EffRAWUCBPlus(ShareParameters, EffRAWUCB):
    """RAW-UCB++ with its minimum taken over windows 1, 2, 4, ... whose sums are refreshed now and then.

    The bonus at window h is sqrt(2 sigma^2 alpha ln(q) / h), q = x (1 + ln x)^(beta / alpha), x = max(t / (K h), 1), as
    `RAWUCBPlus` has it; windows and their refreshing are those of `EffRAWUCB`.

    References
    ----------
    Seznec (2020), "Sequential machine learning for intelligent tutoring systems", chapter on RAW-UCB++.

    Examples
    --------
    >>> agent = EffRAWUCBPlus(sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([21, 79])
    """

    def _settings(self) -> np.ndarray:
        return self.bonus_settings(self.alpha, self.told("sigma"))
