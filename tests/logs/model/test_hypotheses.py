"""The model of a log: its parameters are found again, and its tests keep their level."""

import dataclasses

import numpy as np
import pytest
from scipy.special import ndtr

from rotting.logs import make_log
from rotting.logs.model import hypotheses
from rotting.logs.model.hypotheses import Hypothesis, axis_column, fit
from rotting.logs.model.panel import make_panel
from rotting.logs.read.reading import read_log


def panel_of(**settings):
    return make_panel(read_log(make_log(**{"arms": 4, "exposures": 800, "seed": 1} | settings)))


def test_panels_keep_counts_and_totals():
    frame = make_log(arms=3, exposures=700, seed=2)
    panel = make_panel(read_log(frame))
    assert panel.count.sum() == 2100
    assert panel.count @ panel.mean * panel.scale == pytest.approx(frame["click"].sum())
    assert np.all(np.diff(panel.exposure)[panel.arm[1:] == panel.arm[:-1]] > 0)
    assert panel.age[panel.first] == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("shape", [np.inf, 0.15])
def test_falls_and_levels_are_found_again(shape):
    panel = panel_of()
    hypothesis = Hypothesis("exposure", shape)
    fall, level = np.array([0.2, 0.5, 0.8, 1.1]), np.array([-0.1, 0.0, 0.1, 0.2])
    value = np.exp(level[panel.arm] - fall[panel.arm] * axis_column(panel, hypothesis))
    exact = dataclasses.replace(panel, mean=value, variance=np.full(len(value), 0.01))
    found = fit(exact, hypothesis)
    member = int(np.argmax(found.weight))
    assert found.slopes()[0][member] == pytest.approx(fall, abs=0.03)
    assert found.common[member, 0] + found.own[member, :, 0] == pytest.approx(level, abs=0.03)
    assert found.value[member] == pytest.approx(value, abs=0.01)


def test_evidence_prefers_the_truth():
    panel = panel_of(arms=6, sigma=0.5, start=3.0, end=1.0, exposures=1500)
    along = {axis: fit(panel, Hypothesis(axis, np.inf)).log_evidence for axis in ("exposure", "time")}
    assert along["exposure"] > along["time"] + 5


@pytest.mark.parametrize("axis", ["exposure", "time"])
def test_tests_of_arms_keep_their_level(axis):
    """200 arms without wear-out: a share of p-values below 0.1 beyond 0.1 +- 0.08 has probability 0.0002."""
    shares = []
    for seed in range(10):
        panel = panel_of(arms=20, exposures=300, effect="none", start=0.2, end=0.2, seed=seed)
        found = fit(panel, Hypothesis(axis, np.inf))
        column = axis_column(panel, Hypothesis("exposure", np.inf))
        z = found.own_z() if axis == "exposure" else found.added_z(panel, column)
        shares.append(found.weight @ (ndtr(-z) < 0.1))
    assert np.mean(shares) == pytest.approx(0.1, abs=0.08)


def test_nothing_assumed_about_a_speed_is_the_limit_of_a_wide_prior(monkeypatch):
    panel = panel_of(arms=3, exposures=500)
    for name, grid in (("LEVEL_SPREADS", {0.3: 1.0}), ("SHARED_SPREADS", {0.1: 1.0}), ("SPEED_SPREADS", {300.0: 1.0})):
        monkeypatch.setattr(hypotheses, name, grid)
    wide = fit(panel, Hypothesis("exposure", np.inf))
    mean, variance = wide.slopes()
    assert wide.own_z() == pytest.approx(mean / np.sqrt(variance), rel=0.01)
