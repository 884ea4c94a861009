"""The non-increasing fit."""

import numpy as np
import pytest

from rotting._core.isotonic import non_increasing_fit


def nearest(values, weights):
    """Return the fit by the max-min formula: the best end of the least mean of an interval that holds the place."""
    n = len(values)
    mean = {(i, j): np.average(values[i:j], weights=weights[i:j]) for i in range(n) for j in range(i + 1, n + 1)}
    return [max(min(mean[i, j] for i in range(k + 1)) for j in range(k + 1, n + 1)) for k in range(n)]


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_nearest_one(seed):
    random = np.random.default_rng(seed)
    values, weights = random.normal(size=9), random.integers(1, 5, 9)
    assert non_increasing_fit(values, weights) == pytest.approx(nearest(values, weights))
    assert non_increasing_fit(values) == pytest.approx(nearest(values, np.ones(9)))


def test_values_that_do_not_increase_are_kept():
    values = np.array([5.0, 3.0, 3.0, -1.0])
    assert non_increasing_fit(values).tolist() == values.tolist()


def test_no_values():
    assert non_increasing_fit([]).tolist() == []
