"""What is set aside before arms are tested: bursts, and days that are not complete."""

import numpy as np
import pandas
import pytest

import rotting
from rotting.errors import BadValue
from rotting.logs import make_log
from rotting.logs.model.cleaning import delay_share, set_bursts_aside
from rotting.logs.model.findings import find_wear_out
from rotting.logs.read.reading import read_log
from rotting.logs.tell.caveats import find_caveats


def constant(arms=4, exposures=1000, rate=0.1, seed=1):
    return make_log(arms=arms, exposures=exposures, effect="none", start=rate, end=rate, seed=seed)


def with_burst(frame, arm, first, length):
    own = np.flatnonzero(frame["creative"] == arm)
    frame.loc[own[first : first + length], "click"] = 1
    return frame


def test_test_clicks_at_launch_are_set_aside():
    frame = constant()
    for arm in frame["creative"].unique():
        with_burst(frame, arm, 0, 40)
    findings = find_wear_out(read_log(frame))
    assert len(findings.bursts) == 4
    assert all(burst.first_exposure == 0 for burst in findings.bursts)
    assert all(38 <= burst.exposures <= 45 for burst in findings.bursts)
    assert not findings.worn.any()
    said = " ".join(find_caveats(findings.log, (), findings, (), None))
    assert "if they are true, arms wear out within them" in said


def test_a_burst_in_the_middle_is_found_where_it_is():
    _, [burst], _ = set_bursts_aside(read_log(with_burst(constant(), "creative 3", 321, 30)))
    assert burst.arm == "creative 3"
    assert burst.first_exposure == pytest.approx(321, abs=3)
    assert burst.rewards == pytest.approx(30, abs=3)
    assert 0.1 < burst.share_of_rewards < 0.4


def test_several_bursts_of_one_arm_are_found():
    frame = constant(exposures=2000)
    for first, length in ((321, 60), (900, 40), (1500, 35)):
        with_burst(frame, "creative 3", first, length)
    _, bursts, _ = set_bursts_aside(read_log(frame))
    assert [burst.arm for burst in bursts] == ["creative 3"] * 3
    assert [burst.first_exposure for burst in bursts] == pytest.approx([321, 900, 1500], abs=10)


def test_a_start_that_fades_is_no_burst():
    """From 60 % to 5 % within the first 50 exposures of every arm, launched one after the other."""
    frame, generator = constant(exposures=1500, seed=3), np.random.default_rng(3)
    number = frame.groupby("creative").cumcount().to_numpy()
    rate = 0.05 + 0.55 * np.exp(-number / 25)
    log = read_log(frame.assign(click=(generator.random(len(frame)) < rate).astype(int)))
    findings = find_wear_out(log)
    assert findings.bursts == ()
    assert findings.starts_fade
    assert any("fade rather than stop" in caveat for caveat in find_caveats(log, (), findings, (), None))


def test_clicks_that_stop_are_a_burst_even_if_not_every_exposure_has_one():
    frame, generator = constant(exposures=1500, seed=3), np.random.default_rng(3)
    tested = frame.groupby("creative").cumcount().to_numpy() < 40
    clicks = np.where(tested, generator.random(len(frame)) < 0.7, frame["click"])
    _, bursts, fades = set_bursts_aside(read_log(frame.assign(click=clicks.astype(int))))
    assert len(bursts) == 4
    assert not fades


@pytest.mark.parametrize("settings", [{}, {"effect": "wear-out", "start": 0.5, "end": 0.05}, {"start": 0.01}])
def test_ordinary_logs_have_no_bursts(settings):
    settings = {"arms": 4, "exposures": 1000, "effect": "none", "end": 0.005, "seed": 4} | settings
    log = read_log(make_log(**settings))
    same, bursts, _ = set_bursts_aside(log)
    assert bursts == ()
    assert list(map(id, same.arms)) == list(map(id, log.arms))


def late(mean_days=4.0, seed=1):
    """Return a log of 28 days in which conversions arrive after some days, cut off at its end."""
    frame = constant(exposures=2500, rate=0.15, seed=seed)
    left = (frame["timestamp"].max() - frame["timestamp"]).dt.total_seconds().to_numpy() / 86_400
    waited = np.random.default_rng(seed).exponential(mean_days, len(frame))
    return frame.assign(click=frame["click"] * (waited < left))


def test_incomplete_days_are_cut_off():
    findings = find_wear_out(read_log(late()))
    assert not findings.worn.any()
    assert findings.late is not None
    assert 0.2 < findings.late.cut < 0.7
    assert max(arm.cells.time.max() for arm in findings.log.arms) < 1 - findings.late.cut


def test_complete_logs_are_not_cut():
    for settings in ({"effect": "none"}, {"effect": "wear-out"}):
        frame = make_log(arms=4, exposures=1500, seed=2, **settings)
        assert find_wear_out(read_log(frame)).late is None


def test_a_delay_can_be_given():
    found = find_wear_out(read_log(late()), reward_delay="7d")
    assert found.late.cut == pytest.approx(0.25, abs=0.02)
    assert found.late.why == "as asked for"


@pytest.mark.parametrize("delay", ["soon", "7y", "-3d", "30d", ""])
def test_delays_that_cannot_be_read_are_refused(delay):
    with pytest.raises(BadValue, match="reward_delay"):
        delay_share(delay, 28 * 86_400.0)


def test_defect_70_clicked_at_once_is_no_traceback():
    generator = np.random.default_rng(1)
    reward = (generator.random((3, 300)) < 0.08).astype(int)
    reward[:, :2] = 1
    arms = np.tile(["a", "b", "c"], 300)
    frame = pandas.DataFrame({"arm": arms, "reward": reward.T.ravel(), "time": np.arange(900)})
    assert rotting.diagnose(frame).arms
