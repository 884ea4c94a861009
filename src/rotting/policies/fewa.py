"""FEWA: filtering on expanding window averages, every window, exactly as the paper has it.

A decision is `select`, from top to bottom:

1. While an arm has no pull, the first such arm is pulled.
2. All arms are active. At windows h = 1, 2, 3, ... those are dropped whose mean of the last h rewards lies more than
   2 c(h, delta_t) below the best mean of an active arm.
3. That ends with the shortest history of an active arm, or with one arm left. The least-pulled active arm is pulled.

| in the paper | here |
|---|---|
| the set K_h of arms that passed the filters before window h | `active[:left]` |
| N_i,t, and the least of those of active arms | `pulls[i]`, `shortest` |
| mean of the last h rewards of arm i | W_i(h) / h; the sums W_i(h) of active arms stand in `sums` |
| 2 c(h, delta_t) = sqrt(8 sigma^2 log(1 / delta_t) / h) | theta / sqrt(h), theta = `filter_width(settings, t)` |
| FILT: mean_i < max_j mean_j - 2 c(h, delta_t) | `filter_at`: max_j W_j(h) - W_i(h) > theta sqrt(h), h times as much |

One call is not in the paper: `skip_quiet(state, left, h, ...)` returns a window, h or a later one, before which surely
no filter drops anybody (or, with two arms left, none drops another than that window does). If it returned h each time,
every decision would be the same, and a round would take time in proportion to t. What it rests on is kept in `short`,
`proofs`, `roots` and `ranges`, over which who follows a decision may pass; `policies/_windows/quiet.py` says how it is
done.
"""

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
from rotting.policies._windows.filtering import (
    MANY,
    filter_settings,
    filter_width,
    first_unpulled,
    keep_best,
    keep_first,
    keep_many,
    least_pulled,
)
from rotting.policies._windows.history import (
    ROW,
    UNPULLED,
    History,
    append,
    check_history,
    empty_history,
    reserve,
    rough_window_sums,
    rounding_of,
    window_sum_of,
)
from rotting.policies._windows.pairs import LOUD, PairProofs, no_proofs
from rotting.policies._windows.quiet import SHORT, skip_quiet, sums_at
from rotting.policies._windows.rows import new_roots


class FEWAState(NamedTuple):
    """All rewards so far, and working memory."""

    settings: np.ndarray  # alpha, sigma, log(delta0)
    pulls: np.ndarray
    history: History
    short: np.ndarray  # float64 (SHORT, K): rough sums of the last 1, 2, ..., SHORT rewards
    active: np.ndarray  # int64 (K,): the arms that have passed every filter so far, in increasing order
    sums: np.ndarray  # float64 (K,): their window sums
    dropped: np.ndarray  # int64 (K,): the window that dropped each arm that is not active
    left: np.ndarray  # int64 [how many arms are active]
    proofs: PairProofs
    roots: np.ndarray  # float64: see rows.new_roots
    ranges: np.ndarray  # float64 (2, ROW): the highest and the lowest sums of a row of windows


def select(state, t, word):
    """Return the least-pulled arm among those that pass the filter at every window 1, 2, ... (lowest number on ties).

    The last window is the shortest history of an active arm, which may grow as arms are dropped. With one arm left no
    filter can drop it: its sum is the largest.
    """
    if state.history.used[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    theta = filter_width(state.settings, t)
    left, shortest = keep_first(state.active, state.dropped, state.pulls, state.short[0], theta)  # at window 1
    h = np.int64(1)
    while left > 1:
        h = skip_quiet(state, left, h + 1, shortest, theta)
        if h > shortest:
            break
        left, shortest = filter_at(state, left, h, theta)
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
def filter_at(state, left, h, theta):
    """Drop the active arms whose sum of the last h rewards lies more than theta sqrt(h) below the largest.

    Returns how many arms stay and the fewest pulls among them.
    """
    limit = theta * math.sqrt(h)
    highest = sums_at(state, left, h, limit)
    if left > MANY:
        return keep_many(state.active, state.dropped, state.pulls, state.sums, left, h, highest, limit)
    return keep_best(state.active, state.dropped, state.pulls, state.sums, left, h, highest, limit)


@dataclass(frozen=True)
class FEWA(
    Policy,
    state=FEWAState,
    select=select,
    update=update,
    filters=True,
    keeps_history=True,
    scratch=("active", "sums", "dropped", "left", "proofs", "roots", "ranges"),
    constants=("roots",),
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

    Its newest reward, 0, lies more than 2 c(1, delta_t) = 0.1488 below that of the other arm, 0.5:

    >>> print(agent.explain())  # doctest: +NORMALIZE_WHITESPACE
    FEWA(alpha=0.06, sigma=0.1), round 101: pull arm 1
      arm  pulls  survived  window  mean  best mean  threshold
        0     21        no       1     0        0.5     0.1488
    >   1     79       yes
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
            roots=new_roots(),
            ranges=np.zeros((2, ROW)),
        )

    def explain(self, state: FEWAState, t: int) -> Explanation:
        """Say which window was the first to drop each arm."""
        state.proofs.notes[LOUD] = -1
        found = explain_filter(self, state, t, lambda arm, h: window_sum_of(state.history, arm, h))
        state.proofs.notes[LOUD] = 0
        return found

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
