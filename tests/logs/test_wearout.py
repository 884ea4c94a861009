"""The isotonic fit, its band and its tests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.logs import make_log, wearout
from rotting.logs.reading import Cells, read_log
from rotting.logs.wearout import discoveries, isotonic_band, merged, permutation_tests


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


@pytest.mark.parametrize("settings", [{}, {"sigma": 1.0, "start": 3.0, "end": 1.0}])
def test_p_values_are_uniform_where_nothing_wears_out(settings):
    """120 arms: a share of p-values below 0.2 beyond 0.2 +- 0.12 has probability 0.001."""
    log = read_log(make_log(arms=120, exposures=64, effect="none", seed=7, **settings))
    generator = np.random.default_rng(1)
    values = [wearout._p_value(merged(arm.cells, 16), log.binary, generator, permutations=99) for arm in log.arms]
    assert np.mean(np.array(values) <= 0.2) == pytest.approx(0.2, abs=0.12)
    assert np.mean(np.array(values) <= 0.05) < 0.12


@pytest.mark.parametrize(
    ("effect", "falls", "rises"), [("wear-out", True, False), ("wear-in", False, True), ("none", False, False)]
)
def test_directions(effect, falls, rises):
    log = read_log(make_log(arms=3, exposures=3000, effect=effect, seed=11, sigma=1.0, start=3.0, end=2.0))
    p_values = permutation_tests(log, np.random.default_rng(0))
    assert (p_values.falling < 0.01).tolist() == [falls] * 3
    assert (p_values.rising < 0.01).tolist() == [rises] * 3


@pytest.mark.parametrize("effect", ["wear-out", "wear-in", "none"])
def test_bands_hold_the_fit_and_never_rise(effect):
    log = read_log(make_log(arms=2, exposures=800, effect=effect, seed=11))
    for arm in log.arms:
        band = isotonic_band(arm, log, np.random.default_rng(0))
        assert np.all(band.low <= band.fit)
        assert np.all(band.fit <= band.high)
        for bound in (band.low, band.fit, band.high):
            assert np.all(np.diff(bound) <= 1e-12)
            assert np.all((bound >= 0) & (bound <= 1))


def test_an_arm_that_comes_back_is_noticed():
    rewards = np.concatenate([np.linspace(3, 0, 300), np.linspace(0, 1.5, 300)])
    rewards += np.random.default_rng(0).standard_normal(600)
    cells = merged(cells_of(rewards), wearout.TESTED_BINS)
    generator = np.random.default_rng(0)
    assert wearout._p_value(cells, False, generator) < 0.01
    assert wearout._p_value(wearout._second_half(cells), False, generator, sign=-1.0) < 0.01


def test_the_band_holds_the_truth():
    """Pointwise 90 %, over 20 arms of 32 bins: the mean coverage lies between 80 and 98 %."""
    frame = make_log(arms=20, exposures=3200, seed=13, sigma=1.0, start=3.0, end=1.0)
    log = read_log(frame)
    truth = dict(zip(frame.attrs["truth"].arms, frame.attrs["truth"].curves, strict=True))
    inside = []
    for arm in log.arms:
        band = isotonic_band(arm, log, np.random.default_rng(0))
        value = truth[arm.name](band.exposure.astype(int))
        inside.append((band.low <= value) & (value <= band.high))
    assert 0.80 < np.mean(inside) < 0.98


def test_constant_rewards_and_single_bins():
    generator = np.random.default_rng(0)
    assert wearout._p_value(cells_of([1.0] * 50), True, generator) == 1.0
    assert wearout._p_value(cells_of([0.3] * 50), False, generator) == 1.0
    assert wearout._p_value(cells_of([1.0]), True, generator) == 1.0


def test_one_arm_of_many_can_still_be_singled_out(monkeypatch):
    monkeypatch.setattr(wearout, "PERMUTATIONS", 19)  # p-values of 0.05 and more: too coarse for 12 arms
    frame = make_log(arms=12, exposures=100, effect="none", seed=1, sigma=1.0, start=3.0, end=1.0)
    own = frame.creative == "creative 1"
    frame.loc[own, "value"] -= np.linspace(0, 5, own.sum())
    log = read_log(frame)
    called = discoveries(permutation_tests(log, np.random.default_rng(0)).falling)
    assert [arm.name for arm, one in zip(log.arms, called, strict=True) if one] == ["creative 1"]
