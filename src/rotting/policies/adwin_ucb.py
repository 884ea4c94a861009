"""ADWIN-UCB: UCB on a window that each arm cuts for itself when its rewards have changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter

_ROWS = 40  # row j holds buckets of 2^j rewards: room for 4 * 10^12 of them
_BUCKETS = 5  # per row; one more and the two oldest become one bucket of the next row
_SHORTEST = 5  # a cut leaves at least this many rewards on either side
_GRACE = 10  # no cut in windows up to this long


class AdwinUCBState(NamedTuple):
    """Each arm's window, as an exponential histogram; within a row the oldest bucket comes first."""

    settings: np.ndarray  # [sigma, delta, bonus?]
    pulls: np.ndarray
    widths: np.ndarray  # int64 (K,): how many rewards the window holds
    totals: np.ndarray  # (K,): their sum
    spreads: np.ndarray  # (K,): their squared distances to their mean, added up
    rows: np.ndarray  # int64 (K,): rows in use
    counts: np.ndarray  # int64 (K, rows): buckets in each row
    bucket_totals: np.ndarray  # (K, rows, buckets)
    bucket_spreads: np.ndarray  # (K, rows, buckets)


@helper
def _spread_between(total_a, n_a, total_b, n_b):
    """Return what the spread of two sets together exceeds the sum of their own spreads by."""
    gap = total_a / n_a - total_b / n_b
    return gap * gap * (n_a / (n_a + n_b)) * n_b


@helper
def _append(state, arm, row, total, spread):
    place = state.counts[arm, row]
    state.bucket_totals[arm, row, place] = total
    state.bucket_spreads[arm, row, place] = spread
    state.counts[arm, row] = place + 1


@helper
def _drop_oldest(state, arm, row, n):
    """Forget the n oldest buckets of a row."""
    left = state.counts[arm, row] - n
    for place in range(left):
        state.bucket_totals[arm, row, place] = state.bucket_totals[arm, row, place + n]
        state.bucket_spreads[arm, row, place] = state.bucket_spreads[arm, row, place + n]
    state.counts[arm, row] = left


@helper
def _insert(state, arm, reward):
    """Take the reward into the window."""
    if state.widths[arm] > 0:
        state.spreads[arm] += _spread_between(state.totals[arm], np.float64(state.widths[arm]), reward, 1.0)
    state.widths[arm] += 1
    state.totals[arm] += reward
    _append(state, arm, 0, reward, 0.0)
    row, size = 0, 1.0
    while state.counts[arm, row] > _BUCKETS:
        totals, spreads = state.bucket_totals[arm, row], state.bucket_spreads[arm, row]
        spread = spreads[0] + spreads[1] + _spread_between(totals[0], size, totals[1], size)
        _append(state, arm, row + 1, totals[0] + totals[1], spread)
        _drop_oldest(state, arm, row, 2)
        row += 1
        size *= 2.0
    state.rows[arm] = max(state.rows[arm], row + 1)


@helper
def _has_changed(state, arm):
    """Say whether some cut of the window leaves two parts whose means differ too much to be chance."""
    width, total = np.float64(state.widths[arm]), state.totals[arm]
    log_term = math.log(2.0 * math.log(width) / state.settings[1])
    variance = state.spreads[arm] / width
    old, old_total = 0.0, 0.0
    for row in range(state.rows[arm] - 1, -1, -1):
        for place in range(state.counts[arm, row]):
            old += 2.0**row
            old_total += state.bucket_totals[arm, row, place]
            new = width - old
            if new < _SHORTEST:
                return False
            if old < _SHORTEST:
                continue
            both = 1.0 / (old - _SHORTEST + 1.0) + 1.0 / (new - _SHORTEST + 1.0)
            allowed = math.sqrt(2.0 * both * variance * log_term) + 2.0 / 3.0 * log_term * both
            if abs(old_total / old - (total - old_total) / new) > allowed:
                return True
    return False


@helper
def _forget_oldest(state, arm):
    """Drop the oldest bucket, and sum up the rest again.

    Subtracting the bucket would be cheaper, but would leave behind the rounding errors of what is gone.
    """
    top = state.rows[arm] - 1
    _drop_oldest(state, arm, top, 1)
    state.widths[arm] -= np.int64(1) << top
    if state.counts[arm, top] == 0:
        state.rows[arm] = top
    n, total, spread = 0.0, 0.0, 0.0
    for row in range(state.rows[arm] - 1, -1, -1):
        size = 2.0**row
        for place in range(state.counts[arm, row]):
            own = state.bucket_totals[arm, row, place]
            spread += state.bucket_spreads[arm, row, place]
            if n > 0.0:
                spread += _spread_between(total, n, own, size)
            n += size
            total += own
    state.totals[arm] = total
    state.spreads[arm] = spread


def select(state, t, word):
    """Return the arm with the largest index; arms never pulled come first."""
    width = state.settings[2] * state.settings[0] * math.sqrt(2.0 * math.log(t))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        n = state.widths[arm]
        index = state.totals[arm] / n + width / math.sqrt(n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Take the reward into the arm's window, and shorten the window while it shows a change."""
    state.pulls[arm] += 1
    _insert(state, arm, reward)
    if state.widths[arm] > _GRACE:
        while _has_changed(state, arm):
            _forget_oldest(state, arm)


@dataclass(frozen=True)
class AdwinUCB(Policy, state=AdwinUCBState, select=select, update=update, noise="sigma"):
    """Pull the arm with the largest mean + sigma sqrt(2 ln t / width), over a window that adapts to change.

    Each arm keeps a window of its latest rewards. After every reward, ADWIN tries to cut the window into an
    older and a newer part, between the O(log width) buckets of an exponential histogram. As long as some
    cut has |mean_old - mean_new| > sqrt(2 m v l) + (2/3) m l, the oldest bucket is dropped. Here v is the
    variance of the window, l = ln(2 ln(width) / delta) and m = 1 / (n_old - 4) + 1 / (n_new - 4); each part
    must hold at least 5 rewards, and the window, when the reward comes in, more than 10.

    The windows are those of `river.drift.ADWIN(delta, clock=1)`, except that river's class throws its whole
    window away on the update after a change, while here, as in the reference, the part since the change is
    kept. The term (2/3) m l is made for rewards whose range is about 1: if rewards are far smaller, windows
    are hardly ever cut, so scale them up.

    Parameters
    ----------
    sigma
        Scale of the noise, in the bonus only: ADWIN estimates its own.
    delta
        How readily windows are cut: the confidence of ADWIN's test.
    bonus
        False leaves out the exploration bonus: greedy on the window's mean.

    References
    ----------
    Bifet, Gavalda (2007), "Learning from time-changing data with adaptive windowing".

    Examples
    --------
    >>> agent = AdwinUCB(sigma=0.1).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, 1.0 if agent.pulls[1] < 50 else 0.0][arm])
    >>> agent.pulls
    array([20, 80])
    """

    sigma: float | None = sigma_parameter()
    delta: float = parameter(0.002, above=0, maximum=1, doc="confidence of the test for change")
    bonus: bool = parameter(True, choices=(True, False), doc="whether to add an exploration bonus")

    def initial_state(self, n_arms: int) -> AdwinUCBState:
        """Return empty windows."""
        buckets = (n_arms, _ROWS, _BUCKETS + 1)
        return AdwinUCBState(
            settings=np.array([self.told("sigma"), self.delta, float(self.bonus)]),
            pulls=np.zeros(n_arms, np.int64),
            widths=np.zeros(n_arms, np.int64),
            totals=np.zeros(n_arms),
            spreads=np.zeros(n_arms),
            rows=np.zeros(n_arms, np.int64),
            counts=np.zeros((n_arms, _ROWS), np.int64),
            bucket_totals=np.zeros(buckets),
            bucket_spreads=np.zeros(buckets),
        )

    def check_state(self, state: AdwinUCBState) -> None:
        """Check that buckets are where they are said to be, and hold the whole window."""
        sizes = 2 ** np.arange(_ROWS, dtype=np.int64)
        used = np.where(state.counts > 0, np.arange(_ROWS) + 1, 0).max(axis=1)
        fits = (
            state.counts.min() >= 0
            and state.counts.max() <= _BUCKETS
            and np.array_equal(state.rows, used)
            and np.array_equal(state.widths, state.counts @ sizes)
            and np.all((state.widths > 0) == (state.pulls > 0))
            and np.all(state.widths <= state.pulls)
            and state.pulls.max() < 1 << (_ROWS - 1)
        )
        if not fits:
            raise DamagedFile("its windows are inconsistent")
