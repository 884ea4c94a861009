"""RAW-UCB++: RAW-UCB that explores an arm only up to its share of the rounds, over every window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry
from rotting.policies._windows.bonuses import bonus_at
from rotting.policies._windows.filtering import first_unpulled
from rotting.policies._windows.history import History
from rotting.policies._windows.index_proofs import IndexProofs, divide
from rotting.policies._windows.share_bonus import ShareBonus, ShareParameters, begin_round, no_share_bonus
from rotting.policies.raw_ucb import RAWUCB, largest_index, lowered, update


class RAWUCBPlusState(NamedTuple):
    """RAW-UCB's state, and the bonus."""

    settings: np.ndarray  # [alpha, sigma, beta / alpha, whether x falls with the window]
    pulls: np.ndarray
    history: History
    window: np.ndarray  # int64 (K,): where each arm's smallest upper confidence bound was last,
    mean: np.ndarray  # float64 (K,): the mean of that window
    bound: np.ndarray  # float64 (K,): working memory, an upper bound of each arm's index
    proofs: IndexProofs  # working memory
    bonus: ShareBonus  # working memory


def select(state, t, word):
    """Return the arm with the largest index (lowest number on ties); arms never pulled come first.

    This is RAW-UCB's search (see `raw_ucb.select`) with another bonus.
    """
    if state.history.used[1] > 0:
        return first_unpulled(state.pulls)
    begin_round(state.bonus, state.settings, t, len(state.pulls))
    return largest_index(state, state.bonus)


@entry
def _search(state, arm, t):
    """Return an arm's index and window (for explanations)."""
    begin_round(state.bonus, state.settings, t, len(state.pulls))
    state.bound[arm] = state.mean[arm] + bonus_at(state.bonus, state.window[arm])
    divide(state.history, state.proofs, arm, state.bonus, state.bound[arm])
    while lowered(state, arm, state.bonus, state.bound[arm]):
        pass
    return state.bound[arm], state.window[arm]


@dataclass(frozen=True)
class RAWUCBPlus(
    ShareParameters,
    RAWUCB,
    state=RAWUCBPlusState,
    select=select,
    update=update,
    keeps_history=True,
    scratch=("bound", "proofs", "bonus"),
    in_teams=True,
):
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

    _index_and_window = staticmethod(_search)

    def initial_state(self, n_arms: int) -> RAWUCBPlusState:  # type: ignore[override]
        """Return empty histories."""
        begun = super().initial_state(n_arms)
        settings = self.bonus_settings(self.alpha, self.told("sigma"))
        return RAWUCBPlusState(settings, *begun[1:], no_share_bonus())
