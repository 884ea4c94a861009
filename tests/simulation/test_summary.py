"""The statistics of a comparison, against scipy.stats and against numbers worked out by hand."""

import numpy as np
import pytest
import scipy.stats
import xarray

import rotting
from rotting.simulation.summary import mean_interval, summarise


def dataset_of(final, seconds=None, horizon=100):
    """Return what a simulation would, with `final[policy][run]` as the regret of its last recorded round."""
    final = np.asarray(final, dtype=float)
    labels = [f"policy {place}" for place in range(len(final))]
    seconds = np.ones(len(final)) if seconds is None else seconds
    return xarray.Dataset(
        {
            "regret": (("policy", "run", "round"), np.stack([final / 2, final], axis=2)),
            "seconds": (("policy",), np.asarray(seconds, dtype=float)),
        },
        coords={"policy": labels, "round": [50, 100]},
        attrs={"horizon": horizon},
    )


def test_agrees_with_scipy():
    random = np.random.default_rng(1)
    noise = random.normal(size=40)
    final = np.stack([20 + noise, 25 + noise + 0.1 * random.normal(size=40), 30 + random.normal(size=40)])
    rows = summarise(dataset_of(final))
    assert [row.policy for row in rows] == ["policy 0", "policy 1", "policy 2"]
    for row, values in zip(rows, final, strict=True):
        expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert row.mean == pytest.approx(values.mean())
        assert (row.mean_low, row.mean_high) == pytest.approx((expected.low, expected.high))
        assert (row.quantile_10, row.quantile_90) == pytest.approx(np.quantile(values, [0.1, 0.9]))
    for row, values in zip(rows[1:], final[1:], strict=True):
        expected = scipy.stats.ttest_rel(values, final[0]).confidence_interval(0.95)
        assert row.difference == pytest.approx((values - final[0]).mean())
        assert (row.difference_low, row.difference_high) == pytest.approx((expected.low, expected.high))


def test_pairing_uses_common_random_numbers():
    noise = np.random.default_rng(2).normal(scale=100, size=30)
    _, shifted = summarise(dataset_of([noise, noise + 1]))
    assert (shifted.difference_low, shifted.difference_high) == pytest.approx((1, 1))
    assert shifted.mean_high - shifted.mean_low > 10


def test_by_hand():
    best, other = summarise(dataset_of([[1, 2, 3], [2, 4, 6]], seconds=[3e-6, 6e-6]))
    # 4.302653 = the 97.5 % point of Student's t with two degrees of freedom.
    assert (best.mean, best.mean_high) == pytest.approx((2, 2 + 4.302653 / 3**0.5))
    assert (other.difference, other.difference_low) == pytest.approx((2, 2 - 4.302653 / 3**0.5))
    assert (best.quantile_10, best.quantile_90) == pytest.approx((1.2, 2.8))
    assert (best.nanoseconds_per_decision, other.nanoseconds_per_decision) == pytest.approx((10, 20))


def test_the_best_has_no_difference_to_itself():
    rows = summarise(dataset_of([[5, 6], [1, 2], [1, 2]]))
    assert [row.best for row in rows] == [False, True, False]  # the first on ties
    assert (rows[1].difference, rows[1].difference_low, rows[1].difference_high) == (0, 0, 0)


def test_one_run_gives_no_interval():
    rows = summarise(dataset_of([[3], [1]]))
    assert [row.mean for row in rows] == [3, 1]
    for row in rows:
        assert row.mean_low is row.mean_high is row.difference_low is row.difference_high is None
        assert row.quantile_10 == row.quantile_90 == row.mean


def test_order_of_dimensions_does_not_matter():
    dataset = dataset_of([[1, 2, 4], [3, 3, 9]])
    assert summarise(dataset.transpose("round", "run", "policy")) == summarise(dataset)


def test_other_dimensions_are_refused():
    with pytest.raises(ValueError, match="policy, problem, round, run; expected policy, round, run"):
        summarise(dataset_of([[1, 2]]).expand_dims(problem=["a", "b"]))


def test_covers_the_mean_as_often_as_it_says():
    samples = np.random.default_rng(3).normal(loc=7, size=(4000, 5))
    covered = sum(low < 7 < high for low, high in map(mean_interval, samples))
    # Five standard deviations of a binomial count.
    assert abs(covered / 4000 - 0.95) < 5 * (0.95 * 0.05 / 4000) ** 0.5


def test_reads_a_real_simulation():
    policies = [rotting.Uniform(), rotting.FEWA(), rotting.Oracle()]
    dataset = rotting.simulate(policies, rotting.problems.two_arm(L=4), horizon=300, runs=4)
    uniform, fewa, oracle = summarise(dataset)
    assert oracle.best
    assert oracle.mean == pytest.approx(0, abs=1e-9)
    assert uniform.difference_low > fewa.difference_high
    assert min(uniform.nanoseconds_per_decision, fewa.nanoseconds_per_decision) > 0
