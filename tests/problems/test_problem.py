"""Problems: what they accept, what they pay, and their oracle against a greedy player in plain Python."""

import dataclasses
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting._core.randomness import stream_key
from rotting.problems import Constant, Drop, Drops, Exponential, Linear, Logistic, Power, Problem, Table
from rotting.problems.problem import draw_reward

checked = settings(deadline=None, max_examples=80, derandomize=True)

# Multiples of 1/8, so that sums are exact and ties between arms frequent.
eighths = st.integers(-12, 12).map(lambda n: n / 8)
falling = st.one_of(
    st.builds(Constant, eighths),
    st.lists(eighths, min_size=1, max_size=12).map(lambda v: Table(sorted(v, reverse=True))),
    st.builds(lambda a, b, at: Drop(max(a, b), min(a, b), at), eighths, eighths, st.integers(1, 20)),
    st.builds(Linear, st.just(1.0), st.sampled_from([0.0, 0.125, 0.25]), st.sampled_from([-1.0, 0.0, 0.5])),
    st.builds(Power, st.sampled_from([0.5, 1.0]), st.integers(1, 4)),
    st.builds(Exponential, st.just(1.0), st.floats(0.0, 0.5)),
    st.builds(Logistic, st.just(1.0), st.floats(0, 20), st.floats(0.5, 5)),
)
rising = st.lists(eighths, min_size=1, max_size=12).map(Table)


def greedy(problem: Problem, horizon: int) -> tuple[list[int], list[float]]:
    """Play the arm that is worth most, the first on ties, one round after the other."""
    values = [curve(np.arange(horizon)).tolist() for curve in problem.curves]
    pulls, collected = [0] * problem.n_arms, []
    for t in range(horizon):
        worth = [own[t if problem.restless else n] for own, n in zip(values, pulls, strict=True)]
        arm = worth.index(max(worth))
        pulls[arm] += 1
        collected.append(worth[arm])
    return pulls, [math.fsum(collected[: t + 1]) for t in range(horizon)]


# The oracle


@checked
@given(st.lists(falling, min_size=1, max_size=5), st.integers(1, 60), st.booleans())
def test_the_oracle_is_greedy(curves, horizon, restless):
    problem = Problem(curves, restless=restless)
    pulls, reward = greedy(problem, horizon)
    oracle = problem.oracle(horizon, range(1, horizon + 1))
    assert oracle.pulls.tolist() == pulls
    np.testing.assert_allclose(oracle.reward, reward, rtol=0, atol=1e-12)
    # Asked for the end only, it says the same.
    end = problem.oracle(horizon)
    assert end.pulls.tolist() == pulls
    assert end.reward.tolist() == [oracle.reward[-1]]
    assert end.rounds.tolist() == [horizon]


@checked
@given(st.lists(rising, min_size=1, max_size=5), st.integers(1, 60), st.booleans())
def test_the_oracle_is_greedy_where_arms_increase_too(curves, horizon, restless):
    problem = Problem(curves, restless=restless, allow_increasing=True)
    pulls, reward = greedy(problem, horizon)
    oracle = problem.oracle(horizon)
    assert oracle.pulls.tolist() == pulls
    assert oracle.reward[-1] == pytest.approx(reward[-1], abs=1e-12)


def test_rounds_of_the_oracle():
    problem = Problem([Drop(1.0, 0.0, 5), 0.5])
    oracle = problem.oracle(10, rounds=[2, 5, 6, 10])
    assert oracle.rounds.tolist() == [2, 5, 6, 10]
    assert oracle.reward.tolist() == [2.0, 5.0, 5.5, 7.5]


@pytest.mark.parametrize(
    ("horizon", "rounds"),
    [(0, None), (-1, None), (10, []), (10, [5]), (10, [5, 11]), (10, [5, 4, 10]), (10, [-1, 10])],
)
def test_bad_rounds_are_refused(horizon, rounds):
    with pytest.raises(ValueError, match=f"horizon={horizon}"):
        Problem([1.0]).oracle(horizon, rounds)


def test_round_0_is_refused_or_worth_nothing():
    """Rounds are 1, 2, ...; whatever is answered for round 0, it must not be what happens to be in memory."""
    try:
        reward = Problem([1.0]).oracle(10, rounds=[0, 5, 10]).reward
    except ValueError:
        return
    assert reward.tolist() == [0.0, 5.0, 10.0]


def test_a_long_horizon_needs_no_table():
    """Ten million rounds: one table of means would take 80 MB per arm."""
    problem = Problem(
        [
            Power(theta=0.3, step=100),
            Exponential(start=1.0, rate=1e-7, floor=0.01),
            Logistic(start=0.9, midpoint=2e6, width=3e5),
            Drop(0.5, 0.02, 1_000_000),
        ]
    )
    problem.oracle(10)  # compiles, and builds what is built once
    horizon = 10_000_000
    tracemalloc.start()
    oracle = problem.oracle(horizon, rounds=range(horizon // 100, horizon + 1, horizon // 100))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert oracle.pulls.sum() == horizon
    # The best allocation of falling arms: nothing left out is worth more than anything taken.
    taken = min(curve(n - 1) for curve, n in zip(problem.curves, oracle.pulls, strict=True) if n > 0)
    left = max(curve(n) for curve, n in zip(problem.curves, oracle.pulls, strict=True))
    assert taken >= left
    assert np.all(oracle.pulls > 0)  # every family takes part
    total = sum(
        math.fsum(curve(np.arange(first, min(first + 10**6, n))).sum() for first in range(0, int(n), 10**6))
        for curve, n in zip(problem.curves, oracle.pulls, strict=True)
    )
    assert oracle.reward[-1] == pytest.approx(total, rel=1e-12)


# What problems accept


def test_curves_come_in_several_forms():
    problem = Problem([1, [2.0, 1.0], Drop(1.0, 0.0, 3)])
    assert problem.curves == (Constant(1.0), Table((2.0, 1.0)), Drop(1.0, 0.0, 3))
    assert problem.n_arms == 3
    np.testing.assert_array_equal(problem.means([0, 1, 3]), [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    assert problem.means(0).tolist() == [1.0, 2.0, 1.0]


INCREASING = [Drop(0.0, 1.0, 3), Drops((1.0, 0.5, 0.6), (2, 4)), Table((0.1, 0.2)), Table((1.0, 0.5, 0.500001))]


@pytest.mark.parametrize("curve", INCREASING, ids=repr)
def test_increasing_arms_are_refused_unless_asked_for(curve):
    with pytest.raises(ValueError, match=r"arm 1 increases.*allow_increasing=True"):
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
    with pytest.raises(ValueError, match=r"arm 1 has means .* \[0, 1\]"):
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
        ({"curves": ["abc"]}, TypeError, "abc"),
        ({"curves": [1.0], "noise": "laplace"}, ValueError, "'laplace'.*'gaussian', 'bernoulli', 'none'"),
        ({"curves": [1.0], "sigma": -1.0}, ValueError, "sigma=-1.0"),
        ({"curves": [1.0], "sigma": math.nan}, ValueError, "sigma=nan"),
        ({"curves": [1.0], "sigma": math.inf}, ValueError, "sigma=inf"),
        ({"curves": [1.0], "horizon": 0}, ValueError, "horizon=0"),
    ],
)
def test_bad_problems_are_refused_with_the_reason(arguments, error, says):
    with pytest.raises(error, match=says):
        Problem(**arguments)


@pytest.mark.parametrize("horizon", [2.5, "100", None])
def test_a_horizon_that_is_no_whole_number_is_refused(horizon):
    with pytest.raises((TypeError, ValueError), match="horizon="):
        Problem([1.0], horizon=horizon)


def test_problems_are_values():
    problem = Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.3)
    assert problem == Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.3)
    assert hash(problem) == hash(Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.3))
    assert problem != Problem([Drop(1.0, 0.0, 3), 0.5], sigma=0.4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.sigma = 1.0
    assert problem.noise_scale == 0.3
    assert Problem([1.0], noise="none").noise_scale == 0.0


# What problems pay (limits: chance beyond them is below one in a million)


def rewards(problem: Problem, mean: float, count: int = 20_000) -> np.ndarray:
    key = stream_key(3, 1)
    return np.array([draw_reward(problem.arrays, key, mean, n) for n in range(count)])


def test_gaussian_rewards():
    drawn = rewards(Problem([0.0], sigma=0.5), 3.0)
    assert abs(drawn.mean() - 3.0) < 4.9 * 0.5 / math.sqrt(len(drawn))
    assert abs(drawn.var() - 0.25) < 4.9 * 0.25 * math.sqrt(2 / len(drawn))
    np.testing.assert_allclose(drawn - 3.0, 0.5 * rewards(Problem([0.0]), 0.0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("mean", [0.0, 0.003, 0.3, 1.0])
def test_bernoulli_rewards(mean):
    drawn = rewards(Problem([0.5], noise="bernoulli"), mean)
    assert set(drawn.tolist()) == {0.0, 1.0} - ({1.0} if mean == 0 else set()) - ({0.0} if mean == 1 else set())
    assert abs(drawn.mean() - mean) <= 4.9 * math.sqrt(mean * (1 - mean) / len(drawn))


def test_rewards_without_noise():
    assert set(rewards(Problem([0.5], noise="none", sigma=2.0), 0.7, 100).tolist()) == {0.7}
