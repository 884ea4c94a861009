"""Curves in compiled code: a set of them is one `CurveArrays`, and `mean_at` evaluates a single point.

So no table of K x T means is ever built. A new family of the package is a dataclass in `rotting.problems.curves`, and
here its number, its row of the table and its branch of `_mean_of_package`. A family from elsewhere brings its function
itself: sets that contain one are of a class of their own, so that compiled code for all other sets stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import overload

from rotting._core.compiling import INLINED, entry
from rotting._core.defining import own_tuple_class
from rotting._core.linking import linked

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
#   8 Polynomial                                                    coefficients, the constant one first
#   9 Growth        start       rate        top
#  10 Sigmoid       height      rate        midpoint
CONSTANT, DROP, LINEAR, EXPONENTIAL, POWER, LOGISTIC, DROPS, TABLE, POLYNOMIAL, GROWTH, SIGMOID = range(11)
_FIRST_OWN = 1000  # families from elsewhere are numbered from here on, in the order of their definition
_NUMBERS = 4
_LARGEST_EXPONENT = 700.0  # exp() overflows above 709


class CurveArrays(NamedTuple):
    """A set of curves as compiled code sees it."""

    family: npt.NDArray[np.int64]  # (K,): which formula
    numbers: npt.NDArray[np.float64]  # (K, 4 or more): its parameters
    first: npt.NDArray[np.int64]  # (K + 1,): where each curve's entries begin in `entries`
    entries: npt.NDArray[np.float64]  # what does not fit into four numbers


def curve_arrays(curves: Sequence[Curve]) -> CurveArrays:
    """Return the curves in the form that compiled code reads."""
    rows = [curve.numbers() for curve in curves]
    numbers = np.zeros((len(curves), max(_NUMBERS, *map(len, rows))))
    entries: list[float] = []
    first = np.zeros(len(curves) + 1, np.int64)
    for row, curve in enumerate(curves):
        numbers[row, : len(rows[row])] = rows[row]
        entries.extend(curve.entries())
        first[row + 1] = len(entries)
    family = np.array([curve.family for curve in curves], np.int64)
    own = tuple(sorted({code for code in family.tolist() if code >= _FIRST_OWN}))
    return _class_for(own)(family, numbers, first, np.array(entries, dtype=np.float64))


# The functions of families from elsewhere, by the family's number, and the class that each comes from.
_OWN: dict[int, tuple[Callable[..., Any], type]] = {}
# How the curves of each class of sets are evaluated. Never shrinks: numba recognises classes by their addresses.
_MEANS: dict[type, Callable[..., Any]] = {}


def register_family(owner: type, value: Callable[..., Any]) -> int:
    """Return the number of a new family from elsewhere, whose plain function is `value(numbers, n)`."""
    family = _FIRST_OWN + len(_OWN)
    _OWN[family] = value, owner
    return family


@cache
def _class_for(own: tuple[int, ...]) -> type[CurveArrays]:
    """Return the class of sets that contain these families from elsewhere; for none it is `CurveArrays` itself."""
    if not own:
        return CurveArrays
    mean = _mean_of_package
    for family in own:
        mean = _with_family(family, linked(_OWN[family][0], **INLINED), linked(mean, **INLINED))
    kind = own_tuple_class(_OWN[own[-1]][1], CurveArrays, "Curves" + "_".join(map(str, own)))
    _MEANS[kind] = mean
    return kind


def _with_family(family: int, own: Callable[..., Any], rest: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that evaluates curves of one more family."""

    def mean(curves, arm, n):
        if curves.family[arm] == family:
            return own(curves.numbers[arm], n)
        return rest(curves, arm, n)

    return mean


def mean_at(curves, arm, n):
    """Return mu_arm(n); n is a count, or a number >= 0 (compiled code resolves this by the class of the set)."""
    return _MEANS[type(curves)](curves, arm, n)


@overload(mean_at, jit_options=INLINED)
def _mean_at(curves, arm, n):
    return _MEANS.get(getattr(curves, "instance_class", type(None)))


def _mean_of_package(curves, arm, n):
    """Return mu_arm(n) for the families of the package."""
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
    if family == GROWTH:
        start, rate, top = x[0], x[1], x[2]
        return top - (top - start) * math.exp(-rate * n)
    if family == SIGMOID:
        height, rate, midpoint = x[0], x[1], x[2]
        return height / (1.0 + math.exp(min(_LARGEST_EXPONENT, -rate * (n - midpoint))))
    first, end = curves.first[arm], curves.first[arm + 1]
    if family == TABLE:
        return curves.entries[min(first + np.int64(n), end - 1)]
    if family == POLYNOMIAL:
        value = 0.0
        for j in range(end - 1, first - 1, -1):
            value = value * n + curves.entries[j]
        return value
    value = x[0]
    for j in range(first, end, 2):
        if n < curves.entries[j]:
            break
        value = curves.entries[j + 1]
    return value


_MEANS[CurveArrays] = _mean_of_package


@entry
def evaluate(curves, counts, values):
    """Write the values of the first of `curves` after `counts` pulls to `values`."""
    for j in range(len(counts)):
        values[j] = mean_at(curves, 0, counts[j])
