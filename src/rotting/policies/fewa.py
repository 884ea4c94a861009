"""FEWA: filtering on expanding window averages, every window, exactly as the paper has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.explaining import Explanation, explain_filter
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.exact_filter import (
    BAND_MINIMUM,
    DECISION_ONLY,
    JUST_BELOW,
    band_reach,
    filter_row,
    filter_sums,
    new_rows,
    row_size,
    surely_drops_nobody,
)
from rotting.policies._windows.filtering import filter_settings, filter_width, first_unpulled, keep_first, least_pulled
from rotting.policies._windows.history import (
    ROW,
    History,
    append,
    check_history,
    empty_history,
    reserve,
    rough_window_sums,
    rounding,
    rounding_of,
    window_sum_of,
)
from rotting.policies._windows.pair_proofs import LONG, PairProofs, advance, begin, no_proofs

SHORT = 8  # windows whose rough sums are kept


class FEWAState(NamedTuple):
    """All rewards so far, and working memory."""

    settings: np.ndarray  # see filter_settings
    pulls: np.ndarray
    history: History
    short: np.ndarray  # float64 (SHORT, K): rough sums of the last 1, 2, ..., SHORT rewards
    active: np.ndarray  # int64 (K,): the arms that have passed every filter so far, in increasing order
    sums: np.ndarray  # float64 (K,): their window sums
    dropped: np.ndarray  # int64 (K,): the window that dropped each arm that is not active
    left: np.ndarray  # int64 [how many arms are active]
    proofs: PairProofs
    rows: np.ndarray  # float64: see exact_filter.new_rows
    ranges: np.ndarray  # float64 (2, ROW): the highest and the lowest sums of a row of windows


def select(state, t, word):
    """Return the least-pulled arm among those that pass the filter at every window 1, 2, ... (lowest number on ties).

    The filter at window h drops the arms whose sum of the last h rewards lies more than 2 h c(h, delta_t) =
    theta sqrt(h) below the largest. It ends when it reaches a window as long as the history of an active arm, or
    when only one arm is left, since the arm with the largest sum always stays.

    Windows that surely drop nobody are passed over: many at once, from bands around the prefix sums, where the
    threshold leaves a margin for that, or from what was proved in earlier rounds about the last two arms (see
    `_windows/pair_proofs.py`); otherwise in rows, from rough sums. Only where somebody may be dropped is the filter
    itself applied.
    """
    if state.history.used[1] > 0:
        return first_unpulled(state.pulls)
    theta = filter_width(state.settings, t)
    left, shortest = keep_first(state.active, state.dropped, state.pulls, state.short[0], theta)
    h, try_band, begun = np.int64(2), np.int64(0), False
    while left > 1 and h <= shortest:
        if h <= SHORT and (left > 2 or h == 2):
            left, shortest = _filter_short(state, left, shortest, h, theta)
            h += 1
            continue
        after = h
        if left == 2 and h >= LONG:
            if not begun:
                begun = True
                begin(state)
            after = advance(state, h, shortest, theta)
            if after < 0:
                left = 1
        elif left > 2 and h >= try_band:
            end = min(h + int(band_reach(state.settings, theta) * h), shortest)
            if end - h >= BAND_MINIMUM:
                after = end + 1 if surely_drops_nobody(state, left, h, end, theta) else h
                try_band = h + BAND_MINIMUM
        if after == h:
            left, shortest, after = filter_row(state, left, shortest, h, row_size(h, shortest), theta)
        h = after
    state.left[0] = left
    return least_pulled(state.active, state.pulls, left)


def update(state, arm, reward):
    """Add the reward to the arm's history."""
    append(state.history, arm, reward)
    short, column = state.short, np.uint64(arm)
    for h in range(SHORT - 1, 0, -1):
        short[np.uint64(h), column] = short[np.uint64(h - 1), column] + reward
    short[0, column] = reward


@helper
def _filter_short(state, left, shortest, h, theta):
    """Apply the filter at a window h <= SHORT. Returns how many arms stay and the fewest pulls among them."""
    highest, lowest = -np.inf, np.inf
    for place in range(left):
        total = state.short[np.uint64(h - 1), np.uint64(state.active[place])]
        state.sums[place] = total
        highest, lowest = max(highest, total), min(lowest, total)
    if highest - lowest + rounding(state.history) > JUST_BELOW * theta * math.sqrt(h):
        return filter_sums(state, left, h, highest, theta)
    return left, shortest


@dataclass(frozen=True)
class FEWA(
    Policy,
    state=FEWAState,
    select=select,
    update=update,
    filters=True,
    keeps_history=True,
    scratch=("active", "sums", "dropped", "left", "proofs", "rows", "ranges"),
    constants=("rows",),
    in_teams=True,
    noise="sigma",
):
    """Filter the arms on windows of every length, then pull the least-pulled one that is left.

    An arm is dropped at window h when the mean of its last h rewards lies more than 2 c(h, delta_t) below the best,
    c(h, delta) = sqrt(2 sigma^2 log(1 / delta) / h), delta_t = delta0 / t^alpha.

    The paper's pseudo-code increments h before it tests whether h is as long as an active arm's history, and so never
    filters at that last window, which the proofs need; here every window 1, 2, ..., N is filtered.

    Theory asks for alpha = 5; the paper's experiments use 0.03 to 0.1. With probability at least 1 - delta, for
    alpha > 3 and delta0 = 2 delta / zeta(alpha - 2), see `rotting.theory`.

    References
    ----------
    Seznec, Locatelli, Carpentier, Lazaric, Valko (2019), "Rotting bandits are not harder than stochastic ones".

    Examples
    --------
    The first arm is worth 1 for twenty pulls and nothing afterwards:

    >>> agent = FEWA(alpha=0.06, sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([21, 79])
    """

    alpha: float = parameter(0.06, above=0, doc="confidence exponent: delta_t = delta0 / t^alpha")
    sigma: float | None = sigma_parameter()
    delta0: float = parameter(1.0, above=0, doc="confidence at t = 1")

    def initial_state(self, n_arms: int) -> FEWAState:
        """Return empty histories."""
        history = empty_history(n_arms)
        return FEWAState(
            settings=filter_settings(self.alpha, self.told("sigma"), self.delta0),
            pulls=history.pulls,
            history=history,
            short=np.zeros((SHORT, n_arms)),
            active=np.zeros(n_arms, np.int64),
            sums=np.zeros(n_arms),
            dropped=np.zeros(n_arms, np.int64),
            left=np.zeros(1, np.int64),
            proofs=no_proofs(),
            rows=new_rows(),
            ranges=np.zeros((2, ROW)),
        )

    def explain(self, state: FEWAState, t: int) -> Explanation:
        """Say which window dropped which arm."""
        state.proofs.notes[DECISION_ONLY] = 0
        explanation = explain_filter(self, state, t, lambda arm, h: window_sum_of(state.history, arm, h))
        state.proofs.notes[DECISION_ONLY] = 1
        return explanation

    def reserve(self, state: FEWAState, pulls: int) -> FEWAState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: FEWAState) -> None:
        """Check the history, and that the short sums are those of its last rewards."""
        check_history(state.history)
        for h in range(1, SHORT + 1):
            sums, known = rough_window_sums(state.history, h)
            if np.any(np.abs(state.short[h - 1] - sums)[known] > rounding_of(state.history)):
                raise DamagedFile(f"its sums of the last {h} rewards are not those of its history")
