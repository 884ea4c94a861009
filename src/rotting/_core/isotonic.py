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


def non_increasing_fits(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the fits of many rows at once, by the min-max formula: for short rows; weights are of each row or of all.

    The fit at i is the least, over starts j <= i, of the largest mean of a stretch from j to an end k >= i.

    >>> non_increasing_fits(np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]), np.ones(3))
    array([[3. , 1.5, 1.5],
           [2. , 2. , 2. ]])
    """
    size = values.shape[1]
    total = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values * weights, axis=1)], axis=1)
    weight = np.concatenate([np.zeros((*weights.shape[:-1], 1)), np.cumsum(weights, axis=-1)], axis=-1)
    starts, ends = np.arange(size)[:, None], np.arange(size)
    inside = ends >= starts
    span = np.where(inside, weight[..., None, 1:] - weight[..., :-1, None], 1.0)
    means = np.where(inside, (total[:, None, 1:] - total[:, :-1, None]) / span, -np.inf)
    largest = np.maximum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    return np.asarray(np.where(inside, largest, np.inf).min(axis=1))
