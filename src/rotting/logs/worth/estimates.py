"""Numbers with intervals, and how amounts of money are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

TAILS = (0.05, 0.95)  # the quantiles that bound every 90 % interval and band


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


def money(number: str, currency: str) -> str:
    """Return a number with its currency: signs stand before it, and codes behind it.

    >>> money("3.20", "$"), money("-3.20", "$"), money("3.20", "EUR"), money("3.20", "")
    ('$3.20', '-$3.20', '3.20 EUR', '3.20')
    """
    if not currency or currency.isalpha():
        return f"{number} {currency}".strip()
    return f"-{currency}{number[1:]}" if number.startswith("-") else f"{currency}{number}"
