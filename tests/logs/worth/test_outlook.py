"""Draws of what arms are worth: half-lives, drops, and what policies gain on them."""

import numpy as np
import pytest

from rotting.logs import make_log
from rotting.logs.model.findings import find_wear_out, weigh_twice
from rotting.logs.model.noise import sigma_of
from rotting.logs.model.panel import make_panel
from rotting.logs.read.reading import read_log
from rotting.logs.worth import gain
from rotting.logs.worth.fitting import period_ahead, period_of_log, values_of
from rotting.logs.worth.gain import EQUAL, KEEP, ORACLE, Period, estimate_gains, problem_of
from rotting.logs.worth.outlook import STEADY, draw_values, wearing_out


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(gain, "PLAYED_DRAWS", 10)


def drawn(frame):
    log = read_log(frame)
    return log, values_of(find_wear_out(log, simple=True), 0)


def gains(log, draws, period, only=("FEWA", EQUAL, ORACLE)):
    rows = estimate_gains(draws, period, sigma_of(log), log.binary, log.offset, only=only)
    return {row.policy: row for row in rows}


def test_half_lives_are_found_with_intervals_that_hold_the_truth():
    """From 3 to 1 over 1500 exposures: half is lost after 946."""
    frame = make_log(arms=5, exposures=1500, sigma=0.7, start=3.0, end=1.0, seed=3)
    _, draws = drawn(frame)
    halves = np.array([draw.half_lives() for draw in draws])
    low, middle, high = np.quantile(halves, (0.05, 0.5, 0.95), axis=0, method="inverted_cdf")
    assert middle == pytest.approx(946, rel=0.2)
    assert np.mean((low <= 946) & (high >= 946)) >= 0.6


def test_values_are_those_of_the_log():
    frame = make_log(arms=3, exposures=1000, sigma=0.5, start=3.0, end=1.0, seed=1)
    _, draws = drawn(frame)
    first = np.mean([draw.values(np.arange(3), np.zeros(3), 0.3) for draw in draws], axis=0)
    last = np.mean([draw.values(np.arange(3), np.full(3, 999.0), 1.0) for draw in draws], axis=0)
    assert first == pytest.approx(3.0, abs=0.4)
    assert last == pytest.approx(1.0, abs=0.3)


def dropping(arms=4, exposures=1200, seed=1):
    """Return a log in which all arms but the last fall at once to a fifth."""
    frame = make_log(arms=arms, exposures=exposures, sigma=0.4, effect="none", start=2.0, end=2.0, seed=seed)
    number = frame.groupby("creative").cumcount()
    for arm in range(1, arms):
        own = frame["creative"] == f"creative {arm}"
        frame.loc[own & (number >= 300 * arm), "value"] *= 0.2
    return frame


def test_arms_that_have_not_dropped_yet_may():
    log, draws = drawn(dropping())
    names = [arm.name for arm in log.arms]
    late = names.index("creative 4")
    at = np.array([draw.drop_at for draw in draws])
    for arm in range(1, 4):
        places = at[:, names.index(f"creative {arm}")]
        assert np.median(places) == pytest.approx(300 * arm, abs=10)
        assert np.mean(np.abs(places - 300 * arm) < 50) > 0.95
    assert at[:, late].min() >= 1100
    # The others dropped after 300 to 900 exposures: most draws let it drop within the next 3000.
    assert 0.7 < np.mean(at[:, late] < 4200) <= 1.0
    assert np.mean([draw.values(late, np.array(4200.0)) for draw in draws]) < 1.5


def test_policies_gain_what_there_is_to_gain(few):
    frame = make_log(arms=2, exposures=800, effect="none", sigma=0.5, start=2.0, end=2.0, pace="steady", seed=2)
    frame.loc[frame.creative == "creative 1", "value"] -= 1.0
    log, draws = drawn(frame)
    for period in (period_ahead(log), period_of_log(log)):
        rows = gains(log, draws, period)
        # Half of the exposures are worth 1 less than the others: 500 per 1000 can be gained, and nothing by halves.
        assert rows[KEEP].reward.point == pytest.approx(1500, rel=0.05)
        assert rows[ORACLE].gain.point == pytest.approx(500, rel=0.1)
        assert 350 < rows["FEWA"].gain.point <= rows[ORACLE].gain.point + 1
        better = [arm.name for arm in log.arms].index("creative 2")
        assert rows[EQUAL].gain.point == pytest.approx(1000 * (0.5 - period.shares[better]), abs=20)
        assert rows[KEEP].gain.point == 0


def test_equal_arms_promise_nothing(few):
    log, draws = drawn(make_log(arms=20, exposures=100, effect="none", seed=2))
    rows = gains(log, draws, period_ahead(log))
    assert rows["FEWA"].gain.low <= 0.5
    assert rows[ORACLE].gain.point < 0.25 * rows[KEEP].reward.point


def test_the_same_seed_gives_the_same_gains(few):
    log, draws = drawn(make_log(arms=2, exposures=300))
    assert gains(log, draws, period_ahead(log)) == gains(log, draws, period_ahead(log))


def test_pulls_of_long_periods_stand_for_several_exposures():
    log, draws = drawn(make_log(arms=2, exposures=300))
    period = Period.of(np.full(2, 5.0 * gain.MOST_ROUNDS), np.zeros(2), 1.0, 0.25)
    problem = problem_of(draws[0], period, 0.3, log.binary)
    assert (period.batch, problem.horizon, problem.noise) == (10, gain.MOST_ROUNDS, "gaussian")


def drawn_quickly(frame, times=200):
    """Return draws without the tests of arms, which take most of the time."""
    log = read_log(frame)
    return draw_values(weigh_twice(make_panel(log), log.binary)[0], np.random.default_rng(0), log.binary, 1.0, times)


def test_many_equal_arms_do_not_drop_and_have_nothing_to_gain():
    """A normal likelihood saw drops in 2 of 3 such logs, and promised 18 more per 1000 exposures."""
    draws = drawn_quickly(make_log(arms=80, exposures=60, effect="none", start=0.1, end=0.1, pace="steady", seed=4))
    assert np.mean([np.isfinite(draw.drop_at).any() for draw in draws]) < 0.1
    assert np.mean([draw.driver == STEADY for draw in draws]) > 0.5
    values = np.array([draw.values(np.arange(80), np.full(80, 60.0)) for draw in draws])
    assert np.quantile(values.max(axis=1) - values.mean(axis=1), 0.05) == pytest.approx(0.0, abs=1e-9)


def test_arms_that_wear_out_are_not_taken_for_steady_ones_nor_for_dropping_ones():
    draws = drawn_quickly(make_log(arms=4, exposures=1000, sigma=0.5, start=3.0, end=1.0, seed=1))
    assert not any(draw.driver == STEADY or np.isfinite(draw.drop_at).any() for draw in draws)
    assert len(wearing_out(draws)) > 0.9 * len(draws)
