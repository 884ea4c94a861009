"""Exposure or calendar."""

import numpy as np
import pandas
import pytest

from rotting.logs import make_log, shapes
from rotting.logs.driver import CALENDAR, CANNOT_TELL, EXPOSURE, _verdict, find_driver
from rotting.logs.reading import read_log


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"effect": "wear-out"}, EXPOSURE),
        ({"effect": "calendar"}, CALENDAR),
        ({"effect": "wear-out", "pace": "steady"}, CANNOT_TELL),
        ({"effect": "calendar", "pace": "steady"}, CANNOT_TELL),
    ],
)
def test_what_drives_wear_out(settings, expected):
    log = read_log(make_log(arms=6, exposures=2000, sigma=1.0, start=3.0, end=2.0, seed=21, **settings))
    found = find_driver(log, [True] * 6)
    assert found.name == expected
    assert found.reason


def test_fatigue_of_users_is_not_taken_for_the_calendar():
    frame = make_log(arms=3, exposures=10_000, effect="per-user", sigma=1.0, start=3.0, end=1.0, seed=3)
    assert find_driver(read_log(frame, unit="user_id"), [True] * 3).name == EXPOSURE


def test_without_wear_out_there_is_nothing_to_tell():
    log = read_log(make_log(arms=3, exposures=300, effect="none"))
    assert find_driver(log, [False] * 3).name == CANNOT_TELL


@pytest.mark.parametrize("seed", [313, 315])
def test_arms_that_begin_lower_when_they_are_launched_late_give_the_calendar_away(seed, monkeypatch):
    """Two logs of clicks in which the shapes of the arms say too little."""
    log = read_log(make_log(arms=8, exposures=2000, spread=0.1, effect="calendar", seed=seed))
    assert find_driver(log, [True] * 8).name == CALENDAR
    monkeypatch.setattr(shapes, "LEAST_POOLED_ARMS", 9)
    assert find_driver(log, [True] * 8).name == CANNOT_TELL


def in_turn(arms=6, exposures=1000, seed=0):
    """Return a log of arms that wear out and are shown in turn, so that nothing can be told from the calendar."""
    generator, rows = np.random.default_rng(seed), arms * exposures
    number = np.arange(rows) // arms
    value = 3.0 * np.exp(-number / 600) + generator.normal(size=rows)
    return pandas.DataFrame({"arm": np.arange(rows) % arms, "reward": value, "time": np.arange(rows)})


@pytest.mark.parametrize("days", [2, 5, 7])
def test_dates_are_too_coarse_to_tell(days):
    frame = in_turn()
    assert find_driver(read_log(frame), [True] * 6).name == CANNOT_TELL
    dates = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(frame["time"] * days // len(frame), unit="D")
    found = find_driver(read_log(frame.assign(time=dates)), [True] * 6)
    assert (found.name, "coarse" in found.reason) == (CANNOT_TELL, True)


def test_what_cannot_be_fitted_cannot_tell():
    assert _verdict(float("nan"))[0] == CANNOT_TELL


@pytest.mark.parametrize("effect", [EXPOSURE, CALENDAR])
def test_launches_one_after_the_other_tell_at_an_even_pace(effect):
    generator, arms = np.random.default_rng(5), []
    for arm in range(8):
        number = np.arange(2000)
        time = 500.0 * arm + number
        worn = number if effect == EXPOSURE else time
        value = 3.0 * np.exp(-worn / 1500) + generator.normal(size=len(number))
        arms.append(pandas.DataFrame({"arm": f"arm {arm}", "reward": value, "time": time}))
    log = read_log(pandas.concat(arms).sort_values("time", kind="stable"))
    assert find_driver(log, [True] * 8).name == effect
