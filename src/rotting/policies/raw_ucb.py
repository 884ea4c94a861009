"""RAW-UCB: the rotting adaptive window upper confidence bound, over every window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.explaining import Explanation, explain_index
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.bonus import Bonus, add_bonuses, begin_round, bonus_at, new_bonus
from rotting.policies._windows.filtering import first_unpulled
from rotting.policies._windows.history import (
    UNPULLED,
    History,
    append,
    check_history,
    empty_history,
    reserve,
    window_sum,
    window_sum_of,
)
from rotting.policies._windows.index_proofs import IndexProofs, all_above, divide, lowest_window, no_index_proofs


class RAWUCBState(NamedTuple):
    """All rewards so far, and the window that gave each arm's index last."""

    settings: np.ndarray  # [alpha, sigma]; for RAW-UCB++ also those of its bonus
    pulls: np.ndarray
    history: History
    window: np.ndarray  # int64 (K,): where each arm's smallest upper confidence bound was last,
    mean: np.ndarray  # float64 (K,): the mean of that window
    bound: np.ndarray  # float64 (K,): working memory, an upper bound of each arm's index
    proofs: IndexProofs  # working memory
    bonus: Bonus  # working memory


def select(state, t, word):
    """Return the arm with the largest index (lowest number on ties); arms never pulled come first.

    An arm's index is a minimum over windows, so its value at any one window is an upper bound. The arm with the largest
    upper bound is the answer if all its windows lie above `level`, the largest upper bound of the others. What is not
    surely above (see `_windows/index_proofs.py`) is computed: it lowers the arm's upper bound, or it is the answer.
    """
    if state.history.used[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    begin_round(state.bonus, state.settings, t, len(state.pulls))
    bound, divided = state.bound, -1  # the arm whose windows were divided last: levels only fall, so that stays good
    if len(bound) == 1:
        return 0
    add_bonuses(state.bonus, state.mean, state.window, bound)
    while True:
        best, level = two_largest(bound)
        if all_above(state.history, state.proofs, best, state.bonus, level):
            return best
        if divided != best:
            divide(state.history, state.proofs, best, state.bonus, level)
            divided = best
        elif not lowered(state, best, level):
            return best


@helper
def two_largest(bound):
    """Return where the largest bound is (first of several), and the largest of the others."""
    best, level = 0, -np.inf
    for arm in range(1, len(bound)):
        if bound[arm] > bound[best]:
            level, best = bound[best], arm
        elif bound[arm] > level:
            level = bound[arm]
    return best, level


@helper
def lowered(state, arm, level):
    """Look for a window that lowers an arm's upper bound, among those not surely above `level`; say if there is one.

    If there is none, the upper bound is the arm's index or both are above `level`.
    """
    window, mean = lowest_window(state.history, state.proofs, arm, state.bonus, level, state.bound[arm])
    if window > 0:
        state.window[arm], state.mean[arm] = window, mean
        state.bound[arm] = mean + bonus_at(state.bonus, window)
    return window > 0


def update(state, arm, reward):
    """Add the reward to the arm's history."""
    append(state.history, arm, reward)
    # With the newest reward added, the window that gave the minimum is a good guess of where it lies now.
    window = min(state.window[arm] + 1, state.pulls[arm])
    state.window[arm] = window
    state.mean[arm] = window_sum(state.history, arm, window) / window


@entry
def _search(state, arm, t):
    """Return an arm's index and window (for explanations)."""
    begin_round(state.bonus, state.settings, t, len(state.pulls))
    state.bound[arm] = state.mean[arm] + bonus_at(state.bonus, state.window[arm])
    divide(state.history, state.proofs, arm, state.bonus, state.bound[arm])
    while lowered(state, arm, state.bound[arm]):
        pass
    return state.bound[arm], state.window[arm]


@dataclass(frozen=True)
class RAWUCB(
    Policy,
    state=RAWUCBState,
    select=select,
    update=update,
    keeps_history=True,
    scratch=("bound", "proofs", "bonus"),
    noise="sigma",
):
    """Pull the arm with the largest index min over h <= N of [mean of the last h + sqrt(2 sigma^2 alpha ln t / h)].

    Made for arms that rot with their pulls and for arms that rot with time alike. Theory asks for alpha = 4; 1.4 is the
    value tuned by the authors.

    References
    ----------
    Seznec, Menard, Lazaric, Valko (2020), "A single algorithm for both restless and rested rotting bandits".

    Examples
    --------
    >>> agent = RAWUCB(sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([21, 79])
    """

    alpha: float = parameter(1.4, above=0, doc="confidence: bonus sqrt(2 sigma^2 alpha ln t / h)")
    sigma: float | None = sigma_parameter()

    def initial_state(self, n_arms: int) -> RAWUCBState:
        """Return empty histories."""
        history = empty_history(n_arms)
        window, room = np.zeros(n_arms, np.int64), np.zeros((2, n_arms))
        proofs = no_index_proofs(n_arms)
        return RAWUCBState(self._settings(), history.pulls, history, window, room[0], room[1], proofs, self.new_bonus())

    def _settings(self) -> np.ndarray:
        return np.array([self.alpha, self.told("sigma")])

    def new_bonus(self) -> Bonus:
        """Return the bonus before the first round."""
        return new_bonus()

    def explain(self, state: RAWUCBState, t: int) -> Explanation:
        """Give every arm's index and the window behind it."""
        return explain_index(self, state, t, _search)

    def reserve(self, state: RAWUCBState, pulls: int) -> RAWUCBState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: RAWUCBState) -> None:
        """Check the history, and that the remembered windows and their means belong to it."""
        check_history(state.history)
        for arm in np.flatnonzero(state.pulls).tolist():
            window = int(state.window[arm])
            if not 1 <= window <= state.pulls[arm]:
                raise DamagedFile(f"its window {window} of arm {arm} has no rewards")
            mean = window_sum_of(state.history, arm, window) / window
            if mean != state.mean[arm]:
                raise DamagedFile(f"its mean of the last {window} rewards of arm {arm} is not that of its history")
