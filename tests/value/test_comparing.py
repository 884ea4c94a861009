"""Several policies at once: intervals that hold together."""

import numpy as np
import pytest

from rotting.value.comparing import compare


def test_one_policy_has_the_usual_interval():
    random = np.random.default_rng(1)
    terms, done = random.normal(1.0, 1.0, 2000), random.normal(0.0, 1.0, 2000)
    [gain] = compare([terms], [0.0], done, None, 1).gains
    error = (terms - done).std() / np.sqrt(2000)
    assert (gain.high - gain.point) / error == pytest.approx(1.645, abs=0.02)
    assert gain.point == pytest.approx((terms - done).mean())


def test_looking_at_many_widens_intervals_unless_they_are_the_same():
    random = np.random.default_rng(1)
    done = np.zeros(1000)
    many = [random.normal(size=1000) for _ in range(20)]
    apart = compare(many, [0.0] * 20, done, None, 1).gains[0]
    same = compare([many[0]] * 20, [0.0] * 20, done, None, 1).gains[0]
    assert apart.high - apart.low > 1.6 * (same.high - same.low)


def test_none_of_many_equal_policies_is_sure_too_often():
    """Of 200 sets of ten policies without any difference, about 10 % have a sure gain, and 10 % leave one out."""
    random = np.random.default_rng(2)
    found = [
        compare(list(random.normal(size=(10, 300))), [0.0] * 10, random.normal(size=300), None, 1) for _ in range(200)
    ]
    sure = np.mean([any(gain.low > 0 or gain.high < 0 for gain in each.gains) for each in found])
    left_out = np.mean([not each.best.all() for each in found])
    assert 0.04 < sure < 0.17
    assert 0.04 < left_out < 0.17


def test_the_best_is_kept_and_the_worst_left_out():
    random = np.random.default_rng(3)
    terms = [random.normal(mean, 1.0, 2000) for mean in (0.0, 0.5, 0.52)]
    assert compare(terms, [0.0] * 3, np.zeros(2000), None, 1).best.tolist() == [False, True, True]


def test_a_variance_that_the_terms_do_not_show_counts():
    done = np.zeros(100)
    [plain] = compare([np.ones(100)], [0.0], done, None, 1).gains
    [wide] = compare([np.ones(100)], [0.04], done, None, 1).gains
    assert (plain.low, plain.high) == (pytest.approx(1.0), pytest.approx(1.0))
    assert wide.high == pytest.approx(1 + 1.645 * 0.2, abs=0.01)
