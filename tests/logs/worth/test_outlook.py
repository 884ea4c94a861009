"""Draws of what arms may be worth: values, half-lives, first values, and arms that are exactly alike."""

import dataclasses

import numpy as np
import pytest

from rotting.logs.model.findings import find_wear_out
from rotting.logs.model.launches import AGE, EXPOSURE
from rotting.logs.worth.gain import Period
from rotting.logs.worth.outlook import (
    DRAWS,
    SOON,
    STRAIGHT,
    Draw,
    draw_values,
    shaped,
    wearing_faster,
    wearing_out,
)
from small_panels import SLICES, before, clicks, drawn, log_of, staggered

SITE = np.linspace(1.2, 0.7, SLICES)


def findings_of(rate, shown, seed=1):
    rate, shown = np.broadcast_arrays(rate, shown)
    return find_wear_out(log_of(shown, clicks(rate, shown, seed)))


def draws_of(findings, times=200):
    return draw_values(findings, np.random.default_rng(0), times)


@pytest.fixture(scope="module")
def worn():
    """Staggered arms, which lose 78 % over 16 000 exposures: half is lost after 7393."""
    shown = staggered(6, SLICES, 1000)
    findings = findings_of(0.1 * np.exp(-1.5 * before(shown) / 16_000), shown)
    return findings, draws_of(findings)


def quantiles(values):
    return np.quantile(values, (0.05, 0.5, 0.95), axis=0, method="inverted_cdf")


def test_half_lives_are_found_with_intervals_that_hold_the_truth(worn):
    findings, draws = worn
    assert findings.worn.all()
    low, middle, high = quantiles([draw.half_lives() for draw in wearing_out(draws)])
    assert np.all((low < 7393) & (high > 7393))
    assert middle == pytest.approx(7393, rel=0.35)


def test_values_and_first_values_are_those_of_the_log(worn):
    findings, draws = worn
    exposures = findings.panel.exposures
    first = quantiles([draw.first_values() for draw in draws])
    last = quantiles([draw.values(np.arange(6), exposures - 1, 1.0) for draw in draws])
    truth = 0.1 * np.exp(-1.5 * exposures / 16_000)
    assert np.mean((last[0] <= truth) & (truth <= last[2])) >= 0.8
    assert last[1] == pytest.approx(truth, rel=0.25)
    assert first[1] == pytest.approx(0.1, rel=0.3)
    assert np.all((first[0] < 0.1) & (first[2] > 0.1))


def test_intervals_of_last_values_cover():
    """15 logs of four arms: 90 % intervals hold the mean value of the last quarter for at least 80 % of arms."""
    inside = []
    for seed in range(15):
        shown = staggered(4, SLICES, 500)
        level = np.exp(0.3 * np.random.default_rng(seed).standard_normal(4))[:, None]
        rate = 0.1 * level * np.exp(-1.2 * before(shown) / 8000)
        findings = findings_of(rate, shown, seed)
        low, _, high = quantiles(
            [draw.values(np.arange(4), findings.panel.exposures, 1.0) for draw in draws_of(findings)]
        )
        truth = rate[:, -SLICES // 4 :].mean(axis=1)
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside) >= 0.8


def test_equal_arms_are_exactly_alike_in_many_draws():
    shown = np.full((20, SLICES), 100)
    findings = findings_of(0.1 + 0 * shown, shown, 2)
    values = np.array([draw.values(np.arange(20), findings.panel.exposures, 1.0) for draw in draws_of(findings)])
    alike = np.ptp(values, axis=1) < 1e-9
    assert alike.mean() > 0.2
    assert findings.alike
    # And those of other arms are not.
    levels = np.linspace(0.5, 1.5, 20)[:, None]
    others = findings_of(0.1 * levels, np.full((20, SLICES), 400), 2)
    apart = np.array([draw.values(np.arange(20), others.panel.exposures, 1.0) for draw in draws_of(others)])
    assert np.ptp(apart, axis=1).min() > 0.02


def made(way, slope, falls=True, season=None, **others):
    """Return a draw whose numbers are known, of four arms launched one after the other."""
    panel = drawn(0.1 + 0 * staggered(4), staggered(4), 1)
    slope = np.broadcast_to(slope, 4).astype(float)
    season = np.zeros(len(panel.time)) if season is None else season
    return Draw(panel, way, falls, slope, np.zeros(4), np.zeros(4), season, np.ones(4), 1.0, **others)


@pytest.mark.parametrize("way", [(EXPOSURE, STRAIGHT), (EXPOSURE, SOON)])
def test_half_of_the_value_is_lost_at_the_half_life(way):
    draw = made(way, [-0.5, -1.0, -2.0, -4.0])
    halves, arms = draw.half_lives(), np.arange(4)
    reached = np.isfinite(halves)
    assert reached.tolist() == ([True] * 4 if way[1] == STRAIGHT else [False, False, False, True])
    there = draw.values(arms, np.where(reached, halves, 0.0), 1.0)
    assert there[reached] == pytest.approx(draw.first_values()[reached] / 2, rel=1e-6)


def test_half_lives_with_age_are_told_in_exposures_at_the_arms_own_pace():
    """ln 2 / slope of a typical age, at 150 exposures per slice."""
    draw = made((AGE, STRAIGHT), -1.0)
    ages = np.log(2) * draw.panel.typical_age
    pace = draw.panel.exposures / (draw.panel.end - draw.panel.launch)
    assert draw.half_lives() == pytest.approx(ages * pace)
    at = draw.panel.launch[0] + ages
    assert draw.values(0, np.array(0.0), at) == pytest.approx(draw.values(0, np.array(0.0), draw.panel.launch[0]) / 2)


def test_what_does_not_fall_is_never_half():
    assert np.isinf(made((EXPOSURE, STRAIGHT), 0.0, falls=False).half_lives()).all()
    assert np.isinf(made((EXPOSURE, STRAIGHT), 0.3).half_lives()).all()


@pytest.mark.parametrize("slope", [-1.0, 0.0, 0.8])
def test_no_arm_rises_beyond_the_log(slope):
    draw = made((EXPOSURE, STRAIGHT), slope)
    ahead = draw.values(0, draw.panel.exposures[0] + np.linspace(0, 5000, 20), 1.0)
    assert np.all(np.diff(ahead) <= 1e-12)
    if slope > 0:
        assert np.ptp(ahead) == pytest.approx(0)


def test_no_value_is_more_than_the_highest_reward():
    draw = made((EXPOSURE, STRAIGHT), 0.0)
    draw = dataclasses.replace(draw, start=draw.start + 5, now=draw.now + 5)
    period = Period.of(np.full(4, 50.0), np.zeros(4))
    assert np.all(period.values(draw, period.shares) == 1.0)


def test_the_season_of_now_is_that_of_the_last_quarter():
    season = np.log(np.linspace(2.0, 1.0, len(made((EXPOSURE, STRAIGHT), 0.0).panel.time)))
    draw = made((EXPOSURE, STRAIGHT), 0.0, season=season)
    late = draw.panel.time >= 0.75
    expected = draw.panel.values(np.array(season[late].mean()))
    for time in (1.0, 1.1):
        assert draw.values(0, np.array(10.0), time) == pytest.approx(float(expected))
    early = draw.values(0, np.array(10.0), draw.panel.time[1])
    assert early == pytest.approx(float(draw.panel.values(season[1])))


def test_numbers_that_add_up_lose_half_of_what_they_are():
    """2.0 at first, and 0.5 less per typical arm's exposures: half is lost after two of those."""
    draw = made((EXPOSURE, STRAIGHT), -0.5)
    panel = dataclasses.replace(draw.panel, additive=True, mean=2.0, rate=1.0)
    draw = dataclasses.replace(draw, panel=panel, highest=np.inf)
    halves = draw.half_lives()
    assert halves == pytest.approx(np.full(4, 2 * panel.typical_exposures))
    assert draw.values(0, halves[:1], 1.0) == pytest.approx(1.0)


def test_a_soon_fall_is_steep_at_first_and_ends():
    place = np.linspace(0, 5, 100)
    soon = shaped(place, SOON)
    assert soon[-1] == pytest.approx(SOON)
    assert np.all(np.diff(soon, 2) <= 1e-12)
    assert soon[1] / place[1] == pytest.approx(1.0, abs=0.15)
    assert shaped(place, STRAIGHT) is place or np.array_equal(shaped(place, STRAIGHT), place)


def test_what_wears_faster_loses_half_soon():
    draw = made((EXPOSURE, STRAIGHT), 0.0)
    faster, last = wearing_faster(draw), draw.panel.exposures[0]
    soon = last + SOON * draw.panel.typical_exposures
    assert faster.values(0, np.array(last - 1)) == pytest.approx(draw.values(0, np.array(last - 1)))
    assert faster.values(0, np.array(soon)) == pytest.approx(draw.values(0, np.array(soon)) / 2)


def test_draws_in_which_arms_fall_are_told_apart():
    falls, steady = made((EXPOSURE, STRAIGHT), -1.0), made((EXPOSURE, STRAIGHT), 0.0, falls=False)
    enough = [falls] * (DRAWS // 20) + [steady] * 100
    assert wearing_out(enough) == [falls] * (DRAWS // 20)
    assert wearing_out(enough[1:]) == enough[1:]


def test_a_steady_log_has_draws_that_do_not_fall():
    findings = findings_of(0.1 * SITE + 0 * staggered(), staggered(6, SLICES, 600), 1)
    assert np.mean([draw.falls for draw in draws_of(findings)]) < 0.6


def test_the_same_generator_gives_the_same_draws(worn):
    findings, _ = worn
    one, other = ([draw.half_lives().tolist() for draw in draws_of(findings, 20)] for _ in range(2))
    assert one == other
