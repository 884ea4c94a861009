"""Sequential halving: which arm is best, in phases that each halve the arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rotting._core.parameters import parameter
from rotting.policies._contract.phases import Phases, PhasesState, recommend, select, update


def halvings(horizon: int, n_arms: int, phases: int | None = None) -> list[tuple[int, int]]:
    """Return phases of the same length: pulls of each arm that is left, and arms kept; the last one keeps one arm.

    >>> halvings(240, 5)
    [(16, 3), (26, 2), (40, 1)]
    """
    phases, left, found = phases or (n_arms - 1).bit_length(), n_arms, []
    for phase in range(phases):
        kept = 1 if phase == phases - 1 else -(-left // 2)
        found.append((horizon // (left * phases), kept))
        left = kept
    return found


@dataclass(frozen=True)
class SequentialHalving(
    Phases,
    knows=("horizon",),
    state=PhasesState,
    select=select,
    update=update,
    recommend=recommend,
    keeps_history=True,
    shared_memory=True,
):
    """Identify the best arm: ceil(log2 K) phases of the same length, each of which keeps the better half of the arms.

    In a phase each of the k arms that are left is pulled floor(T / (k phases)) times, in turn; ceil(k / 2) arms with
    the largest means of these rewards are kept. With `share`, means are of the last floor(share N) of all N rewards of
    an arm, at least one. With `phases` = 1 all arms get as many pulls (uniform allocation). `horizon=None` is filled in
    by a simulation.

    References
    ----------
    Karnin, Koren, Somekh (2013), "Almost optimal exploration in multi-armed bandits".

    Examples
    --------
    >>> agent = SequentialHalving(horizon=200).start(n_arms=4)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8, 0.5, 0.1][arm])
    >>> agent.pulls, agent.recommend()
    (array([25, 75, 75, 25]), 1)
    """

    share: float | None = parameter(
        None, above=0, maximum=1, optional=True, doc="the share of an arm's rewards, the latest; none: of the phase"
    )
    phases: int | None = parameter(None, whole=True, minimum=1, optional=True, doc="how many; none: ceil(log2 K)")

    def plan(self, n_arms: int) -> Sequence[tuple[int, int]]:
        """Return the phases."""
        return halvings(self.told("horizon"), n_arms, self.phases)

    def scoring(self) -> list[float]:
        """Return the share, 0 for the rewards of the phase."""
        return [self.share or 0.0]
