"""Exposures per user: who tires, who leaves, and what is only new."""

import numpy as np
import pandas
import pytest

import rotting
from rotting.logs.model.findings import USERS, find_wear_out
from rotting.logs.model.users import LEAST_REPEATS, MOST_ARMS
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log


def log_of(effect, users=700, seed=1):
    generator, rows = np.random.default_rng(seed), []
    for user in range(users):
        taste = generator.beta(1.5, 6)
        count = 2 + generator.poisson(10 * max(1 - 3 * taste, 0.05) if effect == "leave" else 6)
        seen, time = np.zeros(3, int), np.sort(generator.random(count))
        for number in range(count):
            arm = int(generator.integers(3))
            rates = {"leave": taste, "novelty": 0.4 * 0.8**number, "tire": 0.4 * 0.5 ** seen[arm], "nothing": taste}
            rows.append((time[number], f"arm {arm}", user, int(generator.random() < rates[effect])))
            seen[arm] += 1
    return pandas.DataFrame(rows, columns=["time", "arm", "user_id", "click"])


@pytest.mark.parametrize(
    ("effect", "called", "said"),
    [
        ("tire", True, "users tire of an arm"),
        ("novelty", False, "a novelty effect"),
        ("leave", False, "leave sooner"),
        ("nothing", False, "no user is seen to tire"),
    ],
)
def test_what_happens_to_users_is_told_apart(effect, called, said):
    findings = find_wear_out(read_log(log_of(effect), ReadOptions(unit="user_id")))
    assert findings.worn.tolist() == [called] * 3
    assert said in findings.driver_reason
    assert set(findings.evidence) == {USERS if called else ""}
    assert findings.driver == ("exposure" if called else "cannot tell")


def per_user(frame):
    return find_wear_out(read_log(frame, ReadOptions(unit="user_id")))


@pytest.mark.parametrize("effect", ["leave", "novelty", "nothing"])
def test_calls_are_few_where_no_user_tires(effect):
    """Of 5 logs, more than 2 with a call have probability 0.009 at 10 %."""
    assert sum(per_user(log_of(effect, users=150, seed=seed)).worn.any() for seed in range(5)) <= 2


def test_shuffled_exposures_of_users_have_even_p_values():
    """Of 24 logs in which only tastes differ, fewer than 6 or more than 18 below a half have probability 0.02."""
    p_values = [read_log(log_of("nothing", 70, seed), ReadOptions(unit="user_id")).users.placebo for seed in range(24)]
    assert 6 <= sum(value <= 0.5 for value in p_values) <= 18
    assert min(p_values) >= 1 / 200


def cohort(seed):
    """Users who all come in the first days, while the site's season falls: rewards fall with time, not exposures."""
    generator, rows = np.random.default_rng(seed), []
    for user in range(250):
        time = np.sort(generator.random(8)) * 20 + generator.random()
        for when in time:
            rate = 0.4 * np.exp(-when / 12)
            rows.append((when, f"arm {generator.integers(3)}", user, int(generator.random() < rate)))
    return pandas.DataFrame(rows, columns=["time", "arm", "user_id", "click"])


def test_a_cohort_that_closes_under_a_falling_season_does_not_tire():
    """Of 6 logs, more than 2 with a call have probability 0.02 at 10 %."""
    assert sum(per_user(cohort(seed)).worn.any() for seed in range(6)) <= 2


def test_arms_that_nobody_saw_twice_are_too_little_to_say():
    frame = log_of("tire")
    first = ~frame.duplicated(["user_id", "arm"])
    findings = per_user(frame[(frame["arm"] != "arm 2") | first])
    names = [arm.name for arm in findings.log.arms]
    once = names.index("arm 2")
    assert [names[arm] for arm in np.flatnonzero(findings.testable)] == [each for each in names if each != "arm 2"]
    assert not findings.worn[once]
    assert findings.falling[once] == 1.0
    assert findings.worn.sum() == 2
    found = rotting.diagnose(frame[(frame["arm"] != "arm 2") | first], unit="user_id")
    [told] = [arm for arm in found.arms if arm.arm == "arm 2"]
    assert not told.enough
    assert told.action == "keep"
    assert "too little to say" in told.action_reason


def test_repeats_without_rewards_are_too_little_to_say():
    frame = log_of("tire")
    again = frame.duplicated(["user_id", "arm"]) & (frame["arm"] == "arm 1")
    kept = frame.index[again & (frame["click"] == 1)][: LEAST_REPEATS - 1]
    frame.loc[again & ~frame.index.isin(kept), "click"] = 0
    findings = per_user(frame)
    assert not findings.testable[[arm.name for arm in findings.log.arms].index("arm 1")]


def test_of_many_arms_one_speed_is_told():
    """Which of 60 arms users tire of is not known, and that is said."""
    generator, rows = np.random.default_rng(1), []
    for user in range(800):
        seen = {}
        for step in range(12):
            arm = int(generator.integers(60) if generator.random() < 0.3 else user % 60)
            seen[arm] = seen.get(arm, 0) + 1
            rows.append((user + step / 20, f"arm {arm}", user, int(generator.random() < 0.5 * 0.7 ** (seen[arm] - 1))))
    found = rotting.diagnose(pandas.DataFrame(rows, columns=["time", "arm", "user_id", "click"]), unit="user_id")
    assert len(found.arms) > MOST_ARMS
    assert "which ones cannot be told apart" in found.summary
    assert found.placebos == {"the order of each user's exposures": 0.005}


def test_users_who_come_once_cannot_be_compared():
    frame = log_of("tire").drop_duplicates("user_id")
    assert read_log(frame, ReadOptions(unit="user_id")).users is None


@pytest.mark.filterwarnings("error")
def test_no_half_life_is_made_up_per_user():
    generator, rows = np.random.default_rng(5), []
    for user in range(600):
        seen = np.zeros(2, dtype=int)
        for step in range(20 if user else 1):
            arm = generator.integers(2)
            rows.append((user + step / 20, user, f"ad{arm}", int(generator.random() < 0.3 * 0.75 ** seen[arm])))
            seen[arm] += 1
    log = pandas.DataFrame(rows, columns=["time", "user_id", "ad", "click"])
    log["time"] = pandas.Timestamp("2026-01-01") + pandas.to_timedelta(log["time"], unit="h")
    found = rotting.diagnose(log, unit="user_id")
    assert all(arm.rotting and arm.half_life is None and arm.drop_at is None for arm in found.arms)
    assert found.fresh_arms_per_month is None
    assert found.summary.startswith("Users tire of 2 of 2 arms")
