"""Estimators by hand, and intervals."""

import numpy as np
import pytest

from rotting.value.along import Weighed
from rotting.value.weighing import effective, estimators, interval, scatter, support_of


def test_three_estimators_by_hand():
    weighed = Weighed(np.array([1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.5]), np.array([0.4, 0.6, 0.5]))
    weights, reward = weighed.chance / 0.5, np.array([2.0, 4.0, 1.0])
    found = estimators(weighed, weights, reward, False, None)
    assert found.ips.point == pytest.approx((4 + 0 + 2) / 3)
    assert found.snips.point == pytest.approx((4 + 0 + 2) / 4)
    assert found.dr.point == pytest.approx(0.5 + (2 * 1.6 + 2 * 0.5) / 3)
    assert found.terms.mean() == pytest.approx(found.dr.point)


def test_support_by_hand():
    probability = np.array([0.5, 0.25, 1.0, 0.005])
    chances = np.array([0.5, 0.25, 0.5, 0.005])
    found = support_of(chances / probability, chances, probability)
    assert found.effective == pytest.approx(3.5**2 / 3.25)
    assert (found.mean_weight, found.largest_weight) == (0.875, 1.0)
    assert found.closed == 0.125
    assert found.small == 0.25


def test_the_variance_of_a_mean_is_the_usual_one():
    terms = np.random.default_rng(1).normal(size=500)
    variance, freedom, _ = scatter(terms)
    assert variance == pytest.approx(terms.var(ddof=1) / 500)
    assert 300 < freedom < 500
    assert scatter(np.ones(5)) == (0.0, 1.0, 0.0)


def test_clusters_are_independent_and_their_rows_are_not():
    terms = np.repeat(np.random.default_rng(1).normal(size=100), 5)
    clusters = np.repeat(np.arange(100), 5)
    assert scatter(terms, clusters)[0] == pytest.approx(5 * scatter(terms)[0], rel=0.01)
    assert effective(np.ones(100)) == 100


@pytest.mark.parametrize("events", [1, 3, 10, 40])
def test_rates_have_wilsons_interval(events):
    n, z = 1000, 1.6449
    rate = events / n
    found = interval(rate, rate * (1 - rate) / n, 1e9, True, n)
    middle, half = (
        (rate + z**2 / 2 / n) / (1 + z**2 / n),
        z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / 4 / n**2),
    )
    assert (found.low, found.high) == (pytest.approx(middle - half, rel=1e-3), pytest.approx(middle + half, rel=1e-3))


def test_no_event_bounds_a_rate_by_the_rows():
    found = interval(0.0, 0.0, 1.0, True, 300.0)
    assert found.low == 0.0
    assert found.high == pytest.approx(1.6449**2 / (300 + 1.6449**2), rel=1e-3)


def test_a_number_that_is_certain_has_no_width():
    assert interval(2.0, 0.0, 1.0, False, 10.0) == interval(2.0, 0.0, 50.0, False, 10.0)
