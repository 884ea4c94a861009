"""Isotonic regression: the monotone curve that is nearest to noisy values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def non_increasing_fit(
    values: np.ndarray | Sequence[float], weights: np.ndarray | Sequence[float] | None = None
) -> np.ndarray:
    """Return the non-increasing sequence that is nearest to `values` in (weighted) least squares.

    Parameters
    ----------
    values
        One-dimensional; may be empty.
    weights
        Positive, one per value; by default all are equal.

    Examples
    --------
    >>> non_increasing_fit([3.0, 1.0, 2.0])
    array([3. , 1.5, 1.5])
    >>> non_increasing_fit([3.0, 1.0, 2.0], weights=[1, 3, 1])
    array([3.  , 1.25, 1.25])
    """
    from scipy.optimize import isotonic_regression  # takes longer to import than to run

    if len(values) == 0:
        return np.zeros(0)
    return np.asarray(isotonic_regression(values, weights=weights, increasing=False).x)
