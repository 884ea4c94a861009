"""The exact oracle of rested arms of any shape, against brute force."""

import dataclasses

import numpy as np
import pytest

from rotting import simulate
from rotting.errors import BadValue
from rotting.policies import Oracle
from rotting.problems import Drop, Exponential, Growth, Problem, Rising, Sigmoid, allocation


def some_curve(random):
    values = random.integers(-3, 4, random.integers(1, 9)) + random.choice([0.0, 0.3])
    shape = random.integers(3)
    return (values if shape == 0 else np.sort(values) if shape == 1 else np.sort(values)[::-1]).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_it_earns_what_brute_force_does(seed):
    random = np.random.default_rng(seed)
    horizon = int(random.integers(1, 10))
    arms = range(random.integers(1, 4 if horizon < 8 else 3))
    problem = Problem([some_curve(random) for _ in arms], allow_increasing=True)
    rounds = np.arange(1, horizon + 1)
    found = problem.oracle(horizon, rounds, kind="best allocation")
    np.testing.assert_allclose(found.reward, problem.oracle(horizon, rounds, kind="brute force").reward, atol=1e-12)
    assert found.pulls.sum() == horizon
    earned = sum(curve(np.arange(pulls)).sum() for curve, pulls in zip(problem.curves, found.pulls, strict=True))
    assert earned == pytest.approx(found.reward[-1], abs=1e-12)
    assert found.standing == "optimal"


def test_it_is_what_others_find_where_they_are_optimal():
    falling = Problem([Drop(1.0, 0.2, 30), 0.5, Exponential(0.9, 0.01)])
    rising = Problem([0.5, Growth(0.0, 0.1, 0.9), Sigmoid(1.0, 0.05, 60.0)], dynamics=Rising())
    for problem, kind in ((falling, "greedy"), (rising, "constant arm")):
        rounds = np.arange(10, 301, 10)
        usual, exact = (problem.oracle(300, rounds, kind=each) for each in (None, "best allocation"))
        assert str(usual) == f"{kind}: optimal"
        np.testing.assert_allclose(exact.reward, usual.reward, rtol=1e-12)
        np.testing.assert_array_equal(exact.pulls, usual.pulls)


def test_greedy_can_earn_far_less():
    """An arm that pays after a while is worth nothing to who looks at the next pull only."""
    late = Problem([[0.0] * 100 + [1.0], 0.5], allow_increasing=True)
    assert str(late.oracle(400)) == "best allocation: optimal"
    assert late.oracle(400).reward == 300
    assert late.oracle(400).pulls.tolist() == [400, 0]
    assert late.oracle(150).reward == 75
    assert late.oracle(400, kind="greedy").reward == 200


def test_no_policy_earns_more():
    problem = Problem([Sigmoid(1.0, 0.1, 40.0), Drop(0.7, 0.1, 60), [0.1, 0.9, 0.2]], allow_increasing=True, sigma=0.1)
    found = simulate(["UCB1(sigma=0.1)", "EpsilonGreedy()", "Uniform()", Oracle()], problem, horizon=300, runs=10)
    assert found.regret.min() > -1e-9
    assert found.attrs["oracle"] == "best allocation: optimal"


def test_what_is_too_much_is_left_to_a_reference(monkeypatch):
    problem = Problem([[0.0, 1.0, 0.5], 0.3], allow_increasing=True)
    monkeypatch.setattr(allocation, "MOST_STEPS", 100**2)
    assert str(problem.oracle(100)) == "best allocation: optimal"
    assert str(problem.oracle(200)) == "greedy: a reference"


def test_arms_that_follow_more_than_their_own_pulls_are_refused():
    with pytest.raises(BadValue, match="has Restless dynamics"):
        Problem([0.5], restless=True).oracle(10, kind="best allocation")


def test_what_it_gives_is_its_own():
    problem = Problem([[0.0, 1.0, 0.5], 0.3], allow_increasing=True)
    first = problem.oracle(100)
    first.pulls[:] = 0
    first.reward[:] = 0
    assert problem.oracle(100).pulls.sum() == 100
    assert problem.oracle(100).reward[-1] > 0
    assert dataclasses.replace(problem, name="another").oracle(100).reward == problem.oracle(100).reward
