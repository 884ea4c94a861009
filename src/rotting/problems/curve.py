"""What every mean-reward curve is: parameters, a formula that compiled code evaluates, and what it says of itself."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import ClassVar, overload

import numpy as np
import numpy.typing as npt

from rotting._core import defining
from rotting._core.checking import compile_errors_in_short
from rotting._core.compiling import belongs_to_package
from rotting._core.parameters import Parameters
from rotting._core.validation import whole_numbers
from rotting.errors import BadType, KernelError, ProblemDefinitionError
from rotting.problems import curve_kernels as kernels

PACKAGE_FAMILIES = range(kernels.SIGMOID + 1)
# Where curves of users are looked at before they are trusted, and how far off rounding may make them seem.
_PLACES = np.concatenate([np.arange(1000), 2 ** np.arange(10, 40)])
_ROUNDING = 1e-12
# What users can do with a curve of their own.
AS_TABLE = "Table([mu(n) for n in range(horizon)]), where the last value holds from then on"


@dataclasses.dataclass(frozen=True)
class Curve(Parameters):
    """A mean-reward curve. `curve(n)` evaluates it at a number or an array of pull counts.

    The package's families are in this module. A family of your own names its function in its class line, and says
    about itself what cannot be computed:

        def halving(numbers, n):
            return numbers[0] * 0.5 ** (n / numbers[1])

        @dataclass(frozen=True)
        class Halving(Curve, value=halving):
            start: float = parameter(doc="value of the first pull")
            life: float = parameter(above=0, doc="pulls until half of it is left")

            def is_nonincreasing(self): ...

            def limit(self): ...

    Parameters
    ----------
    value
        A plain function `value(numbers, n)` that compiled code calls; `numbers` are the fields in their order.
    abstract
        Whether it is no family itself, and only others are derived from it.
    """

    known: ClassVar[dict[str, type[Curve]]] = {}
    family: ClassVar[int]

    def __init_subclass__(cls, value: Callable[..., float] | None = None, abstract: bool = False) -> None:
        super().__init_subclass__()
        if not belongs_to_package(cls):
            cls._define(value)
        if not abstract:
            defining.check_name(ProblemDefinitionError, "curve, dynamics or noise", cls, defining.IN_PROBLEMS)
            Curve.known[cls.__name__] = defining.IN_PROBLEMS[cls.__name__] = cls

    @classmethod
    def _define(cls, value: Callable[..., float] | None) -> None:
        """Make a class from elsewhere a family of its own."""
        if value is None and getattr(cls, "family", 0) in PACKAGE_FAMILIES:
            raise BadType(
                "is a subclass of a curve, but compiled code evaluates only the families of rotting.problems.curves "
                "and those that bring a function",
                name=cls.__qualname__,
                hint=f"name it in the class line (class {cls.__name__}(Curve, value=...)), or put its values into a "
                f"table: {AS_TABLE}",
            )
        function = defining.plain_function(ProblemDefinitionError, cls.__name__, "value", value, ("numbers", "n"))
        if function is not None:
            cls.family = kernels.register_family(cls, function)
        for method in ("is_nonincreasing", "limit"):
            if getattr(cls, method) is getattr(Curve, method):
                raise ProblemDefinitionError(f"has no method {method}()", owner=cls.__name__, expected="one")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family not in PACKAGE_FAMILIES:
            _check_own(self)

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

    def is_nondecreasing(self) -> bool:
        """Say whether mu(n + 1) >= mu(n) for every n (False also for families that do not say)."""
        return self.is_nonincreasing() and float(self(0)) == self.limit()

    def limit(self) -> float:
        """Return the value far out."""
        raise NotImplementedError

    def highest_and_lowest(self) -> tuple[float, float]:
        """Return bounds that mu(n) never leaves."""
        ends = (float(self(0)), self.limit())
        return max(ends), min(ends)

    @overload
    def __call__(self, n: int | np.integer) -> float: ...

    @overload
    def __call__(self, n: Sequence[int] | npt.NDArray[np.integer]) -> npt.NDArray[np.float64]: ...

    @overload
    def __call__(self, n: npt.ArrayLike) -> float | npt.NDArray[np.float64]: ...

    def __call__(self, n: npt.ArrayLike) -> float | npt.NDArray[np.float64]:
        """Evaluate the curve after n pulls; an array gives an array of the same shape.

        >>> from rotting.problems import Drop
        >>> Drop(before=1.0, after=0.4, at=3)([0, 2, 3, 99])
        array([1. , 1. , 0.4, 0.4])
        """
        counts = whole_numbers("n", n, minimum=0)
        values = self.values_at(counts)
        return values if counts.ndim else float(values)

    def values_at(self, x: npt.NDArray[np.number]) -> npt.NDArray[np.float64]:
        """Evaluate the curve at an array of numbers >= 0: some dynamics follow it in other steps than pulls.

        >>> from rotting.problems import Linear
        >>> Linear(start=1.0, slope=0.5).values_at(np.array([0.0, 0.5]))
        array([1.  , 0.75])
        """
        values = np.empty(x.size)
        kernels.evaluate(kernels.curve_arrays([self]), np.ascontiguousarray(x.ravel()), values)
        return values.reshape(x.shape)


def _check_own(curve: Curve) -> None:
    """Refuse a curve of a user's family whose values are not numbers, or not what it says about them."""
    owner = repr(curve)
    with compile_errors_in_short(owner):
        values = curve.values_at(_PLACES)
    if not np.all(np.isfinite(values)):
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise KernelError(f"value gave {values[bad]} at n = {_PLACES[bad]}", owner=owner, expected="finite numbers")
    highest, lowest = curve.highest_and_lowest()
    slack = _ROUNDING * max(1.0, abs(highest), abs(lowest))
    if values.max() > highest + slack or values.min() < lowest - slack:
        raise KernelError(
            f"has values from {values.min():g} to {values.max():g}",
            owner=owner,
            expected=f"between {lowest:g} and {highest:g}, as highest_and_lowest() says",
        )
    if curve.is_nonincreasing() and np.any(np.diff(values) > slack):
        raise KernelError("increases", owner=owner, expected="never, as is_nonincreasing() says")
