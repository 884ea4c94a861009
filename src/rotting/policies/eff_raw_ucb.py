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
from rotting.policies._windows.bonus import width_of
from rotting.policies._windows.windows import (
    DyadicWindows,
    GridWindows,
    check_windows,
    dyadic_windows,
    grid_windows,
    push,
    reserve_grid,
)


class EffRAWUCBState(NamedTuple):
    """Stored window sums on windows 1, 2, 4, ... or on a finer grid."""

    settings: np.ndarray  # [alpha, sigma]
    pulls: np.ndarray
    windows: DyadicWindows | GridWindows


def select(state, t, word):
    """Return the arm with the largest index (lowest number on ties); arms never pulled come first."""
    width = width_of(state.settings, float(t))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        index, _ = stored_index(state.windows, arm, width)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Refresh the arm's window sums."""
    push(state.windows, arm, reward)


@helper
def stored_index(windows, arm, width):
    """Return an arm's index, the least upper confidence bound over its stored windows, and the window that gives it."""
    index, window = np.inf, 0
    for level in range(len(windows.sizes)):
        size = windows.sizes[level]
        if size > windows.pulls[arm]:
            break
        bound = windows.sums[level, arm] / size + width / windows.roots[level]
        if bound < index:
            index, window = bound, size
    return index, window


@entry
def _look_up(state, arm, t):
    """Return an arm's index and window (for explanations)."""
    return stored_index(state.windows, arm, width_of(state.settings, float(t)))


@dataclass(frozen=True)
class EffRAWUCB(
    Policy,
    state=EffRAWUCBState,
    select=select,
    update=update,
    keeps_history=True,
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

    _index_and_window = staticmethod(_look_up)

    def initial_state(self, n_arms: int) -> EffRAWUCBState:
        """Return empty window sums."""
        settings = np.array([self.alpha, self.told("sigma")])
        if self.grid == 2:
            dyadic = dyadic_windows(n_arms, "nested")
            return EffRAWUCBState(settings, dyadic.pulls, dyadic)
        fine = grid_windows(n_arms, self.grid)
        return EffRAWUCBState(settings, fine.pulls, fine)

    def explain(self, state: EffRAWUCBState, t: int) -> Explanation:
        """Give every arm's index and the window behind it."""
        return explain_index(self, state, t, self._index_and_window)

    def reserve(self, state: EffRAWUCBState, pulls: int) -> EffRAWUCBState:
        """Make room for more pulls (only finer grids need it)."""
        if isinstance(state.windows, DyadicWindows):
            return state
        return state._replace(windows=reserve_grid(state.windows, pulls, self.grid))

    def check_state(self, state: EffRAWUCBState) -> None:
        """Check the windows."""
        check_windows(state.windows, self.grid)
