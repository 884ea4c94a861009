"""Paired differences and their correction, against scipy and by hand."""

import numpy as np
import pytest
import scipy.stats
import xarray

from rotting.errors import BadValue
from rotting.simulation import holm, significance


def results(final, problem="here", labels=None):
    final = np.asarray(final, float)
    return xarray.Dataset(
        {"regret": (("policy", "run", "round"), final[:, :, None])},
        coords={"policy": labels or [f"P{place}(a=1)" for place in range(len(final))]},
        attrs={"problem": problem},
    )


def test_agrees_with_the_paired_t_test():
    random = np.random.default_rng(3)
    final = random.normal(size=(4, 30)) + np.array([[0.0], [0.3], [0.9], [1.0]]) + random.normal(size=30)
    found = significance(results(final))
    assert len(found) == 6
    for row in found:
        one, other = (int(label[1]) for label in (row.policy, row.other))
        expected = scipy.stats.ttest_rel(final[one], final[other])
        assert row.p == pytest.approx(expected.pvalue)
        assert (row.low, row.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
        assert row.difference == pytest.approx(final[one].mean() - final[other].mean())
        assert row.difference >= 0
    assert [row.adjusted for row in found] == pytest.approx(holm([row.p for row in found]))
    assert [row.adjusted for row in found] == sorted(row.adjusted for row in found)


def test_holm_by_hand():
    # Sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1 (but no less than the one before).
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_family_is_all_that_is_compared():
    random = np.random.default_rng(4)
    final = random.normal(size=(3, 25)) + np.array([[0.0], [0.6], [1.2]])
    alone = {(row.policy, row.other): row for row in significance(results(final))}
    both = significance([results(final), results(random.normal(size=(3, 25)), "there")])
    assert len(both) == 6
    for row in both:
        if row.problem == "here":
            assert row.p == alone[row.policy, row.other].p
            assert row.adjusted >= alone[row.policy, row.other].adjusted


def test_the_correction_holds_what_it_promises():
    """Of 400 families without any difference, about 5 % or fewer have one that is called more than chance."""
    random = np.random.default_rng(5)
    families = [significance(results(random.exponential(size=(6, 40)))) for _ in range(400)]
    false = sum(any(row.is_significant for row in family) for family in families)
    assert false <= 400 * 0.05 + 3 * np.sqrt(400 * 0.05 * 0.95)
    uncorrected = sum(any(row.p <= 0.05 for row in family) for family in families)
    assert uncorrected > 100  # what it is for


def test_against_a_baseline():
    final = np.random.default_rng(6).normal(size=(4, 20)) + np.arange(4)[:, None]
    found = significance(results(final), baseline="P1")
    assert {(row.policy, row.other) for row in found} == {
        ("P0(a=1)", "P1(a=1)"),
        ("P2(a=1)", "P1(a=1)"),
        ("P3(a=1)", "P1(a=1)"),
    }
    assert next(row for row in found if row.policy == "P0(a=1)").difference < 0
    with pytest.raises(BadValue, match="baseline='P9' is not one of the policies"):
        significance(results(final), baseline="P9")
    with pytest.raises(BadValue, match="fits several"):
        significance(results(final, labels=["P(a=1)", "P(a=2)", "Q()", "R()"]), baseline="P")


def test_edges():
    [row] = significance(results([[1.0], [2.0]]))
    assert (row.p, row.adjusted, row.is_significant) == (None, None, False)
    [row] = significance(results([[1.0, 2.0], [1.0, 2.0]]))
    assert (row.p, row.is_significant) == (1.0, False)
    [row] = significance(results([[1.0, 2.0], [2.0, 3.0]]))
    assert (row.p, row.is_significant) == (0.0, True)
    # A run that some policy has not finished says nothing.
    [row] = significance(results([[1.0, 2.5, np.nan], [2.0, 3.0, 9.0]]))
    assert row.difference == pytest.approx(0.75)
    assert significance(results([[np.nan], [1.0]])) == []
