"""R-SR: successive rejects for arms that improve, on the means of their latest rewards."""

from __future__ import annotations

from dataclasses import dataclass

from rotting._core.parameters import parameter
from rotting.policies.successive_rejects import SuccessiveRejects


@dataclass(frozen=True)
class RSR(SuccessiveRejects, made_for="arms that rise"):
    """Identify the arm that will be best: successive rejects on the means of the last floor(share N) rewards.

    With share = 1 it is SuccessiveRejects.

    References
    ----------
    Mussi, Montenegro, Trovo, Restelli, Metelli (2024), "Best arm identification for stochastic rising bandits".

    Examples
    --------
    >>> agent = RSR(horizon=200).start(n_arms=2)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, agent.pulls[1] / (agent.pulls[1] + 10.0)][arm])
    >>> agent.recommend()
    1
    """

    share: float = parameter(0.25, above=0, maximum=1, doc="the share of an arm's rewards, the latest (epsilon)")
