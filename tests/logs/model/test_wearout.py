"""The isotonic fit, its band and its tests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.logs import make_log
from rotting.logs.model.wearout import isotonic_bands, merged
from rotting.logs.read.counting import Cells
from rotting.logs.read.reading import read_log


def cells_of(rewards):
    rewards = np.asarray(rewards, dtype=float)
    place = np.arange(len(rewards), dtype=float)
    return Cells(place, place / len(rewards), np.ones(len(rewards)), rewards, rewards**2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=200), st.integers(1, 50))
def test_merging_keeps_counts_and_totals(rewards, bins):
    cells = cells_of(rewards)
    fewer = merged(cells, bins)
    assert len(fewer.count) == min(bins, len(rewards))
    assert fewer.count.max() - fewer.count.min() <= 1
    assert fewer.total.sum() == pytest.approx(cells.total.sum(), abs=1e-9)
    assert np.all(np.diff(fewer.exposure) > 0)


@pytest.mark.parametrize("effect", ["wear-out", "wear-in", "none"])
def test_bands_hold_the_fit_and_never_rise(effect):
    log = read_log(make_log(arms=2, exposures=800, effect=effect, seed=11))
    for band in isotonic_bands(log.arms, log, np.random.default_rng(0)):
        assert np.all(band.low <= band.fit)
        assert np.all(band.fit <= band.high)
        for bound in (band.low, band.fit, band.high):
            assert np.all(np.diff(bound) <= 1e-12)
            assert np.all((bound >= 0) & (bound <= 1))


def test_the_band_holds_the_truth():
    """Pointwise 90 %, over 20 arms of 32 bins: the mean coverage lies between 80 and 98 %."""
    frame = make_log(arms=20, exposures=3200, seed=13, sigma=1.0, start=3.0, end=1.0)
    log = read_log(frame)
    truth = dict(zip(frame.attrs["truth"].arms, frame.attrs["truth"].curves, strict=True))
    inside = []
    for arm, band in zip(log.arms, isotonic_bands(log.arms, log, np.random.default_rng(0)), strict=True):
        value = truth[arm.name](band.exposure.astype(int))
        inside.append((band.low <= value) & (value <= band.high))
    assert 0.80 < np.mean(inside) < 0.98
