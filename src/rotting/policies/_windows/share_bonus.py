"""RAW-UCB++'s bonus, sqrt(2 alpha sigma^2 ln(q) / h), and quick proofs about all windows of an arm under it.

q = x (1 + ln x)^(beta / alpha), x = max(t / (K h), 1). So ln q = u + r ln(1 + u) with u = ln x and r = beta / alpha.

The proofs of `index_proofs` carry over. Up to h = t / K, h ln q is concave (its second derivative is
-(1 + r / (1 + u) + r / (1 + u)^2) / h), and so is its root; beyond, the bonus is 0. A stretch with windows on both
sides of t / K counts as if it had no bonus at all.

For windows up to RECENT there is a table, of a round not long ago: the bonus never falls with t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting._core.parameters import Parameters, parameter
from rotting.policies._windows.bonuses import Bonus, register_bonus
from rotting.policies._windows.index_proofs import RECENT

AGE = 1.0 / 256.0  # by which part of t the table of recent windows may be behind
SHAVE = 2.0**-40  # more than rounding can be worth in ln q

# Slots of a policy's settings, and the first of `numbers`; SHARED is 1.0 if q falls with h (x = t / (K h)), and 0.0 if
# not (x = t: with r = 0, RAW-UCB). MADE is the round of the table.
ALPHA, SIGMA, RATIO, SHARED = range(4)
ROUND, ARMS, LOG_SHARE, SCALE, LARGEST, MADE = range(4, 10)


class ShareBonus(NamedTuple):
    """The bonus in a round, and what is known of it without taking logarithms."""

    numbers: np.ndarray  # float64 (10,)
    recent: np.ndarray  # float64 (RECENT,): no more than h times the bonus at h = RECENT, ..., 2, 1
    logs: np.ndarray  # float64 (RECENT,): ln of RECENT, ..., 2, 1


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
        bonus.recent[place] = numbers[SCALE] * math.sqrt((RECENT - place) * (u + numbers[RATIO] * math.log(1.0 + u)))


@helper
def bonus_of(settings, t, n_arms, h, root):
    """Return the bonus at window h, whose square root is given."""
    x = t / (n_arms * h) if settings[SHARED] > 0.0 else t
    u = math.log(max(x, 1.0))
    if settings[RATIO] > 0.0:
        u += settings[RATIO] * math.log(1.0 + u)
    return settings[SIGMA] * math.sqrt(2.0 * settings[ALPHA] * u) / root


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


def _recent(bonus, roots):
    return bonus.recent, 1.0


register_bonus(ShareBonus, Bonus(_at, _rises, _largest, _recent))
