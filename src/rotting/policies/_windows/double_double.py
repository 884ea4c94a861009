"""Sums that do not lose digits: a number kept as `high + low`, about 32 digits together (double-double).

The package's rule for the sum of a window of rewards is: added exactly, then rounded once. Nothing here is exact for
ever (a sum of 1e300 and 1e-300 would need more than 32 digits), but as long as the total of an arm's rewards is less
than some 2^53 times its smallest reward it amounts to that rule, which is what Python's `math.fsum` computes.
"""

from __future__ import annotations

from rotting._core.compiling import helper


@helper
def two_sum(a, b):
    """Return (s, e) with s = a + b rounded and s + e = a + b exactly (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


@helper
def add(high, low, more_high, more_low):
    """Return the sum of two double-double numbers, with the rounded sum as its high part."""
    total, lost = two_sum(high, more_high)
    lost += low + more_low
    rounded = total + lost
    return rounded, lost - (rounded - total)
