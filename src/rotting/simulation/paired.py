"""What paired differences say: intervals of their mean, and whether it is more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LEVEL = 0.95


def mean_interval(values: np.ndarray, level: float = LEVEL) -> tuple[float, float] | tuple[None, None]:
    """Return Student's interval for the mean of independent values; (None, None) for a single one.

    >>> mean_interval(np.array([1.0, 2.0, 3.0]), level=0.5)
    (1.528..., 2.471...)
    """
    from scipy.special import stdtrit

    count = len(values)
    if count < 2:
        return None, None
    mean = float(np.mean(values))
    half = float(stdtrit(count - 1, (1 + level) / 2) * np.std(values, ddof=1) / math.sqrt(count))
    return mean - half, mean + half


def p_value(differences: np.ndarray) -> float | None:
    """Return the two-sided p value of the t test that differences are 0 on average; None for a single one."""
    from scipy.special import stdtr

    count = len(differences)
    if count < 2:
        return None
    error = float(np.std(differences, ddof=1)) / math.sqrt(count)
    mean = abs(float(np.mean(differences)))
    if error == 0.0:  # every run says the same
        return 1.0 if mean == 0.0 else 0.0
    return float(2 * stdtr(count - 1, -mean / error))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for their number by Holm's method, in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected
