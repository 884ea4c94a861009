"""Problems: what they accept and what they say about themselves."""

import dataclasses
import math

import numpy as np
import pytest

from rotting.errors import BadValue, RottingError
from rotting.problems import Constant, Drop, Drops, Exponential, Linear, Logistic, Power, Problem, Table


def test_curves_come_in_several_forms():
    problem = Problem([1, [2.0, 1.0], Drop(1.0, 0.0, 3)])
    assert problem.curves == (Constant(1.0), Table((2.0, 1.0)), Drop(1.0, 0.0, 3))
    assert problem.n_arms == 3
    np.testing.assert_array_equal(problem.means([0, 1, 3]), [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    assert problem.means(0).tolist() == [1.0, 2.0, 1.0]


INCREASING = [Drop(0.0, 1.0, 3), Drops((1.0, 0.5, 0.6), (2, 4)), Table((0.1, 0.2)), Table((1.0, 0.5, 0.500001))]


@pytest.mark.parametrize("curve", INCREASING, ids=repr)
def test_increasing_arms_are_refused_unless_asked_for(curve):
    with pytest.raises(ValueError, match=r"^Problem: arm 1: curve=.* increases.*allow_increasing=True"):
        Problem([0.0, curve])
    problem = Problem([0.0, curve], allow_increasing=True)
    np.testing.assert_array_equal(problem.means(range(9))[1], curve(range(9)))


BEYOND = [
    1.5,
    -0.1,
    Drop(1.0, -0.1, 5),
    Drop(1.1, 0.0, 5),
    Drops((1.0, 0.5, -0.5), (2, 4)),
    Table((1.0, 0.0, -1e-9)),
    Linear(1.0, 0.1, floor=-1.0),
    Exponential(2.0, 0.1),
    Exponential(1.0, 0.1, floor=-0.1),
    Power(0.5, start=1.2),
    Logistic(1.5, 10.0, 0.1),
]


@pytest.mark.parametrize("curve", BEYOND, ids=repr)
def test_bernoulli_means_must_be_probabilities(curve):
    with pytest.raises(ValueError, match=r"^Problem: arm 1: curve=.* has means from .*; expected means in \[0, 1\]"):
        Problem([0.5, curve], noise="bernoulli")
    Problem([0.5, curve])  # fine with other noise


@pytest.mark.parametrize(
    "curve",
    [0.0, 1.0, Drop(1.0, 0.0, 5), Linear(1.0, 0.1), Exponential(1.0, 0.1), Power(0.5), Logistic(1.0, 10.0, 1.0)],
)
def test_bernoulli_accepts_probabilities(curve):
    assert Problem([curve], noise="bernoulli").noise_scale == 0.5


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"curves": []}, ValueError, "at least one arm"),
        ({"curves": 3}, TypeError, "curves=3"),
        ({"curves": "abc"}, TypeError, "curves='abc'"),
        ({"curves": [float("nan")]}, ValueError, "nan"),
        ({"curves": ["abc"]}, TypeError, "Problem: arm 0: curve='abc' is not a curve; expected"),
        ({"curves": [1.0, math.sin]}, TypeError, "Problem: arm 1: curve=<.*> is a function.*Table"),
        ({"curves": Drop}, TypeError, "curves=<class .*> is not a sequence of curves"),
        ({"curves": [1.0], "sigma": "1"}, TypeError, "sigma='1' is not a number"),
        ({"curves": [1.0], "sigma": True}, TypeError, "sigma=True"),
        ({"curves": [1.0], "restless": 1}, TypeError, "restless=1 is neither True nor False"),
        ({"curves": [1.0], "horizon": 2**63}, ValueError, "horizon=9223372036854775808 is out of range"),
        ({"curves": [1.0], "noise": "laplace"}, ValueError, "'laplace'.*'gaussian', 'bernoulli', 'none'"),
        ({"curves": [1.0], "noise": ["none"]}, ValueError, r"noise=\['none'\] is not one of 'gaussian'"),
        ({"curves": [1.0], "sigma": -1.0}, ValueError, "sigma=-1.0"),
        ({"curves": [1.0], "sigma": math.nan}, ValueError, "sigma=nan"),
        ({"curves": [1.0], "sigma": math.inf}, ValueError, "sigma=inf"),
        ({"curves": [1.0], "horizon": 0}, ValueError, "horizon=0"),
    ],
)
def test_bad_problems_are_refused_with_the_reason(arguments, error, says):
    with pytest.raises(error, match=says) as caught:
        Problem(**arguments)
    assert isinstance(caught.value, RottingError)
    assert caught.value.owner.startswith("Problem")
    assert caught.value.name in {*arguments, "curve", "value"}


@pytest.mark.parametrize("horizon", [2.5, "100", None])
def test_a_horizon_that_is_no_whole_number_is_refused(horizon):
    with pytest.raises((TypeError, ValueError), match="horizon="):
        Problem([1.0], horizon=horizon)


def test_means_after_a_negative_number_of_pulls_are_refused():
    with pytest.raises(BadValue, match="n=-1 is out of range"):
        Problem([1.0, [2.0, 1.0]]).means([0, -1])


def test_problems_are_values():
    problem = Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.3)
    assert problem == Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.3)
    assert hash(problem) == hash(Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.3))
    assert problem != Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.sigma = 1.0
    assert problem.noise_scale == 0.3
    assert Problem([1.0], noise="none").noise_scale == 0.0
