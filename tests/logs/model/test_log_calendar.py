"""The test of the calendar as the only cause: its level, its power, and the evidence it rests on."""

import dataclasses

import numpy as np
import pytest

from rotting.logs import make_log
from rotting.logs.model.calendar import calendar_p_value, linear_evidence
from rotting.logs.model.driver import CALENDAR, weigh
from rotting.logs.model.hypotheses import Hypothesis, fit, make_design
from rotting.logs.model.panel import make_panel
from rotting.logs.read.reading import read_log


def panel_of(effect, seed, pace="bursty"):
    settings = {"arms": 5, "exposures": 400, "sigma": 1.0, "start": 3.0, "end": 1.2}
    return make_panel(read_log(make_log(effect=effect, seed=seed, pace=pace, **settings)))


def p_value(panel):
    return calendar_p_value(weigh(panel), np.random.default_rng(0))


def test_logs_that_follow_the_calendar_are_seldom_taken_for_others():
    """Of 6 such logs, more than 2 with a p-value below 0.05 have probability 0.002."""
    found = [p_value(panel_of("calendar", seed)) for seed in range(6)]
    assert sum(value <= 0.05 for value in found) <= 2
    assert max(found) > 0.3


def test_wear_out_of_arms_launched_at_other_times_rules_the_calendar_out():
    found = [p_value(panel_of("wear-out", seed)) for seed in range(4)]
    assert np.median(found) < 0.05


def test_nothing_is_ruled_out_where_all_arms_fall_alike_and_together():
    assert np.median([p_value(panel_of("wear-out", seed, pace="steady")) for seed in (1, 3, 4)]) > 0.05


def test_clear_evidence_needs_no_played_logs():
    panel = panel_of("wear-out", 1)
    sure = dataclasses.replace(panel, variance=panel.variance / 50)
    weighed = weigh(sure)
    assert weighed.probability(CALENDAR) < 1e-6
    assert calendar_p_value(weighed, np.random.default_rng(0)) < 1e-6


def test_the_linear_evidence_is_exact_where_effects_add_up():
    """Up to what is the same for all designs: differences between two hypotheses agree with the fits'."""
    panel = dataclasses.replace(panel_of("wear-out", 2), multiplicative=False)
    ours, theirs = (Hypothesis(axis, np.inf) for axis in ("exposure", "time"))
    importance = panel.count / panel.variance
    u = (panel.mean - panel.expected)[None]
    linear = [linear_evidence(panel, make_design(panel, each), u, importance)[0] for each in (ours, theirs)]
    fitted = [fit(panel, each).log_evidence for each in (ours, theirs)]
    assert linear[0] - linear[1] == pytest.approx(fitted[0] - fitted[1], abs=1e-5)
