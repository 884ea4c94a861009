"""R-less-UCB: an optimistic index for arms that improve by themselves, ever more slowly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotting.policies.graph_ucb import AgedArms, GraphUCBState, select, update


@dataclass(frozen=True)
class RLessUCB(
    AgedArms,
    state=GraphUCBState,
    select=select,
    update=update,
    keeps_history=True,
    shared_memory=True,
    noise="sigma",
    constants=("triggers",),
    made_for="arms that rise by themselves",
):
    """Pull the arm with the largest optimistic value at round t, from its last h = floor(share N) rewards x_l.

    t_l being the round of the arm's pull l, the index is the mean, over the last h pulls, of
    x_l + (t - t_l) (x_l - x_(l-h)) / (t_l - t_(l-h)), plus sigma (t - t_(N-h+1)) sqrt(10 ln(1 / delta_t) / h^3),
    delta_t = t^-alpha. Before that, arms are pulled twice in turn, and then each until h = 1. For arms whose means
    increase with the rounds, and ever more slowly. A reward costs O(h).

    The estimate is the paper's; of the bonus its text was not at hand: it is what the proof of R-ed-UCB's gives with
    rounds in the place of pulls.

    References
    ----------
    Metelli, Trovo, Pirola, Restelli (2022), "Stochastic rising bandits".

    Examples
    --------
    >>> agent = RLessUCB(sigma=0.01).start(n_arms=2)
    >>> for t in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, t / (t + 10.0)][arm])
    >>> agent.pulls
    array([ 33, 167])
    """

    def triggers(self, n_arms: int) -> np.ndarray:
        """Return that each pull ages every arm."""
        return np.ones((n_arms, n_arms), np.int64)
