"""What paired differences say: intervals of their mean, and whether it is more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

LEVEL = 0.95


def mean_interval(values: np.ndarray, level: float = LEVEL) -> tuple[float | None, float | None]:
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
    order = np.argsort(p_values, kind="stable")
    corrected = np.minimum(1.0, np.arange(len(order), 0, -1) * np.asarray(p_values)[order])
    return np.maximum.accumulate(corrected)[order.argsort()].tolist()  # type: ignore[no-any-return]


class Paired(NamedTuple):
    """What a difference between policies, run by run, says. With a single run, all but the mean is None."""

    mean: float
    low: float | None  # its 95 % interval, for this difference alone
    high: float | None
    p: float | None  # of the paired t test, two-sided, for this difference alone
    adjusted: float | None  # p after Holm's correction over all differences that were made with it

    @property
    def is_significant(self) -> bool | None:
        """Whether it is more than chance at the 5 % level, all differences considered; None: one run cannot tell."""
        return None if self.adjusted is None else self.adjusted <= 1 - LEVEL


def paired(differences: Iterable[np.ndarray]) -> list[Paired]:
    """Return what some differences, of as many runs each, say; p values are corrected for all of them."""
    listed = list(differences)
    p_values = [p_value(each) for each in listed]
    known = [p for p in p_values if p is not None]  # all of them or, with a single run, none
    every = zip(listed, p_values, holm(known) if known else p_values, strict=True)
    return [Paired(float(each.mean()), *mean_interval(each), p, adjusted) for each, p, adjusted in every]
