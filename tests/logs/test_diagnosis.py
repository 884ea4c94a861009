"""The whole diagnosis: its verdicts, its files, and the page in a real browser."""

import dataclasses
import json
import re

import numpy as np
import pandas
import pytest
from matplotlib.cbook import is_math_text

import rotting
from browser import open_page
from rotting.errors import BadValue
from rotting.logs import Diagnosis, make_log
from rotting.logs.tell.answers import in_order
from rotting.logs.tell.figures import arms_figure
from rotting.logs.tell.report import arm_rows, report_page
from rotting.logs.worth import gain
from rotting.logs.worth.gain import KEEP

NASTY = "<script>alert('x')</script> & \u00fcber"


@pytest.fixture(autouse=True, scope="module")
def few_refits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gain, "PLAYED_DRAWS", 8)
        yield


@pytest.fixture(scope="module")
def worn():
    return rotting.diagnose(make_log(arms=4, exposures=1500, sigma=1.0, start=3.0, end=1.5, spread=0.3, seed=1))


def test_wear_out_is_diagnosed(worn):
    assert worn.verdict == "rotting"
    assert [arm.rotting for arm in worn.arms] == [True] * 4
    assert worn.driver == "exposure"
    assert worn.sigma == pytest.approx(1.0, rel=0.05)
    best = max((row for row in worn.gain if row.policy not in (KEEP, "oracle")), key=lambda row: row.gain.point)
    assert worn.recommended.played_as == best.policy
    assert "wear out along their exposures" in worn.summary
    assert "losing half their value in about " in worn.summary
    assert "if newer arms are as good at first as older ones were" in worn.summary
    assert {arm.evidence for arm in worn.arms} <= {"its own course", "launches"}
    assert worn.placebos["which arm was launched when"] <= 0.02
    assert worn.rivals
    for arm in worn.arms:
        assert arm.value_first > arm.value_last
        assert arm.value_lost == arm.value_first - arm.value_last
        assert 500 < arm.half_life_low < arm.half_life < arm.half_life_high < 8000
        assert arm.first.low < arm.value_first < arm.first.high
        assert arm.next_1000.point < arm.value_last
        assert arm.action in ("keep", "replace")


def test_no_wear_out_is_diagnosed():
    found = rotting.diagnose(make_log(arms=3, exposures=800, effect="none", seed=2))
    assert found.verdict == "no wear-out found"
    assert found.driver == "cannot tell"
    assert found.recommended.label == KEEP
    assert any("What this log can see" in caveat for caveat in found.caveats)
    assert all(arm.half_life is None for arm in found.arms)
    assert found.rewards == "0/1"
    assert "None of the 3 arms" in found.summary


def test_gains_of_policies_that_were_not_played_are_refused(worn):
    with pytest.raises(BadValue, match=r"policy='MOSS' has no gain here; expected one of 'keep what you do', 'FEWA'"):
        worn.gain_of("MOSS")


def test_rising_arms_are_flagged():
    frame = make_log(arms=5, exposures=1500, effect="none", pace="steady", sigma=1.0, start=3.0, end=3.0, seed=3)
    own = frame["creative"] == "creative 2"
    frame.loc[own, "value"] += np.linspace(0, 2, own.sum())
    found = rotting.diagnose(frame)
    assert [arm.arm for arm in found.arms if arm.rising] == ["creative 2"]
    assert not any(arm.rising and arm.rotting for arm in found.arms)
    assert any(
        "An arm rises with exposure (creative 2)" in text and "promise nothing" in text for text in found.caveats
    )


def test_the_same_seed_gives_the_same_diagnosis():
    log = make_log(arms=2, exposures=200)
    assert rotting.diagnose(log, seed=3) == rotting.diagnose(log, seed=3)


def test_the_code_to_paste_runs(worn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(worn.recommended.code, names)
    with names["bandit"] as bandit:
        assert list(bandit.arms) == [arm.arm for arm in worn.arms]
        assert bandit.verify().rewards == 1


def test_json_has_the_fields_that_scripts_read(worn, tmp_path):
    worn.save(tmp_path / "new" / "folder")
    with open(tmp_path / "new" / "folder" / "diagnosis.json", encoding="utf-8") as file:
        content = json.load(file)
    assert {"verdict", "driver", "sigma", "recommended", "gain", "dropped_rows", "arms"} <= set(content)
    for arm in content["arms"]:
        assert {"arm", "exposures", "rotting", "p_value", "half_life", "value_first", "value_last"} <= set(arm)
    assert set(content["gain"]["FEWA"]["gain"]) == {"point", "low", "high"}
    assert content["gain"]["FEWA"]["gain"]["point"] == worn.gain_of("FEWA").gain.point
    assert KEEP in content["gain"]
    assert {field.name for field in dataclasses.fields(Diagnosis)} == set(content)


# Logs that are odd.


@pytest.mark.parametrize("end", [0.4, 0.05])
def test_one_arm(end):
    found = rotting.diagnose(make_log(arms=1, exposures=600, start=0.4, end=end))
    assert found.gain == ()
    assert found.recommended is None
    assert any("only one arm" in caveat for caveat in found.caveats)
    assert found.summary.startswith("The only arm ")
    assert "their" not in found.summary
    assert ("cannot tell" in found.summary) == (end == 0.05)  # there is nothing to compare it with
    page = report_page(found)
    assert "Nothing: with one arm there is nothing to choose between." in page
    words = re.sub(r"base64,[^\"']*", "", page)  # pictures hold all letters
    assert "arms" not in words.split("What would be gained")[0].split("<body")[1].lower()
    assert ("Launch a fresh one" in page) == (end == 0.05)


def test_half_lives_beyond_the_log_are_marked():
    """Exponentials that fall by a third in the log halve after 1.7 times as many exposures."""
    frame = make_log(arms=3, exposures=1500, sigma=0.3, start=3.0, end=2.0, seed=4)
    found = rotting.diagnose(frame)
    assert all(arm.half_life > arm.exposures for arm in found.arms)
    assert all(arm.half_life_beyond_log for arm in found.arms)
    assert ", more than the log holds" in found.summary
    assert report_page(found).count("half-life beyond the log") == 3


def test_half_lives_within_the_log_are_not(worn):
    inside = [arm for arm in worn.arms if arm.half_life <= arm.exposures]
    assert inside
    assert not any(arm.half_life_beyond_log for arm in inside)


@pytest.mark.parametrize(("offset", "scale"), [(1e9, 0.001), (-1e6, 1.0)])
def test_rewards_far_from_zero_say_the_same(offset, scale):
    frame = make_log(arms=4, exposures=800, start=0.4, end=0.1, seed=6)
    earned = frame["click"].mean()
    found = rotting.diagnose(frame.assign(click=offset + scale * frame["click"]))
    plain = {arm.arm: arm.rotting for arm in rotting.diagnose(frame).arms}
    assert {arm.arm: arm.rotting for arm in found.arms} == plain
    assert sum(plain.values()) >= 3
    assert found.sigma == pytest.approx(scale * np.sqrt(earned * (1 - earned)), rel=0.1)
    for arm in found.arms:
        assert arm.half_life is None  # of a million, hardly anything is lost
        assert arm.value_first - offset == pytest.approx(0.4 * scale, rel=0.2)
        assert 0.15 * scale < arm.value_lost < 0.35 * scale
        assert offset < arm.curve["fit"][-1] < arm.curve["fit"][0] < offset + scale
    late = frame["timestamp"] >= frame["timestamp"].min() + 0.75 * np.ptp(frame["timestamp"])
    assert found.earned_lately - offset == pytest.approx(scale * frame["click"][late].mean(), rel=0.01)
    assert 0 <= found.gain_of("oracle").gain.high < 100 * scale
    assert any("fall towards the smallest" in caveat for caveat in found.caveats)
    first, last = (float(text.split(" ")[0].replace(",", "")) for text in arm_rows(found)[0][6:8])
    assert first - last == pytest.approx(in_order(found.arms)[0].value_lost, rel=0.02)


def test_arms_that_fall_at_once_are_mentioned():
    frame = make_log(arms=3, exposures=1000, sigma=0.2, effect="none", start=2.0, seed=5)
    own = frame["creative"] == "creative 2"
    frame.loc[own, "value"] -= np.where(np.arange(own.sum()) >= 400, 1.5, 0.0)
    found = rotting.diagnose(frame)
    [dropped] = [arm for arm in found.arms if arm.drop_at is not None]
    assert dropped.arm == "creative 2"
    assert dropped.drop_at == pytest.approx(400, abs=8)
    assert any("An arm drops at once" in caveat and "creative 2" in caveat for caveat in found.caveats)


def test_arms_that_fall_together_are_not_called_but_the_page_says_so():
    number = np.arange(3000) // 3  # shown in turn
    value = 3.0 * np.exp(-number / 600) + np.random.default_rng(0).normal(size=3000)
    frame = pandas.DataFrame({"arm": np.arange(3000) % 3, "reward": value, "time": np.arange(3000)})
    found = rotting.diagnose(frame)
    assert found.verdict == "falls, cause unclear"
    assert not any(arm.rotting for arm in found.arms)
    assert "cannot tell whether they wear out or everything falls with time" in found.summary
    assert "launched together or shown at one pace" in found.driver_reason
    assert any("launch a fresh one now" in caveat for caveat in found.caveats)
    assert {row[2] for row in arm_rows(found)} == {"cannot tell"}
    assert "no wear-out seen" not in report_page(found)
    assert all("falls, cause unclear" in axes.get_title(loc="left") for axes in arms_figure(found).axes[:3])


def test_large_gains_are_written_out_and_only_worn_arms_need_fresh_ones():
    generator, parts = np.random.default_rng(2), []
    for arm in range(6):
        number = np.arange(3000)
        level = 900.0 * (1.0 + 0.1 * arm) * (np.exp(-number / 900) if arm < 3 else 1.0)
        time = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(number + 700 * arm, unit="min")
        parts.append(
            pandas.DataFrame({"arm": f"a{arm}", "reward": level + generator.normal(0, 900, 3000), "time": time})
        )
    found = rotting.diagnose(pandas.concat(parts).sort_values("time"))
    assert "e+0" not in found.summary + found.recommended.reason
    assert not any(arm.rising and arm.rotting for arm in found.arms)
    worn = [arm for arm in found.arms if arm.rotting]
    months = (3000 - 1 + 3500) / 60 / 24 / 30.44
    halves = float(np.median([arm.half_life for arm in worn if arm.half_life is not None]))
    assert len(worn) == 3
    assert found.fresh_arms_per_month == pytest.approx(3 * 3000 / months / halves, rel=0.03)


def test_arms_to_act_on_come_first(worn):
    actions = [row[1] for row in arm_rows(worn)]
    assert actions == sorted(actions, key=["replace", "rest", "retire", "keep"].index)


@pytest.mark.parametrize("value", [0, 1, 2.5, -3.0])
def test_constant_rewards(value, tmp_path):
    frame = pandas.DataFrame({"arm": ["a", "b"] * 50, "reward": value, "time": range(100)})
    found = rotting.diagnose(frame)
    assert found.verdict == "rewards never change"
    assert found.recommended is None
    assert found.sigma == 0
    assert [arm.p_value for arm in found.arms] == [1.0, 1.0]
    found.save(tmp_path)


def test_what_was_done_to_rows_is_said():
    frame = make_log(arms=2, exposures=200, seed=1)
    frame = pandas.concat([frame, frame.iloc[:5]], ignore_index=True).astype({"click": float})
    frame.loc[:2, "click"] = np.nan
    found = rotting.diagnose(frame)
    assert found.dropped_rows == 3
    said = " ".join(found.caveats)
    assert "Dropped 3 of 405 rows: no reward." in said
    assert "Time goes backwards at 1 row;" in said
    assert "Repeated in every column: 2 of 405 rows." in said
    assert "'user_id' looks like a unit: with the option unit they are counted for each one" in said
    assert "If they are copies, drop them with the option drop_duplicates" in said
    assert "--" not in said


def test_per_unit():
    frame = make_log(arms=2, exposures=4000, effect="per-user", sigma=0.5, start=3.0, end=1.0, seed=2)
    found = rotting.diagnose(frame, unit="user_id")
    assert [arm.rotting for arm in found.arms] == [True, True]
    assert found.gain == ()
    assert any("counted per unit" in caveat for caveat in found.caveats)
    assert max(found.arms[0].curve["exposure"]) < 30


def test_no_time_column():
    found = rotting.diagnose(make_log(arms=2, exposures=200).drop(columns="timestamp"))
    assert any("No column of times" in caveat for caveat in found.caveats)


# The page.


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_page_in_a_browser(worn, colours, tmp_path):
    _, page = worn.save(tmp_path)
    opinion = open_page(page, colours)
    assert opinion[:4] == ([], [], [], False)
    assert worn.summary in opinion.text
    assert "a simulation from what this log makes likely" in opinion.text
    for heading in ("The arms", "What would be gained", "What to do", "What to keep in mind"):
        assert heading in opinion.text


def test_names_are_escaped_on_the_page():
    frame = make_log(arms=2, exposures=100).replace({"creative": {"creative 1": NASTY}})
    text = report_page(rotting.diagnose(frame))
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("arms", [1, 15])
def test_few_and_many_arms_have_a_page(arms, tmp_path):
    found = rotting.diagnose(make_log(arms=arms, exposures=40))
    text = report_page(found)
    assert text.count("<img") == (1 if arms == 1 else 2)
    assert (f"The first 12 of {arms}" in text) == (arms > 12)


@pytest.mark.parametrize("names", [("US$ 10% off $ 5", r"$\foo$"), ("$a$b", r"\$a\$b$"), ("a{b", "_^$")])
def test_names_with_dollars_are_no_formulas(names, tmp_path):
    frame = make_log(arms=2, exposures=100, sigma=1.0, seed=1)
    frame["creative"] = frame["creative"].map(dict(zip(["creative 1", "creative 2"], names, strict=True)))
    found = rotting.diagnose(frame)
    found.save(tmp_path)
    assert names[0] in (tmp_path / "report.html").read_text()
    # The titles as matplotlib draws them: with every dollar, and none of them as a formula.
    titles = [axes.get_title(loc="left") for axes in arms_figure(found).axes]
    drawn = [title.replace(r"\$", "$") for title in titles]
    assert sorted(title.rpartition(": ")[0] for title in drawn) == sorted(names)
    assert not any(is_math_text(title) for title in titles)


def test_drops_are_played_whatever_a_pull_stands_for():
    """Means of equal numbers may come out above them, which is no curve for a rotting arm."""
    frame = make_log(arms=2, exposures=6000, effect="none", start=0.25, seed=1)
    own = frame["creative"] == "creative 2"
    fallen = np.random.default_rng(1).random(own.sum()) < 0.32
    frame.loc[own, "click"] = np.where(
        np.arange(own.sum()) >= 3000, frame.loc[own, "click"] * fallen, frame.loc[own, "click"]
    )
    assert rotting.diagnose(frame).gain


def test_values_have_the_error_of_the_level_that_all_arms_share():
    """Two equal arms of 500 exposures each: what the log earned lately is not known better than its rewards say."""
    generator = np.random.default_rng(3)
    frame = pandas.DataFrame({"arm": ["a", "b"] * 500, "reward": (generator.random(1000) < 0.5).astype(int)})
    for arm in rotting.diagnose(frame).arms:
        lately = 250 * 0.5
        assert arm.last.high - arm.last.low > 2 * 1.6 * 0.5 / np.sqrt(2 * lately)


def test_arms_are_judged_by_what_exposures_earn_and_large_gaps_are_no_promise():
    """Search ads beside display ads: the best arm is no yardstick, and a gain of many times is not told as one."""
    generator = np.random.default_rng(4)
    days = pandas.date_range("2024-03-01", periods=60)
    rates = {"search": 0.1, **{f"display {number}": 0.003 for number in range(6)}}
    rows = [
        {"day": day, "ad": ad, "impressions": shown, "clicks": generator.binomial(shown, rate)}
        for day in days
        for ad, rate in rates.items()
        for shown in [400 if ad == "search" else 20_000]
    ]
    found = rotting.diagnose(pandas.DataFrame(rows))
    assert {arm.action for arm in found.arms} == {"keep"}
    assert "more than double what is earned" in found.summary
    assert "%" not in found.summary.partition(";")[2]
