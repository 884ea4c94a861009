"""Columns of segments: found, chosen, and taken into account."""

import numpy as np
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
    findings = find_wear_out(read_log(drifting()))
    assert findings.log.counted.segment == "device"
    assert not findings.rotting.any()
    assert findings.rotting_otherwise["segment"] == 2


def test_what_falls_within_segments_is_still_called():
    log = read_log(drifting(falls=True))
    called = find_wear_out(log, simple=True).rotting
    assert [arm.name for arm, one in zip(log.arms, called, strict=True) if one] == ["creative 3"]


def test_segments_that_do_not_matter_are_left_alone():
    assert read_log(drifting(matters=False)).counted.segment is None


@pytest.mark.parametrize("name", ["converted", "session_revenue", "open"])
def test_what_came_after_is_not_adjusted_for(name):
    """A sale after a click tells much about the click, and must not be held constant."""
    frame = drifting().drop(columns="device")
    frame[name] = np.where(frame["click"] == 1, "yes", "no")
    assert read_log(frame, ReadOptions(reward="click")).counted.segment is None
