"""Regret and its decomposition, against brute force and exact arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.problems import Constant, Drop, Exponential, Linear, Problem, ten_arm, two_arm
from rotting.theory import decompose, overpulls, regret

# Multiples of 1/8 make every sum exact and ties frequent.
falling_tables = st.lists(st.integers(-16, 16), min_size=1, max_size=6).map(
    lambda eighths: [n / 8 for n in sorted(eighths, reverse=True)]
)
small_problems = st.lists(falling_tables, min_size=1, max_size=3).map(lambda tables: Problem(tables, noise="none"))


@st.composite
def problem_and_pulls(draw):
    problem = draw(small_problems)
    pulls = draw(st.lists(st.integers(0, 8), min_size=problem.n_arms, max_size=problem.n_arms).filter(any))
    return problem, pulls


def collected(problem, pulls):
    """Return the exact sum of the means of the given pulls."""
    return sum(
        (Fraction(value) for curve, n in zip(problem.curves, pulls, strict=True) for value in curve(np.arange(n))),
        Fraction(0),
    )


def allocations(n_arms, horizon):
    return (pulls for pulls in product(range(horizon + 1), repeat=n_arms) if sum(pulls) == horizon)


@settings(deadline=None, max_examples=60)
@given(small_problems, st.integers(1, 7))
def test_oracle_is_the_best_allocation(problem, horizon):
    best = max(collected(problem, pulls) for pulls in allocations(problem.n_arms, horizon))
    oracle = problem.oracle(horizon)
    assert collected(problem, oracle.pulls) == best
    assert oracle.reward[-1] == best
    assert regret(problem, oracle.pulls) == 0


@settings(deadline=None, max_examples=100)
@given(problem_and_pulls())
def test_regret_is_oracle_minus_collected(case):
    problem, pulls = case
    oracle = problem.oracle(sum(pulls))
    assert regret(problem, pulls) == float(Fraction(oracle.reward[-1]) - collected(problem, pulls))
    assert regret(problem, pulls, horizon=sum(pulls)) >= 0


@settings(deadline=None, max_examples=100)
@given(problem_and_pulls())
def test_decomposition_adds_up(case):
    problem, pulls = case
    parts = decompose(problem, pulls)
    np.testing.assert_array_equal(parts.oracle_pulls + parts.overpulls - parts.underpulls, pulls)
    assert parts.overpulls.sum() == parts.underpulls.sum()
    assert not np.any((parts.overpulls > 0) & (parts.underpulls > 0))
    assert parts.regret == parts.lost.sum() - parts.gained.sum()
    for arm, curve in enumerate(problem.curves):
        own, best = pulls[arm], parts.oracle_pulls[arm]
        assert parts.lost[arm] == sum(curve(n) for n in range(own, best))
        assert parts.gained[arm] == sum(curve(n) for n in range(best, own))
    np.testing.assert_array_equal(overpulls(problem, pulls), parts.overpulls)


def test_hand_computed_decomposition():
    # The oracle takes 5, 4, 3 of arm 0 and 4 of arm 1; here the 3 is swapped for arm 1's 1.
    problem = Problem([[5.0, 4.0, 3.0, 0.0], [4.0, 1.0, 0.5]])
    parts = decompose(problem, [2, 2])
    assert parts.oracle_pulls.tolist() == [3, 1]
    assert parts.overpulls.tolist() == [0, 1]
    assert parts.underpulls.tolist() == [1, 0]
    assert parts.lost.tolist() == [3.0, 0.0]
    assert parts.gained.tolist() == [0.0, 1.0]
    assert parts.regret == 2.0


def test_ten_arm_regret_is_gap_times_overpulls():
    # The paper: R_T = sum_i Delta_i h_i, as the arm at 0 makes up for what the others get too much or lack.
    problem = ten_arm()
    gaps = np.array([0.001 * 10 ** (i / 2) for i in range(9)])
    extra = np.array([-5, 100, 0, 3, -7, 1, 20, -1, 2])
    pulls = np.concatenate([[16_000 - extra.sum()], 1000 + extra])
    assert regret(problem, pulls) == pytest.approx(gaps @ np.abs(extra), abs=1e-12)


def test_one_row_per_run():
    problem = Problem([Exponential(start=1.0, rate=0.1), 0.3])
    rows = np.array([[[20, 0], [0, 20]], [[11, 9], [13, 7]]])
    together = decompose(problem, rows)
    assert together.regret.shape == (2, 2)
    for place in np.ndindex(2, 2):
        alone = decompose(problem, rows[place])
        assert isinstance(alone.regret, float)
        assert together.regret[place] == alone.regret
        for name in ("overpulls", "underpulls", "lost", "gained"):
            np.testing.assert_array_equal(getattr(together, name)[place], getattr(alone, name))


def test_exact_to_1e_9_at_a_million_rounds():
    # A plain running sum of 0.1 is off by 1e-6 here.
    problem = Problem([Constant(0.1), Drop(before=0.3, after=0.07, at=300_000)])
    horizon = 10**6
    exact = 300_000 * Fraction(0.3) - 300_000 * Fraction(0.1)
    assert regret(problem, [horizon, 0]) == pytest.approx(float(exact), abs=1e-9)
    exact = 700_000 * (Fraction(0.1) - Fraction(0.07))
    assert regret(problem, [0, horizon]) == pytest.approx(float(exact), abs=1e-9)


def exact_sum(values):
    """Add floats in [1/4, 1] exactly: as whole multiples of 2^-54, in two halves that cannot overflow."""
    whole = (values * 2.0**54).astype(np.int64)
    return Fraction(int((whole >> 27).sum()) * 2**27 + int((whole & (2**27 - 1)).sum()), 2**54)


def test_smooth_curves_at_a_million_rounds():
    problem = Problem([Exponential(start=1.0, rate=1e-6), Linear(start=0.9, slope=5e-7)])
    pulls, best = [400_000, 600_000], problem.oracle(10**6).pulls
    own_sum, best_sum = (
        sum(exact_sum(curve(np.arange(n))) for curve, n in zip(problem.curves, counts, strict=True))
        for counts in (pulls, best)
    )
    assert best_sum - own_sum > 1
    assert regret(problem, pulls) == pytest.approx(float(best_sum - own_sum), abs=1e-9)


def test_increasing_curves_are_compared_with_the_best_allocation():
    """Greedy would never find what the first arm pays from its second pull on."""
    problem = Problem([[0.0, 5.0], [1.0]], allow_increasing=True)
    assert regret(problem, [3, 0]) == 0.0
    assert regret(problem, [0, 3]) == 10.0 - 3.0


@pytest.mark.parametrize(
    ("pulls", "horizon", "message"),
    [
        ([5, 5, 5], None, r"shape \(3,\); expected 2 counts"),
        (7, None, r"shape \(\); expected 2 counts"),
        (np.zeros((0, 2)), None, r"shape \(0, 2\)"),
        ([5.5, 4.5], None, r"pulls=5\.5 is not a whole number; expected a whole number >= 0"),
        ([-1, 11], None, r"pulls=-1 is out of range; expected a whole number >= 0"),
        ([np.nan, 11], None, r"pulls=nan is not a whole number"),
        ([np.inf, 11], None, r"pulls=inf is not a whole number"),
        ([0, 0], None, r"horizon=0 is out of range; expected a whole number >= 1"),
        ([4, 6], 11, r"pulls add up to 10 rounds; expected 11"),
        ([[4, 6], [4, 7]], None, r"pulls add up to 11 rounds; expected 10"),
        ([4, 6], 10.5, r"horizon=10\.5 is not a whole number"),
    ],
)
@pytest.mark.parametrize("function", [regret, decompose, overpulls])
def test_bad_pulls_are_refused(function, pulls, horizon, message):
    with pytest.raises(ValueError, match=message):
        function(two_arm(), pulls, horizon)


def test_pulls_must_be_numbers():
    with pytest.raises(TypeError, match="pulls='many' is not a whole number"):
        regret(two_arm(), ["many", "few"])


def test_restless_problems_are_refused():
    with pytest.raises(ValueError, match="'problem' is restless; expected a rested one"):
        regret(Problem([[1.0, 0.0], 0.5], restless=True), [1, 1])
