"""The curves that are shown: bins of exposures, the model's mean and its band."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.logs import diagnose, make_log
from rotting.logs.model.noise import merged
from rotting.logs.read.counting import Cells


def cells_of(rewards):
    rewards = np.asarray(rewards, dtype=float)
    place = np.arange(len(rewards), dtype=float)
    return Cells(place, place / len(rewards), np.ones(len(rewards)), rewards, rewards**2, rewards, 0 * rewards)


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
def test_bands_hold_the_fit_and_are_rates(effect):
    for arm in diagnose(make_log(arms=2, exposures=800, effect=effect, seed=11)).arms:
        low, fit, high = (np.array(arm.curve[name]) for name in ("low", "fit", "high"))
        assert np.all((low >= 0) & (low <= fit) & (fit <= high) & (high <= 1))


def test_the_band_holds_the_truth():
    """Pointwise 90 %, over 20 arms of 32 bins: the mean coverage lies between 80 and 98 %."""
    frame = make_log(arms=20, exposures=3200, seed=13, sigma=1.0, start=3.0, end=1.0)
    truth = dict(zip(frame.attrs["truth"].arms, frame.attrs["truth"].curves, strict=True))
    inside = []
    for arm in diagnose(frame).arms:
        value = truth[arm.arm](np.array(arm.curve["exposure"]).astype(int))
        inside.append((np.array(arm.curve["low"]) <= value) & (value <= np.array(arm.curve["high"])))
    assert 0.80 < np.mean(inside) < 0.98


def test_the_band_of_users_is_that_of_counts():
    """A bin without any reward has a band from 0 to three events."""
    frame = make_log(arms=2, exposures=900, effect="per-user", start=0.5, end=0.1, seed=3)
    for arm in diagnose(frame, unit="user_id").arms:
        mean, low, high = (np.array(arm.curve[name]) for name in ("mean", "low", "high"))
        assert np.all((low <= mean) & (mean <= high) & (low < high))
