"""What is advised, and where its gain is shown."""

import pytest

from rotting.logs.gain import compared_policies
from rotting.logs.recommending import recommend


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("rotting", [True, False])
@pytest.mark.parametrize("driver", ["exposure", "calendar", "cannot tell"])
def test_the_gains_show_what_is_advised_or_the_advice_says_what_stands_for_it(driver, rotting, binary, batch):
    advice = recommend(3, 0.3, binary, rotting, driver, batch)
    played = compared_policies(0.3, binary, batch)[advice.played_as]
    same_kind = advice.policy.startswith(f"{type(played).__name__}(")
    assert same_kind != (f"The gains show {advice.played_as} in its place" in advice.reason)
    assert same_kind == (advice.label == advice.played_as)


def test_rewards_that_follow_the_calendar_are_left_to_raw_ucb():
    assert recommend(3, 0.3, False, rotting=True, driver="calendar").policy.startswith("RAWUCB(")
    assert recommend(3, 0.3, False, rotting=True, driver="exposure").policy.startswith("FEWA(")
