"""What makes values fall, and which arms are called: against what all arms share over time."""

import numpy as np
import pandas
import pytest

from rotting.logs import make_log
from rotting.logs.model.driver import AGE, CALENDAR, CANNOT_TELL, EXPOSURE, checked_alone, falls_alone
from rotting.logs.model.findings import find_wear_out
from rotting.logs.model.wearout import discoveries
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log


def found(frame, **options):
    return find_wear_out(read_log(frame, ReadOptions(**options)), simple=True)


def launched(worn_by, arms=6, exposures=1500, seed=5, falling=None):
    """Return a log of arms launched one after the other; some of them are shown twice as fast as others."""
    generator, frames = np.random.default_rng(seed), []
    for arm in range(arms):
        number = np.arange(exposures)
        pace = 1 + arm % 2
        time = 400.0 * arm + number * 2 / pace
        worn = {EXPOSURE: number, AGE: time - time[0], CALENDAR: time, None: 0 * number}[worn_by]
        if falling is not None and arm not in falling:
            worn = 0 * number
        value = 3.0 * np.exp(-worn / 1500) + generator.normal(size=exposures)
        frames.append(pandas.DataFrame({"arm": f"arm {arm}", "reward": value, "time": time}))
    return pandas.concat(frames).sort_values("time", kind="stable")


@pytest.mark.parametrize("driver", [EXPOSURE, AGE, CALENDAR])
def test_launches_and_paces_tell_what_wears_arms_out(driver):
    findings = found(launched(driver))
    assert findings.driver.name == driver
    assert findings.rotting.tolist() == [driver != CALENDAR] * 6


@pytest.mark.parametrize("effect", ["wear-out", "calendar"])
def test_arms_that_fall_together_cannot_be_told_apart(effect):
    """All launched on the first day and shown at one pace: no log can tell, and no arm is called."""
    frame = make_log(arms=6, exposures=2000, sigma=1.0, start=3.0, end=2.0, seed=21, effect=effect, pace="steady")
    findings = found(frame)
    assert findings.driver.name == CANNOT_TELL
    assert not findings.rotting.any()
    assert findings.common_fall > 5


def test_one_arm_that_falls_alone_is_called_wherever_it_was_launched():
    frame = make_log(arms=5, exposures=2000, effect="none", pace="steady", sigma=1.0, start=3.0, end=3.0, seed=3)
    own = (frame["creative"] == "creative 2").to_numpy()
    frame.loc[own, "value"] -= np.linspace(0, 1, own.sum())
    log = read_log(frame)
    called = find_wear_out(log, simple=True).rotting
    assert [arm.name for arm, one in zip(log.arms, called, strict=True) if one] == ["creative 2"]


def test_without_wear_out_there_is_nothing_to_tell():
    findings = found(make_log(arms=3, exposures=300, effect="none"))
    assert findings.driver.name == CANNOT_TELL
    assert not findings.rotting.any()


def test_rising_arms_are_found():
    frame = make_log(arms=3, exposures=2000, effect="wear-in", seed=11, sigma=1.0, start=3.0, end=2.0)
    findings = found(frame)
    assert (findings.rising < 0.01).all()
    assert not findings.rotting.any()


@pytest.mark.parametrize(("first", "later", "called"), [(0.035, 0.004, "rising"), (0.01, 0.04, "rotting")])
def test_a_steady_arm_does_not_do_the_opposite_of_the_others(first, later, called):
    generator, rows = np.random.default_rng(5), []
    for arm, launch in enumerate([0, 7, 14, 21, 28, 42]):
        shown = 0
        for day in range(launch, 61):
            rate = 0.022 if arm == 2 else later + (first - later) * 0.5 ** (shown / 25_000)
            rows.append((pandas.Timestamp(2024, 3, 1) + pandas.Timedelta(days=day), f"ad {arm}", 1900))
            rows[-1] += (int(generator.binomial(1900, rate)),)
            shown += 1900
    log = read_log(pandas.DataFrame(rows, columns=["Day", "Ad", "Impressions", "Clicks"]))
    findings = find_wear_out(log, simple=True)
    rising = discoveries(findings.rising) & ~findings.rotting
    steady = [arm.name for arm in log.arms].index("ad 2")
    assert not {"rotting": findings.rotting, "rising": rising}[called][steady]


def test_an_arm_that_comes_back_is_noticed():
    generator = np.random.default_rng(0)
    frame = launched(None, arms=4, exposures=600)
    own = (frame["arm"] == "arm 1").to_numpy()
    frame.loc[own, "reward"] = np.concatenate([np.linspace(3, 0.3, 300), np.linspace(0.3, 2, 300)])
    frame.loc[own, "reward"] += 0.5 * generator.standard_normal(600)
    log = read_log(frame)
    findings = find_wear_out(log, simple=True)
    index = [arm.name for arm in log.arms].index("arm 1")
    assert findings.recovering[index] < 0.01
    assert (np.delete(findings.recovering, index) > 0.01).all()


def test_wandering_values_are_not_taken_for_wear_out():
    generator = np.random.default_rng(3)
    frame = launched(None, arms=5, exposures=1000)
    for arm in frame["arm"].unique():
        own = (frame["arm"] == arm).to_numpy()
        wander = np.convolve(generator.standard_normal(own.sum() + 99), np.ones(100) / 10, "valid")
        frame.loc[own, "reward"] += 1.0 * wander
    findings = found(frame)
    assert findings.dispersion > 3
    assert not findings.rotting.any()


@pytest.mark.parametrize("noise", [0.05, 0.005])
def test_steady_arms_beside_worn_ones_are_not_called_where_noise_is_low(noise):
    """A straight line is none of the shapes: what the model makes of it must not be blamed on the other arms."""
    generator, frames = np.random.default_rng(2), []
    for arm in range(6):
        time = np.sort(0.1 * arm + (1 - 0.1 * arm) * generator.random(600))
        value = (3 + 0.3 * arm) * (1 - 0.5 * np.arange(600) / 600 * (arm < 3))
        reward = value + noise * generator.standard_normal(600)
        frames.append(pandas.DataFrame({"arm": f"arm {arm}", "reward": reward, "time": time}))
    log = read_log(pandas.concat(frames).sort_values("time"))
    called = dict(zip([arm.name for arm in log.arms], find_wear_out(log, simple=True).rotting, strict=True))
    assert {name for name, one in called.items() if one} == {"arm 0", "arm 1", "arm 2"}


def test_one_arm_does_not_tell_what_wears_it_out():
    frame = launched(EXPOSURE, arms=1)
    findings = found(frame)
    assert findings.driver.name == CANNOT_TELL
    assert "one arm alone" in findings.driver.reason


def test_an_arm_by_itself_falls_or_does_not():
    """Values fall by a quarter over 400 exposures, which is what is left of exp(-x / 1500) then."""
    weighed = found(launched(EXPOSURE, arms=3, exposures=400, falling=(0, 1))).weighed
    fall, error = falls_alone(weighed)
    z = fall / error
    assert (z > 2).sum() == 2
    assert np.abs(z).min() < 2
    assert fall[z > 2] == pytest.approx(0.27, abs=3 * error.max())


def test_an_arm_that_would_show_by_itself_what_the_others_show_must_do_so():
    weighed = found(launched(EXPOSURE, arms=6, exposures=1500, falling=(0, 1, 2, 3))).weighed
    fall, error = falls_alone(weighed)
    steady = np.argsort(fall / error)[:2]
    together = np.full(6, 0.01)
    checked, rising = checked_alone(together, together, together < 0.05, weighed, strict=False)
    assert (np.delete(checked, steady) == 0.01).all()
    assert (checked[steady] > 0.05).all()
    assert (rising == 0.01).all()
    none, _ = checked_alone(
        together, together, together < 0, weighed, strict=False
    )  # nobody is called: nothing to compare with
    assert (none == 0.01).all()


def odd_log(kind):
    """Return a log in which nothing wears out, of an odd kind."""
    generator = np.random.default_rng(4)
    sizes = {"unequal": (35, 1000, 60_000), "thin": (30,) * 5, "two": (300, 300)}.get(kind, (400,) * 4)
    arm = np.repeat([f"arm {number}" for number in range(len(sizes))], sizes)
    time = generator.random(len(arm)) * 28
    if kind == "gap":
        time += np.where(time > 10, 60, 0)
    elif kind == "instants":
        time = np.floor(time / 4)
    clicked = generator.random(len(arm)) < 0.1 * (1 - 0.4 * time / time.max())
    frame = pandas.DataFrame({"arm": arm, "reward": clicked.astype(int), "time": time})
    if kind == "no reward":
        frame["reward"] = 0
    return frame.sort_values("time", kind="stable")


@pytest.mark.parametrize("kind", ["unequal", "thin", "two", "gap", "instants", "no reward"])
def test_odd_logs_of_a_falling_site_have_no_worn_arms(kind):
    findings = found(odd_log(kind))
    assert not findings.rotting.any()
    assert np.isfinite(findings.falling).all()


def test_constant_and_tiny_logs_have_findings():
    frame = pandas.DataFrame({"arm": ["a", "b"] * 40, "reward": 1.0, "time": range(80)})
    assert not found(frame).rotting.any()
    one = pandas.DataFrame({"arm": "a", "reward": np.arange(40) % 2, "time": range(40)})
    assert not found(one).rotting.any()
