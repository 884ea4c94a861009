"""Exposures per user: who tires, who leaves, and what is only new."""

import numpy as np
import pandas
import pytest

import rotting
from rotting.logs.model.findings import find_wear_out
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
    findings = find_wear_out(read_log(log_of(effect), ReadOptions(unit="user_id")), simple=True)
    assert findings.rotting.tolist() == [called] * 3
    assert said in findings.driver.reason


def test_users_who_come_once_cannot_be_compared():
    frame = log_of("tire").drop_duplicates("user_id")
    assert read_log(frame, ReadOptions(unit="user_id")).counted.users is None


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
