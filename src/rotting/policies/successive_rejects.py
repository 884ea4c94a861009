"""Successive rejects: which arm is best, in phases that each reject one arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rotting._core.parameters import parameter
from rotting.policies._contract.phases import Phases, PhasesState, recommend, select, update


def rejections(horizon: int, n_arms: int) -> list[tuple[int, int]]:
    """Return the phases of successive rejects: pulls of each arm that is left, and arms kept.

    >>> rejections(200, 3)
    [(50, 2), (24, 1)]
    """
    logarithm = 0.5 + math.fsum(1 / arm for arm in range(2, n_arms + 1))
    rounds, made, found = (horizon - n_arms) / logarithm, 0, []
    for left in range(n_arms, 1, -1):
        end = max(math.ceil(rounds / left), 0)
        found.append((end - made, left - 1))
        made = end
    return found


@dataclass(frozen=True)
class SuccessiveRejects(
    Phases,
    knows=("horizon",),
    state=PhasesState,
    select=select,
    update=update,
    recommend=recommend,
    keeps_history=True,
    shared_memory=True,
):
    """Identify the best arm: K - 1 phases, each of which ends with the rejection of the arm with the smallest mean.

    In phase j each arm that is left gets pulls up to n_j = ceil((T - K) / (l (K + 1 - j))), in turn,
    l = 1/2 + 1/2 + 1/3 + ... + 1/K. Means are those of the last floor(share N) of an arm's N rewards, at least one. It
    recommends the arm that is left. `horizon=None` is filled in by a simulation.

    References
    ----------
    Audibert, Bubeck, Munos (2010), "Best arm identification in multi-armed bandits".

    Examples
    --------
    >>> agent = SuccessiveRejects(horizon=200).start(n_arms=3)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8, 0.5][arm])
    >>> agent.pulls, agent.recommend()
    (array([50, 76, 74]), 1)
    """

    share: float = parameter(1.0, above=0, maximum=1, doc="the share of an arm's rewards, its latest, in means")

    def plan(self, n_arms: int) -> Sequence[tuple[int, int]]:
        """Return the phases."""
        return rejections(self.told("horizon"), n_arms)

    def scoring(self) -> list[float]:
        """Return the share."""
        return [self.share]
