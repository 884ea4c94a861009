"""Curves are found again where the noise is small, and drawn together where it is not."""

import numpy as np
import pytest

from rotting.logs.diagnosis import half_life
from rotting.logs.shapes import Sample, fit_curves
from rotting.problems.curves import Constant, Drop, Exponential

X = np.arange(0.0, 4000, 20)
COUNT = np.full(len(X), 20.0)


def values(curve, x):
    return Sample(x, x, x, 1.0).along(curve)


def sample(curve, noise=0.0, seed=0, variance=0.06):
    generator = np.random.default_rng(seed)
    mean = values(curve, X) + noise * np.sqrt(variance / COUNT) * generator.standard_normal(len(X))
    return Sample(X, mean, COUNT, variance)


@pytest.mark.parametrize(
    "curve",
    [
        Constant(0.05),
        Exponential(start=0.3, rate=1 / 1500),
        Exponential(start=0.6, rate=1 / 400, floor=0.2),
        Drop(before=0.5, after=0.1, at=1800),
        Exponential(start=-1.0, rate=1 / 1000, floor=-3.0),
    ],
)
def test_shapes_are_found_again(curve):
    [found] = fit_curves([sample(curve, noise=0.3, variance=0.01)], binary=False)
    assert np.abs(values(found, X) - values(curve, X)).mean() < 0.02 * max(1.0, abs(float(curve(0))))
    assert found.is_nonincreasing()


def test_arms_borrow_from_each_other():
    truth = Exponential(start=0.10, rate=np.log(2.5) / 4000)
    noisy = [sample(truth, noise=1.0, seed=seed) for seed in range(10)]
    alone = [half_life(fit_curves([each], binary=True)[0]) or np.inf for each in noisy]
    together = [half_life(curve) or np.inf for curve in fit_curves(noisy, binary=True)]
    right = half_life(truth)
    assert np.median(np.abs(np.array(together) / right - 1)) < np.median(np.abs(np.array(alone) / right - 1))


def test_equal_arms_are_fitted_alike():
    noisy = [sample(Constant(0.05), noise=1.0, seed=seed) for seed in range(20)]
    fitted = [float(curve(0)) for curve in fit_curves(noisy, binary=True)]
    raw = [each.mean.mean() for each in noisy]
    assert np.std(fitted) < 0.6 * np.std(raw)


def test_rates_stay_rates():
    [found] = fit_curves([sample(Constant(1.0), noise=1.0)], binary=True)
    assert 0 <= found.limit() <= float(found(0)) <= 1


def test_half_lives():
    assert half_life(Exponential(start=1.0, rate=0.01, floor=0.25)) == pytest.approx(np.log(3) / 0.01)
    assert half_life(Exponential(start=1.0, rate=0.01, floor=0.6)) is None
    assert half_life(Drop(before=1.0, after=0.5, at=7)) == 7
    assert half_life(Constant(1.0)) is None
    assert half_life(Exponential(start=-1.0, rate=0.01, floor=-2.0)) is None
