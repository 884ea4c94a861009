"""EFF-RAW-UCB: RAW-UCB on exponentially growing windows, with a few stored sums per arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.parameters import parameter
from rotting.policies._contract.explaining import Explanation, explain_index
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.bonus import SHARED, width_of
from rotting.policies._windows.windows import (
    DyadicWindows,
    GridWindows,
    check_windows,
    dyadic_windows,
    grid_windows,
    push,
    reserve_grid,
)

_COMMON = 64  # windows whose bonus is computed once for all arms: all of 1, 2, 4, ..., and the shortest of finer grids


class EffRAWUCBState(NamedTuple):
    """Stored window sums on windows 1, 2, 4, ... or on a finer grid."""

    settings: np.ndarray  # [alpha, sigma]; for EFF-RAW-UCB++ also those of its bonus
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


def update(state, arm, reward):
    """Refresh the arm's window sums."""
    push(state.windows, arm, reward)


@helper
def fill_bonuses(state, t):
    """Compute the bonus of each window: it is the same for all arms."""
    longest, width = state.pulls[0], width_of(state.settings, float(t))
    for arm in range(1, len(state.pulls)):
        longest = max(longest, state.pulls[arm])
    for level in range(min(_COMMON, len(state.windows.sizes))):
        if state.windows.sizes[level] > longest:
            return
        state.bonuses[level] = _bonus(state, t, width, level)


@helper
def _bonus(state, t, width, level):
    """Return the bonus of a window; `width` is its product with sqrt(h) where that is the same for all windows."""
    size, root = state.windows.sizes[level], state.windows.roots[level]
    if len(state.settings) <= SHARED or state.settings[SHARED] == 0.0:
        return width / root
    return width_of(state.settings, t / (float(len(state.pulls)) * size)) / root


@helper
def _stored_index(state, arm, t):
    """Return an arm's index, the least upper confidence bound over its stored windows, and the window that gives it."""
    windows = state.windows
    index, window = np.inf, 0
    for level in range(len(windows.sizes)):
        size = windows.sizes[level]
        if size > windows.pulls[arm]:
            break
        bonus = state.bonuses[level] if level < _COMMON else _bonus(state, t, width_of(state.settings, float(t)), level)
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
class EffRAWUCB(
    Policy,
    state=EffRAWUCBState,
    select=select,
    update=update,
    keeps_history=True,
    scratch=("bonuses",),
    constants=("windows.sizes", "windows.roots"),
    noise="sigma",
):
    """RAW-UCB with its minimum taken over windows 1, 2, 4, ... whose sums are refreshed now and then.

    Window 2^j is refreshed every 2^(j-1) pulls, as in `EffFEWA(refresh="nested")`; a `grid` below 2 uses windows
    h_{j+1} = ceil(grid h_j) and needs the whole history.

    References
    ----------
    Seznec, Menard, Lazaric, Valko (2020), "A single algorithm for both restless and rested rotting bandits".

    Examples
    --------
    >>> agent = EffRAWUCB(sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([21, 79])
    """

    alpha: float = parameter(1.4, above=0, doc="confidence: bonus sqrt(2 sigma^2 alpha ln t / h)")
    sigma: float | None = sigma_parameter()
    grid: float = parameter(2.0, above=1, maximum=2, doc="ratio of successive windows")

    def initial_state(self, n_arms: int) -> EffRAWUCBState:
        """Return empty window sums."""
        windows = dyadic_windows(n_arms, "nested") if self.grid == 2 else grid_windows(n_arms, self.grid)
        return EffRAWUCBState(self._settings(), windows.pulls, windows, np.zeros(_COMMON))

    def _settings(self) -> np.ndarray:
        return np.array([self.alpha, self.told("sigma")])

    def explain(self, state: EffRAWUCBState, t: int) -> Explanation:
        """Give every arm's index and the window behind it."""
        return explain_index(self, state, t, _look_up)

    def reserve(self, state: EffRAWUCBState, pulls: int) -> EffRAWUCBState:
        """Make room for more pulls (only finer grids need it)."""
        if isinstance(state.windows, DyadicWindows):
            return state
        return state._replace(windows=reserve_grid(state.windows, pulls, self.grid))

    def check_state(self, state: EffRAWUCBState) -> None:
        """Check the windows."""
        check_windows(state.windows, self.grid)
