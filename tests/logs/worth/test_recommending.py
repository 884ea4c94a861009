"""What is advised: the first of the gains, or why not."""

import dataclasses

import pytest

from rotting.logs.worth.gain import EQUAL, KEEP, ORACLE, Estimate, Gain
from rotting.logs.worth.recommending import Subject, action_for, recommend

CLICKS = Subject(["a", "b"], 0.3, True, True)


def row(policy, gain, low):
    return Gain(policy, Estimate(10 + gain, 9.0, 20.0), Estimate(gain, low, 2 * gain + 1))


ROWS = [
    row(KEEP, 0.0, 0.0),
    row("FEWA", 2.0, 0.5),
    row("UCB1", 3.0, 1.0),
    row(EQUAL, -1.0, -2.0),
    row(ORACLE, 9.0, 8.0),
]


def test_the_advice_is_the_first_of_the_table():
    advice = recommend(CLICKS, ROWS)
    assert (advice.label, advice.played_as) == ("UCB1", "UCB1")
    assert "gains most, 3 (1 to 7) per 1000 exposures" in advice.reason


def test_nothing_is_advised_that_is_not_sure_to_gain():
    rows = [row(KEEP, 0.0, 0.0), row("FEWA", 2.0, -0.5), row("UCB1", 1.0, -3.0), row(ORACLE, 9.0, 8.0)]
    advice = recommend(CLICKS, rows)
    assert advice.label == KEEP
    assert "the best of what was tried, FEWA, might gain 2 (-0.5 to 5)" in advice.reason
    assert advice.policy.startswith("FEWA(")


@pytest.mark.parametrize("batch", [1, 7])
def test_what_stands_for_thompson_sampling_is_said(batch):
    name = "Gaussian Thompson sampling" if batch > 1 else "Thompson sampling"
    advice = recommend(CLICKS, [row(KEEP, 0.0, 0.0), row(name, 2.0, 1.0)], batch)
    assert (advice.label, advice.played_as) == ("Thompson sampling", name)
    assert advice.policy.startswith("BetaThompson(")
    assert ("in its place: a pull there is the mean of 7 rewards" in advice.reason) == (batch > 1)


def test_without_gains_the_assumptions_decide():
    assert recommend(Subject(["a", "b"], 0.3, False, True), []).label == "FEWA"
    assert recommend(Subject(["a", "b"], 0.3, False, False), []).label == "Thompson sampling"


@pytest.mark.parametrize(
    ("worn", "chance", "lost", "differ", "expected"),
    [
        (True, 0.05, 0.3, True, "replace"),
        (True, 0.9, 0.6, True, "replace"),
        (True, 0.9, 0.2, True, "keep"),
        (False, 0.05, 0.0, True, "retire"),
        (False, 0.05, 0.9, True, "retire"),
        (False, 0.05, 0.0, False, "keep"),
        (False, 0.9, 0.0, True, "keep"),
    ],
)
def test_what_to_do_with_an_arm(worn, chance, lost, differ, expected):
    assert action_for(worn, chance, lost, fresh_is_better=True, differ=differ).name == expected


def test_what_has_lost_much_is_kept_where_no_fresh_one_is_better():
    assert action_for(True, 0.9, 0.6, fresh_is_better=False, differ=True).name == "keep"


def test_nothing_is_advised_for_arms_that_differ_by_chance():
    advice = recommend(dataclasses.replace(CLICKS, differ=False), ROWS)
    assert advice.label == KEEP
    assert "equal arms differ as much by chance" in advice.reason


def test_what_gains_hardly_anything_is_not_advised():
    """A sure gain of less than half a percent is no reason to change."""
    kept = Gain(KEEP, Estimate(1000.0, 900.0, 1100.0), Estimate(0.0, 0.0, 0.0))
    small, large = (
        recommend(CLICKS, [kept, Gain("FEWA", Estimate(1010.0, 900.0, 1100.0), Estimate(10.0, low, 20.0))])
        for low in (4.0, 6.0)
    )
    assert (small.label, large.label) == (KEEP, "FEWA")


def test_large_gains_are_written_in_full():
    rows = [row(KEEP, 0.0, 0.0), row("FEWA", 1234.5, 101.0)]
    assert "1,230 (101 to 2,470) per 1000" in recommend(Subject(["a", "b"], 0.3, False, True), rows).reason
