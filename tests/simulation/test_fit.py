"""Policies that cannot play a problem are refused, with the parameter that is at fault."""

import pytest

from rotting import SWA, UCB1, SlidingWindowUCB, problems
from rotting.errors import BadValue
from rotting.simulation.fit import check_fit


def test_what_fits_is_let_through():
    check_fit(UCB1(), problems.ten_arm())
    check_fit(SWA(), problems.two_arm(), horizon=7)


def test_a_state_that_does_not_fit_into_memory():
    with pytest.raises(BadValue, match=r"policy SlidingWindowUCB\(tau=1000000000000000\) cannot play ten_arm\(\): "):
        check_fit(SlidingWindowUCB(tau=10**15), problems.ten_arm())


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        (BadValue("is missing", owner="Mine", name="mu_max"), "Mine: mu_max is missing"),
        (MemoryError(), "MemoryError"),
        (OverflowError("too large"), "too large"),
    ],
)
def test_the_reason_is_told(monkeypatch, raised, says):
    def refuse(policy, n_arms):
        raise raised

    monkeypatch.setattr(UCB1, "initial_state", refuse)
    with pytest.raises(BadValue) as refused:
        check_fit(UCB1(), problems.ten_arm())
    assert str(refused.value) == f"policy UCB1(sigma=1) cannot play ten_arm(): {says}"
    assert refused.value.name == getattr(raised, "name", None)
