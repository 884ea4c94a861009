"""What would be gained, on problems where the answer is known."""

import numpy as np
import pytest

from rotting.logs import gain, make_log
from rotting.logs.fitting import fit_log, logged_reward
from rotting.logs.gain import EQUAL, LOGGED, ORACLE, estimate_gains, simulate_fits
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


# What must hold whatever the arms do.

SHAPES = {
    "abrupt": lambda share, arm: np.where(share < 0.2 + 0.1 * arm, 0.085, 0.005),
    "abrupt to nothing": lambda share, arm: np.where(share < 0.5, 0.05, 0.0),
    "flash": lambda share, arm: np.where(share < 0.02, 0.6, 0.03),
    "exponential": lambda share, arm: 0.1 * np.exp(-share * (0.5 + 0.3 * arm)),
    "linear": lambda share, arm: 0.1 * (1 - share),
    "constant": lambda share, arm: 0.02 * arm + 0 * share,
    "wear-in": lambda share, arm: 0.1 * (1 - np.exp(-3 * share)),
}


def shaped(shape, sigma=None, arms=4, exposures=600):
    """Return a log whose values follow a shape along the exposures of each arm."""
    frame = make_log(arms=arms, exposures=exposures, seed=1)
    share = frame.groupby("creative").cumcount().to_numpy() / exposures
    arm = frame["creative"].str.split().str[1].astype(int).to_numpy()
    value, generator = SHAPES[shape](share, arm), np.random.default_rng(3)
    frame["click"] = (
        (generator.random(len(value)) < value) * 1.0
        if sigma is None
        else value + sigma * generator.standard_normal(len(value))
    )
    return frame


@pytest.mark.parametrize("sigma", [None, 0.05])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_logged_allocation_earns_on_the_fit_what_the_log_earned(shape, sigma):
    frame = shaped(shape, sigma)
    log, earned = read_log(frame), 1000 * frame["click"].mean()
    assert logged_reward(fit_log(log, "exposure")) == pytest.approx(earned, rel=0.003)
    # Along the calendar, values are known by slices of time only.
    assert logged_reward(fit_log(log, "calendar")) == pytest.approx(earned, rel=0.05 if shape == "flash" else 0.01)


@pytest.mark.parametrize(
    ("shape", "driver"), [*((shape, "exposure") for shape in SHAPES), ("abrupt", "calendar"), ("linear", "calendar")]
)
def test_estimates_agree_with_each_other(few, shape, driver):
    fitted = fit_log(read_log(shaped(shape, exposures=400)), driver)
    only = ["FEWA", EQUAL, ORACLE]
    names, point, draws = simulate_fits(fitted, 0, lambda: None, only)
    assert np.all(point[:, names.index(ORACLE)] >= point[:, names.index(LOGGED)] - 1e-9)
    assert np.all(draws[:, :, names.index(ORACLE)] >= draws[:, :, names.index(LOGGED)] - 1e-9)
    for row in estimate_gains(fitted, 0, only=only):
        for estimate in (row.reward, row.gain, row.held, row.pessimistic):
            assert estimate.low <= estimate.point <= estimate.high
            assert row.policy != ORACLE or estimate.low >= 0
        for more in (row.gain, row.held):
            assert row.pessimistic.point <= more.point
            assert row.pessimistic.low <= more.low
            assert row.pessimistic.high <= more.high


def test_the_calendar_has_the_traffic_of_the_log():
    """Most exposures came early, when values were high: no allocation can do better than those days were."""
    frame = shaped("constant", sigma=0.01)
    late = np.arange(len(frame)) >= 0.8 * len(frame)
    frame["timestamp"] = np.where(late, 10 * np.arange(len(frame)), np.arange(len(frame)))
    frame["click"] -= 0.2 * frame["timestamp"] / frame["timestamp"].max() - 1.0
    fitted = fit_log(read_log(frame), "calendar")
    logged, best = (row.reward.point for row in estimate_gains(fitted, 0, only=[ORACLE]))
    assert logged == pytest.approx(1000 * frame["click"].mean(), rel=0.001)
    assert logged < best < logged + 40


@pytest.mark.parametrize(("scatter", "is_skewed"), [(np.geomspace(0.1, 8, 60), True), (np.eye(60)[0] * 1e4, False)])
def test_intervals_have_the_shape_of_the_scatter_and_hold_the_estimate(monkeypatch, scatter, is_skewed):
    """Refits that all lie 3 higher than the fit say nothing about where the truth lies, but their scatter does."""
    point = np.array([[50.0, 60.0], [50.0, 55.0]])
    draws = np.tile(point, (60, 1, 1))
    draws[:, :, 1] += 3 + scatter[:, None]
    monkeypatch.setattr(gain, "simulate_fits", lambda *_: ([LOGGED, "FEWA"], point, draws))
    _, row = estimate_gains(fit_log(read_log(make_log(arms=2, exposures=50)), "exposure"))
    assert [row.held.point, row.pessimistic.point, row.gain.point] == [10, 5, 7.5]
    for estimate in (row.held, row.pessimistic, row.gain):
        assert estimate.low <= estimate.point <= estimate.high
    if is_skewed:
        assert row.held.high - 10 > 10 - row.held.low > 1
        assert (row.gain.low, row.gain.high) == pytest.approx((row.pessimistic.low, row.held.high), abs=2)
