"""What would be gained, on problems where the answer is known."""

import numpy as np
import pytest

import rotting
from rotting.curves import Constant, Exponential
from rotting.logs import LogError, gain, make_log
from rotting.logs.gain import EQUAL, LOGGED, ORACLE, batch_of, estimate_gains, fit_log, problem_of
from rotting.logs.reading import read_log


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(gain, "REFITS", 10)


def test_policies_gain_what_there_is_to_gain(few):
    frame = make_log(arms=2, exposures=800, effect="none", sigma=0.5, start=2.0, seed=2)
    frame.loc[frame.creative == "creative 1", "value"] -= 1.0
    rows = {row.policy: row for row in estimate_gains(fit_log(read_log(frame), "exposure"))}
    # Half of the exposures are worth 1 less than the others: 500 per 1000 can be gained, and nothing by equal shares.
    assert rows[LOGGED].reward.point == pytest.approx(1500, rel=0.03)
    assert rows[ORACLE].gain.point == pytest.approx(500, rel=0.1)
    assert rows["FEWA"].gain.point == pytest.approx(490, rel=0.1)
    assert rows["FEWA"].gain.low < 490 < rows["FEWA"].gain.high
    assert rows[EQUAL].gain.point == pytest.approx(0, abs=10)
    assert rows[LOGGED].gain == gain.Estimate(0.0, 0.0, 0.0)


def test_the_same_seed_gives_the_same_gains(few):
    fitted = fit_log(read_log(make_log(arms=2, exposures=300)), "exposure")
    assert estimate_gains(fitted, seed=4, only=["FEWA"]) == estimate_gains(fitted, seed=4, only=["FEWA"])


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
    with pytest.raises(LogError, match="expected no unit"):
        rotting.Problem.from_log(frame, unit="user_id")


def test_refits_scatter_around_the_fit():
    fitted = fit_log(read_log(make_log(arms=3, exposures=500, effect="none", seed=5)), "exposure")
    again = [fitted.refit(np.random.default_rng(seed)) for seed in range(20)]
    levels = np.array([[curve(0) for curve in each.curves] for each in again])
    assert levels.std() > 0
    assert levels.mean() == pytest.approx(np.mean([curve(0) for curve in fitted.curves]), rel=0.25)
    assert all(isinstance(curve, Constant | Exponential | rotting.curves.Drop) for curve in again[0].curves)


def test_long_logs_are_played_in_batches():
    assert batch_of(gain.MOST_ROUNDS) == 1
    assert batch_of(gain.MOST_ROUNDS + 1) == 2
    assert 10_000_000 / batch_of(10_000_000) <= gain.MOST_ROUNDS
