"""Exposure or calendar."""

import pytest

from rotting.logs import make_log, shapes
from rotting.logs.driver import CALENDAR, CANNOT_TELL, EXPOSURE, find_driver
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
    monkeypatch.setattr(shapes, "FEWEST_IN_COMMON", 9)
    assert find_driver(log, [True] * 8).name == CANNOT_TELL
