"""The complete reward history of every arm, kept so that questions about windows are answered quickly.

What is kept of an arm after n pulls are its prefix sums S[0..n], S[m] = r(0) + ... + r(m - 1). The sum of the last h
rewards is then W(h) = S[n] - S[n - h].

Rounding. Prefix sums are kept in double-double arithmetic (about 32 digits, as `high + low`), so a window sum comes out
as if its rewards had been added exactly and rounded once, even far into a history of large rewards. This is the
package's rule for every window sum; the literal transcriptions in the tests use `math.fsum`, which does the same.

Memory. Prefix sums live in pages of 256 taken from one shared pool, so arms grow as they are pulled and nothing is ever
moved. A page of high parts starts with a copy of the last 64 of the page before, so any 64 consecutive prefix sums are
contiguous somewhere and can be compared with vector instructions. That makes 18 bytes for a prefix sum and 2 for the
outlines below, 20 bytes per pull and a little slack.

Outlines. Questions about many windows at once are answered from outlines. The outline of an aligned block of 16, 32,
64, ... pulls says how far S falls below and rises above the straight line between its values at the
block's two ends. With it, `band` encloses S on any stretch of an arm's history between two parallel lines, in a few
steps however long the stretch is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper, outlined
from rotting._core.defining import written_first
from rotting.errors import DamagedFile
from rotting.policies._windows.double_double import add

PAGE_BITS, NODE_BITS = 8, 5
PAGE = 1 << PAGE_BITS  # prefix sums per page
NODES = 1 << NODE_BITS  # outlines per page, see _node
BLOCK = 2 * PAGE // NODES  # pulls in the smallest outlined block
ROW = 64  # prefix sums that lie side by side wherever they start
STEP = ROW + PAGE  # high parts per page

# Indices on hot paths are unsigned: that skips numba's negative-index wraparound.

# No rounded quantity in this module is off by more than 2^-49 of the largest prefix sum (a handful of operations,
# each within 2^-53); comparisons that must err on the safe side allow eight times that.
ROUNDING = 2.0**-46

PAGES, UNPULLED = range(2)  # slots of `used`
# Slots of `summary`, what is known of an arm without looking back:
# TOTAL, REST: S[n] in two parts; SMALLEST, GREATEST: of its rewards; TRAVEL: how far any of its window sums can have
# moved in all its pulls, each of which adds a reward to a window and takes one away.
TOTAL, REST, SMALLEST, GREATEST, TRAVEL = range(5)


# What a run has not written itself is S[0] = 0 of each arm, which none changes.
@written_first("high", "low", "outlines", "page")
class History(NamedTuple):
    """Prefix sums of all arms, in pages, with outlines."""

    pulls: np.ndarray  # int64 (K,)
    high: np.ndarray  # float64 (pages * STEP,): prefix sums ...
    low: np.ndarray  # float64 (pages * PAGE,): ... and what rounding would have lost of them
    outlines: np.ndarray  # float64 (pages * NODES, 2): of blocks, how far S falls below and rises above the line
    page: np.ndarray  # int32 (K, most pages of an arm): which page holds S[256 p .. 256 p + 255]
    used: np.ndarray  # int64 [pages in use, arms without a pull]
    summary: np.ndarray  # float64 (K, 8): TOTAL, ..., TRAVEL of each arm; 8 numbers fill a cache line
    largest: np.ndarray  # float64 [the largest |S| so far]


def empty_history(n_arms: int) -> History:
    """Return the history of arms that have not been pulled; `reserve` makes room for pulls."""
    page = np.arange(n_arms, dtype=np.int32)[:, None]  # S[0] = 0 needs a page already
    return History(
        pulls=np.zeros(n_arms, np.int64),
        high=np.zeros(n_arms * STEP),
        low=np.zeros(n_arms * PAGE),
        outlines=np.zeros((n_arms * NODES, 2)),
        page=page,
        used=np.array([n_arms, n_arms], np.int64),
        summary=np.tile([0.0, 0.0, np.inf, -np.inf, 0.0, 0.0, 0.0, 0.0], (n_arms, 1)),
        largest=np.zeros(1),
    )


def reserve(history: History, pulls: int) -> History:
    """Return a history with room for that many more pulls, whichever arms they fall on.

    What does not fit is moved to arrays that are larger by an eighth at least, so that each number is moved about eight
    times in all, however often room is asked for.
    """
    n_arms, had_pages, had_columns = len(history.pulls), len(history.low) // PAGE, history.page.shape[1]
    pages = int(history.used[PAGES]) + min(pulls, n_arms) + pulls // PAGE + 1
    columns = (int(history.pulls.max()) + pulls) // PAGE + 1
    if columns > had_columns:
        page = np.zeros((n_arms, max(columns, had_columns + had_columns // 8)), np.int32)
        page[:, :had_columns] = history.page
        history = history._replace(page=page)
    if pages <= had_pages:
        return history
    pages = max(pages, had_pages + had_pages // 8)
    return history._replace(
        high=_longer(history.high, pages * STEP),
        low=_longer(history.low, pages * PAGE),
        outlines=_longer(history.outlines, pages * NODES),
    )


def check_history(history: History) -> None:
    """Refuse a history (from a file) whose parts do not belong together."""
    pages, n_arms = len(history.low) // PAGE, len(history.pulls)
    columns = history.pulls // PAGE + 1  # pages in use, by arm
    fits = (
        len(history.low) == pages * PAGE
        and len(history.high) == pages * STEP
        and history.outlines.shape == (pages * NODES, 2)
        and history.summary.shape == (n_arms, 8)
        and history.pulls.min() >= 0
        and columns.max() <= history.page.shape[1]
        and columns.sum() == history.used[PAGES] <= pages
        and history.used[UNPULLED] == np.count_nonzero(history.pulls == 0)
    )
    if not fits:
        raise DamagedFile("its reward history is inconsistent")
    in_use = np.arange(history.page.shape[1]) < columns[:, None]
    taken = np.sort(history.page[in_use])
    if not np.array_equal(taken, np.arange(len(taken))) or not _sums_fit(history):
        raise DamagedFile("its reward history is inconsistent")


def _sums_fit(history: History) -> bool:
    """Say whether sums are finite, and each arm's total is its last prefix sum."""
    finite = all(np.isfinite(array).all() for array in (history.high, history.low, history.outlines, history.largest))
    high, _ = last_prefix(history, 0)
    return (
        finite
        and np.array_equal(history.summary[:, TOTAL], high)
        and bool(np.isfinite(history.summary[:, [REST, TRAVEL]]).all())
        and bool((history.summary[:, TRAVEL] >= 0).all())
        and bool(np.abs(high).max() <= history.largest[0])
    )


def last_prefix(history: History, back: int) -> tuple[np.ndarray, np.ndarray]:
    """Return S[n - back] of every arm to double precision, and whether the arm has as many pulls (for Python)."""
    before = np.maximum(history.pulls - back, 0)
    page = history.page[np.arange(len(before)), before >> PAGE_BITS].astype(np.int64)
    return history.high[page * STEP + ROW + (before & (PAGE - 1))], history.pulls >= back


def rough_window_sums(history: History, h: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the last h rewards of every arm, and whether the arm has as many (for Python)."""
    prefix, known = last_prefix(history, h)
    return history.summary[:, TOTAL] - prefix, known


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    grown = np.zeros((length, *array.shape[1:]))  # not empty: it may be written to a file
    grown[: len(array)] = array
    return grown


@helper
def append(history, arm, reward):
    """Add a reward to an arm's history (after `reserve` made room for it)."""
    n = history.pulls[arm] + 1
    if n == 1:
        history.used[UNPULLED] -= 1
    if n & (PAGE - 1) == 0:
        _turn_page(history, arm, n)
    summary, row = history.summary, np.uint64(arm)
    high, low = add(summary[row, TOTAL], summary[row, REST], reward, 0.0)
    summary[row, TOTAL], summary[row, REST] = high, low
    history.high[np.uint64(place_of(history, arm, n))] = high
    history.low[np.uint64(_low_place_of(history, arm, n))] = low
    history.largest[0] = max(history.largest[0], abs(high))
    smallest, greatest = min(summary[row, SMALLEST], reward), max(summary[row, GREATEST], reward)
    summary[row, SMALLEST], summary[row, GREATEST] = smallest, greatest
    summary[row, TRAVEL] += max(reward - smallest, greatest - reward)
    history.pulls[arm] = n
    if n & (BLOCK - 1) == 0:
        _close_blocks(history, arm, n)


@helper
def window_sum(history, arm, h):
    """Return the sum of the last h rewards of an arm, as if added exactly and rounded once."""
    m = history.pulls[arm] - h
    before, rest = rough_prefix(history, arm, m), history.low[np.uint64(_low_place_of(history, arm, m))]
    high, _ = add(total_of(history, arm), history.summary[np.uint64(arm), REST], -before, -rest)
    return high


@helper
def _prefix(history, arm, m):
    """Return S[m] in two parts."""
    return rough_prefix(history, arm, m), history.low[np.uint64(_low_place_of(history, arm, m))]


@helper
def difference_of_windows(history, arm, h):
    """Return by how much the sum of the last h rewards exceeds that of the h before, added exactly and rounded once."""
    n = history.pulls[arm]
    middle, middle_rest = _prefix(history, arm, n - h)
    first, first_rest = _prefix(history, arm, n - 2 * h)
    newer, newer_rest = add(total_of(history, arm), history.summary[np.uint64(arm), REST], -middle, -middle_rest)
    older, older_rest = add(middle, middle_rest, -first, -first_rest)
    high, _ = add(newer, newer_rest, -older, -older_rest)
    return high


@entry
def window_sum_of(history, arm, h):
    """Return the same, for Python to call."""
    return window_sum(history, arm, h)


@helper
def rounding(history):
    """Return more than rounding can be worth in any comparison of rough sums and bands."""
    return ROUNDING * history.largest[0]


def rounding_of(history: History) -> float:
    """Return the same, for Python to call."""
    return ROUNDING * float(history.largest[0])


@helper
def total_of(history, arm):
    """Return S[n] to double precision."""
    return history.summary[np.uint64(arm), TOTAL]


@helper
def rough_prefix(history, arm, m):
    """Return S[m] to double precision."""
    return history.high[np.uint64(place_of(history, arm, m))]


@helper
def band(history, arm, first, last):
    """Enclose S[first..last] between two parallel lines (first <= last).

    Returns (height, slope, under, over): for every m in first..last,
    under <= S[m] - (height + slope * (m - first)) <= over, up to ROUNDING * largest.
    The arm must have been pulled BLOCK times since `last`. The longer ago that is, the longer a stretch is cheap.
    """
    n, size, level = history.pulls[arm], np.int64(BLOCK), np.int64(0)
    # Some eight blocks, but only such as have ended by now.
    while 8 * size <= last - first and ((last >> level) // (2 * BLOCK) + 1) * (2 * size) <= n:
        size *= 2
        level += 1
    # Block ends around first..last; the line goes through S at the outermost two.
    start, stop = first // size, last // size + 1
    height = rough_prefix(history, arm, start * size)
    slope = (rough_prefix(history, arm, stop * size) - height) / ((stop - start) * size)
    under, over, left = 0.0, 0.0, 0.0
    for block in range(start, stop):
        # Deviations from the line at this block's two ends; in between, the block's outline adds to the larger.
        right = rough_prefix(history, arm, (block + 1) * size) - (height + slope * ((block + 1 - start) * size))
        node = _node(history, arm, level, block)
        over = max(over, max(left, right) + history.outlines[node, 1])
        under = min(under, min(left, right) + history.outlines[node, 0])
        left = right
    return height + slope * (first - start * size), slope, under, over


@helper
def outline_of(history, arm, start, size):
    """Return how far S falls below (as a number <= 0) and rises above the straight line over an aligned, ended block.

    The block is from S[start] to S[start + size].
    """
    level = 0
    while BLOCK << level < size:
        level += 1
    node = _node(history, arm, level, start // size)
    return history.outlines[node, 0], history.outlines[node, 1]


@helper
def longest_block(start, n):
    """Return how many pulls the longest aligned block from a start on has that is not longer than what follows it.

    0 if not even the shortest has ended after n pulls.
    """
    size = np.int64(BLOCK)
    while 4 * size <= n - start and start % (2 * size) == 0:
        size *= 2
    return size if start + size <= n else 0


@helper
def place_of(history, arm, m):
    """Return where S[m] is kept in `high`; up to ROW earlier ones (as many as there are) lie right before it."""
    # Shifts and masks: Python's // and % are slower, since they handle negative numbers.
    return _page_of(history, arm, m) * STEP + ROW + (m & (PAGE - 1))


@helper
def row_of(history, arm, h, size):
    """Return where S[n - h - size + 1], ..., S[n - h] are kept in `high`: for the windows h + size - 1 down to h."""
    return np.uint64(place_of(history, arm, history.pulls[arm] - h) + 1 - size)


@helper
def _low_place_of(history, arm, m):
    """Return where the low part of S[m] is kept in `low`."""
    return _page_of(history, arm, m) * PAGE + (m & (PAGE - 1))


@helper
def _page_of(history, arm, m):
    """Return the page that holds S[m]."""
    return history.page[np.uint64(arm), np.uint64(m >> PAGE_BITS)]


@outlined
def _turn_page(history, arm, n):
    """Take a new page for S[n] and what follows."""
    end = place_of(history, arm, n - 1) + 1
    history.page[arm, n >> PAGE_BITS] = history.used[PAGES]
    history.used[PAGES] += 1
    start = place_of(history, arm, n)
    for back in range(1, ROW + 1):
        history.high[start - back] = history.high[end - back]


@helper
def _node(history, arm, level, block):
    """Return where the outline of a block is kept.

    Blocks of all sizes, read as a binary tree, are numbered in order from left to right. So a block's number lies in
    its middle, an arm with n pulls has at most 2 n / BLOCK of them, and they fit the arm's pages evenly.
    """
    number = ((2 * block + 1) << level) - 1
    return history.page[arm, number >> NODE_BITS] * NODES + (number & (NODES - 1))


@outlined
def _close_blocks(history, arm, n):
    """Store the outlines of the blocks, of all sizes, that end with pull n."""
    height = rough_prefix(history, arm, n - BLOCK)
    slope = (total_of(history, arm) - height) / BLOCK
    under, over = 0.0, 0.0
    for m in range(1, BLOCK):
        deviation = rough_prefix(history, arm, n - BLOCK + m) - (height + slope * m)
        under, over = min(under, deviation), max(over, deviation)
    level, block = np.int64(0), n // BLOCK - 1
    while True:
        node = _node(history, arm, level, block)
        history.outlines[node, 0], history.outlines[node, 1] = under, over
        if block % 2 == 0:
            return
        # The larger block that ends here too: outline it from (up to) eight smaller ones.
        level, block = level + 1, block // 2
        _, _, under, over = band(history, arm, n - (BLOCK << level), n - 1)
