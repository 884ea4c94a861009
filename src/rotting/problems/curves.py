"""Mean-reward curves mu(n): what an arm is worth after n pulls.

Each family is a small frozen dataclass. Compiled code sees a whole set of curves as one `CurveArrays` and evaluates a
single point with `mean_at`, so no table of K x T means is ever built.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.parameters import Parameters, parameter

_CONSTANT, _DROP, _LINEAR, _EXPONENTIAL, _POWER, _LOGISTIC, _STEPS, _TABLE = range(8)


class CurveArrays(NamedTuple):
    """A set of curves as compiled code sees it."""

    family: np.ndarray  # int64 (K,): which formula
    numbers: np.ndarray  # float64 (K, 4): its parameters
    first: np.ndarray  # int64 (K + 1,): where each curve's entries begin in `entries`
    entries: np.ndarray  # float64: values of tables; (place, value) pairs of steps


@dataclasses.dataclass(frozen=True)
class Curve(Parameters):
    """A mean-reward curve. `curve(n)` evaluates it at a number or an array of pull counts."""

    known: ClassVar[dict[str, type[Curve]]] = {}
    family: ClassVar[int]

    def __init_subclass__(cls, abstract: bool = False) -> None:
        super().__init_subclass__()
        if not abstract:
            Curve.known[cls.__name__] = cls

    def numbers(self) -> tuple[float, ...]:
        """Return up to four parameters, in the order `mean_at` reads them."""
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def entries(self) -> Sequence[float]:
        """Return what does not fit into four numbers."""
        return ()

    def last_change(self) -> float:
        """Return the n after which the curve is constant (infinity if it never is)."""
        return math.inf

    def is_nonincreasing(self) -> bool:
        """Say whether mu(n + 1) <= mu(n) for every n."""
        raise NotImplementedError

    def limit(self) -> float:
        """Return the value far out."""
        raise NotImplementedError

    def highest_and_lowest(self) -> tuple[float, float]:
        """Return bounds that mu(n) never leaves."""
        ends = (float(self(0)), self.limit())
        return max(ends), min(ends)

    def __call__(self, n: Any) -> Any:
        """Evaluate the curve.

        >>> Drop(before=1.0, after=0.4, at=3)([0, 2, 3, 99])
        array([1. , 1. , 0.4, 0.4])
        """
        places = np.asarray(n, dtype=np.int64)
        values = np.empty(places.size)
        _evaluate(curve_arrays([self]), np.ascontiguousarray(places.ravel()), values)
        return values.reshape(places.shape) if places.ndim else float(values[0])


@dataclasses.dataclass(frozen=True)
class Constant(Curve):
    """The same value for ever."""

    family = _CONSTANT
    value: float = parameter(doc="the value")

    def last_change(self) -> float:
        """Never changes."""
        return 0

    def is_nonincreasing(self) -> bool:
        """Constant curves do not increase."""
        return True

    def limit(self) -> float:
        """Return the value itself."""
        return self.value


@dataclasses.dataclass(frozen=True)
class Drop(Curve):
    """One value for the first `at` pulls, another from then on."""

    family = _DROP
    before: float = parameter(doc="value of the first pulls")
    after: float = parameter(doc="value after the drop")
    at: int = parameter(whole=True, minimum=0, doc="how many pulls have the first value")

    def last_change(self) -> float:
        """Constant from the drop on."""
        return self.at

    def is_nonincreasing(self) -> bool:
        """Say whether the drop goes down."""
        return self.after <= self.before or self.at == 0

    def limit(self) -> float:
        """Return the value after the drop."""
        return self.after


@dataclasses.dataclass(frozen=True)
class Drops(Curve):
    """Several drops: `values[j]` from pull `at[j - 1]` up to pull `at[j]` (excluded)."""

    family = _STEPS
    values: tuple[float, ...] = parameter(raw=True, doc="the values, one more than places")
    at: tuple[int, ...] = parameter(raw=True, doc="the pulls at which the value changes, increasing")

    def __post_init__(self) -> None:
        values, places = _floats("Drops: values", self.values), _floats("Drops: at", self.at)
        if len(values) != len(places) + 1 or any(place != int(place) for place in places):
            raise ValueError(
                f"Drops: {len(values)} values and at={self.at!r}; expected one whole place fewer than values"
            )
        if places and (places[0] < 0 or any(b <= a for a, b in itertools.pairwise(places))):
            raise ValueError(f"Drops: at={self.at!r} must be increasing and >= 0")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "at", tuple(int(place) for place in places))

    def numbers(self) -> tuple[float, ...]:
        """Return the first value."""
        return (self.values[0],)

    def entries(self) -> Sequence[float]:
        """Return (place, value) pairs."""
        return [x for pair in zip(self.at, self.values[1:], strict=True) for x in pair]

    def last_change(self) -> float:
        """Constant from the last drop on."""
        return self.at[-1] if self.at else 0

    def is_nonincreasing(self) -> bool:
        """Say whether every step goes down."""
        return all(b <= a for a, b in itertools.pairwise(self._seen()))

    def limit(self) -> float:
        """Return the last value."""
        return self.values[-1]

    def highest_and_lowest(self) -> tuple[float, float]:
        """Return the largest and the smallest value."""
        return max(self._seen()), min(self._seen())

    def _seen(self) -> tuple[float, ...]:
        """Return the values without the first, if that holds for no pull at all."""
        return self.values[1:] if self.at and self.at[0] == 0 else self.values


@dataclasses.dataclass(frozen=True)
class WearOut(Curve, abstract=True):
    """What the families below have in common: they come down from `start` towards `floor`."""

    if TYPE_CHECKING:
        start: float
        floor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.floor > self.start:
            raise ValueError(f"{self}: floor={self.floor:g} lies above start={self.start:g}; expected floor <= start")

    def is_nonincreasing(self) -> bool:
        """Wear-out never increases."""
        return True


@dataclasses.dataclass(frozen=True)
class Linear(WearOut):
    """A straight decline from `start`, `slope` lost per pull, down to `floor`."""

    family = _LINEAR
    start: float = parameter(doc="value of the first pull")
    slope: float = parameter(minimum=0, doc="loss per pull")
    floor: float = parameter(0.0, doc="the value below which it never falls")

    def last_change(self) -> float:
        """Constant once the floor is reached."""
        return math.ceil((self.start - self.floor) / self.slope) if self.slope else 0

    def limit(self) -> float:
        """Return the floor (the start, without a slope)."""
        return self.floor if self.slope else self.start


@dataclasses.dataclass(frozen=True)
class Exponential(WearOut):
    """Exponential wear-out: floor + (start - floor) exp(-rate n)."""

    family = _EXPONENTIAL
    start: float = parameter(doc="value of the first pull")
    rate: float = parameter(minimum=0, doc="decay per pull")
    floor: float = parameter(0.0, doc="the value it tends to")

    def limit(self) -> float:
        """Return the floor (the start, without a rate)."""
        return self.floor if self.rate else self.start


@dataclasses.dataclass(frozen=True)
class Power(WearOut):
    """Power law in steps: floor + (start - floor) (floor(n / step) + 1)^(-theta)."""

    family = _POWER
    theta: float = parameter(minimum=0, doc="exponent")
    step: int = parameter(1, whole=True, minimum=1, doc="pulls per step")
    start: float = parameter(1.0, doc="value of the first pull")
    floor: float = parameter(0.0, doc="the value it tends to")

    def limit(self) -> float:
        """Return the floor (the start, with exponent 0)."""
        return self.floor if self.theta else self.start


@dataclasses.dataclass(frozen=True)
class Logistic(WearOut):
    """Logistic wear-out: floor + (start - floor) / (1 + exp((n - midpoint) / width)).

    `start` is the value it comes down from: mu(0) is a little lower, the less so the larger midpoint / width.
    """

    family = _LOGISTIC
    start: float = parameter(doc="the value it comes down from")
    midpoint: float = parameter(minimum=0, doc="pulls until half of the value is lost")
    width: float = parameter(above=0, doc="pulls over which the decline happens")
    floor: float = parameter(0.0, doc="the value it tends to")

    def limit(self) -> float:
        """Return the floor."""
        return self.floor


@dataclasses.dataclass(frozen=True)
class Table(Curve):
    """Any curve, value by value; the last value holds for ever after."""

    family = _TABLE
    values: tuple[float, ...] = parameter(raw=True, doc="mu(0), mu(1), ...")

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _floats("Table: values", self.values))
        if not self.values:
            raise ValueError("Table: values is empty; expected at least mu(0)")

    def numbers(self) -> tuple[float, ...]:
        """Tables have no parameters."""
        return ()

    def entries(self) -> Sequence[float]:
        """Return the values."""
        return self.values

    def last_change(self) -> float:
        """Constant from the last value on."""
        return len(self.values) - 1

    def is_nonincreasing(self) -> bool:
        """Say whether no value exceeds the one before."""
        return bool(np.all(np.diff(self.values) <= 0))

    def limit(self) -> float:
        """Return the last value."""
        return self.values[-1]

    def highest_and_lowest(self) -> tuple[float, float]:
        """Return the largest and the smallest value."""
        return max(self.values), min(self.values)


def as_curve(curve: Any) -> Curve:
    """Return a curve: a `Curve` as it is, a number as `Constant`, a sequence of values as `Table`."""
    if isinstance(curve, Curve):
        return curve
    if isinstance(curve, int | float | np.number) and not isinstance(curve, bool):
        return Constant(float(curve))
    return Table(curve)


def curve_arrays(curves: Sequence[Curve]) -> CurveArrays:
    """Return the curves in the form that compiled code reads."""
    numbers = np.zeros((len(curves), 4))
    entries: list[float] = []
    first = np.zeros(len(curves) + 1, np.int64)
    for place, curve in enumerate(curves):
        own = curve.numbers()
        numbers[place, : len(own)] = own
        entries.extend(curve.entries())
        first[place + 1] = len(entries)
    family = np.array([curve.family for curve in curves], np.int64)
    return CurveArrays(family, numbers, first, np.array(entries, dtype=np.float64))


@helper
def mean_at(curves, arm, n):
    """Return mu_arm(n)."""
    family = curves.family[arm]
    x = curves.numbers[arm]
    if family == _CONSTANT:
        return x[0]
    if family == _DROP:
        return x[0] if n < x[2] else x[1]
    if family == _LINEAR:
        return max(x[2], x[0] - x[1] * n)
    if family == _EXPONENTIAL:
        return x[2] + (x[0] - x[2]) * math.exp(-x[1] * n)
    if family == _POWER:
        return x[3] + (x[2] - x[3]) * (n // np.int64(x[1]) + 1.0) ** -x[0]
    if family == _LOGISTIC:
        return x[3] + (x[0] - x[3]) / (1.0 + math.exp(min(700.0, (n - x[1]) / x[2])))
    first, last = curves.first[arm], curves.first[arm + 1]
    if family == _TABLE:
        return curves.entries[min(first + n, last - 1)]
    value = x[0]
    for place in range(first, last, 2):
        if n < curves.entries[place]:
            break
        value = curves.entries[place + 1]
    return value


@entry
def _evaluate(curves, places, values):
    for j in range(len(places)):
        values[j] = mean_at(curves, 0, places[j])


def _floats(what: str, values: Any) -> tuple[float, ...]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{what}={values!r} is not a sequence of numbers") from None
    if numbers.ndim != 1 or not np.all(np.isfinite(numbers)):
        raise ValueError(f"{what} must be a flat sequence of finite numbers")
    return tuple(numbers.tolist())
