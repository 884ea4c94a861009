import math

import pytest

import rotting
from rotting.policies import RSR, SequentialHalving, SuccessiveRejects
from rotting.problems import Growth, Problem, Rising
from rotting.simulation import identification
from rotting.theory import (
    hardness,
    rsr_bound,
    rucbe_bound,
    rucbe_exploration,
    sequential_halving_bound,
    successive_rejects_bound,
)

GAPS = [0.2, 0.3, 0.4]


def test_bounds_hold_where_they_say_something():
    problem = Problem([0.8, *(0.8 - gap for gap in GAPS)], sigma=0.5, horizon=500)
    policies = [SuccessiveRejects(), SequentialHalving()]
    result = rotting.simulate(policies, problem, runs=2000, rounds=1, trace="recommended", progress=False)
    rejects, halving = identification(result, problem)
    assert rejects.error_low <= successive_rejects_bound(GAPS, 500) < 0.3
    assert halving.error_low <= sequential_halving_bound(GAPS, 500) <= 1
    assert sequential_halving_bound(GAPS, 20_000) < 0.001


def test_the_bound_of_rsr_holds_on_arms_that_have_risen():
    problem = Problem([Growth(0, 0.1, 0.8 - gap) for gap in (0, *GAPS)], dynamics=Rising(), sigma=0.1, horizon=400)
    result = rotting.simulate(RSR(), problem, runs=500, rounds=1, trace="recommended", progress=False)
    (row,) = identification(result, problem, at=400)
    assert row.error_low <= rsr_bound(GAPS, 400, sigma=0.1) < 0.02


def test_by_hand():
    assert hardness(GAPS) == pytest.approx(max(2 / 0.04, 3 / 0.09, 4 / 0.16))
    assert rucbe_bound(2, 100, 100) == pytest.approx(400 * math.exp(-10))
    total = sum(gap ** (-2 / 3) for gap in GAPS)
    a = 0.25**3 / (4 * 0.01) * (math.sqrt(1000 / total) - 0.5**-2) ** 2
    assert rucbe_exploration(GAPS, 1000, sigma=0.1, beta=2) == pytest.approx(a)
    assert rucbe_exploration(GAPS, 1000, sigma=0.1, beta=1.3) == 0.0


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [math.nan]])
def test_bad_gaps_are_refused(bad):
    with pytest.raises(ValueError, match="gaps"):
        hardness(bad)
