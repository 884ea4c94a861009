"""What is said of each arm: its numbers, what to do with it, and where there is too little to say."""

import numpy as np
import pandas
import pytest

import rotting
from rotting.logs.tell.report import arm_rows
from rotting.logs.worth import gain
from rotting.logs.worth.arms import half_life_of
from small_panels import SLICES, before, clicks, staggered


@pytest.fixture(autouse=True, scope="module")
def few_draws():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gain, "PLAYED_DRAWS", 5)
        yield


def daily(rate, shown, seed=1):
    """Return an export by day."""
    rate, shown = np.broadcast_arrays(rate, shown)
    earned = clicks(rate, shown, seed)
    arm, day = np.nonzero(shown)
    days = pandas.Timestamp("2024-03-01") + pandas.to_timedelta(day, unit="D")
    return pandas.DataFrame(
        {"Day": days, "Ad": [f"ad {each}" for each in arm], "Impressions": shown[arm, day], "Clicks": earned[arm, day]}
    )


def by_name(diagnosis):
    return {arm.arm: arm for arm in diagnosis.arms}


@pytest.fixture(scope="module")
def mixed():
    """Five of six arms with many clicks, of which one falls; one that earns much less, and one with hardly any."""
    level = np.array([1.0, 1.1, 0.9, 1.0, 0.3, 1.0])[:, None]
    shown = np.full((6, SLICES), 1500)
    shown[5] = 8
    falls = np.ones((6, SLICES))
    falls[3] = 0.15 ** (before(shown)[3] / shown[3].sum())
    return rotting.diagnose(daily(0.06 * level * falls, shown))


def test_the_falling_arm_is_called_with_a_half_life_and_replaced(mixed):
    worn = by_name(mixed)["ad 3"]
    assert worn.rotting
    assert worn.evidence == "its own course"
    truth = 24_000 * np.log(2) / -np.log(0.15)
    assert worn.half_life_low < truth < (worn.half_life_high or np.inf)
    assert worn.value_lost == worn.value_first - worn.value_last > 0.02
    assert worn.first.low < 0.06 < worn.first.high
    assert worn.action == "replace"
    assert all(arm.half_life is None for arm in mixed.arms if not arm.rotting)


def test_an_arm_of_few_rewards_is_neither_worn_nor_retired(mixed):
    thin = by_name(mixed)["ad 5"]
    assert thin.rewards < mixed.fewest_rewards
    assert (thin.enough, thin.rotting, thin.p_value, thin.action) == (False, False, 1.0, "keep")
    assert "too little to say" in thin.action_reason
    [row] = [row for row in arm_rows(mixed) if row[0] == "ad 5"]
    assert row[2] == "too little to say"
    assert any("Too little to say of 1 of 6 arms" in caveat for caveat in mixed.caveats)


def test_thin_arms_without_any_click_are_not_retired():
    """All of 30 arms, with 0 to 3 clicks: whatever they earned, nothing is done to them."""
    found = rotting.diagnose(daily(0.01, np.full((30, SLICES), 10)))
    assert {arm.action for arm in found.arms} == {"keep"}
    assert not any(arm.rotting or arm.enough for arm in found.arms)


def test_rewards_are_those_of_the_log(mixed):
    assert {arm.exposures for arm in mixed.arms} == {24_000, 128}
    fallen = by_name(mixed)["ad 3"]
    assert fallen.rewards == pytest.approx(24_000 * 0.06 * 0.85 / -np.log(0.15), rel=0.15)


def test_what_is_no_longer_shown_is_told():
    shown = np.full((4, SLICES), 500)
    shown[2, SLICES // 2 :] = 0
    found = rotting.diagnose(daily(0.1, shown))
    assert {name: arm.shown_lately for name, arm in by_name(found).items()} == {
        "ad 0": True, "ad 1": True, "ad 2": False, "ad 3": True,
    }  # fmt: skip


def test_a_drop_at_once_is_told_and_not_called():
    value = np.ones((5, SLICES))
    value[2, 9:] = 0.25
    found = rotting.diagnose(daily(0.1 * value, np.full((5, SLICES), 600)))
    dropped = by_name(found)["ad 2"]
    assert not dropped.rotting
    assert dropped.drop_at == pytest.approx(9 * 600, abs=600)
    assert [arm.arm for arm in found.arms if arm.drop_at is not None] == ["ad 2"]
    assert any("An arm drops at once (ad 2): that is no wear-out by itself" in caveat for caveat in found.caveats)
    assert any("drops after" in row[-1] for row in arm_rows(found) if row[0] == "ad 2")


def test_what_fresh_ones_earn_is_what_arms_earned_at_first():
    shown = staggered(6, SLICES, 1500)
    found = rotting.diagnose(daily(0.1 * np.exp(-2.0 * before(shown) / 24_000), shown))
    assert found.verdict == "rotting"
    assert found.fresh_value.low < 0.1 < found.fresh_value.high
    assert by_name(found)["ad 0"].next_1000.high < 0.06


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        (np.full(100, 500.0), (500.0, 500.0, 500.0)),
        (np.full(100, np.inf), (None, None, None)),
        (np.append(np.full(60, 1000.0), np.full(40, np.inf)), (None, 1000.0, None)),
        (np.geomspace(10, 5000, 100), None),
    ],
)
def test_half_lives_that_the_log_does_not_hold_are_not_told(draws, expected):
    """Of an arm of 1000 exposures: no bound above, or one that is ten times the other, and none is told."""
    found = half_life_of(draws, 1000.0)
    if expected is not None:
        assert found == expected
    else:
        assert found[0] is None
        assert found[1] < 20


def revenue(seed=1):
    """Four products, steady: most cost 1, a few sales of the last one 400; the third never sells."""
    generator = np.random.default_rng(seed)
    parts = []
    for arm, rate in enumerate((0.5, 0.3, 0.0, 0.4)):
        paid = (generator.random(4000) < rate).astype(float)
        if arm == 3:
            paid *= np.where(generator.random(4000) < 0.01, 400.0, 1.0)
        parts.append(pandas.DataFrame({"product": f"p{arm}", "revenue": paid, "time": np.arange(4000)}))
    return pandas.concat(parts).sort_values("time", ignore_index=True)


def test_large_rewards_that_are_cut_are_given_back_to_those_who_earned_them():
    frame = revenue()
    diagnosis = rotting.diagnose(frame, arm="product", reward="revenue", time="time")
    assert any("A few large rewards" in caveat for caveat in diagnosis.caveats)
    late = frame[frame.time >= 3000].groupby("product").revenue.mean()
    for arm in diagnosis.arms[:2]:
        assert arm.last.low <= late[arm.arm] <= arm.last.high


def test_an_arm_that_earned_nothing_where_others_would_have_is_known_to_be_worse():
    [never] = [
        arm for arm in rotting.diagnose(revenue(), arm="product", reward="revenue", time="time").arms if arm.arm == "p2"
    ]
    assert not never.enough
    assert "too little" not in never.action_reason


def test_last_values_add_up_to_what_was_earned_lately():
    """All fall together: whichever explanation is drawn, their level is that of the log's end."""
    diagnosis = rotting.diagnose(rotting.logs.make_log(arms=6, exposures=2000, effect="calendar", seed=4))
    shown = np.array([arm.exposures for arm in diagnosis.arms])
    values = np.array([arm.next_1000.point for arm in diagnosis.arms])
    assert shown @ values / shown.sum() == pytest.approx(diagnosis.earned_lately, rel=0.15)


def test_arms_are_worth_what_they_earn_in_their_own_strata():
    """Teams of two leagues, of which one changed from one to the other: home wins are harder in the first."""
    generator = np.random.default_rng(3)
    team = generator.integers(0, 8, 16_000)
    time = pandas.date_range("2024-01-01", periods=len(team), freq="10min")
    first = (team < 4) | ((team == 4) & (np.arange(len(team)) < 8000))
    won = generator.random(len(team)) < np.where(first, 0.2, 0.7)
    frame = pandas.DataFrame({"date": time, "team": team.astype(str), "league": np.where(first, "A", "B"), "won": won})
    found = rotting.diagnose(frame, arm="team", reward="won")
    assert any("'league'" in each for each in found.caveats)
    for arm in found.arms:
        own = frame[frame["team"] == arm.arm]["won"].mean()
        assert arm.next_1000.point == pytest.approx(own, rel=0.15)
        assert np.mean(arm.curve["fit"]) == pytest.approx(own, rel=0.15)


def test_values_far_below_the_largest_keep_their_digits():
    export = daily(np.array([[0.2], [0.002], [0.0001]]), np.full((3, SLICES), 20_000))
    export = export.rename(columns={"Clicks": "sold"})
    found = rotting.diagnose(export.assign(sold=1.5 * export["sold"]), reward="sold")
    assert not any(text.startswith("0.000 ") for row in arm_rows(found) for text in row[6:9])


def test_users_who_see_an_arm_once_leave_its_noise_known():
    generator = np.random.default_rng(4)
    grades = pandas.DataFrame({"user": np.repeat(np.arange(400), 5), "item": np.tile(list("abcde"), 400)})
    grades["rating"] = generator.integers(1, 6, len(grades))
    found = rotting.diagnose(grades, unit="user")
    assert found.sigma == pytest.approx(2**0.5, rel=0.05)
    assert found.verdict != "rewards never change"
    assert all(arm.next_1000.low < arm.next_1000.point < arm.next_1000.high for arm in found.arms)
