"""The log as a panel: what its rows say about exposures and time."""

import numpy as np

from rotting.logs import make_log
from rotting.logs.model.panel import make_panel
from rotting.logs.read.reading import read_log


def test_exposures_are_no_finer_than_time():
    """By the week, nobody knows the order within: every arm has one row per week, at the middle of its exposures."""
    frame = make_log(arms=3, exposures=400, effect="none", seed=2)
    by_week = frame.assign(timestamp=frame["timestamp"].dt.floor("7D"))
    panel = make_panel(read_log(by_week))
    weeks = by_week.groupby("creative")["timestamp"].nunique()
    assert len(panel.mean) == weeks.sum()
    assert panel.count.sum() == len(frame)
    for arm in range(3):
        own = panel.arm == arm
        assert np.allclose(panel.exposure[own], np.cumsum(panel.count[own]) - (panel.count[own] + 1) / 2)


def test_a_log_without_ties_keeps_its_rows_apart():
    panel = make_panel(read_log(make_log(arms=2, exposures=400, effect="none", pace="steady", seed=2)))
    assert len(panel.mean) >= 2 * 32
