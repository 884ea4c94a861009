"""EFF-RAW-UCB++: RAW-UCB++ on exponentially growing windows, with a few stored sums per arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting.policies._windows.bonus import ShareParameters, bonus_of
from rotting.policies._windows.windows import DyadicWindows, GridWindows
from rotting.policies.eff_raw_ucb import EffRAWUCB, update

_COMMON = 64  # windows whose bonus is computed once for all arms: all of 1, 2, 4, ..., and the shortest of finer grids


class EffRAWUCBPlusState(NamedTuple):
    """Stored window sums on windows 1, 2, 4, ... or on a finer grid."""

    settings: np.ndarray  # [alpha, sigma, beta / alpha, whether x falls with the window]
    pulls: np.ndarray
    windows: DyadicWindows | GridWindows
    bonuses: np.ndarray  # float64 (_COMMON,): working memory, of the shortest windows in this round


def select(state, t, word):
    """Return the arm with the largest index (lowest number on ties); arms never pulled come first."""
    fill_bonuses(state, t)
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        index, _ = _stored_index(state, arm, t)
        if index > best_index:
            best, best_index = arm, index
    return best


@helper
def fill_bonuses(state, t):
    """Compute the bonus of each window: it is the same for all arms."""
    longest = state.pulls[0]
    for arm in range(1, len(state.pulls)):
        longest = max(longest, state.pulls[arm])
    for level in range(min(_COMMON, len(state.windows.sizes))):
        if state.windows.sizes[level] > longest:
            return
        state.bonuses[level] = _bonus(state, t, level)


@helper
def _bonus(state, t, level):
    """Return the bonus of a window."""
    size, root = state.windows.sizes[level], state.windows.roots[level]
    return bonus_of(state.settings, float(t), float(len(state.pulls)), float(size), root)


@helper
def _stored_index(state, arm, t):
    """Return an arm's index, the least upper confidence bound over its stored windows, and the window that gives it."""
    windows = state.windows
    index, window = np.inf, 0
    for level in range(len(windows.sizes)):
        size = windows.sizes[level]
        if size > windows.pulls[arm]:
            break
        bonus = state.bonuses[level] if level < _COMMON else _bonus(state, t, level)
        bound = windows.sums[level, arm] / size + bonus
        if bound < index:
            index, window = bound, size
    return index, window


@entry
def _look_up(state, arm, t):
    """Return an arm's index and window (for explanations)."""
    fill_bonuses(state, t)
    return _stored_index(state, arm, t)


@dataclass(frozen=True)
class EffRAWUCBPlus(
    ShareParameters,
    EffRAWUCB,
    state=EffRAWUCBPlusState,
    select=select,
    update=update,
    keeps_history=True,
    scratch=("bonuses",),
    constants=("windows.sizes", "windows.roots"),
):
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

    _index_and_window = staticmethod(_look_up)

    def initial_state(self, n_arms: int) -> EffRAWUCBPlusState:  # type: ignore[override]
        """Return empty window sums."""
        begun = super().initial_state(n_arms)
        settings = self.bonus_settings(self.alpha, self.told("sigma"))
        return EffRAWUCBPlusState(settings, begun.pulls, begun.windows, np.zeros(_COMMON))
