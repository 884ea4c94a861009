"""What the theorems ask of their arguments, and the messages when they do not get it."""

from __future__ import annotations

import math
import numbers
from typing import Any

from rotting.problems import Problem


def whole(name: str, value: Any, minimum: int) -> int:
    """Return `value` as an int >= minimum.

    >>> whole("n_arms", 0, minimum=1)
    Traceback (most recent call last):
    ValueError: n_arms=0 is out of range; expected a whole number >= 1
    """
    expected = f"expected a whole number >= {minimum}"
    number = _real(name, value, expected)
    if not math.isfinite(number) or number != int(number):
        raise ValueError(f"{name}={value!r} is not a whole number; {expected}")
    if number < minimum:
        raise ValueError(f"{name}={value!r} is out of range; {expected}")
    return int(number)


def at_least_zero(name: str, value: Any) -> float:
    """Return `value` as a finite float >= 0."""
    return _inside(name, value, 0.0, math.inf, closed=True)


def between(name: str, value: Any, above: float, below: float = math.inf) -> float:
    """Return `value` as a finite float, above < value < below."""
    return _inside(name, value, above, below, closed=False)


def rested(problem: Problem) -> None:
    """Refuse restless problems: there the pulls per arm do not determine the reward."""
    if problem.restless:
        raise ValueError(f"problem {str(problem)!r} is restless; expected a rested one (only pulls wear arms)")


def rotting(problem: Problem) -> None:
    """Refuse problems outside the paper's setting: rested arms that never increase."""
    rested(problem)
    for arm, curve in enumerate(problem.curves):
        if not curve.is_nonincreasing():
            raise ValueError(
                f"problem {str(problem)!r}: arm {arm} ({curve}) increases; expected arms that never do (Assumption 1)"
            )


def _inside(name: str, value: Any, low: float, high: float, closed: bool) -> float:
    expected = f"expected a finite number {'>=' if closed else '>'} {low:g}"
    expected += f" and < {high:g}" if math.isfinite(high) else ""
    number = float(_real(name, value, expected))
    if not math.isfinite(number) or not (low < number < high or (closed and number == low)):
        raise ValueError(f"{name}={value!r} is out of range; {expected}")
    return number


def _real(name: str, value: Any, expected: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} is not a number; {expected}")
    return value
