"""Sums of many numbers that do not lose digits."""

from __future__ import annotations

from rotting._core.compiling import helper


@helper
def kahan_add(total, error, term):
    """Add a term to a running sum by Kahan's method; return the new sum and its rounding error.

    Over 10^7 rounds a plain running sum would lose digits.
    """
    term = term - error
    grown = total + term
    return grown, (grown - total) - term
