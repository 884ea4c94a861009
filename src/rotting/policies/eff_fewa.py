"""EFF-FEWA: FEWA's filter on exponentially growing windows, with a few stored sums per arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import BadValue
from rotting.policies._contract.explaining import Explanation, explain_filter
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.filtering import (
    filter_settings,
    filter_width,
    first_unpulled,
    keep_best,
    keep_first,
    least_pulled,
)
from rotting.policies._windows.windows import (
    DyadicWindows,
    GridWindows,
    PrintedWindows,
    check_windows,
    dyadic_windows,
    grid_windows,
    printed_windows,
    push,
    reserve_grid,
)


class EffFEWAState(NamedTuple):
    """Stored window sums on windows 1, 2, 4, ... or on a finer grid, and working memory."""

    settings: np.ndarray  # see filter_settings; one entry more for the pseudo-code as it is printed
    pulls: np.ndarray
    windows: DyadicWindows | PrintedWindows | GridWindows
    active: np.ndarray  # int64 (K,): the arms that have passed every filter so far, in increasing order
    sums: np.ndarray  # float64 (K,): their window sums
    dropped: np.ndarray  # int64 (K,): the window that dropped each arm that is not active
    left: np.ndarray  # int64 [how many arms are active]


def select(state, t, word):
    """Return the least-pulled arm among those that pass the filter at every stored window (lowest number on ties).

    The filter ends before a window for which some active arm has too few pulls.
    """
    pulls, active, dropped, windows, sums = state.pulls, state.active, state.dropped, state.windows, state.sums
    unpulled = first_unpulled(pulls)
    if unpulled >= 0:
        return unpulled
    theta = filter_width(state.settings, t)
    left, shortest = keep_first(active, dropped, pulls, windows.sums[0], theta)
    level = 1
    while left > 1 and windows.sizes[level] + _more_than_window(state) <= shortest:
        highest, lowest = -np.inf, np.inf
        for place in range(left):
            total = windows.sums[level, active[place]]
            sums[place] = total
            highest, lowest = max(highest, total), min(lowest, total)
        limit = theta * windows.roots[level]
        if highest - lowest > limit:
            left, shortest = keep_best(active, dropped, pulls, sums, left, windows.sizes[level], highest, limit)
        level += 1
    state.left[0] = left
    return least_pulled(active, pulls, left)


def update(state, arm, reward):
    """Refresh the arm's window sums."""
    push(state.windows, arm, reward)


@helper
def _more_than_window(state):
    """Return how many pulls more than a window's an arm needs to be compared on it: 1 as the pseudo-code is printed."""
    return len(state.settings) - 3


@dataclass(frozen=True)
class EffFEWA(
    Policy,
    state=EffFEWAState,
    select=select,
    update=update,
    filters=True,
    keeps_history=True,
    scratch=("active", "sums", "dropped", "left"),
    constants=("windows.sizes", "windows.roots"),
    noise="sigma",
):
    """FEWA's filter on windows 1, 2, 4, ... only, with window sums that are refreshed now and then.

    O(K log t) per decision and at most a few numbers per arm and doubling of its pulls.

    The paper describes it three times, each time a little differently:

    * "nested", the analysis and the authors' later code: window 2^j is refreshed every 2^(j-1) pulls, and so misses
      at most 2^(j-1) - 1 rewards.
    * "blocks", the main text: window 2^j is created with the 2^j-th pull and replaced every 2^j pulls.
    * "printed", the pseudo-code of appendix E (algorithms 3 to 5): the reward that creates a window is also the first
      of its next block, so that blocks end one pull earlier; and the filter ends before window 2^j if an active arm has
      just 2^j pulls. (Its n_i is read as n_{i,j}; of several arms that end the filter the least pulled one is pulled.)

    A `grid` below 2 uses windows h_{j+1} = ceil(grid h_j), nested refreshing, and the whole history.

    References
    ----------
    Seznec, Locatelli, Carpentier, Lazaric, Valko (2019), "Rotting bandits are not harder than stochastic ones",
    appendix E.

    Examples
    --------
    >>> agent = EffFEWA(alpha=0.06, sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([21, 79])
    """

    alpha: float = parameter(0.06, above=0, doc="confidence exponent: delta_t = delta0 / t^alpha")
    sigma: float | None = sigma_parameter()
    delta0: float = parameter(1.0, above=0, doc="confidence at t = 1")
    grid: float = parameter(2.0, above=1, maximum=2, doc="ratio of successive windows")
    refresh: str = parameter("nested", choices=("nested", "blocks", "printed"), doc="when window sums are refreshed")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refresh != "nested" and self.grid != 2:
            problem = f"does not go with grid={self.grid:g}"
            raise BadValue(problem, owner="EffFEWA", name="refresh", value=self.refresh, expected="grid=2 with it")

    def initial_state(self, n_arms: int) -> EffFEWAState:
        """Return empty window sums."""
        settings = filter_settings(self.alpha, self.told("sigma"), self.delta0)
        room = np.zeros(n_arms, np.int64), np.zeros(n_arms), np.zeros(n_arms, np.int64), np.zeros(1, np.int64)
        if self.grid == 2:
            dyadic = dyadic_windows(n_arms, self.refresh)
            if self.refresh != "printed":
                return EffFEWAState(settings, dyadic.pulls, dyadic, *room)
            printed = printed_windows(dyadic)
            return EffFEWAState(np.append(settings, 1.0), printed.pulls, printed, *room)
        fine = grid_windows(n_arms, self.grid)
        return EffFEWAState(settings, fine.pulls, fine, *room)

    def explain(self, state: EffFEWAState, t: int) -> Explanation:
        """Say which window dropped which arm."""
        levels = {int(size): level for level, size in enumerate(state.windows.sizes)}
        return explain_filter(self, state, t, lambda arm, h: state.windows.sums[levels[h], arm])

    def reserve(self, state: EffFEWAState, pulls: int) -> EffFEWAState:
        """Make room for more pulls (only finer grids need it)."""
        if isinstance(state.windows, GridWindows):
            return state._replace(windows=reserve_grid(state.windows, pulls, self.grid))
        return state

    def check_state(self, state: EffFEWAState) -> None:
        """Check the windows."""
        check_windows(state.windows, self.grid)
