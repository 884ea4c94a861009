"""Problems fitted to logs."""

import dataclasses

import numpy as np
import pytest

import rotting
from rotting.logs import LogError, fitting, make_log
from rotting.logs.fitting import batch_of, fit_log, problem_of
from rotting.logs.reading import read_log
from rotting.problems.curves import Constant, Exponential


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("pessimistic", [False, True])
def test_beyond_the_last_exposure(pessimistic, batch):
    fitted = fit_log(read_log(make_log(arms=3, exposures=1200, sigma=0.2, start=3.0, end=1.0, seed=1)), "exposure")
    problem = problem_of(fitted, "log", batch, pessimistic)
    assert problem.horizon == 3600 // batch
    assert problem.noise_scale == pytest.approx(fitted.sigma / batch**0.5)
    at_the_end, beyond = problem.means([1200 // batch - 1, 2400 // batch]).T
    assert np.allclose(at_the_end, 1.0, atol=0.1)
    assert np.all(beyond < at_the_end - 0.2) if pessimistic else np.array_equal(beyond, at_the_end)


def test_values_that_follow_the_calendar_make_a_restless_problem():
    frame = make_log(arms=4, exposures=1000, effect="calendar", sigma=0.3, start=3.0, end=1.0, seed=1)
    problem = rotting.Problem.from_log(frame)
    assert problem.restless
    assert problem.means([problem.horizon - 1]) == pytest.approx(1.0, abs=0.15)


def test_problem_from_log():
    frame = make_log(arms=2, exposures=1000, sigma=0.1, start=3.0, end=1.0, seed=1)
    problem = rotting.Problem.from_log(frame)
    assert not problem.restless
    truth = Exponential(start=3.0, rate=np.log(3) / 1000)
    assert problem.means(range(0, 1000, 100)) == pytest.approx(np.tile(truth(range(0, 1000, 100)), (2, 1)), abs=0.1)
    assert rotting.Problem.from_log(frame, pessimistic=True).means([1900])[0] < 0.5
    with pytest.raises(LogError, match="unit='user_id' cannot be used, since"):
        rotting.Problem.from_log(frame, unit="user_id")


def test_refits_scatter_around_the_fit():
    fitted = fit_log(read_log(make_log(arms=3, exposures=500, effect="none", seed=5)), "exposure")
    again = [fitted.refit(np.random.default_rng(seed)) for seed in range(20)]
    levels = np.array([[curve(0) for curve in each.curves] for each in again])
    assert levels.std() > 0
    assert levels.mean() == pytest.approx(np.mean([curve(0) for curve in fitted.curves]), rel=0.25)
    assert all(isinstance(curve, Constant | Exponential | rotting.problems.curves.Drop) for curve in again[0].curves)


def test_long_logs_are_played_in_batches():
    assert batch_of(fitting.MOST_ROUNDS) == 1
    assert batch_of(fitting.MOST_ROUNDS + 1) == 2
    assert 10_000_000 / batch_of(10_000_000) <= fitting.MOST_ROUNDS


@pytest.mark.parametrize("batch", [1, 3])
def test_rounding_makes_no_click_rate_of_more_than_one(batch):
    """Curves that start at 1 (the first exposures were all clicked) have no means above 1 over pulls."""
    fitted = fit_log(read_log(make_log(arms=2, exposures=100, seed=1)), "exposure")
    rates = [0.5791850533193196, *np.geomspace(1e-4, 3, 500)]
    for rate in rates:
        curves = [Exponential(start=1.0, rate=float(rate)), Constant(0.1)]
        problem = problem_of(dataclasses.replace(fitted, curves=curves), "log", batch, pessimistic=True)
        assert problem.curves[0].start <= 1.0
