"""Window sums that are refreshed now and then: the statistics of EFF-FEWA and EFF-RAW-UCB.

Windows h_0 < h_1 < ... have a stored sum per arm. The sum of window h_j is created when the arm has h_j pulls and
refreshed every w_j pulls, each time with exactly the last h_j rewards. Sums follow the package's rule: added exactly,
rounded once.

* `DyadicWindows`: h_j = 2^j, from a few block sums per arm, O(1) amortised per reward. Refreshed every 2^(j-1) pulls
  ("nested") or every 2^j pulls ("blocks"). `PrintedWindows` are those blocks, one pull earlier.
* `GridWindows`: h_{j+1} = ceil(m h_j) for any 1 < m < 2, from the complete history, with periods
  w_{j+1} = w_j ceil((h_{j+1} - h_j) / w_j). As m tends to 1 it becomes every window at every pull: FEWA itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from rotting._core.compiling import INLINED, helper
from rotting.errors import DamagedFile
from rotting.policies._windows.double_double import add
from rotting.policies._windows.history import History, append, check_history, empty_history, reserve, window_sum

_LEVELS = 48  # windows up to 2^47


class DyadicWindows(NamedTuple):
    """Sums over the last 2^j rewards, refreshed at the ends of aligned blocks."""

    pulls: np.ndarray  # int64 (K,)
    sizes: np.ndarray  # int64 (levels,): the windows
    roots: np.ndarray  # float64 (levels,): their square roots
    sums: np.ndarray  # float64 (levels, K): the stored window sums
    newest: np.ndarray  # float64 (K, levels, 2): double-double sum of the newest complete block of 2^j rewards
    nested: np.ndarray  # bool [refresh at every half block?]


class PrintedWindows(NamedTuple):
    """Sums over the last 2^j rewards, refreshed as the paper's pseudo-code is printed.

    There the reward that creates a window is also the first of its next block. So blocks end one pull earlier: they
    count one pull more than there is, as if a reward of 0 had come first.
    """

    pulls: np.ndarray
    sizes: np.ndarray
    roots: np.ndarray
    sums: np.ndarray
    blocks: DyadicWindows  # the same sizes, roots and sums; other pulls


class GridWindows(NamedTuple):
    """Sums over the last h_j rewards for a finer grid of windows."""

    pulls: np.ndarray
    sizes: np.ndarray
    roots: np.ndarray
    sums: np.ndarray
    periods: np.ndarray  # int64 (levels,): w_j
    history: History


def dyadic_windows(n_arms: int, refresh: str) -> DyadicWindows:
    """Return empty statistics on windows 1, 2, 4, ..."""
    sizes = 2 ** np.arange(_LEVELS, dtype=np.int64)
    return DyadicWindows(
        pulls=np.zeros(n_arms, np.int64),
        sizes=sizes,
        roots=np.sqrt(sizes),
        sums=np.zeros((_LEVELS, n_arms)),
        newest=np.zeros((n_arms, _LEVELS, 2)),
        nested=np.array([refresh == "nested"]),
    )


def printed_windows(blocks: DyadicWindows) -> PrintedWindows:
    """Return empty statistics as they are printed, on empty blocks."""
    blocks.pulls[:] = 1
    return PrintedWindows(np.zeros_like(blocks.pulls), blocks.sizes, blocks.roots, blocks.sums, blocks)


def grid_windows(n_arms: int, grid: float) -> GridWindows:
    """Return empty statistics on the grid of windows with ratio `grid`."""
    history = empty_history(n_arms)
    sizes, periods = _grid(grid, longest=1)
    return GridWindows(history.pulls, sizes, np.sqrt(sizes), np.zeros((len(sizes), n_arms)), periods, history)


def reserve_grid(windows: GridWindows, pulls: int, grid: float) -> GridWindows:
    """Return statistics with room for that many more pulls, whichever arms they fall on."""
    windows = windows._replace(history=reserve(windows.history, pulls))
    longest = int(windows.pulls.max()) + pulls
    if windows.sizes[-1] > longest:
        return windows
    sizes, periods = _grid(grid, longest + longest // 8)
    sums = np.zeros((len(sizes), len(windows.pulls)))
    sums[: len(windows.sizes)] = windows.sums
    return windows._replace(sizes=sizes, roots=np.sqrt(sizes), sums=sums, periods=periods)


def _grid(grid: float, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return windows and refresh periods, up to the first window beyond `longest`."""
    levels = []
    for size, period in _levels(grid):
        levels.append((size, period))
        if size > longest:
            break
    sizes, periods = np.array(levels, np.int64).T.copy()
    return sizes, periods


def _levels(grid: float) -> Iterator[tuple[int, int]]:
    """Yield the windows of a grid and their refresh periods, without end."""
    size = period = 1
    while True:
        yield size, period
        step = max(1, math.ceil(grid * size) - size)
        size += step
        period *= -(-step // period)


def check_windows(windows: DyadicWindows | PrintedWindows | GridWindows, grid: float) -> None:
    """Refuse statistics (from a file) whose parts do not belong together."""
    levels = len(windows.sizes)
    sizes, periods = np.array(list(itertools.islice(_levels(grid), levels)), np.int64).T
    fits = np.array_equal(windows.sizes, sizes) and np.array_equal(windows.roots, np.sqrt(sizes))
    if isinstance(windows, GridWindows):
        fits &= np.array_equal(windows.periods, periods) and len(windows.sums) == levels
        check_history(windows.history)
    if isinstance(windows, PrintedWindows):
        fits &= np.array_equal(windows.blocks.pulls, windows.pulls + 1)
    if not fits or windows.pulls.max() >= windows.sizes[-1] or not np.isfinite(windows.sums).all():
        raise DamagedFile("its windows are inconsistent")


def push(windows, arm, reward):
    """Learn from a reward: refresh the window sums of either kind that are due."""
    _PUSH[type(windows)](windows, arm, reward)  # plain Python only: compiled code goes to _push


@overload(push, jit_options=INLINED)
def _push(windows, arm, reward):
    kind = getattr(windows, "instance_class", type(None))
    return getattr(_PUSH.get(kind), "py_func", None)


@helper
def push_dyadic(windows, arm, reward):
    """Take in a reward and refresh the window sums that are due.

    This is a binary counter: a block of 2^(j+1) rewards is complete when the second of two blocks of 2^j is. At that
    moment, and for nested refreshing also half a block later, the newest two blocks are the last 2^(j+1) rewards.
    """
    n = windows.pulls[arm] + 1
    windows.pulls[arm] = n
    high, low = reward, 0.0
    level = 0
    windows.sums[0, arm] = reward
    while True:
        before_high, before_low = windows.newest[arm, level, 0], windows.newest[arm, level, 1]
        windows.newest[arm, level, 0], windows.newest[arm, level, 1] = high, low
        complete = n & ((2 << level) - 1) == 0
        if n >= 2 << level and (complete or windows.nested[0]):
            high, low = add(before_high, before_low, high, low)
            windows.sums[level + 1, arm] = high
        if not complete:
            return
        level += 1


@helper
def push_printed(windows, arm, reward):
    """Take in a reward and refresh the window sums that are due; with the 2^j-th, create that of window 2^j."""
    push_dyadic(windows.blocks, arm, reward)
    n, level = windows.pulls[arm] + 1, 1
    windows.pulls[arm] = n
    while windows.sizes[level] < n:
        level += 1
    if windows.sizes[level] == n:  # the newest block of 2^j is all that came before, and the 0
        before = windows.blocks.newest[arm, level]
        windows.sums[level, arm] = add(before[0], before[1], reward, 0.0)[0]


@helper
def push_grid(windows, arm, reward):
    """Take in a reward and refresh the window sums that are due."""
    append(windows.history, arm, reward)
    n = windows.pulls[arm]
    for level in range(len(windows.sizes)):
        size = windows.sizes[level]
        if size > n:
            return
        if (n - size) % windows.periods[level] == 0:
            windows.sums[level, arm] = window_sum(windows.history, arm, size)


_PUSH = {DyadicWindows: push_dyadic, PrintedWindows: push_printed, GridWindows: push_grid}
