"""The whole diagnosis: its verdicts, its files, and the page in a real browser."""

import dataclasses
import json

import numpy as np
import pandas
import pytest

import rotting
from browser import open_page
from rotting.logs import Diagnosis, gain, make_log
from rotting.logs.gain import LOGGED
from rotting.logs.report import report_page

NASTY = "<script>alert('x')</script> & \u00fcber"


@pytest.fixture(autouse=True, scope="module")
def few_refits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gain, "REFITS", 8)
        patch.setattr("rotting.logs.diagnosis.REFITS", 8)
        yield


@pytest.fixture(scope="module")
def worn():
    return rotting.diagnose(make_log(arms=4, exposures=1500, sigma=1.0, start=3.0, end=1.5, spread=0.3, seed=1))


def test_wear_out_is_diagnosed(worn):
    assert worn.verdict == "rotting"
    assert [arm.rotting for arm in worn.arms] == [True] * 4
    assert worn.driver == "exposure"
    assert worn.sigma == pytest.approx(1.0, rel=0.05)
    assert worn.recommended.policy.startswith("FEWA(alpha=0.06, sigma=")
    assert worn.summary.startswith("4 of 4 arms wear out, losing half their value in about ")
    for arm in worn.arms:
        assert arm.value_first > arm.value_last
        assert arm.value_lost == arm.value_first - arm.value_last
        assert 500 < arm.half_life < 4000


def test_no_wear_out_is_diagnosed():
    found = rotting.diagnose(make_log(arms=3, exposures=800, effect="none", seed=2))
    assert found.verdict == "no wear-out found"
    assert found.driver == "cannot tell"
    assert found.recommended.label == "Thompson sampling"
    assert all(arm.half_life is None for arm in found.arms)
    assert found.rewards == "0/1"
    assert "None of the 3 arms" in found.summary


def test_rising_arms_are_flagged():
    found = rotting.diagnose(make_log(arms=2, exposures=2000, effect="wear-in", sigma=1.0, start=3.0, end=1.0, seed=3))
    assert [arm.rising for arm in found.arms] == [True, True]
    assert any("rise with exposure" in caveat and "promise nothing" in caveat for caveat in found.caveats)


def test_the_same_seed_gives_the_same_diagnosis():
    log = make_log(arms=2, exposures=200)
    assert rotting.diagnose(log, seed=3) == rotting.diagnose(log, seed=3)


def test_the_code_to_paste_runs(worn):
    names = {}
    exec(worn.recommended.code, names)
    assert names["agent"].t == 1


def test_json_has_the_fields_that_scripts_read(worn, tmp_path):
    worn.save(tmp_path / "new" / "folder")
    with open(tmp_path / "new" / "folder" / "diagnosis.json", encoding="utf-8") as file:
        content = json.load(file)
    assert {"verdict", "driver", "sigma", "recommended", "gain", "dropped_rows", "arms"} <= set(content)
    for arm in content["arms"]:
        assert {"arm", "exposures", "rotting", "p_value", "half_life", "value_first", "value_last"} <= set(arm)
    assert set(content["gain"]["FEWA"]["gain"]) == {"point", "low", "high"}
    assert content["gain"]["FEWA"]["gain"]["point"] == worn.gain_of("FEWA").gain.point
    assert LOGGED in content["gain"]
    assert {field.name for field in dataclasses.fields(Diagnosis)} == set(content)


# Logs that are odd.


def test_one_arm():
    found = rotting.diagnose(make_log(arms=1, exposures=300))
    assert found.gain == ()
    assert any("only one arm" in caveat for caveat in found.caveats)
    assert found.summary.startswith("The only arm ")


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
    assert "'user_id' looks like a unit" in said


def test_per_unit():
    frame = make_log(arms=2, exposures=4000, effect="per-user", sigma=0.5, start=3.0, end=1.0, seed=2)
    found = rotting.diagnose(frame, unit="user_id")
    assert [arm.rotting for arm in found.arms] == [True, True]
    assert found.gain == ()
    assert any("counted per unit" in caveat for caveat in found.caveats)
    assert max(found.arms[0].curve["exposure"]) < 30


def test_no_time_column():
    found = rotting.diagnose(make_log(arms=2, exposures=200).drop(columns="timestamp"))
    assert any("no time column" in caveat for caveat in found.caveats)


# The page.


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_page_in_a_browser(worn, colours, tmp_path):
    _, page = worn.save(tmp_path)
    opinion = open_page(page, colours)
    assert opinion[:4] == ([], [], [], False)
    assert worn.summary in opinion.text
    assert "simulation from curves fitted to" in opinion.text
    for heading in ("The arms", "What would be gained", "What to do", "What to keep in mind"):
        assert heading in opinion.text


def test_names_are_escaped_on_the_page():
    frame = make_log(arms=2, exposures=100).replace({"creative": {"creative 1": NASTY}})
    text = report_page(rotting.diagnose(frame))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("arms", [1, 15])
def test_few_and_many_arms_have_a_page(arms, tmp_path):
    found = rotting.diagnose(make_log(arms=arms, exposures=40))
    text = report_page(found)
    assert text.count("<img") == (1 if arms == 1 else 2)
    assert (f"most shown of {arms}" in text) == (arms > 12)
