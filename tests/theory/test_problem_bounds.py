"""The bounds that look at the problem: h+ against its literal definition, values worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.problems import Drop, Exponential, Problem, stationary, ten_arm, two_arm
from rotting.theory import (
    eff_fewa_problem_bound,
    fewa_problem_bound,
    fewa_problem_high_probability_bound,
    greedy_bound,
    high_probability_delta0,
    largest_decay,
    overpull_limits,
    regret,
)

tables = st.lists(st.integers(0, 40), min_size=1, max_size=12).map(lambda n: [k / 8 for k in sorted(n, reverse=True)])
problems = st.lists(tables, min_size=1, max_size=4).map(lambda curves: Problem(curves, noise="none"))

FUNCTIONS = [
    largest_decay,
    overpull_limits,
    fewa_problem_bound,
    eff_fewa_problem_bound,
    lambda *arguments, **named: fewa_problem_high_probability_bound(*arguments, alpha=4.0, delta=0.1, **named),
]


def literal_limit(problem, horizon, alpha, sigma, delta0, arm):
    """Return h+ and Delta_{h+ - 1} of one arm as the paper defines them, one h after the other."""
    best = problem.oracle(horizon).pulls
    lowest = min(problem.curves[j](best[j] - 1) for j in range(problem.n_arms) if best[j] >= 1)
    log_plus = max(0.0, math.log(horizon * delta0 ** (-1 / alpha)))
    limit, limit_gap = 1, None  # h = 1 needs no Delta: there is no overpull before the first
    for h in range(2, horizon + 1):
        average = sum(problem.curves[arm](best[arm] + s) for s in range(h - 1)) / (h - 1)
        gap = lowest - average
        if gap <= 0 or h <= 1 + 32 * alpha * sigma**2 * log_plus / gap**2:
            limit, limit_gap = h, gap
    return limit, limit_gap


@settings(deadline=None, max_examples=80)
@given(
    problems,
    st.integers(1, 25),
    st.sampled_from([0.5, 3.5, 5.0]),
    st.sampled_from([0.0, 0.02, 0.1, 0.4]),
    st.sampled_from([0.05, 1.0, 1.9]),
)
def test_limits_follow_the_definition(problem, horizon, alpha, sigma, delta0):
    limits = overpull_limits(problem, horizon, alpha, sigma, delta0)
    for arm in range(problem.n_arms):
        limit, gap = literal_limit(problem, horizon, alpha, sigma, delta0, arm)
        assert limits.overpulls[arm] == limit
        if gap is None:
            assert np.isnan(limits.gaps[arm])
        else:
            assert limits.gaps[arm] == pytest.approx(gap, abs=1e-12)


def test_limits_stop_between_one_and_the_horizon():
    # C ln T = 1.6 ln(50) = 6.2592; the averages of arm 1's overpulls 0.5, 0, 0, ... give
    # h Delta_h^2 = 0.25, 1.125, 2.08, 3.06, 4.05, 5.04, 6.04 (h = 7), 7.03.
    problem = Problem([1.0, [0.5, 0.0]], sigma=0.1)
    limits = overpull_limits(problem, horizon=50)
    assert limits.overpulls.tolist() == [50, 8]
    assert limits.gaps.tolist() == [0.0, pytest.approx(1 - 0.5 / 7)]


def test_arms_that_the_oracle_never_pulls_do_not_lower_the_minimum():
    # N* = (10, 0): the lowest mean collected is 1, not arm 1's.
    assert overpull_limits(stationary([1.0, 0.25], sigma=0.1), 10).gaps[1] == 0.75


def test_equal_arms_have_a_gap_of_exactly_zero():
    # A running average of 0.1 would differ from 0.1 by rounding and blow C ln T / Delta up.
    limits = overpull_limits(stationary([0.1, 0.1, 0.1]), 5000)
    assert limits.overpulls.tolist() == [5000] * 3
    assert limits.gaps.tolist() == [0.0] * 3


def test_limits_of_the_paper_s_two_arms():
    # Arm 1 has gap L/2 after its drop, arm 0 is the oracle's lowest; 1 + 160 ln(10^4) / 2.1175^2 = 329.66.
    limits = overpull_limits(two_arm(L=4.235), 10_000)
    assert limits.overpulls.tolist() == [10_000, 329]
    assert limits.gaps.tolist() == [0.0, pytest.approx(2.1175, abs=1e-12)]


def test_theorem_2_by_hand():
    # C ln T = 160 ln(10^4) = 1473.654361, its root 38.388206; gap 2.1175 for one arm of two; L = 4.235.
    expected = 1473.654361 / 2.1175 + 2 * 38.388206 + 4 * 4.235
    assert fewa_problem_bound(two_arm(L=4.235), 10_000) == pytest.approx(expected, abs=1e-4)
    expected = 1473.654361 / 2.1175 * 2 / (3 - 2 * math.sqrt(2)) + 2 * 38.388206 + 2 * 4.235
    assert eff_fewa_problem_bound(two_arm(L=4.235), 10_000) == pytest.approx(expected, abs=1e-3)


def test_corollary_3_by_hand():
    # alpha = 4: delta0 = 1.2 / pi^2, 128 (9.2103404 + 0.5267845) = 1246.35199
    budget = 128 * (math.log(10_000) - math.log(1.2 / math.pi**2) / 4)
    assert budget == pytest.approx(1246.35199, abs=1e-4)
    value = fewa_problem_high_probability_bound(two_arm(L=4.235), 10_000, alpha=4.0, delta=0.1)
    assert value == pytest.approx(budget / 2.1175 + 2 * math.sqrt(budget) + 4.235, abs=1e-9)


def test_high_probability_limits_use_delta0():
    # Averages of the overpulls fall from 0.9 to 0, so a wider budget reaches a larger gap.
    problem = Problem([1.0, np.linspace(0.9, 0.0, 50)], sigma=0.02)
    delta0 = high_probability_delta0(3.5, 1e-6)
    gaps = overpull_limits(problem, 60, 3.5, 0.02, delta0).gaps
    assert gaps[1] > overpull_limits(problem, 60, 3.5, 0.02).gaps[1]
    budget = 32 * 3.5 * 0.02**2 * (math.log(60) - math.log(delta0) / 3.5)
    value = fewa_problem_high_probability_bound(problem, 60, alpha=3.5, delta=1e-6)
    assert value == pytest.approx(budget / gaps[1] + 2 * math.sqrt(budget) + 1.0)


def test_first_term_is_left_out_when_h_plus_is_one():
    # 0.016 ln(10) = 0.0368 < 0.5^2: FEWA cannot overpull arm 1 twice. EFF-FEWA can: 0.0368 * 11.66 = 0.43.
    problem, budget = stationary([1.0, 0.5], sigma=0.01), 0.016 * math.log(10)
    assert overpull_limits(problem, 10).overpulls.tolist() == [10, 1]
    assert fewa_problem_bound(problem, 10) == pytest.approx(2 * math.sqrt(budget) + 4.0)
    factor = 2 / (3 - 2 * math.sqrt(2))
    expected = factor * budget / 0.5 + 2 * math.sqrt(budget) + 2.0
    assert eff_fewa_problem_bound(problem, 10) == pytest.approx(expected)
    noiseless = stationary([1.0, 0.5], sigma=0.0)
    assert fewa_problem_bound(noiseless, 10) == 4.0
    assert eff_fewa_problem_bound(noiseless, 10) == 2.0


def test_eff_fewa_uses_fewas_limit_where_the_paper_does():
    # Delta grows with h, so EFF-FEWA's own, later h+ would give a larger gap than the paper's.
    problem = Problem([1.0, np.linspace(0.9, 0.0, 50)], sigma=0.02)
    gap, wider = (overpull_limits(problem, 60, sigma=s).gaps[1] for s in (0.02, 0.02 * (2 + math.sqrt(2))))
    assert 0 < gap < wider
    budget = 160 * 0.02**2 * math.log(60)
    expected = 2 / (3 - 2 * math.sqrt(2)) * budget / gap + 2 * math.sqrt(budget) + 2.0
    assert eff_fewa_problem_bound(problem, 60) == pytest.approx(expected)


def test_bounds_of_the_ten_arm_problem_are_finite_and_grow():
    problem = ten_arm()
    for function in FUNCTIONS[2:]:
        values = [function(problem, horizon) for horizon in (10_000, 25_000)]
        assert 0 < values[0] < values[1] < math.inf
        wider = [function(problem, 10_000, sigma=sigma) for sigma in (0.1, 0.5, 1.0)]
        assert wider == sorted(set(wider))
        assert function(problem, 10_000, decay=30.0) > function(problem, 10_000, decay=20.0) == values[0]


def test_sigma_comes_from_the_noise():
    bernoulli = Problem([0.2, 0.7], noise="bernoulli", sigma=9.0)
    assert fewa_problem_bound(bernoulli, 1000) == fewa_problem_bound(bernoulli, 1000, sigma=0.5)
    assert fewa_problem_bound(bernoulli, 1000) != fewa_problem_bound(bernoulli, 1000, sigma=9.0)


@pytest.mark.parametrize(
    ("problem", "horizon", "decay"),
    [
        (two_arm(L=0.5, horizon=100), 100, 0.5),
        (two_arm(L=0.5, horizon=100), 26, 0.5),
        (two_arm(L=0.5, horizon=100), 25, 0.25),  # the drop lies outside
        (Problem([Drop(before=0.2, after=-3.0, at=1)]), 2, 3.2),
        (Problem([Drop(before=0.2, after=-3.0, at=1)]), 1, 0.2),
        (stationary([0.5, 2.0]), 10, 2.0),
        (Problem([Exponential(start=1.0, rate=3.0, floor=-5.0)]), 10, 6 * (1 - math.exp(-3.0))),
        (stationary([0.0, 0.0]), 10, 0.0),
    ],
)
def test_largest_decay(problem, horizon, decay):
    assert largest_decay(problem, horizon) == pytest.approx(decay)


def test_negative_starts_need_a_shift():
    problem = Problem([-2.0, Drop(before=1.0, after=-1.0, at=5)])
    with pytest.raises(ValueError, match=r"arm 0 starts at -2; expected mu_i\(0\) >= 0 \(Assumption 1\).*shift=True"):
        largest_decay(problem, 100)
    with pytest.raises(ValueError, match="arm 0 starts at -2"):
        fewa_problem_bound(problem, 100)
    decay = largest_decay(problem, 100, shift=True)
    assert decay == 3.0
    assert fewa_problem_bound(problem, 100, decay=decay) == fewa_problem_bound(
        Problem([0.0, Drop(before=3.0, after=1.0, at=5)]), 100
    )


def test_shift_moves_positive_starts_down_too():
    assert largest_decay(stationary([5.0, 5.5]), 10, shift=True) == 0.5


def greedy_pulls(problem, horizon):
    """Play argmax of each arm's last reward, untried arms first."""
    pulls = [0] * problem.n_arms
    for _ in range(horizon):
        last = [math.inf if n == 0 else curve(n - 1) for curve, n in zip(problem.curves, pulls, strict=True)]
        pulls[last.index(max(last))] += 1
    return pulls


@settings(deadline=None, max_examples=80)
@given(problems, st.integers(1, 25))
def test_greedy_stays_below_its_bound(problem, horizon):
    bound = greedy_bound(problem.n_arms, largest_decay(problem, horizon, shift=True))
    assert regret(problem, greedy_pulls(problem, horizon)) <= bound


def test_greedy_bound_is_reached():
    # One look at a worthless arm, in place of a pull worth L.
    problem = Problem([0.0, 1.0], noise="none")
    assert regret(problem, greedy_pulls(problem, 10)) == greedy_bound(2, largest_decay(problem, 10)) == 1.0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_problems_outside_the_setting_are_refused(function):
    with pytest.raises(ValueError, match="'problem' is restless; expected a rested one"):
        function(Problem([1.0, [1.0, 0.0]], restless=True), 10)
    with pytest.raises(ValueError, match=r"arm 1 \(Table.*\) increases; expected arms that never do"):
        function(Problem([1.0, [0.0, 1.0]], allow_increasing=True), 10)
    with pytest.raises(ValueError, match="horizon=0 is out of range; expected a whole number >= 1"):
        function(two_arm(), 0)


@pytest.mark.parametrize("function", FUNCTIONS[1:])
def test_bad_sigma_is_refused(function):
    with pytest.raises(ValueError, match=r"sigma=-1\.0 is out of range; expected a finite number >= 0"):
        function(two_arm(), 10, sigma=-1.0)


def test_other_bad_numbers_are_refused():
    with pytest.raises(ValueError, match=r"alpha=0\.0 is out of range; expected a finite number > 0"):
        overpull_limits(two_arm(), 10, alpha=0.0)
    with pytest.raises(ValueError, match=r"delta0=0\.0 is out of range; expected a finite number > 0"):
        overpull_limits(two_arm(), 10, delta0=0.0)
    with pytest.raises(ValueError, match=r"alpha=3\.0 is out of range; expected a finite number > 3"):
        fewa_problem_high_probability_bound(two_arm(), 10, alpha=3.0, delta=0.1)
    for function in FUNCTIONS[2:]:
        with pytest.raises(ValueError, match=r"decay=-1\.0 is out of range"):
            function(two_arm(), 10, decay=-1.0)
