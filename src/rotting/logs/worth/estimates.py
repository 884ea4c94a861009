"""Numbers with intervals, and how numbers and amounts of money are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from rotting.logs.arrays import Floats

TAILS = (0.05, 0.95)  # the quantiles that bound every 90 % interval and band
NINETY = 1.645  # standard errors on either side of a 90 % interval


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number and its 90 % interval."""

    point: float
    low: float
    high: float

    def shifted(self, by: float) -> Estimate:
        """Return the estimate of the number plus a known one."""
        return Estimate(self.point + by, self.low + by, self.high + by)

    def written(self, number: Callable[[float], str], unit: str = "") -> str:
        """Return the number and its interval as a text.

        >>> Estimate(2.0, 1.0, 3.5).written("{:.1f}".format, " clicks")
        '2.0 clicks (1.0 to 3.5)'
        """
        return f"{number(self.point)}{unit} ({number(self.low)} to {number(self.high)})"


def estimates(draws: Floats) -> list[Estimate]:
    """Return the mean and the 90 % interval of each column of draws.

    >>> estimates(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))[0].point
    2.0
    """
    rows = np.ascontiguousarray(draws.T)
    columns = np.column_stack([rows.mean(axis=1), *np.quantile(rows, TAILS, axis=1)])
    return [Estimate(*each) for each in columns.tolist()]


def money(number: str, currency: str) -> str:
    """Return a number with its currency: signs stand before it, and codes behind it.

    >>> money("3.20", "$"), money("-3.20", "$"), money("3.20", "EUR"), money("3.20", "")
    ('$3.20', '-$3.20', '3.20 EUR', '3.20')
    """
    if not currency or currency.isalpha():
        return f"{number} {currency}".strip()
    return f"-{currency}{number[1:]}" if number.startswith("-") else f"{currency}{number}"


def figures(value: float, digits: int = 2) -> str:
    """Return a number to a few significant digits, large ones without an exponent.

    >>> figures(1191.0), figures(-0.0123), figures(29.0), figures(1191.0, 3), figures(0.0)
    ('1,200', '-0.012', '29', '1,190', '0')
    """
    short = f"{value:.{digits}g}"
    return f"{float(short):,.0f}" if abs(float(short)) >= 10**digits else short


def rounded(value: float) -> str:
    """Return a whole number to two significant digits, which is more than is known.

    >>> rounded(1234.0), rounded(0.4)
    ('1,200', '1')
    """
    return f"{float(figures(max(value, 1.0)).replace(',', '')):,.0f}"


def interval_text(value: Estimate, currency: str = "") -> str:
    """Return an estimate to three digits with its interval, in money if it is money.

    >>> interval_text(Estimate(12.345, -3.0, 2500.0), "$")
    '$12.3 (-$3 to $2,500)'
    """
    return value.written(lambda each: money(figures(each, 3), currency))
