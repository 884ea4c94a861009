"""What would be gained: what policies earn on the draws, against what the log earned."""

import dataclasses

import numpy as np
import pytest

from rotting.logs import make_log
from rotting.logs.model.findings import find_wear_out
from rotting.logs.model.launches import EXPOSURE
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.reading import read_log
from rotting.logs.worth import gain
from rotting.logs.worth.gain import (
    EQUAL,
    KEEP,
    ORACLE,
    Period,
    _explained,
    _interval,
    compared_policies,
    estimate_gains,
    kept_reward,
    period_ahead,
    problem_of,
    values_of,
)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    def some_policies(*given):
        return {name: policy for name, policy in compared_policies(*given).items() if name in ("FEWA", EQUAL, ORACLE)}

    monkeypatch.setattr(gain, "PLAYED_DRAWS", 10)
    monkeypatch.setattr(gain, "compared_policies", some_policies)


def drawn(frame):
    log = read_log(frame)
    findings = find_wear_out(log)
    return log, values_of(findings, period_ahead(log), 0)


def gains(log, draws, period, **options):
    rows = estimate_gains(draws, period, sigma_of(log), log.binary, log.offset, **options)
    return {row.policy: row for row in rows}


def test_policies_gain_what_there_is_to_gain():
    frame = make_log(arms=2, exposures=800, effect="none", sigma=0.5, start=2.0, end=2.0, pace="steady", seed=2)
    frame.loc[frame.creative == "creative 1", "value"] -= 1.0
    log, draws = drawn(frame)
    period = period_ahead(log)
    rows = gains(log, draws, period)
    # Half of the exposures are worth 1 less than the others: 500 per 1000 can be gained, and nothing by halves.
    assert rows[KEEP].reward.point == pytest.approx(1500, rel=0.05)
    assert rows[ORACLE].gain.point == pytest.approx(500, rel=0.1)
    assert 350 < rows["FEWA"].gain.point <= rows[ORACLE].gain.point + 1
    better = [arm.name for arm in log.arms].index("creative 2")
    assert rows[EQUAL].gain.point == pytest.approx(1000 * (0.5 - period.shares[better]), abs=20)
    assert (rows[KEEP].gain.low, rows[KEEP].gain.point, rows[KEEP].gain.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("effect", ["none", "wear-out"])
def test_the_baseline_is_what_the_log_earned_in_its_last_quarter(effect):
    """In every draw, whatever it thinks of wear-out: over the exposures from which the shares are taken."""
    frame = make_log(arms=4, exposures=1000, effect=effect, seed=3)
    log, draws = drawn(frame)
    period = period_ahead(log)
    late = frame[frame["timestamp"] >= frame["timestamp"].min() + 0.75 * np.ptp(frame["timestamp"])]
    assert period.earned == pytest.approx(late["click"].mean(), rel=0.01)
    assert period.exposures == pytest.approx(len(late), abs=2)
    for draw in draws[:20]:
        middle = np.maximum(period.start - 0.5 * period.shares * period.exposures, 0.0)
        values = draw.values(period.arms, middle)
        assert period.shares @ values == pytest.approx(period.earned)
    if effect == "none":
        kept = gains(log, draws, period)[KEEP].reward
        assert kept.low <= 1000 * period.earned <= kept.high


def test_equal_arms_promise_nothing():
    log, draws = drawn(make_log(arms=20, exposures=100, effect="none", seed=2))
    rows = gains(log, draws, period_ahead(log), alike=True)
    assert all(row.gain.low <= 0 <= row.gain.high for row in rows.values())
    assert rows[ORACLE].gain.point < 0.25 * rows[KEEP].reward.point


def test_an_interval_holds_90_percent_of_each_explanation_that_is_not_ruled_out():
    likely, other = np.linspace(0, 1, 101), np.linspace(10, 11, 101)
    found = _interval([likely, other], [0.9, 0.1])
    assert (found.low, found.high) == pytest.approx((0.05, 10.95))
    assert found.point == pytest.approx(0.5 / 0.9, abs=0.02)
    unlikely_to_count = _interval([likely, other], [1.0, 0.0])
    assert unlikely_to_count.point == pytest.approx(0.5, abs=0.02)
    assert unlikely_to_count.high == found.high
    assert _interval([likely + 1, other], [1.0, 0.0], [0.0]).low == 0.0


def test_explanations_are_kept_apart_and_last_comes_faster_wear():
    _, draws = drawn(make_log(arms=2, exposures=400, seed=1))
    kinds = {(draw.falls, draw.along) for draw in draws}
    found = _explained(draws, 2)
    assert 2 <= len(found) <= len(kinds) + 1
    for share, own in found[:-1]:
        assert len({(draw.falls, draw.along) for draw in own}) == 1
        assert share >= gain.UNLIKELY
    assert found[-1][0] == 0.0
    assert all(draw.faster > 0 for draw in found[-1][1])


def test_the_same_seed_gives_the_same_gains():
    log, draws = drawn(make_log(arms=2, exposures=300))
    assert gains(log, draws, period_ahead(log)) == gains(log, draws, period_ahead(log))


def test_pulls_of_long_periods_stand_for_several_exposures():
    log, draws = drawn(make_log(arms=2, exposures=300))
    period = Period.of(np.full(2, 5.0 * gain.MOST_ROUNDS), np.zeros(2))
    problem = problem_of(draws[0], period, 0.3, log.binary)
    assert (period.batch, problem.horizon, problem.noise) == (10, gain.MOST_ROUNDS, "gaussian")


def test_what_is_kept_is_what_shares_earn_of_the_problem():
    log, draws = drawn(make_log(arms=3, exposures=300, seed=2))
    period = period_ahead(log)
    [draw] = [draw for draw in draws if draw.along == EXPOSURE][:1]
    curves = problem_of(draw, period, 0.3, log.binary).means(range(period.rounds))
    pulls = (period.shares[:, None] * (np.arange(period.rounds) + 0.5)).astype(int)
    earned = period.shares @ np.take_along_axis(curves, pulls, axis=1).mean(axis=1)
    assert kept_reward(draw, period) == pytest.approx(1000 * earned, rel=0.01)


def test_only_arms_that_are_on_offer_are_chosen_among():
    shown = np.concatenate([[0.0, 5.0], np.full(gain.MOST_PLAYED, 10.0)])
    period = Period.of(shown, np.zeros(len(shown)))
    assert period.arms.tolist() == list(range(2, gain.MOST_PLAYED + 2))
    assert Period.of(np.array([0.0, 5.0]), np.zeros(2)).arms.tolist() == [1]


def test_the_baseline_is_not_scaled_where_nothing_was_earned():
    _, draws = drawn(make_log(arms=2, exposures=300))
    period = Period.of(np.full(2, 100.0), np.zeros(2))
    for earned in (None, 0.0, -1.0):
        assert dataclasses.replace(period, capped=earned).scaled(draws[0]) is draws[0]


def test_policies_are_those_that_suit_the_rewards():
    assert list(compared_policies(0.3, True, 1)) == ["FEWA", "UCB1", "Thompson sampling", EQUAL, ORACLE]
    assert "Gaussian Thompson sampling" in compared_policies(0.3, True, 7)
