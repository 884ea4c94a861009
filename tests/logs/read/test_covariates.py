"""Columns of segments: found, chosen, and taken into account."""

import dataclasses

import numpy as np
import pandas
import pytest

from rotting.logs import make_log
from rotting.logs.model.findings import find_wear_out
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log


def drifting(seed=1, falls=False, matters=True):
    """Return a log in which one segment clicks less, and there is more and more of it."""
    generator = np.random.default_rng(seed)
    frame = make_log(arms=4, exposures=2000, effect="none", pace="steady", seed=seed)
    share = np.arange(len(frame)) / len(frame)
    # Only two arms drift: what all share over time would be explained by the calendar as well.
    drifts = frame["creative"].isin(["creative 1", "creative 2"])
    mobile = generator.random(len(frame)) < np.where(drifts, 0.1 + 0.8 * share, 0.5)
    rate = np.where(mobile & matters, 0.05, 0.15)
    if falls:
        rate = rate * np.where(frame["creative"] == "creative 3", np.exp(-1.2 * share), 1.0)
    frame["click"] = (generator.random(len(frame)) < rate).astype(int)
    return frame.assign(device=np.where(mobile, "mobile", "desktop"))


def test_a_changing_mix_is_not_wear_out():
    log = read_log(drifting())
    assert log.strata == ("device",)
    assert not find_wear_out(log).worn.any()
    plain = dataclasses.replace(log, segments=())
    assert find_wear_out(plain).worn.any()


def test_what_falls_within_segments_is_still_called():
    log = read_log(drifting(falls=True))
    called = find_wear_out(log).worn
    assert [arm.name for arm, one in zip(log.arms, called, strict=True) if one] == ["creative 3"]


def test_segments_that_do_not_matter_are_left_alone():
    assert read_log(drifting(matters=False)).strata == ()


@pytest.mark.parametrize("name", ["converted", "session_revenue", "open"])
def test_what_came_after_is_not_adjusted_for(name):
    """A sale after a click tells much about the click, and must not be held constant."""
    frame = drifting().drop(columns="device")
    frame[name] = np.where(frame["click"] == 1, "yes", "no")
    assert read_log(frame, ReadOptions(reward="click")).strata == ()


def slates(seed=2, rows=6000):
    """Return a log in which lower places and longer slates click less, and two of four arms move down."""
    generator = np.random.default_rng(seed)
    share = np.arange(rows) / rows
    arm = generator.integers(0, 4, rows)
    place = 1 + generator.binomial(5, np.where(arm < 2, 0.1 + 0.6 * share, 0.4))
    size = generator.integers(3, 60, rows)
    click = generator.random(rows) < 0.6 / place / np.log(size)
    return pandas.DataFrame({"ad": arm, "ts": np.arange(rows), "click": click, "position": place, "slate_size": size})


def test_positions_and_slates_are_strata():
    log = read_log(slates())
    assert set(log.strata) <= {"position", "slate_size"}
    assert "position" in log.strata
    assert {(each.role, each.varies) for each in log.covariates} == {("position", True), ("slate", True)}
    names, cells = log.segments, log.arms[0].cells
    assert len(names) <= 30
    assert cells.segment.max() < len(names)
    rates = [cells.total[cells.segment == code].sum() / cells.count[cells.segment == code].sum() for code in (0, 4)]
    assert rates[0] > 2 * rates[1]


def test_a_position_that_never_changes_settles_something():
    log = read_log(slates().assign(position=lambda frame: 1 + frame.ad, slate_size=7))
    assert [(each.role, each.varies) for each in log.covariates] == [("position", False), ("slate", False)]
    assert log.strata == ()


def test_outcomes_identifiers_and_constants_are_no_covariates():
    frame = slates().drop(columns=["position", "slate_size"])
    click = frame.click.to_numpy()
    frame = frame.assign(
        user_engagement=np.where(click, "High", "Low"),
        bounced=np.where(click, "left", "stayed"),
        country="DE",
        propensity=np.where(frame.ad == 1, 0.25, 0.5),
        full_name=[f"user {row}" for row in range(len(frame))],
    )
    assert [(each.name, each.role) for each in read_log(frame).covariates] == [("propensity", "propensity")]
