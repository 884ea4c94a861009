"""The first screen: what is worn, how sure that is, and what to do."""

import dataclasses
import re

import numpy as np
import pandas
import pytest

import rotting
from rotting.logs import make_log
from rotting.logs.tell.answers import how_sure, in_order, what_is_worn, what_to_do
from rotting.logs.tell.report import arm_rows, report_page
from rotting.logs.worth import gain
from rotting.logs.worth.gain import KEEP


@pytest.fixture(autouse=True, scope="module")
def few_draws():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gain, "PLAYED_DRAWS", 5)
        yield


@pytest.fixture(scope="module")
def worn():
    return rotting.diagnose(make_log(arms=4, exposures=1500, sigma=1.0, start=3.0, end=1.0, seed=1))


def heads(diagnosis):
    return dict(what_to_do(diagnosis))


def test_worn_arms_are_named_with_what_they_lost_and_how_sure_that_is(worn):
    text = " ".join(what_is_worn(worn))
    assert text.startswith("4 of 4 arms: creative ")
    assert "(from 3" in text
    sure = " ".join(how_sure(worn))
    assert "That items wear out rests on launches" in sure
    assert "How often placebos, which are this log with one thing left to chance, say as much" in sure
    assert "(exchangeable launches)" in sure
    assert "This log could have seen an arm lose " in sure


def test_calls_of_their_own_say_how_many_are_false(worn):
    alone = dataclasses.replace(
        worn, arms=tuple(dataclasses.replace(arm, evidence="its own course") for arm in worn.arms)
    )
    assert "at most about 1 in 10 is a false alarm" in " ".join(how_sure(alone))


def test_what_to_do_is_one_story(worn):
    found = heads(worn)
    assert "Replace" in found
    assert "What fresh ones may earn" in found
    assert re.search(r"per 1000 exposures: 2,\d00 rewards", found["What fresh ones may earn"])
    page = report_page(worn)
    assert page.index("What is worn?") < page.index("How sure is that?") < page.index("What to do") < page.index("<img")


def test_nothing_is_retired_where_going_on_is_advised(worn):
    advice = dataclasses.replace(worn.recommended, label=KEEP)
    kept = dataclasses.replace(worn, recommended=advice)
    assert "no other way of choosing is sure to earn more" in heads(kept)["Keep the present shares"]
    assert "Fresh arms are another matter" in heads(kept)["Keep the present shares"]
    quiet = rotting.diagnose(make_log(arms=3, exposures=400, effect="none", seed=2))
    if quiet.recommended.label == KEEP:
        assert {arm.action for arm in quiet.arms} == {"keep"}
    assert " ".join(what_is_worn(quiet)) == "Nothing that this log can see."
    assert "This log could have seen" in " ".join(how_sure(quiet))


def test_arms_that_are_no_longer_shown_are_not_replaced_on_monday(worn):
    gone = dataclasses.replace(worn.arms[0], shown_lately=False)
    others = dataclasses.replace(worn, arms=(gone, *worn.arms[1:]))
    assert gone.arm not in heads(others)["Replace"]
    assert "1 of them was not shown in the last quarter" in " ".join(what_is_worn(others))
    assert in_order(others.arms)[-1] is gone


def test_a_fall_of_all_arms_asks_for_no_fresh_ones(worn):
    arms = tuple(dataclasses.replace(arm, rotting=False) for arm in worn.arms)
    calendar = dataclasses.replace(worn, verdict="falls with the calendar", arms=arms)
    assert "Do not replace arms for this" in heads(calendar)
    assert " ".join(what_is_worn(calendar)).startswith("No arm.")
    unclear = dataclasses.replace(calendar, verdict="falls, cause unclear")
    assert "Launch a fresh one, or rest one" in heads(unclear)


def test_money_is_money():
    frame = make_log(arms=2, exposures=600, sigma=1.0, start=4.0, end=1.0, seed=1)
    found = rotting.diagnose(frame.assign(value=[f"${max(value, 0):.2f}" for value in frame["value"]]))
    assert found.currency == "$"
    assert "$" in found.recommended.reason
    assert re.search(r"\(from \$[234].* to \$1", " ".join(what_is_worn(found)))
    assert min(min(arm.curve["low"]) for arm in found.arms) >= 0


def test_per_user_nothing_is_said_that_users_who_leave_would_change():
    rng = np.random.default_rng(3)
    user = np.repeat(np.arange(400), 6)
    frame = pandas.DataFrame({"time": 100 * user + np.tile(np.arange(6), 400), "user_id": user.astype(str)})
    frame["arm"] = [f"arm {each}" for each in rng.integers(3, size=len(frame))]
    seen = frame.groupby(["user_id", "arm"]).cumcount()
    frame["reward"] = (rng.random(len(frame)) < 0.05 + 0.45 * np.exp(-seen)).astype(int)
    found = rotting.diagnose(frame[["time", "user_id", "arm", "reward"]], unit="user_id")
    assert [arm.action for arm in found.arms] == ["rest"] * 3
    assert found.detectable_loss is None
    assert found.summary.startswith("Users tire of 3 of 3 arms")
    for arm in found.arms:
        assert (arm.first, arm.last, arm.value_lost, arm.half_life) == (None, None, None, None)
        rate = frame[(frame["arm"] == arm.arm) & (frame["time"] > 30_000)]["reward"].mean()
        assert arm.next_1000.low < rate < arm.next_1000.high
    assert arm_rows(found)[0][6:8] == ["", ""]
    assert "First and last values are left out" in report_page(found)
    assert "per user" in heads(found)["Rest"]
