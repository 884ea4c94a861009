import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.policies.oracle import Oracle
from rotting.problems import Constant, Drop, Exponential, Problem, ten_arm

FORMULAS = (
    lambda n: 0.4,
    lambda n: 1.0 if n < 7 else 0.1,
    lambda n: [0.9, 0.5, 0.4, 0.0][min(n, 3)],
    lambda n: 0.4,
)
CURVES = (Constant(0.4), Drop(1.0, 0.1, 7), [0.9, 0.5, 0.4, 0.0], 0.4)


@settings(max_examples=20, deadline=None)
@given(
    which=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    restless=st.booleans(),
    forced=st.lists(st.integers(0, 9), max_size=30),
)
def test_every_decision_is_the_largest_mean_now(which, restless, forced):
    problem = Problem([CURVES[j] for j in which], restless=restless)
    agent = Oracle(problem).start(len(which))
    pulls = [0] * len(which)
    for t in range(1, 41):
        values = [FORMULAS[j](t - 1 if restless else pulls[arm]) for arm, j in enumerate(which)]
        assert agent.select() == values.index(max(values))
        # Rewards may come for any arm, chosen or not.
        arm = forced[t - 1] % len(which) if t <= len(forced) else agent.select()
        agent.update(arm, 1e100)
        pulls[arm] += 1
    assert agent.pulls.tolist() == pulls


@pytest.mark.parametrize("restless", [False, True])
def test_it_pulls_as_the_problem_says_the_oracle_does(restless):
    curves = (Constant(0.2), Exponential(1.0, 0.01), Drop(0.7, 0.0, 90))
    problem = Problem(curves, restless=restless)
    agent = Oracle(problem).start(3)
    for _ in range(500):
        agent.update(agent.select(), 0.0)
    np.testing.assert_array_equal(agent.pulls, problem.oracle(500).pulls)


def test_a_simulation_informs_it():
    problem = ten_arm()
    informed = Oracle().informed(problem, 100)
    assert informed.problem is problem
    assert informed.start(10).select() == 9  # the arm that starts highest


def test_without_a_problem_it_says_what_to_do():
    with pytest.raises(ValueError, match=r"pass Oracle\(problem\), or use it in a simulation"):
        Oracle().start(2)


def test_the_wrong_number_of_arms_is_refused():
    with pytest.raises(ValueError, match="n_arms=3 is not the number of arms of its problem, 10"):
        Oracle(ten_arm()).start(3)


def test_what_is_not_a_problem_is_refused():
    with pytest.raises(TypeError, match=r"\[0.5, 0.2\] is not a problem"):
        Oracle([0.5, 0.2])


def test_its_name_is_short_and_does_not_depend_on_the_problem():
    assert str(Oracle(ten_arm())) == repr(Oracle(ten_arm())) == str(Oracle()) == "Oracle()"
    assert Oracle(ten_arm()) == Oracle()
    assert hash(Oracle(ten_arm())) == hash(Oracle())
