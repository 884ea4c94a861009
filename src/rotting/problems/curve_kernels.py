"""Curves in compiled code: a set of them is one `CurveArrays`, and `mean_at` evaluates a single point.

So no table of K x T means is ever built. A new family of curves is a dataclass in `rotting.problems.curves`, and here
its number, its row of the table and its branch of `mean_at`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.compiling import entry, helper

if TYPE_CHECKING:
    from rotting.problems.curves import Curve

# The families in compiled code, and what their rows of `CurveArrays` hold. Saved agents of CTO and A-UCB contain these
# numbers: new families go to the end.
#
#   family          numbers[0]  numbers[1]  numbers[2]  numbers[3]  entries
#   0 Constant      value
#   1 Drop          before      after       at
#   2 Linear        start       slope       floor
#   3 Exponential   start       rate        floor
#   4 Power         theta       step        start       floor
#   5 Logistic      start       midpoint    width       floor
#   6 Drops         values[0]                                       at[0], values[1], at[1], values[2], ...
#   7 Table                                                         values
CONSTANT, DROP, LINEAR, EXPONENTIAL, POWER, LOGISTIC, DROPS, TABLE = range(8)
_NUMBERS = 4
_LARGEST_EXPONENT = 700.0  # exp() overflows above 709


class CurveArrays(NamedTuple):
    """A set of curves as compiled code sees it."""

    family: npt.NDArray[np.int64]  # (K,): which formula
    numbers: npt.NDArray[np.float64]  # (K, 4): its parameters
    first: npt.NDArray[np.int64]  # (K + 1,): where each curve's entries begin in `entries`
    entries: npt.NDArray[np.float64]  # what does not fit into four numbers


def curve_arrays(curves: Sequence[Curve]) -> CurveArrays:
    """Return the curves in the form that compiled code reads."""
    numbers = np.zeros((len(curves), _NUMBERS))
    entries: list[float] = []
    first = np.zeros(len(curves) + 1, np.int64)
    for row, curve in enumerate(curves):
        own = curve.numbers()
        numbers[row, : len(own)] = own
        entries.extend(curve.entries())
        first[row + 1] = len(entries)
    family = np.array([curve.family for curve in curves], np.int64)
    return CurveArrays(family, numbers, first, np.array(entries, dtype=np.float64))


@helper
def mean_at(curves, arm, n):
    """Return mu_arm(n)."""
    family = curves.family[arm]
    x = curves.numbers[arm]
    if family == CONSTANT:
        return x[0]
    if family == DROP:
        before, after, at = x[0], x[1], x[2]
        return before if n < at else after
    if family == LINEAR:
        start, slope, floor = x[0], x[1], x[2]
        return max(floor, start - slope * n)
    if family == EXPONENTIAL:
        start, rate, floor = x[0], x[1], x[2]
        return floor + (start - floor) * math.exp(-rate * n)
    if family == POWER:
        theta, step, start, floor = x[0], np.int64(x[1]), x[2], x[3]
        return floor + (start - floor) * (n // step + 1.0) ** -theta
    if family == LOGISTIC:
        start, midpoint, width, floor = x[0], x[1], x[2], x[3]
        return floor + (start - floor) / (1.0 + math.exp(min(_LARGEST_EXPONENT, (n - midpoint) / width)))
    first, end = curves.first[arm], curves.first[arm + 1]
    if family == TABLE:
        return curves.entries[min(first + n, end - 1)]
    value = x[0]
    for j in range(first, end, 2):
        if n < curves.entries[j]:
            break
        value = curves.entries[j + 1]
    return value


@entry
def evaluate(curves, counts, values):
    """Write the values of the first of `curves` after `counts` pulls to `values`."""
    for j in range(len(counts)):
        values[j] = mean_at(curves, 0, counts[j])
