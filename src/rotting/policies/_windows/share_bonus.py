"""RAW-UCB++'s bonus, sqrt(2 alpha sigma^2 ln(q) / h), and quick proofs about all windows of an arm under it.

q = x (1 + ln x)^(beta / alpha), x = max(t / (K h), 1). So ln q = u + r ln(1 + u) with u = ln x and r = beta / alpha.

The proofs of `index_proofs` carry over. Up to h = t / K, h ln q is concave (its second derivative is
-(1 + r / (1 + u) + r / (1 + u)^2) / h), and so is its root; beyond, the bonus is 0. A stretch with windows on both
sides of t / K counts as if it had no bonus at all.

Logarithms are what is slow, so the quick look at all ends of roofs takes none: with ln h of an end's window as it was
up to REFRESH pulls ago, ln(h + d) = ln h + ln(1 + y), y = d / h, is at most ln h + y (6 + y) / (6 + 4 y). For windows
up to RECENT there is a table, of a round not long ago: the bonus never falls with t. All of it errs below the bonus.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting._core.parameters import Parameters, parameter
from rotting.policies._windows.bonuses import Bonus, register_bonus, rises
from rotting.policies._windows.history import place_of, rounding, total_of
from rotting.policies._windows.index_proofs import (
    ENDS,
    HEIGHT,
    LAST,
    MOST_WIDTH,
    RECENT,
    STEPS,
    STRETCHES,
    WHERE,
    piece_of,
    pieces,
    steeper,
)
from rotting.policies._windows.team import any_in_team, my_share

REFRESH = 16  # pulls after which the logarithms of an arm's ends are taken anew
AGE = 1.0 / 256.0  # by which part of t the table of recent windows may be behind
SHAVE = 2.0**-40  # more than rounding can be worth in ln q
UNKNOWN = -1  # in `taken`

# Slots of a policy's settings, and the first of `numbers`; SHARED is 1.0 if q falls with h (x = t / (K h)), and 0.0 if
# not (x = t: with r = 0, RAW-UCB). MADE is the round of the table.
ALPHA, SIGMA, RATIO, SHARED = range(4)
ROUND, ARMS, LOG_SHARE, SCALE, LARGEST, MADE = range(4, 10)
LOG, INVERSE = range(2)  # of `ends`


class ShareBonus(NamedTuple):
    """The bonus in a round, and what is known of it without taking logarithms."""

    numbers: np.ndarray  # float64 (10,)
    recent: np.ndarray  # float64 (RECENT,): no more than h times the bonus at h = RECENT, ..., 2, 1
    logs: np.ndarray  # float64 (RECENT,): ln of RECENT, ..., 2, 1


class KnownLogs(NamedTuple):
    """Logarithms that were taken: of the windows at the ends of roofs, a few pulls ago, and of a window of each arm."""

    ends: np.ndarray  # float64 (K, 2, 2 STRETCHES): LOG and INVERSE of each end's window
    taken: np.ndarray  # int64 (K,): the arm's pulls then
    window: np.ndarray  # int64 (K,)
    log: np.ndarray  # float64 (K,): of `window`


@dataclass(frozen=True)
class ShareParameters(Parameters):
    """What a policy with this bonus is told besides `alpha` and `sigma`."""

    beta: float = parameter(0.0, minimum=0, doc="how much more to explore: q = x (1 + ln x)^(beta / alpha)")
    shared: bool = parameter(True, choices=(True, False), doc="whether x is max(t / (K h), 1), and not t")

    def bonus_settings(self, alpha: float, sigma: float) -> np.ndarray:
        """Return the settings of a policy with this bonus."""
        return np.array([alpha, sigma, self.beta / alpha, float(self.shared)])


def no_share_bonus() -> ShareBonus:
    """Return the bonus before the first round."""
    return ShareBonus(np.zeros(10), np.zeros(RECENT), np.log(np.arange(RECENT, 0, -1.0)))


def no_logs(n_arms: int) -> KnownLogs:
    """Return no logarithms."""
    unknown = np.full((2, n_arms), UNKNOWN, np.int64)
    return KnownLogs(np.zeros((n_arms, 2, 2 * STRETCHES)), unknown[0].copy(), unknown[1].copy(), np.zeros(n_arms))


@helper
def begin_round(bonus, settings, t, n_arms):
    """Make it the bonus of round t."""
    numbers = bonus.numbers
    for slot in range(4):
        numbers[slot] = settings[slot]
    arms = float(n_arms) if numbers[SHARED] > 0.0 else 1.0
    if numbers[ARMS] != arms:
        numbers[ARMS], numbers[MADE] = arms, 0.0
    numbers[ROUND], numbers[LOG_SHARE] = t, math.log(t / arms)
    numbers[SCALE] = numbers[SIGMA] * math.sqrt(2.0 * numbers[ALPHA])
    u = max(numbers[LOG_SHARE] + SHAVE, 0.0)
    numbers[LARGEST] = numbers[SCALE] * math.sqrt(u + numbers[RATIO] * math.log(1.0 + u))
    if not (numbers[MADE] <= t <= numbers[MADE] * (1.0 + AGE)):
        _make_table(bonus)


@outlined
def _make_table(bonus):
    """Fill in the table of recent windows."""
    numbers = bonus.numbers
    numbers[MADE] = numbers[ROUND]
    for place in range(RECENT):
        u = max(numbers[LOG_SHARE] - numbers[SHARED] * bonus.logs[place] - SHAVE, 0.0)
        bonus.recent[place] = numbers[SCALE] * math.sqrt((RECENT - place) * (u + numbers[RATIO] * _low_log(u)))


@helper
def _low_log(u):
    """Return no more than ln(1 + u), and hardly less for u up to 20: ln of a fourth root, by a Pade approximant."""
    y = math.sqrt(math.sqrt(1.0 + u)) - 1.0
    return 4.0 * y * (60.0 + y * (60.0 + 11.0 * y)) / (60.0 + y * (90.0 + y * (36.0 + 3.0 * y)))


@helper
def bonus_of(settings, t, n_arms, h, root):
    """Return the bonus at window h, whose square root is given."""
    x = t / (n_arms * h) if settings[SHARED] > 0.0 else t
    u = math.log(max(x, 1.0))
    if settings[RATIO] > 0.0:
        u += settings[RATIO] * math.log(1.0 + u)
    return settings[SIGMA] * math.sqrt(2.0 * settings[ALPHA] * u) / root


@helper
def bound_arms(bonus, known, window, mean, root, bound):
    """Write no less than the upper confidence bound of each arm at its window (hardly more: SHAVE) to `bound`."""
    numbers = bonus.numbers
    share, shared, scale, ratio = numbers[LOG_SHARE] + SHAVE, numbers[SHARED], numbers[SCALE], numbers[RATIO]
    for arm in range(len(bound)):
        if known.window[arm] != window[arm]:
            known.window[arm], known.log[arm] = window[arm], math.log(window[arm])
    for arm in range(len(bound)):
        u = max(share - shared * known.log[arm], 0.0)
        bound[arm] = mean[arm] + scale * math.sqrt(u) / root[arm]
    if ratio > 0.0:
        for arm in range(len(bound)):
            u = max(share - shared * known.log[arm], 0.0)
            bound[arm] = mean[arm] + scale * math.sqrt(u + ratio * math.log(1.0 + u)) / root[arm]


def _at(bonus, h):
    numbers = bonus.numbers
    return bonus_of(numbers, numbers[ROUND], numbers[ARMS], float(h), math.sqrt(h))


def _rises(bonus, h, g):
    numbers = bonus.numbers
    u = numbers[LOG_SHARE] - numbers[SHARED] * math.log(h) - SHAVE
    if u <= 0.0:
        return 0.0, 0.0
    v = numbers[LOG_SHARE] - numbers[SHARED] * math.log(g) - SHAVE
    if numbers[RATIO] > 0.0:
        u, v = u + numbers[RATIO] * math.log(1.0 + u), v + numbers[RATIO] * math.log(1.0 + v)
    return numbers[SCALE] * math.sqrt(h * u), numbers[SCALE] * math.sqrt(g * v)


def _largest(bonus):
    return bonus.numbers[LARGEST]


register_bonus(ShareBonus, Bonus(_at, _rises, _largest))


@helper
def all_above(history, proofs, known, bonus, arm, level):
    """Say whether the upper confidence bounds of an arm surely lie above `level`, at every window."""
    n, notes, largest = history.pulls[arm], proofs.notes, bonus.numbers[LARGEST]
    if n - notes[arm, LAST] > RECENT or not largest < MOST_WIDTH:
        return False
    if known.taken[arm] == UNKNOWN or n - known.taken[arm] > REFRESH:
        _take_logs(proofs, known, arm, n)
    if not _ends_above(proofs, known, bonus, arm, n, total_of(history, arm) - rounding(history), level):
        return False
    for piece in range(pieces(notes, arm, n)):
        longest, size = piece_of(notes, arm, n, piece)
        if not _row_above(history, proofs.tables, bonus, arm, longest, size, level):
            return False
    return True


@helper
def _ends_above(proofs, known, bonus, arm, n, total, level):
    """Say whether all ends of roofs are in order."""
    roofs, ends, numbers = proofs.roofs, known.ends, bonus.numbers
    scale, ratio, shared, share = numbers[SCALE], numbers[RATIO], numbers[SHARED], numbers[LOG_SHARE] - SHAVE
    steep, since = steeper(level, numbers[LARGEST]), float(n - known.taken[arm])
    if ratio > 0.0:
        return _ends_above_with_ratio(proofs, known, bonus, arm, n, total, level)
    below = False
    for pair in my_share(proofs.notes[arm, ENDS] >> 1):
        end = pair + pair
        other = end + np.uint64(1)
        h, g = n - roofs[arm, WHERE, end], n - roofs[arm, WHERE, other]
        y, z = since * ends[arm, INVERSE, end], since * ends[arm, INVERSE, other]
        u = max(share - shared * (ends[arm, LOG, end] + y * (6.0 + y) / (6.0 + 4.0 * y)), 0.0)
        v = share - shared * (ends[arm, LOG, other] + z * (6.0 + z) / (6.0 + 4.0 * z))
        v = v if u > 0.0 else 0.0
        below |= not ((total - roofs[arm, HEIGHT, end]) - steep * h + scale * math.sqrt(h * u) > 0.0)
        below |= not ((total - roofs[arm, HEIGHT, other]) - steep * g + scale * math.sqrt(g * v) > 0.0)
    return not any_in_team(below)


@helper
def _ends_above_with_ratio(proofs, known, bonus, arm, n, total, level):
    """Say the same for beta > 0: a loop of its own, so that both are short."""
    roofs, ends, numbers = proofs.roofs, known.ends, bonus.numbers
    scale, ratio, shared, share = numbers[SCALE], numbers[RATIO], numbers[SHARED], numbers[LOG_SHARE] - SHAVE
    steep, since = steeper(level, numbers[LARGEST]), float(n - known.taken[arm])
    below = False
    for pair in my_share(proofs.notes[arm, ENDS] >> 1):
        end = pair + pair
        other = end + np.uint64(1)
        h, g = n - roofs[arm, WHERE, end], n - roofs[arm, WHERE, other]
        y, z = since * ends[arm, INVERSE, end], since * ends[arm, INVERSE, other]
        u = max(share - shared * (ends[arm, LOG, end] + y * (6.0 + y) / (6.0 + 4.0 * y)), 0.0)
        v = share - shared * (ends[arm, LOG, other] + z * (6.0 + z) / (6.0 + 4.0 * z))
        v = v if u > 0.0 else 0.0
        u, v = u + ratio * _low_log(u), v + ratio * _low_log(v)
        below |= not ((total - roofs[arm, HEIGHT, end]) - steep * h + scale * math.sqrt(h * u) > 0.0)
        below |= not ((total - roofs[arm, HEIGHT, other]) - steep * g + scale * math.sqrt(g * v) > 0.0)
    return not any_in_team(below)


@outlined
def _take_logs(proofs, known, arm, n):
    """Take the logarithms of an arm's ends."""
    known.taken[arm] = n
    for end in range(proofs.notes[arm, ENDS]):
        h = n - proofs.roofs[arm, WHERE, end]
        known.ends[arm, LOG, end], known.ends[arm, INVERSE, end] = math.log(h), 1.0 / h


@helper
def _row_above(history, tables, bonus, arm, longest, size, level):
    """Say whether the bounds at windows `longest`, `longest` - 1, ..., `size` of them, surely lie above `level`."""
    high, first = history.high, np.uint64(place_of(history, arm, history.pulls[arm] - longest + size - 1) + 1 - size)
    base = total_of(history, arm) - rounding(history) - steeper(level, bonus.numbers[LARGEST]) * longest
    table, weight, step = np.uint64(0), 0.0, level
    if longest <= RECENT:
        table, weight = np.uint64(RECENT - longest), 1.0
    else:
        rise, last_rise = rises(bonus, longest, longest - size + 1)
        base += rise
        step -= (rise - last_rise) / max(size - 1, 1)
    below = False
    for j in my_share(size):
        below |= not (base + step * tables[STEPS, j] + weight * bonus.recent[table + j] - high[first + j] > 0.0)
    return not any_in_team(below)
