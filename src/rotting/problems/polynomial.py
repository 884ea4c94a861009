"""Polynomials, for dynamics that follow a curve in steps other than whole ones."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting._core.parameters import parameter
from rotting.errors import BadValue
from rotting.problems import curve_kernels as kernels
from rotting.problems.curve import Curve
from rotting.problems.curves import Values, floats


@dataclasses.dataclass(frozen=True)
class Polynomial(Curve):
    """c_0 + c_1 x + c_2 x^2 + ...: for dynamics in which x stays small, such as `Boredom`."""

    family = kernels.POLYNOMIAL
    coefficients: tuple[float, ...] = parameter(raw=True, doc="c_0, c_1, ...")

    if TYPE_CHECKING:

        def __init__(self, coefficients: Values) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", floats("Polynomial", "coefficients", self.coefficients))
        if not self.coefficients:
            raise BadValue("is empty", owner="Polynomial", name="coefficients", expected="at least the constant one")

    def numbers(self) -> tuple[float, ...]:
        """Polynomials have no parameters but their coefficients."""
        return ()

    def entries(self) -> Sequence[float]:
        """Return the coefficients."""
        return self.coefficients

    def is_nonincreasing(self) -> bool:
        """Say whether no coefficient but the first is positive (others may fall, too: they are not looked at)."""
        return all(c <= 0 for c in self.coefficients[1:])

    def is_nondecreasing(self) -> bool:
        """Say whether no coefficient but the first is negative."""
        return all(c >= 0 for c in self.coefficients[1:])

    def limit(self) -> float:
        """Return the constant, or plus or minus infinity."""
        leading = next((c for c in reversed(self.coefficients[1:]) if c), 0.0)
        return math.copysign(math.inf, leading) if leading else self.coefficients[0]

    def highest_and_lowest(self) -> tuple[float, float]:
        """Return bounds for all x >= 0."""
        return self.highest_and_lowest_up_to(math.inf)

    def highest_and_lowest_up_to(self, x: float) -> tuple[float, float]:
        """Return bounds between 0 and x."""
        largest = max(map(abs, self.coefficients))
        leading = next((abs(c) for c in reversed(self.coefficients) if c), 1.0)
        end = min(x, 1.0 + largest / leading, 1e100)  # beyond it, the slope keeps its sign (Cauchy)
        turning = _roots(_derivative(self.coefficients), end * len(self.coefficients))
        # Where the end was cut at 1e100, a turn may lie beyond it: the value there counts, too.
        places = [0.0, *(turn for turn in turning if turn < x), end]
        values = self.values_at(np.array(places)).tolist()
        values.append(self.limit() if x == math.inf else float(self.values_at(np.array([x]))[0]))
        return max(values), min(values)


def _derivative(coefficients: Sequence[float]) -> list[float]:
    return [j * c for j, c in enumerate(coefficients)][1:]


def _roots(coefficients: Sequence[float], end: float) -> list[float]:
    """Return where a polynomial changes its sign between 0 and `end`: once at most between two turning points."""
    if not any(coefficients[1:]):
        return []

    def value(x: float) -> float:
        return functools.reduce(lambda total, c: total * x + c, reversed(coefficients), 0.0)

    found = []
    for low, high in itertools.pairwise([0.0, *_roots(_derivative(coefficients), end), end]):
        if (value(low) < 0) == (value(high) < 0):
            continue
        middle = (low + high) / 2
        while low < middle < high:
            low, high = (middle, high) if (value(low) < 0) == (value(middle) < 0) else (low, middle)
            middle = (low + high) / 2
        found.append(high)
    return found
