"""The greedy oracle against a greedy player in plain Python."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import BadValue
from rotting.problems import Blocking, Constant, Drop, Exponential, Linear, Logistic, Power, Problem, Table

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
    oracle = problem.oracle(horizon, kind="greedy")
    assert oracle.pulls.tolist() == pulls
    assert problem.oracle(horizon).reward[-1] >= oracle.reward[-1] - 1e-12
    assert oracle.reward[-1] == pytest.approx(reward[-1], abs=1e-12)


def kahan(terms: list[float]) -> float:
    total = lost = 0.0
    for term in terms:
        step = term - lost
        grown = total + step
        total, lost = grown, (grown - total) - step
    return total


@pytest.mark.parametrize("n_arms", [1, 2, 3, 7, 64, 100])
@pytest.mark.parametrize("increasing", [False, True])
def test_many_arms_with_ties_are_pulled_in_exactly_the_same_order(n_arms, increasing):
    """The heap changes nothing: the same arms, and sums that are equal bit for bit after every round."""
    random = np.random.default_rng(n_arms)
    tables = random.integers(0, 6, (n_arms, 9)) / 10
    if not increasing:
        tables = -np.sort(-tables, axis=1)
    problem = Problem(tables, allow_increasing=increasing)
    horizon = 12 * n_arms
    oracle = problem.oracle(horizon, range(1, horizon + 1), kind="greedy")
    pulls, collected = [0] * n_arms, []
    for t in range(horizon):
        means = [row[min(n, 8)] for row, n in zip(tables, pulls, strict=True)]
        arm = means.index(max(means))
        pulls[arm] += 1
        collected.append(float(means[arm]))
        assert problem.oracle(t + 1, kind="greedy").pulls.tolist() == pulls
    assert oracle.reward.tolist() == [kahan(collected[: t + 1]) for t in range(horizon)]


def test_rounds_of_the_oracle():
    problem = Problem([Drop(1.0, 0.0, 5), 0.5])
    oracle = problem.oracle(10, rounds=[2, 5, 6, 10])
    assert oracle.rounds.tolist() == [2, 5, 6, 10]
    assert oracle.reward.tolist() == [2.0, 5.0, 5.5, 7.5]


@pytest.mark.parametrize(
    ("horizon", "rounds"),
    [
        (0, None),
        (-1, None),
        (10, []),
        (10, [5]),
        (10, [5, 11]),
        (10, [5, 4, 10]),
        (10, [-1, 10]),
        (10, [0, 10]),
        (10, [2.5, 10]),
        (10, [[5, 10]]),
        (10, 10),
    ],
)
def test_bad_rounds_are_refused(horizon, rounds):
    with pytest.raises(BadValue, match=r"horizon=(0|-1) is out of range|rounds=.* expected a? ?whole number"):
        Problem([1.0]).oracle(horizon, rounds)


def test_rounds_and_horizon_are_whole_numbers():
    with pytest.raises(BadValue, match=r"horizon=10\.0 is not a whole number"):
        Problem([1.0]).oracle(10.0)
    with pytest.raises(BadValue, match=r"rounds=\[5\] does not fit horizon=10; expected .* the last of them 10"):
        Problem([1.0]).oracle(10, [5])


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


def test_blocked_arms_that_wear_out_are_not_measured_against_a_cycle():
    """A cycle knows only what worn arms pay, for ever: whoever plays fresh ones would have a regret far below 0."""
    worn = [[1.0] * 100 + [0.0], 0.1]
    oracle = Problem(worn, dynamics=Blocking(1), noise="none").oracle(100, np.array([100]))
    assert (str(oracle), oracle.reward[-1]) == ("greedy: optimal", 100)
    assert str(Problem(worn, dynamics=Blocking(3), noise="none").oracle(100, np.array([100]))).endswith("a reference")
    constant = Problem([1.0, 0.1], dynamics=Blocking(3), noise="none").oracle(100, np.array([100]))
    assert str(constant).startswith("best cycle")
