"""All arms together: what late launches say, what they cannot say, and how sure that is."""

import dataclasses

import numpy as np
import pytest

from rotting.logs.model.launches import (
    AGE,
    CALENDAR,
    CANNOT_TELL,
    CLEAR,
    COMMON,
    EXPOSURE,
    KNOWN,
    look_at_launches,
)
from rotting.logs.model.panel import make_panel
from rotting.logs.model.within import look_within
from small_panels import SLICES, before, clicks, drawn, log_of, staggered

SITE = np.linspace(1.3, 0.6, SLICES)


def together(panel):
    return look_at_launches(panel, look_within(panel))


def paces(arms=6, each=1500):
    """Return exposures of staggered arms of which every other one is shown three times as often."""
    return staggered(arms, SLICES, each) * np.where(np.arange(arms) % 2, 3.0, 1.0)[:, None] / 2


def age(shown):
    """Return for how many slices arms have been shown."""
    return np.where(shown > 0, np.cumsum(shown > 0, axis=1) - 0.5, 0.0)


def test_staggered_arms_that_wear_out_are_called():
    """Each keeps e^-1.5 of its value, on about 1000 clicks."""
    shown = staggered(6, SLICES, 1000)
    found = together(drawn(0.1 * np.exp(-1.5 * before(shown) / 16_000), shown, 1))
    assert found.tells
    assert found.p_value < 0.001
    assert found.called(np.ones(6, dtype=bool)).all()
    assert found.called(np.arange(6) < 3).tolist() == [True] * 3 + [False] * 3
    # Over a typical arm's exposures, all of them: between those of the first arm and of the last.
    typical = (shown.sum(axis=1) ** 2).sum() / shown.sum()
    assert found.slope == pytest.approx(-1.5 * typical / 16_000, abs=3 * found.error)


def test_a_falling_site_with_equal_launches_is_hardly_called():
    """At a level of 10 %, more than three of ten come in 1 of 100 such tests; placebos are asked besides."""
    called = 0
    for seed in range(10):
        shown = staggered(6, SLICES, 1000)
        found = together(drawn(0.1 * SITE + 0 * shown, shown, seed))
        assert found.tells
        called += found.called(np.ones(6, dtype=bool)).any()
        assert found.slope == pytest.approx(0.0, abs=3 * found.error)
        assert found.trend < -0.3
    assert called <= 3


@pytest.mark.parametrize("worn", [False, True])
def test_arms_launched_together_at_one_pace_say_nothing(worn):
    shown = np.full((5, SLICES), 1000)
    found = together(drawn(0.1 * np.exp(-worn * before(shown) / 8000), shown, 1))
    assert found.error > 100 * KNOWN
    assert not found.tells
    assert not found.called(np.ones(5, dtype=bool)).any()
    assert found.driver == CANNOT_TELL
    assert list(found.probabilities.values()) == pytest.approx([1 / 3] * 3, abs=0.02)
    assert found.left < 1e-6


def test_one_arm_says_nothing():
    shown = np.full((1, SLICES), 1000)
    found = together(drawn(0.1 * np.exp(-before(shown) / 8000), shown, 1))
    assert not found.tells
    assert found.driver == CANNOT_TELL


@pytest.mark.parametrize("driver", [EXPOSURE, AGE, CALENDAR])
def test_launches_and_paces_tell_what_values_follow(driver):
    shown = paces()
    worn = {
        EXPOSURE: before(shown) / 15_000,
        AGE: age(shown) / SLICES,
        CALENDAR: np.broadcast_to(np.arange(SLICES) / SLICES, shown.shape),
    }[driver]
    found = together(drawn(0.15 * np.exp(-2.0 * worn), shown, 1))
    assert found.driver == driver
    assert sum(found.probabilities.values()) == pytest.approx(1.0)


def test_newer_arms_that_are_better_look_the_same():
    """Levels that grow by exactly what the site loses: nothing in the log tells that from wear-out."""
    shown = staggered(6, SLICES, 1000)
    rate = 0.1 * np.exp(-1.5 * before(shown) / 16_000)
    launch = 1.5 * before(shown).max(axis=1) / 16_000
    site = np.exp(-1.5 * np.arange(SLICES) / SLICES)
    level = np.exp(launch.max() - launch)[:, None]
    better = np.where(shown > 0, 0.1 * site * level, 0.0)
    assert np.allclose(better[shown > 0], rate[shown > 0], rtol=0.1)
    assert together(drawn(better, shown, 1)).p_value < CLEAR


def test_steady_arms_have_p_values_as_they_should():
    """Levels differ by 20 %, the site falls. Beforehand a common slope is small, which only makes p-values larger."""
    shown, p_values = staggered(8, SLICES, 400), []
    for seed in range(40):
        level = np.exp(0.2 * np.random.default_rng(seed).standard_normal(8))[:, None]
        p_values.append(together(drawn(0.1 * level * SITE, shown, seed)).p_value)
    for limit in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p_values) < limit) < limit + 3.5 * np.sqrt(limit * (1 - limit) / 40)
    assert np.quantile(p_values, 0.95) > 0.8  # and the other way round: they are no constants


def test_an_arm_that_does_not_fall_is_not_called_with_the_others():
    shown = staggered(6, SLICES, 3000)
    falls = np.where(np.arange(6) == 1, 0.0, 1.5)[:, None]
    found = together(drawn(0.1 * np.exp(-falls * before(shown) / 48_000), shown, 2))
    called = found.called(np.ones(6, dtype=bool))
    assert not called[1]
    assert called.sum() >= 3


def test_the_evidence_of_a_slope_is_added_to_that_without():
    found = together(drawn(0.1 + 0 * staggered(), staggered(), 1)).likeliest
    z = found.slope.score / np.sqrt(found.slope.information)
    spread = COMMON**2 * float(found.slope.information)
    added = 0.5 * float(z) ** 2 * spread / (1 + spread) - 0.5 * np.log1p(spread)
    assert found.evidence - found.weight == pytest.approx(added)


def test_many_arms_are_learnt_from_some_of_them_and_told_of_all(monkeypatch):
    from rotting.logs.model import launches

    shown = staggered(12, SLICES, 800)
    panel = drawn(0.1 * np.exp(-1.5 * before(shown) / 12_800), shown, 1)
    within = look_within(panel)
    whole = look_at_launches(panel, within)
    monkeypatch.setattr(launches, "MOST_LEARNT_FROM", 6)
    some = look_at_launches(panel, within)
    assert len(some.falling) == 12
    assert some.called(np.ones(12, dtype=bool)).sum() >= 10
    assert some.slope == pytest.approx(whole.slope, abs=3 * some.error)


def test_thin_logs_say_little():
    """One click per arm: the common slope is hardly known, and no arm is called."""
    shown = staggered(6, SLICES, 100)
    earned = 0 * clicks(0.1, shown, 1)
    earned[:, -1] = 1
    found = together(make_panel(log_of(shown, earned)))
    assert not found.called(np.ones(6, dtype=bool)).any()
    assert dataclasses.replace(found, error=KNOWN / 2).tells
