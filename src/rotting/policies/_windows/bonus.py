"""The bonus of an upper confidence bound, and what proofs about all windows of an arm may count on.

RAW-UCB's bonus at window h is width / sqrt(h), with a width that is the same for all windows. RAW-UCB++'s is
sqrt(2 alpha sigma^2 ln(q) / h), q = x (1 + ln x)^r, r = beta / alpha. With x = t that is a width, too; with
x = max(t / (K h), 1) a window that holds more than its share of the rounds has no bonus.

The proofs of `index_proofs` need h times the bonus to be concave. sqrt(h) is. Shared, ln q = u + r ln(1 + u) with
u = ln x; up to h = t / K, h ln q is concave (its second derivative is -(1 + r / (1 + u) + r / (1 + u)^2) / h), and so
is its root; beyond, the bonus is 0. A stretch with windows on both sides of t / K counts as if it had no bonus at all.

Logarithms are what is slow, so proofs take them from `low_log`, on the safe side, and those of windows up to RECENT
from a table of a round not long ago: the bonus never falls with t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from rotting._core.compiling import INLINED, helper, outlined
from rotting._core.parameters import Parameters, parameter

RECENT = 128  # windows that the table is for
AGE = 1.0 / 64.0  # by which part of t the table may be behind
SHAVE = 2.0**-40  # more than rounding can be worth in ln q
MISSING = 2.0**-19  # the most by which `low_log` is less than ln x
_FRACTION, _ONE, _LOG_2 = np.int64((1 << 52) - 1), np.int64(1023 << 52), math.log(2.0)  # of a float64's bits

# Slots of `numbers`. The first ones are a policy's settings. WIDTH is the bonus times sqrt(h) if x does not fall with
# h, and no less than that if it does; WEIGHT is what `recent` is multiplied by. MADE is the round of the table.
ALPHA, SIGMA, RATIO, SHARED, ROUND, ARMS, WIDTH, SCALE, LOW_SHARE, WEIGHT, MADE = range(11)


class Bonus(NamedTuple):
    """The bonus in a round, where x is t. Its class says what compiled code need not know of the others."""

    numbers: np.ndarray  # float64 (11,)
    recent: np.ndarray  # float64 (RECENT,): no more than h times the bonus at h = RECENT, ..., 2, 1, but for WEIGHT


class SharedBonus(Bonus):
    """The bonus where x falls with h, and r is 0."""

    __slots__ = ()


class RaisedBonus(SharedBonus):
    """The bonus where x falls with h, and r is not 0."""

    __slots__ = ()


@dataclass(frozen=True)
class ShareParameters(Parameters):
    """What a policy with RAW-UCB++'s bonus is told besides `alpha` and `sigma`."""

    beta: float = parameter(0.0, minimum=0, doc="how much more to explore: q = x (1 + ln x)^(beta / alpha)")
    shared: bool = parameter(True, choices=(True, False), doc="whether x is max(t / (K h), 1), and not t")

    def bonus_settings(self, alpha: float, sigma: float) -> np.ndarray:
        """Return the settings of a policy with this bonus; one of RAW-UCB's has the first two."""
        return np.array([alpha, sigma, self.beta / alpha, float(self.shared)])

    def new_bonus(self) -> Bonus:
        """Return the bonus before the first round."""
        if not self.shared:
            return new_bonus()
        return new_bonus(RaisedBonus if self.beta > 0 else SharedBonus)


def new_bonus(kind: type[Bonus] = Bonus) -> Bonus:
    """Return a bonus before the first round."""
    return kind(np.zeros(11), np.sqrt(np.arange(RECENT, 0, -1.0)))


def low_share(bonus):
    """Return no more than ln(t / K) if x falls with h; else None: what needs it is then left out of compiled code."""
    return bonus.numbers[LOW_SHARE] if isinstance(bonus, SharedBonus) else None


def ratio(bonus):
    """Return r if x falls with h and r is not 0; else None."""
    return bonus.numbers[RATIO] if isinstance(bonus, RaisedBonus) else None


@overload(low_share, jit_options=INLINED)
def _low_share(bonus):
    if issubclass(bonus.instance_class, SharedBonus):
        return lambda bonus: bonus.numbers[LOW_SHARE]
    return lambda bonus: None


@overload(ratio, jit_options=INLINED)
def _ratio(bonus):
    if issubclass(bonus.instance_class, RaisedBonus):
        return lambda bonus: bonus.numbers[RATIO]
    return lambda bonus: None


@helper
def begin_round(bonus, settings, t, n_arms):
    """Make it the bonus of round t."""
    for slot in range(len(settings)):
        bonus.numbers[slot] = settings[slot]
    _begin(bonus, low_share(bonus), settings, t, n_arms)


@helper
def _begin(bonus, share, settings, t, n_arms):
    numbers = bonus.numbers
    if share is None:
        numbers[WIDTH] = numbers[SCALE] = numbers[WEIGHT] = width_of(settings, float(t))
        return
    if numbers[ARMS] != n_arms:
        numbers[ARMS], numbers[MADE] = n_arms, 0.0
    numbers[ROUND], numbers[LOW_SHARE] = t, math.log(t / float(n_arms)) - SHAVE - MISSING
    numbers[SCALE] = numbers[SIGMA] * math.sqrt(2.0 * numbers[ALPHA])
    numbers[WIDTH], numbers[WEIGHT] = (1.0 + MISSING) * bonus_at(bonus, 1.0), 1.0
    if not (numbers[MADE] <= t <= numbers[MADE] * (1.0 + AGE)):
        numbers[MADE] = t
        _make_table(bonus)


@outlined
def _make_table(bonus):
    """Fill in the table of recent windows."""
    for place in range(RECENT):
        bonus.recent[place], _ = rises(bonus, float(RECENT - place), float(RECENT - place))


@helper
def width_of(settings, x):
    """Return sqrt(2 sigma^2 alpha ln(q)): the bonus times sqrt(h)."""
    u = math.log(max(x, 1.0))
    if len(settings) > RATIO and settings[RATIO] > 0.0:
        u += settings[RATIO] * math.log(1.0 + u)
    return settings[SIGMA] * math.sqrt(2.0 * settings[ALPHA] * u)


@helper
def bonus_at(bonus, h):
    """Return the bonus at window h."""
    return _bonus_at(bonus.numbers, low_share(bonus), h)


@helper
def _bonus_at(numbers, share, h):
    if share is None:
        return numbers[WIDTH] / math.sqrt(h)
    return width_of(numbers, numbers[ROUND] / (numbers[ARMS] * float(h))) / math.sqrt(h)


@helper
def add_bonuses(bonus, means, windows, bounds):
    """Write no less than means + bonuses at windows to `bounds`, and hardly more."""
    _add(bonus.numbers[SCALE], low_share(bonus), ratio(bonus), means, windows, bounds)


@helper
def _add(scale, share, power, means, windows, bounds):
    for place in range(len(bounds)):
        h = windows[place]
        if share is None:
            bounds[place] = means[place] + scale / math.sqrt(h)
        else:
            u = max(share - low_log(h) + 2.0 * MISSING, 0.0) + MISSING
            if power is not None:
                u += power * (low_log(1.0 + u) + MISSING)
            bounds[place] = means[place] + scale * math.sqrt(u / h)


@helper
def rises(bonus, h, g):
    """Return no more than h and g times the bonus at windows h >= g, with a straight line that is safe in between."""
    return rises_of(bonus.numbers[SCALE], low_share(bonus), ratio(bonus), h, g)


@helper
def rises_of(scale, share, power, h, g):
    """Return the same, given SCALE, `low_share` and `ratio`: in a loop, they are looked up before it."""
    if share is None:
        return scale * math.sqrt(h), scale * math.sqrt(g)
    u = max(share - low_log(h), 0.0)
    v = max(share - low_log(g), 0.0) if u > 0.0 else 0.0
    if power is not None:
        u, v = u + power * low_log(1.0 + u), v + power * low_log(1.0 + v)
    return scale * math.sqrt(h * u), scale * math.sqrt(g * v)


@helper
def low_log(x):
    """Return no more than ln x, but for rounding, and at most MISSING less (x >= 1).

    It calls nothing, so that loops are vectorised: x = part 2^k, and ln(part) = 2 artanh((part - 1) / (part + 1)), of
    which the series has positive terms.
    """
    bits = np.float64(x).view(np.int64)
    part = np.int64((bits & _FRACTION) | _ONE).view(np.float64)
    y = (part - 1.0) / (part + 1.0)
    z = y * y
    series = 1.0 + z * (1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9))))
    return np.int32((bits >> np.int64(52)) - 1023) * _LOG_2 + 2.0 * y * series
