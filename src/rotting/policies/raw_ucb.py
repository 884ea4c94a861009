"""RAW-UCB: the rotting adaptive window upper confidence bound, over every window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._engine.explaining import Explanation, explain_index
from rotting.policies._engine.filtering import first_unpulled
from rotting.policies._engine.history import (
    ROW,
    History,
    append,
    band,
    check_history,
    empty_history,
    place_of,
    reserve,
    rounding,
    total_of,
    window_sum,
    window_sum_of,
)
from rotting.policies._engine.policy import Policy

STRIDE = 512  # the fewest windows for which a band pays: one costs as much as some hundred rough sums


class RAWUCBState(NamedTuple):
    """All rewards so far, and the window that gave each arm's index last."""

    settings: np.ndarray  # [alpha, sigma]
    pulls: np.ndarray
    history: History
    window: np.ndarray  # int64 (K,): where each arm's smallest upper confidence bound was last,
    mean: np.ndarray  # float64 (K,): the mean of that window
    root: np.ndarray  # float64 (K,): and its square root
    bound: np.ndarray  # float64 (K,): room to work, an upper bound of each arm's index


def select(state, t, word):
    """Return the arm with the largest index (lowest number on ties); arms never pulled come first.

    An arm's index is a minimum over windows, so its value at any one window is an upper bound. Only arms whose upper
    bound is the largest need the search over all windows: usually one or two.
    """
    bound = state.bound
    if state.history.used[1] > 0:
        return first_unpulled(state.pulls)
    width = index_width(state.settings, t)
    for arm in range(len(bound)):
        bound[arm] = state.mean[arm] + width / state.root[arm]
    searched = -1
    while True:
        best = 0
        for arm in range(1, len(bound)):
            if bound[arm] > bound[best]:
                best = arm
        if best == searched:
            return best
        # Searching an arm twice in a round is harmless: it starts from the window that gives the index.
        bound[best], window = smallest_bound(state, best, width)
        _remember(state, best, window)
        searched = best


def update(state, arm, reward):
    """Add the reward to the arm's history."""
    append(state.history, arm, reward)
    # With the newest reward added, the window that gave the minimum is a good guess of where it lies now.
    _remember(state, arm, min(state.window[arm] + 1, state.pulls[arm]))


@helper
def _remember(state, arm, window):
    """Keep a window of an arm, and what its upper confidence bound is made of."""
    state.window[arm] = window
    state.mean[arm] = window_sum(state.history, arm, window) / window
    state.root[arm] = math.sqrt(window)


@helper
def index_width(settings, t):
    """Return sqrt(2 sigma^2 alpha ln t): the bonus at window h, times sqrt(h)."""
    return settings[1] * math.sqrt(2.0 * settings[0] * math.log(t))


@helper
def index_at(total, h, root, width):
    """Return the upper confidence bound at window h: its mean plus the bonus."""
    return total / h + width / root


@helper
def smallest_bound(state, arm, width):
    """Return the smallest upper confidence bound of an arm over all windows, and a window that gives it.

    Starts from the window that is remembered. Windows that cannot do better are passed over: many at once from a band
    where the bounds lie clearly higher, otherwise by scanning rough sums.
    """
    history, n = state.history, state.pulls[arm]
    window = state.window[arm]
    index = state.mean[arm] + width / state.root[arm]
    h, scan_until, stride = 1, STRIDE, STRIDE
    while h <= n:
        if h >= scan_until:
            end = min(h + stride - 1, n)
            if _all_above(history, arm, h, end, width, index):
                h, stride = end + 1, min(2 * stride, 8 * h)
                continue
            scan_until, stride = h + 2 * STRIDE, max(stride // 2, STRIDE)
        h, found = _next_below(history, arm, h, min(scan_until - 1, n), width, index)
        if found:
            bound = index_at(window_sum(history, arm, h), h, math.sqrt(h), width)
            if bound < index:
                index, window = bound, h
            h += 1
    return index, window


@helper
def _next_below(history, arm, h, end, width, index):
    """Return the first window from h to `end` whose bound may be below `index`, and True; or where to go on, and False.

    A bound is below when W(g) - index g + width sqrt(g) < 0. Chunks of windows are scanned with a straight line below
    sqrt(g), since processors are quick at those. It may stop before `end`.
    """
    last = total_of(history, arm)
    slack = _slack(history, width, index, end)
    while h <= end:
        size = min(ROW, h, end - h + 1)
        place = place_of(history, arm, history.pulls[arm] - h)
        prefixes = history.high[place - size + 1 : place + 1]  # those of windows h + size - 1 down to h
        root, longest = math.sqrt(h), math.sqrt(h + size - 1)
        rise = (longest - root) / max(size - 1, 1)
        if _any_below(prefixes, last - index * (h + size - 1) + width * longest - slack, index - width * rise):
            for back in range(size):
                total = last - prefixes[size - 1 - back]
                if total - index * (h + back) + width * math.sqrt(h + back) <= slack:
                    return h + back, True
        h += size
    return h, False


@helper
def _any_below(prefixes, base, step):
    """Say whether base + step j - prefixes[j] is at most 0 for some j."""
    below = False
    for j in range(len(prefixes)):
        below |= base + step * j - prefixes[j] <= 0.0
    return below


@helper
def _slack(history, width, index, h):
    """Return more than rounding can be worth: that of sums, and of terms which may be larger than any sum."""
    return rounding(history) + 2.0**-46 * (abs(index) + width) * h


@entry
def _search(state, arm, t):
    """Return an arm's index and window (for explanations)."""
    return smallest_bound(state, arm, index_width(state.settings, t))


@helper
def _all_above(history, arm, h, end, width, index):
    """Say whether the upper confidence bounds at windows h..end all surely exceed `index`.

    W(g) / g + width / sqrt(g) > index says W(g) - index g + width sqrt(g) > 0. W(g) lies above a straight line, so the
    left-hand side lies above a concave function of g, which is positive in between if it is at both ends.
    """
    n = history.pulls[arm]
    height, slope, _, over = band(history, arm, n - end, n - h)
    there = total_of(history, arm) - height - over
    here = there - slope * (end - h)
    slack = _slack(history, width, index, end)
    return here - index * h + width * math.sqrt(h) > slack and there - index * end + width * math.sqrt(end) > slack


@dataclass(frozen=True)
class RAWUCB(Policy, state=RAWUCBState, select=select, update=update, keeps_history=True, scratch=("bound",)):
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
    sigma: float = parameter(1.0, minimum=0, doc="scale of the noise (its standard deviation)")

    def initial_state(self, n_arms: int) -> RAWUCBState:
        """Return empty histories."""
        history = empty_history(n_arms)
        settings = np.array([self.alpha, self.sigma])
        window, room = np.zeros(n_arms, np.int64), np.zeros((3, n_arms))
        return RAWUCBState(settings, history.pulls, history, window, room[0], room[1], room[2])

    def explain(self, state: RAWUCBState, t: int) -> Explanation:
        """Give every arm's index and the window behind it."""
        return explain_index(self, state, t, lambda arm: _search(state, arm, t))

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
            if (mean, math.sqrt(window)) != (state.mean[arm], state.root[arm]):
                raise DamagedFile(f"its mean of the last {window} rewards of arm {arm} is not that of its history")
