"""The log as a panel: what every arm was shown and earned in every slice, and what an event is."""

import dataclasses

import numpy as np
import pytest

from rotting.logs import make_log
from rotting.logs.model.panel import FEWEST_SLICES, MANY_ARMS, MOST_SLICES, SLICES_OF_MANY, make_panel
from rotting.logs.read.reading import read_log
from small_panels import clicks, drawn, log_of, staggered


def test_panels_keep_exposures_and_rewards():
    frame = make_log(arms=3, exposures=700, seed=2)
    panel = make_panel(read_log(frame))
    assert panel.shown.sum(axis=1).tolist() == panel.exposures.tolist() == [700] * 3
    assert panel.events * panel.event == pytest.approx(frame.groupby("creative")["click"].sum().to_numpy())
    there = panel.shown > 0
    assert np.all(np.diff(panel.exposure[0][there[0]]) > 0)
    assert np.all((panel.exposure >= 0) & (panel.exposure < 700))
    assert np.all(panel.age[there] <= (panel.end - panel.launch)[:, None].repeat(len(panel.time), 1)[there] + 1e-12)


def test_a_rare_click_is_an_event_and_a_frequent_one_is_more():
    """The variance of a click is rate (1 - rate): as much as its size while it is rare."""
    assert drawn(0.01, 1000 * np.ones((3, 8)), 1).event == pytest.approx(0.99, abs=0.01)
    assert drawn(0.5, 1000 * np.ones((3, 8)), 1).event == pytest.approx(0.5, abs=0.02)


def test_amounts_of_very_different_sizes_are_fewer_events_than_sales():
    """Sales of 1 or 9: mean 5 r, second moment 41 r; so an event is worth 8.2, and 100 sales are 61 events."""
    generator = np.random.default_rng(1)
    sales = generator.binomial(100, 0.1, (4, 8))
    dear = generator.binomial(sales, 0.5)
    earned, squares = sales + 8 * dear, sales + 80 * dear
    panel = make_panel(log_of(np.full((4, 8), 1000.0), earned, squares=squares, noise=41 * sales.sum() / 32_000))
    assert panel.event == pytest.approx(8.2, rel=0.1)
    assert panel.events.sum() == pytest.approx(earned.sum() / panel.event)
    assert panel.events.sum() < 0.7 * sales.sum()
    assert not panel.additive


def test_effects_add_up_where_rewards_may_be_negative():
    shown = np.full((3, 8), 100.0)
    earned = np.random.default_rng(1).normal(0.0, 10.0, shown.shape)
    panel = make_panel(log_of(shown, earned, squares=shown, noise=1.0))
    assert panel.additive
    # The weight is the precision of a cell's mean: the response, times `rate`, has the variance 1 / 100.
    assert panel.rate**2 / panel.weight == pytest.approx(np.full(shown.shape, 0.01))
    assert panel.mean + panel.rate * panel.response == pytest.approx(earned / shown)
    assert panel.values(panel.response) == pytest.approx(earned / shown)
    assert panel.seen_from(np.ones(shown.shape)) is panel


def test_numbers_far_above_zero_multiply():
    shown = np.full((3, 8), 100.0)
    earned = 5 * shown + np.random.default_rng(1).normal(0.0, 10.0, shown.shape)
    assert not make_panel(log_of(shown, earned, squares=26 * shown, noise=1.0)).additive


def test_responses_are_seen_from_levels_of_arms_and_slices():
    """Where levels and slices explain all, the response is what they say, and the weight the events they expect."""
    level, site = np.array([1.0, 2.0, 0.5]), np.linspace(1.2, 0.8, 10)
    shown = np.full((3, 10), 5000.0)
    earned = np.round(0.1 * level[:, None] * site * shown)
    panel = make_panel(log_of(shown, earned))
    expected = np.log(earned / shown * 1.0 / panel.rate)
    assert panel.response == pytest.approx(expected, abs=0.01)
    assert panel.weight == pytest.approx(earned / panel.event, rel=0.01)
    assert panel.values(panel.response) == pytest.approx(earned / shown, rel=0.01)


@pytest.mark.parametrize("fitted", [-0.5, 0.0, 0.7])
def test_seen_from_the_truth_responses_are_unbiased(fitted):
    """E[response] is the logarithm itself, and its variance 1 / weight: 2400 cells, 4 standard errors."""
    shown = np.full((100, 24), 1000.0)
    panel = drawn(0.05 * np.exp(fitted), shown, 3)
    panel = dataclasses.replace(panel, rate=0.05)
    seen = panel.seen_from(np.full(shown.shape, fitted))
    z = (seen.response - fitted) * np.sqrt(seen.weight)
    assert abs(z.mean()) < 4 / np.sqrt(z.size)
    assert z.var() == pytest.approx(1.0, abs=4 * np.sqrt(2 / z.size))


def test_slices_hold_about_as_many_exposures_each_and_are_as_many_as_rewards_allow():
    frame = make_log(arms=4, exposures=3000, effect="none", start=0.3, end=0.3, seed=1)
    panel = make_panel(read_log(frame))
    assert len(panel.time) == MOST_SLICES
    each = panel.shown.sum(axis=0)
    assert each.min() > 0.8 * each.mean()
    assert np.all(np.diff(panel.time) > 0)
    few = make_panel(read_log(make_log(arms=4, exposures=3000, effect="none", start=0.005, end=0.005, seed=1)))
    assert len(few.time) == FEWEST_SLICES
    many = drawn(0.9, np.full((MANY_ARMS + 1, 40), 10.0), 1)
    assert len(many.time) == SLICES_OF_MANY


def test_exposures_are_no_finer_than_time():
    """By the week, nobody knows the order within: an arm's exposures lie at the middle of those of its week."""
    frame = make_log(arms=3, exposures=400, effect="none", start=0.5, end=0.5, seed=2)
    by_week = frame.assign(timestamp=frame["timestamp"].dt.floor("7D"))
    panel = make_panel(read_log(by_week))
    assert len(panel.time) == by_week["timestamp"].nunique()
    for shown, exposure in zip(panel.shown, panel.exposure, strict=True):
        middle = np.cumsum(shown) - shown / 2
        assert exposure[shown > 0] == pytest.approx(middle[shown > 0])


def test_arms_without_clicks_and_cells_without_exposures_are_finite():
    shown = staggered(4, 10)
    panel = make_panel(log_of(shown, clicks(0.05, shown, 1) * np.array([[0], [1], [1], [1]])))
    assert np.all(np.isfinite(panel.response))
    assert np.all(np.isfinite(panel.weight))
    assert np.all(panel.weight[panel.shown == 0] == 0)
    assert panel.events[0] == 0


def test_some_arms_of_a_panel_are_those_arms():
    panel = drawn(0.1, staggered(5, 12), 1)
    some = panel.of(np.array([3, 1]))
    assert some.arms == 2
    for name in ("shown", "earned", "exposure", "age", "response", "weight", "launch", "end"):
        assert np.array_equal(getattr(some, name), getattr(panel, name)[[3, 1]])
    assert some.rate == panel.rate


def moved(seed=1):
    """Return cells of two places on the page: arms move down over time, the lower place earns half as much.

    The better arms stand higher, and the site rises meanwhile: sums by place alone tell neither.
    """
    generator = np.random.default_rng(seed)
    share = (np.arange(10) + 0.5) / 10
    low = np.stack([share, 0.2 + 0.4 * share, np.full(10, 0.8)])
    level, site = np.array([1.0, 3.0, 0.5]), np.repeat(np.exp(share - 0.5), 2)
    log = log_of(np.full((3, 20), 1.0), np.zeros((3, 20)))
    arms = []
    for arm in range(3):
        count = np.ravel(np.column_stack([2000 * (1 - low[arm]), 2000 * low[arm]])).round()
        place = np.tile([0, 1], 10)
        earned = generator.binomial(count.astype(int), 0.1 * level[arm] * site * np.where(place, 0.5, 1.0))
        cells = dataclasses.replace(
            log.arms[arm].cells,
            exposure=np.cumsum(count) - count / 2, time=np.repeat(share, 2), count=count, total=earned,
            squares=earned, capped=earned.astype(float), segment=place,
        )  # fmt: skip
        arms.append(dataclasses.replace(log.arms[arm], cells=cells, exposures=int(count.sum())))
    return dataclasses.replace(log, arms=tuple(arms), strata=("position",), segments=("1", "2"))


def test_what_a_stratum_makes_of_arms_is_taken_off():
    """Beside the one that stays, the arm that moves down falls by a half without strata, and not at all with them."""
    log = moved()
    plain = make_panel(dataclasses.replace(log, segments=()))
    beside = make_panel(log)
    kept = [np.exp(np.diff(panel.response[[0, 2]][:, [0, -1]], axis=1)) for panel in (beside, plain)]
    assert kept[0][0] / kept[0][1] == pytest.approx(1.0, abs=0.3)
    assert kept[1][0] / kept[1][1] == pytest.approx(0.54, abs=0.15)
    assert plain.shown[0] == pytest.approx(np.full(10, 2000.0))
    # An exposure weighs what its place is worth: 1 at the top and 1/2 below, 1 on average.
    assert beside.shown[0, 0] / beside.shown[0, -1] == pytest.approx(0.975 / 0.525, rel=0.05)
    assert beside.shown.sum() == pytest.approx(plain.shown.sum(), rel=1e-6)
