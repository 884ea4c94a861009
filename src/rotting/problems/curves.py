"""The families of mean-reward curves mu(n): the mean reward of an arm after n pulls.

Each family is a small frozen dataclass; `rotting.problems.curve_kernels` evaluates it in compiled code.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt

from rotting._core.parameters import parameter
from rotting._core.validation import LARGEST_WHOLE, whole_numbers
from rotting.errors import BadType, BadValue
from rotting.problems import curve_kernels as kernels
from rotting.problems.curve import AS_TABLE
from rotting.problems.curve import Curve as Curve

_LARGEST_EXACT = 2**53  # up to here floats hold every whole number


@dataclasses.dataclass(frozen=True)
class Constant(Curve):
    """The same value always."""

    family = kernels.CONSTANT
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

    family = kernels.DROP
    before: float = parameter(doc="value of the first pulls")
    after: float = parameter(doc="value after the drop")
    at: int = parameter(whole=True, minimum=0, maximum=LARGEST_WHOLE, doc="how many pulls have the first value")

    def last_change(self) -> float:
        """Constant from the drop on."""
        return self.at

    def is_nonincreasing(self) -> bool:
        """Say whether the drop goes down."""
        return self.after <= self.before or self.at == 0

    def is_nondecreasing(self) -> bool:
        """Say whether the drop goes up."""
        return self.after >= self.before or self.at == 0

    def limit(self) -> float:
        """Return the value after the drop."""
        return self.after


@dataclasses.dataclass(frozen=True)
class Drops(Curve):
    """Several drops: `values[j]` from pull `at[j - 1]` up to pull `at[j]` (excluded)."""

    family = kernels.DROPS
    values: tuple[float, ...] = parameter(raw=True, doc="the values, one more than `at` has entries")
    at: tuple[int, ...] = parameter(raw=True, doc="the pulls at which the value changes, increasing")

    if TYPE_CHECKING:

        def __init__(self, values: Values, at: Sequence[int] | npt.NDArray[np.integer]) -> None: ...

    def __post_init__(self) -> None:
        values = floats("Drops", "values", self.values)
        at = whole_numbers("at", self.at, minimum=0, owner="Drops")
        if at.ndim != 1 or len(values) != len(at) + 1 or np.any(np.diff(at) <= 0):
            raise BadValue(
                f"does not fit {len(values)} values",
                owner="Drops",
                name="at",
                value=self.at,
                expected=f"{len(values) - 1} increasing whole numbers, one fewer than values",
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "at", tuple(at.tolist()))

    def numbers(self) -> tuple[float, ...]:
        """Return the first value."""
        return (self.values[0],)

    def entries(self) -> Sequence[float]:
        """Return the other values, each after the pull from which it holds."""
        return [x for pair in zip(self.at, self.values[1:], strict=True) for x in pair]

    def last_change(self) -> float:
        """Constant from the last drop on."""
        return self.at[-1] if self.at else 0

    def is_nonincreasing(self) -> bool:
        """Say whether every step goes down."""
        return all(b <= a for a, b in itertools.pairwise(self._seen()))

    def is_nondecreasing(self) -> bool:
        """Say whether every step goes up."""
        return all(b >= a for a, b in itertools.pairwise(self._seen()))

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
    """What the families below have in common: they fall from `start` towards `floor`."""

    if TYPE_CHECKING:
        start: float
        floor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.floor > self.start:
            raise BadValue(
                "lies above the start",
                owner=type(self).__name__,
                name="floor",
                value=self.floor,
                expected=f"a number <= start={self.start!r}",
            )

    def is_nonincreasing(self) -> bool:
        """Wear-out never increases."""
        return True


@dataclasses.dataclass(frozen=True)
class Linear(WearOut):
    """A straight decline from `start`, `slope` lost per pull, down to `floor`."""

    family = kernels.LINEAR
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

    family = kernels.EXPONENTIAL
    start: float = parameter(doc="value of the first pull")
    rate: float = parameter(minimum=0, doc="decay per pull")
    floor: float = parameter(0.0, doc="the value it tends to")

    def limit(self) -> float:
        """Return the floor (the start, without a rate)."""
        return self.floor if self.rate else self.start


@dataclasses.dataclass(frozen=True)
class Power(WearOut):
    """Power law in steps: floor + (start - floor) (floor(n / step) + 1)^(-theta)."""

    family = kernels.POWER
    theta: float = parameter(minimum=0, doc="exponent")
    step: int = parameter(1, whole=True, minimum=1, maximum=_LARGEST_EXACT, doc="pulls per step")
    start: float = parameter(1.0, doc="value of the first pull")
    floor: float = parameter(0.0, doc="the value it tends to")

    def limit(self) -> float:
        """Return the floor (the start, with exponent 0)."""
        return self.floor if self.theta else self.start


@dataclasses.dataclass(frozen=True)
class Logistic(WearOut):
    """Logistic wear-out: floor + (start - floor) / (1 + exp((n - midpoint) / width)).

    `start` is the value it falls from: mu(0) is a little lower, the less so the larger midpoint / width.
    """

    family = kernels.LOGISTIC
    start: float = parameter(doc="the value it falls from")
    midpoint: float = parameter(minimum=0, doc="pulls until half of the value is lost")
    width: float = parameter(above=0, doc="pulls over which the decline happens")
    floor: float = parameter(0.0, doc="the value it tends to")

    def limit(self) -> float:
        """Return the floor."""
        return self.floor


@dataclasses.dataclass(frozen=True)
class Table(Curve):
    """Any curve, value by value; the last value holds from then on."""

    family = kernels.TABLE
    values: tuple[float, ...] = parameter(raw=True, doc="mu(0), mu(1), ...")

    if TYPE_CHECKING:

        def __init__(self, values: Values) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", floats("Table", "values", self.values))
        if not self.values:
            raise BadValue("is empty", owner="Table", name="values", expected="at least mu(0)")

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

    def is_nondecreasing(self) -> bool:
        """Say whether no value is below the one before."""
        return bool(np.all(np.diff(self.values) >= 0))

    def limit(self) -> float:
        """Return the last value."""
        return self.values[-1]

    def highest_and_lowest(self) -> tuple[float, float]:
        """Return the largest and the smallest value."""
        return max(self.values), min(self.values)


@dataclasses.dataclass(frozen=True)
class Growth(Curve):
    """Exponential growth: top - (top - start) exp(-rate n), which is concave."""

    family = kernels.GROWTH
    start: float = parameter(doc="value of the first pull")
    rate: float = parameter(minimum=0, doc="growth per pull")
    top: float = parameter(doc="the value it tends to")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top < self.start:
            expected = f"a number >= start={self.start!r}"
            raise BadValue("lies below the start", owner="Growth", name="top", value=self.top, expected=expected)

    def is_nonincreasing(self) -> bool:
        """Say whether it never grows."""
        return self.top == self.start or self.rate == 0

    def is_nondecreasing(self) -> bool:
        """Growth never falls."""
        return True

    def limit(self) -> float:
        """Return the top (the start, without a rate)."""
        return self.top if self.rate else self.start


@dataclasses.dataclass(frozen=True)
class Sigmoid(Curve):
    """Logistic growth: height / (1 + exp(-rate (x - midpoint)))."""

    family = kernels.SIGMOID
    height: float = parameter(minimum=0, doc="the value it tends to")
    rate: float = parameter(minimum=0, doc="growth per step")
    midpoint: float = parameter(doc="where half of the height is reached")

    def is_nonincreasing(self) -> bool:
        """Say whether it never grows."""
        return self.rate == 0 or self.height == 0

    def is_nondecreasing(self) -> bool:
        """Growth never falls."""
        return True

    def limit(self) -> float:
        """Return the height (half of it, without a rate)."""
        return self.height if self.rate else self.height / 2


Values: TypeAlias = Sequence[float] | npt.NDArray[np.number]
CurveLike: TypeAlias = Curve | SupportsFloat | Values


def as_curve(curve: CurveLike) -> Curve:
    """Return a curve: a `Curve` as it is, a number as `Constant`, a sequence of values as `Table`.

    >>> as_curve([3, 2, 1])
    Table(values=(3.0, 2.0, 1.0))
    """
    if isinstance(curve, Curve):
        return curve
    if isinstance(curve, numbers.Real) and not isinstance(curve, bool):
        return Constant(float(curve))
    if not isinstance(curve, str | bytes) and (isinstance(curve, Sequence) or hasattr(curve, "__array__")):
        return Table(curve)  # type: ignore[arg-type]
    kind = "class" if isinstance(curve, type) else "function"
    raise BadType(
        f"is a {kind}, which compiled code cannot call" if callable(curve) else "is not a curve",
        name="curve",
        value=curve,
        expected="a curve such as Drop(1, 0, 100), a number, or a sequence of values",
        hint=f"put a function mu into a table: {AS_TABLE}" if callable(curve) else None,
    )


def curve_set(owner: str, curves: Iterable[CurveLike]) -> tuple[Curve, ...]:
    """Return the curves that an arm may follow, at least one: what the field `curves` of a policy or dynamics holds."""
    if isinstance(curves, str) or not isinstance(curves, Iterable):
        expected = "such as (curve_1, curve_2)"
        raise BadType("is not a sequence of curves", owner=owner, name="curves", value=curves, expected=expected)
    found = tuple(as_curve(curve) for curve in curves)
    if not found:
        raise BadValue("is empty", owner=owner, name="curves", expected="at least one curve")
    return found


def floats(owner: str, name: str, values: Values) -> tuple[float, ...]:
    """Return finite numbers as plain floats."""
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadType("is not a sequence of numbers", owner=owner, name=name, value=values) from None
    if given.ndim != 1 or not np.all(np.isfinite(given)):
        raise BadValue("is not a flat sequence of finite numbers", owner=owner, name=name, value=values)
    return tuple(given.tolist())
