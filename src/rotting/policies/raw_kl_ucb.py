"""RAW-klUCB: the rotting adaptive window of RAW-UCB with the bounds of KL-UCB, over every window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper, outlined
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.explaining import Explanation, explain_index
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import high_parameter, low_parameter
from rotting.policies._windows.bernoulli import bound_height, divergence_above, entropy, height_above, peak_at
from rotting.policies._windows.filtering import first_unpulled
from rotting.policies._windows.history import (
    BLOCK,
    UNPULLED,
    History,
    append,
    check_history,
    empty_history,
    longest_block,
    outline_of,
    reserve,
    rough_prefix,
    rounding,
    total_of,
    window_sum,
    window_sum_of,
)


class RAWKLUCBState(NamedTuple):
    """All rewards so far, and the window that gave each arm's index last."""

    settings: np.ndarray  # [c]
    pulls: np.ndarray
    history: History
    window: np.ndarray  # int64 (K,): where each arm's smallest bound was last,
    means: np.ndarray  # float64 (K,): the mean of that window
    spreads: np.ndarray  # float64 (K,): and its entropy


def select(state, t, word):
    """Return the arm with the largest index (lowest number on ties); arms never pulled come first.

    An arm's index is a minimum over windows, so its value at any one window, as the one that gave the minimum when the
    arm was last looked at, is an upper bound. Few arms have one that is as high as the best index.
    """
    if state.history.used[UNPULLED] > 0:
        return first_unpulled(state.pulls)
    explored = state.settings[0] * math.log(t)
    best = 0
    for arm in range(len(state.pulls)):
        if state.pulls[arm] > state.pulls[best]:
            best = arm
    first, peak = best, peak_at(_index(state, best, explored, -np.inf))
    for arm in range(len(state.pulls)):
        if arm == first or _known_height(state, arm, explored, peak) < peak[0]:
            continue
        height = _index(state, arm, explored, peak[0])
        if height > peak[0] or (height == peak[0] and arm < best):
            best, peak = arm, peak_at(height)
    return best


@helper
def _known_height(state, arm, explored, peak):
    """Return the bound at the window that gave the index last, if it may be as high as the peak."""
    return height_above(state.means[arm], state.spreads[arm], explored / state.window[arm], peak)


@outlined
def _index(state, arm, explored, floor):
    """Return an arm's index (as a height), or something below `floor` if it is; remember the window that gives it.

    The windows' starts are gone through in aligned blocks, as long as possible. Of a block whose windows all have
    bounds above the least one so far, nothing more needs to be known.
    """
    history, n = state.history, state.pulls[arm]
    peak = peak_at(bound_height(state.means[arm], state.spreads[arm], explored / state.window[arm]))
    start = np.int64(0)
    while start < n and not peak[0] < floor:
        size = longest_block(start, n)
        while size >= BLOCK and not _block_above(history, arm, start, size, explored, peak):
            size //= 2
        if size >= BLOCK:
            start += size
            continue
        stop = min(start + BLOCK, n)
        for h in range(n - start, n - stop, -1):
            mean = window_sum(history, arm, h) / h
            if not _surely_above(mean, explored / h, peak):
                height = bound_height(mean, entropy(mean), explored / h)
                if height < peak[0]:
                    peak = peak_at(height)
                    _remember(state, arm, h, mean)
        start = stop
    return peak[0]


@helper
def _block_above(history, arm, start, size, explored, peak):
    """Say whether all windows that begin in a block surely have bounds above the peak.

    Their sums lie above a straight line, whose ends are looked at. What suffices at both ends does so in between: the
    sums at which the bound of window h is q, given by h kl(sum / h, q) = explored, are a convex function of h.
    """
    n = history.pulls[arm]
    total = total_of(history, arm) - outline_of(history, arm, start, size)[1] - rounding(history)
    for side in range(2):
        h = n - start - side * size
        if h == 0:
            return False
        mean = (total - rough_prefix(history, arm, n - h)) / h
        if mean < 0.0 or not _surely_above(mean, explored / h, peak):
            return False
    return True


@helper
def _surely_above(mean, level, peak):
    """Say whether the bound of a mean at a level surely lies above the peak."""
    height, success, log_q = peak
    gap = success - mean
    # kl(p, q) <= (q - p)^2 / (q (1 - q)) settles most cases without a logarithm.
    if gap <= 0.0 or gap * gap < 0.999 * level * success * (1.0 - success):
        return gap < 0.0 or height < np.inf
    excess, doubt = divergence_above(mean, entropy(mean), level, height, log_q)
    return excess < -doubt


@helper
def _remember(state, arm, window, mean):
    state.window[arm], state.means[arm], state.spreads[arm] = window, mean, entropy(mean)


def update(state, arm, reward):
    """Add the reward, clipped to [0, 1], to the arm's history."""
    append(state.history, arm, min(max(reward, 0.0), 1.0))
    # With the newest reward added, the window that gave the minimum is a good guess of where it lies now.
    window = min(state.window[arm] + 1, state.pulls[arm])
    _remember(state, arm, window, window_sum(state.history, arm, window) / window)


@entry
def _look_up(state, arm, t):
    """Return an arm's index and window (for explanations)."""
    height = _index(state, arm, state.settings[0] * math.log(t), -np.inf)
    return -math.expm1(-height), state.window[arm]


@dataclass(frozen=True)
class RAWKLUCB(
    Policy,
    state=RAWKLUCBState,
    select=select,
    update=update,
    keeps_history=True,
    rewards=("low", "high"),
    maps_rewards=True,
):
    """Pull the arm with the largest index min over h <= N of [largest q with h kl(mean of the last h, q) <= c ln t].

    `RAWUCB` for rewards in [0, 1], with the divergence kl of Bernoulli laws; one below 0 counts as 0, and one above 1
    as 1. The authors' code has ln(t + 1) where t counts the rounds before this one, so that is the same; it takes the
    minimum over windows 1, 2, 4, ... that are refreshed now and then, while here it is over all of them.

    c has the part of RAW-UCB's alpha, and its default. The authors' code has c = 1, with which a good arm is left for
    long now and then: on means of 0.6 and 0.5 the regret of 20 000 rounds is four times as large.

    A round takes some microseconds: proofs that most windows have larger bounds than one, and a few equations to solve.

    References
    ----------
    Seznec, Menard, Lazaric, Valko (2020), "A single algorithm for both restless and rested rotting bandits", and the
    authors' code in SMPyBandits.

    Examples
    --------
    >>> agent = RAWKLUCB().start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, 0.5 if arm == 1 else float(agent.pulls[0] < 20))
    >>> agent.pulls
    array([26, 74])
    """

    c: float = parameter(1.4, above=0, doc="confidence: h kl(mean, q) <= c ln t")
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> RAWKLUCBState:
        """Return empty histories."""
        history, room = empty_history(n_arms), np.zeros((2, n_arms))
        return RAWKLUCBState(np.array([self.c]), history.pulls, history, np.zeros(n_arms, np.int64), *room.copy())

    def explain(self, state: RAWKLUCBState, t: int) -> Explanation:
        """Give every arm's index and the window behind it."""
        return explain_index(self, state, t, _look_up)

    def reserve(self, state: RAWKLUCBState, pulls: int) -> RAWKLUCBState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: RAWKLUCBState) -> None:
        """Check the history, and that the remembered windows and their means belong to it."""
        check_history(state.history)
        for arm in np.flatnonzero(state.pulls).tolist():
            window = int(state.window[arm])
            if not 1 <= window <= state.pulls[arm]:
                raise DamagedFile(f"its window {window} of arm {arm} has no rewards")
            mean = window_sum_of(state.history, arm, window) / window
            if mean != state.means[arm] or not np.isclose(entropy(mean), state.spreads[arm], 1e-12):
                raise DamagedFile(f"its mean of the last {window} rewards of arm {arm} is not that of its history")
