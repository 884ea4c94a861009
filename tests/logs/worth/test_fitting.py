"""Problems fitted to logs."""

import numpy as np
import pytest

import rotting
from rotting.logs import LogError, make_log
from rotting.logs.worth.gain import MOST_ROUNDS, batch_of
from rotting.problems.curves import Exponential


def test_values_that_follow_the_calendar_make_a_restless_problem():
    frame = make_log(arms=4, exposures=1000, effect="calendar", sigma=0.3, start=3.0, end=1.0, seed=1)
    problem = rotting.Problem.from_log(frame)
    assert problem.restless
    assert problem.means([problem.horizon - 1]) == pytest.approx(1.0, abs=0.25)


def test_problem_from_log():
    frame = make_log(arms=2, exposures=1000, sigma=0.1, start=3.0, end=1.0, seed=1)
    problem = rotting.Problem.from_log(frame)
    assert not problem.restless
    truth = Exponential(start=3.0, rate=np.log(3) / 1000)
    assert problem.means(range(0, 1000, 100)) == pytest.approx(np.tile(truth(range(0, 1000, 100)), (2, 1)), abs=0.15)
    at_the_end, beyond = problem.means([999, 1900]).T
    assert np.array_equal(at_the_end, beyond)
    assert rotting.Problem.from_log(frame, pessimistic=True).means([1900])[0] < 0.6
    with pytest.raises(LogError, match="unit='user_id' cannot be used, since"):
        rotting.Problem.from_log(frame, unit="user_id")


def test_long_logs_are_played_in_batches():
    assert batch_of(MOST_ROUNDS) == 1
    assert batch_of(MOST_ROUNDS + 1) == 2
    assert 10_000_000 / batch_of(10_000_000) <= MOST_ROUNDS
