"""Each arm beside the others: its slope, which arms are called, and how few rewards can ever do."""

import dataclasses

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from rotting.logs.model.mixed import Arms, Assumed, Fit
from rotting.logs.model.panel import make_panel
from rotting.logs.model.within import (
    FALSE_DISCOVERIES,
    LEAST_SLICES,
    SEEN_WITHOUT,
    discoveries,
    fewest_rewards,
    look_within,
    without_any_slice,
)
from small_panels import SLICES, before, clicks, drawn, log_of, staggered

LEVELS = np.array([1.0, 1.3, 0.7, 1.1, 0.9])[:, None]
SITE = np.linspace(1.2, 0.7, SLICES)


def five(seed, keeps=1.0, each=150, rate=0.1):
    """Return the exposures and rates of five arms beside a site that falls; the last keeps so much of its value."""
    shown = np.full((5, SLICES), each)
    falls = np.ones((5, SLICES))
    falls[-1] = keeps ** (before(shown)[-1] / shown[-1].sum())
    return drawn(rate * LEVELS * SITE * falls, shown, seed)


def two_way(panel, arm):
    """Return the z of a slope of one arm in an ordinary Poisson regression on levels of arms and slices."""
    arms, slices = panel.shown.shape
    number, piece = np.divmod(np.arange(arms * slices), slices)
    column = np.zeros((arms, slices))
    column[arm] = panel.exposure[arm] / panel.exposures[arm] - 0.5
    design = np.column_stack([
        column.ravel(), number[:, None] == np.arange(arms), piece[:, None] == np.arange(1, slices)
    ]).astype(float)  # fmt: skip
    offset, earned = np.log(panel.shown.ravel()), panel.earned.ravel()
    beta = np.zeros(design.shape[1])
    beta[1 : arms + 1] = np.log(earned.sum() / panel.shown.sum())
    for _ in range(20):
        mean = np.exp(design @ beta + offset)
        information = design.T @ (mean[:, None] * design)
        beta = beta + np.linalg.solve(information, design.T @ (earned - mean))
    return beta[0] / np.sqrt(np.linalg.inv(information)[0, 0])


@pytest.mark.parametrize("keeps", [1.0, 0.6])
def test_z_is_that_of_an_ordinary_regression_where_arms_do_not_wander(keeps):
    panel = five(1, keeps)
    column = look_within(panel).column
    z = Fit(Arms(panel, Assumed())).own(column).z()
    assert z == pytest.approx([two_way(panel, arm) for arm in range(5)], abs=0.2)


def test_numbers_that_add_up_give_the_z_of_an_ordinary_regression():
    generator = np.random.default_rng(2)
    shown = np.full((4, SLICES), 100.0)
    mean = generator.normal(0, 1, (4, 1)) + generator.normal(0, 1, SLICES) + generator.normal(0, 0.1, (4, SLICES))
    panel = make_panel(log_of(shown, mean * shown, squares=shown, noise=1.0))
    assert panel.additive
    column = look_within(panel).column
    number, piece = np.divmod(np.arange(mean.size), SLICES)
    beside = np.column_stack([number[:, None] == np.arange(4), piece[:, None] == np.arange(1, SLICES)]).astype(float)
    for arm, z in enumerate(Fit(Arms(panel, Assumed())).own(column).z()):
        own = np.where(number == arm, column.ravel(), 0.0)
        left = own - beside @ np.linalg.lstsq(beside, own, rcond=None)[0]
        slope = left @ mean.ravel() / (left @ left)
        assert z == pytest.approx(slope / (0.1 / np.sqrt(left @ left)), abs=0.01)


def test_an_arm_that_falls_beside_its_site_is_called_and_no_other():
    """It keeps 25 % on 600 rewards: z is about -6."""
    within = look_within(five(3, keeps=0.25, each=400))
    assert within.called().tolist() == [False] * 4 + [True]
    assert within.lost[-1] == pytest.approx(np.log(0.25), abs=3 * within.error[-1])
    assert not within.jumps[-1]


def test_steady_arms_beside_a_falling_site_have_p_values_as_they_should():
    """Of 300 p-values, those below 0.1 are 30 on average; arms of one log lean on each other. 4 standard errors."""
    p_values = np.concatenate([look_within(five(seed)).falling for seed in range(60)])
    for level in (0.1, 0.5):
        error = 4 * np.sqrt(level * (1 - level) / 60)  # as if the five of a log were one
        assert np.mean(p_values < level) == pytest.approx(level, abs=error)


def test_few_steady_logs_have_a_call():
    """Of 60 logs, more than 10 with a call have probability 0.03 at a rate of 10 %."""
    assert sum(look_within(five(seed)).called().any() for seed in range(60)) <= 10


def test_arms_that_wander_are_not_called():
    """Levels of each arm walk away by 60 % and come back, over a quarter of the log: far more than chance."""
    generator, calls = np.random.default_rng(1), 0
    for seed in range(20):
        noise = generator.standard_normal((5, SLICES + 3))
        wander = sum(noise[:, place : place + SLICES] for place in range(4)) / 2
        panel = drawn(0.1 * SITE * np.exp(0.5 * wander), np.full((5, SLICES), 400), seed)
        within = look_within(panel)
        assert within.likeliest.arms.assumed.wander > 0
        calls += bool(within.called().any())
    assert calls <= 4  # more have probability 0.04 at 10 %


def test_benjamini_and_hochberg():
    """The largest p-value below its line decides for all that are smaller."""
    p_values = np.array([0.011, 0.02, 0.06, 0.9, 0.0, 0.079])
    tested = np.array([True, True, True, True, False, True])
    lines = FALSE_DISCOVERIES * np.arange(1, 6) / 5  # 0.02, 0.04, 0.06, 0.08, 0.1 for 0.011, 0.02, 0.06, 0.079, 0.9
    assert p_values[[0, 1, 2, 5]].tolist() <= lines[:4].tolist()
    assert discoveries(p_values, tested).tolist() == [True, True, True, False, False, True]
    assert not discoveries(p_values, np.zeros(6, dtype=bool)).any()
    assert not discoveries(np.zeros(0), np.zeros(0, dtype=bool)).any()


@pytest.mark.parametrize("arms", [5, 38])
def test_with_the_fewest_rewards_half_of_the_total_losses_are_seen(arms):
    """An arm on a straight line to nothing, beside others that are known well: more and fewer rewards, and as many."""
    column = (np.arange(SLICES) + 0.5) / SLICES - 0.5
    threshold = float(ndtri(FALSE_DISCOVERIES / arms))

    def seen(rewards):
        shown = np.vstack([np.full(SLICES, 100_000), np.full(SLICES, 10_000)])
        rate = np.vstack([np.full(SLICES, 0.05), (0.5 - column) * rewards / (5000 * SLICES)])
        found = []
        for seed in range(120):
            panel = drawn(rate, shown, seed)
            found.append(Fit(Arms(panel, Assumed())).own(np.tile(column, (2, 1))).z()[1] < threshold)
        return sum(found)

    fewest = fewest_rewards(arms)
    low, high = binom.ppf([0.0005, 0.9995], 120, 0.5)
    # Counts are not normal, and rewards are whole: a tenth of the cases on either side.
    assert seen(fewest / 2) < low
    assert low - 12 <= seen(fewest) <= high + 12
    assert seen(2 * fewest) > high


def test_an_arm_without_enough_rewards_is_never_called():
    """One that loses everything, with fewer rewards than a call takes, beside four that have many."""
    for rewards in (3, 6, 9, 11):
        earned = clicks(0.1 * LEVELS * SITE, np.full((5, SLICES), 400), 1)
        earned[-1] = 0
        earned[-1, 0] = rewards
        within = look_within(make_panel(log_of(np.full((5, SLICES), 400.0), earned)))
        assert within.fewest == pytest.approx(3 * 2.0537**2, rel=1e-3)  # the normal quantile of 2 %
        assert not within.testable[-1]
        assert within.falling[-1] == within.rising[-1] == 1.0
        assert not within.called()[-1]


def test_an_arm_of_few_days_is_never_called():
    shown = np.full((5, SLICES), 400.0)
    shown[-1, LEAST_SLICES - 1 :] = 0
    falls = np.ones((5, SLICES))
    falls[-1, 1:] = 0.1
    within = look_within(drawn(0.1 * falls, shown, 1))
    assert not within.testable[-1]
    assert not within.called()[-1]


def test_a_fall_that_one_slice_makes_does_not_hold_without_it():
    """A day of many clicks at the beginning, nothing else: 60 instead of 15 of them."""
    earned = clicks(0.05 * np.ones((5, SLICES)), np.full((5, SLICES), 300), 4)
    earned[-1, 1] = 60
    panel = make_panel(log_of(np.full((5, SLICES), 300.0), earned))
    within = look_within(panel)
    assert np.median(within.falling[:-1]) > 0.05
    assert without_any_slice(within, 4) > SEEN_WITHOUT
    assert not within.called()[-1]
    assert without_any_slice(look_within(five(3, keeps=0.25, each=400)), 4) < 0.01


def test_leaving_a_slice_out_is_leaving_it_out():
    """The largest p-value is the one of the panel in which the arm was not shown in some slice."""
    panel = five(2, keeps=0.5)
    within = look_within(panel)
    within = dataclasses.replace(within, fits=[(1.0, Fit(Arms(panel, Assumed())))])
    slices = within.fits[0][1].slices
    z = []
    for place in range(SLICES):
        weight = np.delete(panel.weight[-1], place)
        response = np.delete(panel.response[-1] - slices, place)
        x = np.delete(within.column[-1], place)
        x = x - weight @ x / weight.sum()
        z.append((weight * x) @ response / np.sqrt((weight * x) @ x))
    assert without_any_slice(within, 4) == pytest.approx(float(ndtr(max(z))), rel=0.02)


@pytest.mark.parametrize(("kind", "jumps"), [("straight", False), ("soon", False), ("jump", True)])
def test_slopes_and_jumps_are_told_apart(kind, jumps):
    place = (np.arange(SLICES) + 0.5) / SLICES
    value = {
        "straight": np.exp(-1.4 * place),
        "soon": 0.3 + 0.7 * np.exp(-place / 0.15),
        "jump": np.where(place < 0.6, 1.0, 0.35),
    }[kind]
    within = look_within(
        drawn(0.1 * LEVELS * SITE * np.vstack([np.ones((4, SLICES)), value]), np.full((5, SLICES), 800), 5)
    )
    assert within.jumps[-1] == within.sure_jumps[-1] == jumps
    assert within.called()[-1] != jumps
    assert not within.sure_jumps[:-1].any()
    if jumps:
        assert within.jump_at[-1] == 10  # the first slice that lies beyond 0.6


def test_steady_arms_seldom_jump():
    """At odds of 10 for a jump, a tenth of the arms at most seem to: 100 arms, 4 standard errors."""
    jumps = np.concatenate([look_within(five(seed)).sure_jumps for seed in range(20)])
    assert jumps.sum() <= 10 + 12


def test_arms_that_only_fall_alike_say_nothing_of_each():
    """All fall to a quarter together: that is a trend of the site, whatever it is."""
    shown = np.full((5, SLICES), 800)
    within = look_within(drawn(0.1 * LEVELS * 0.25 ** (before(shown) / 12_800), shown, 1))
    assert not within.called().any()
    assert np.abs(within.lost / within.error).max() < 3


def test_launches_at_other_times_do_not_make_steady_arms_fall():
    p_values = np.concatenate([
        look_within(drawn(0.1 * SITE + 0 * staggered(), staggered(), seed)).falling for seed in range(30)
    ])  # fmt: skip
    assert np.mean(p_values < 0.05) < 0.05 + 4 * np.sqrt(0.05 / 30)
