"""Placebos: the log played again without wear, by chance alone."""

import dataclasses

import numpy as np
import pytest

from rotting.logs.model.launches import look_at_launches
from rotting.logs.model.placebos import PLACEBOS, Luck, levels_in_spreads, play_placebos
from rotting.logs.model.within import look_within
from small_panels import SLICES, before, drawn, staggered

SITE = np.linspace(1.3, 0.6, SLICES)
LEVELS = np.array([1.0, 1.3, 0.7, 1.1, 0.9])[:, None]


def placebos(panel):
    within = look_within(panel)
    return play_placebos(panel, within, look_at_launches(panel, within))


def share_below(p_values, level):
    return float(np.mean(np.array(p_values) <= level))


def test_logs_in_which_only_chance_differs_have_even_p_values():
    """40 logs of arms with levels of their own, launched at any time, beside a falling site: 3.5 standard errors.

    What a common slope is beforehand makes p-values of launches larger, not smaller.
    """
    shown, found = staggered(6, SLICES, 300), []
    for seed in range(40):
        level = np.exp(0.2 * np.random.default_rng([5, seed]).standard_normal(6))[:, None]
        found.append(placebos(drawn(0.1 * level * SITE, shown, seed)))
    for level in (0.1, 0.5):
        error = 3.5 * np.sqrt(level * (1 - level) / 40)
        assert share_below([each.order for each in found], level) == pytest.approx(level, abs=error)
        assert share_below([each.launches for each in found], level) < level + error


def test_equal_arms_differ_by_chance():
    """40 logs of equal arms beside a falling site; and arms that differ by 30 % are told from them."""
    shown = staggered(6, SLICES, 300)
    equal = [placebos(drawn(0.1 * SITE + 0 * shown, shown, seed)).equal for seed in range(40)]
    for level in (0.1, 0.5):
        assert share_below(equal, level) == pytest.approx(level, abs=3.5 * np.sqrt(level * (1 - level) / 40))
    others = np.array([1.0, 1.3, 0.75, 1.1, 0.9, 1.2])[:, None]
    assert placebos(drawn(0.1 * others * SITE, shown, 1)).equal <= 0.01


def test_an_arm_that_falls_alone_is_beyond_all_shuffled_ones():
    shown = np.full((5, SLICES), 400.0)
    falls = np.ones((5, SLICES))
    falls[2] = 0.2 ** (before(shown)[2] / 6400)
    found = placebos(drawn(0.1 * LEVELS * SITE * falls, shown, 1))
    assert found.order == pytest.approx(1 / (1 + PLACEBOS))


def test_staggered_wear_is_beyond_all_dealt_launches():
    shown = staggered(6, SLICES, 1500)
    assert placebos(drawn(0.12 * np.exp(-before(shown) / 16_000), shown, 1)).launches <= 0.02


@pytest.mark.parametrize("seed", range(3))
def test_where_launches_say_nothing_no_placebo_does(seed):
    """All launched together at one pace: what is left is rounding, and rounding has no p-value."""
    shown = np.full((6, SLICES), 1000)
    assert placebos(drawn(0.12 * np.exp(-before(shown) / 10_000), shown, seed)).launches == 1.0


def test_the_same_log_has_the_same_placebos():
    panel = drawn(0.1 * SITE + 0 * staggered(), staggered(), 1)
    assert placebos(panel) == placebos(panel)


def luck_of(panel):
    within = look_within(panel)
    return Luck.of(panel, within, within.likeliest), within


def test_shuffling_keeps_what_each_arm_had_and_where_it_was_shown():
    panel = drawn(0.1 * LEVELS[:4] * SITE, staggered(4), 3)
    luck, _ = luck_of(panel)
    generator = np.random.default_rng(1)
    drawn_once, drawn_again = luck.drawn(generator), luck.drawn(generator)
    there = panel.shown > 0
    assert np.all(drawn_once[~there] == 0)
    for arm in range(4):
        errors = drawn_once[arm] * np.sqrt(panel.weight[arm])
        assert np.sort(errors[there[arm]]) == pytest.approx(np.sort(luck.left[arm, there[arm]]))
    assert not np.allclose(drawn_once, drawn_again)


def test_stretches_stay_together():
    panel = drawn(0.1 * LEVELS * SITE, np.full((5, SLICES), 300), 3)
    luck, _ = luck_of(panel)
    numbered = dataclasses.replace(luck, left=np.tile(np.arange(1.0, SLICES + 1), (5, 1)), stretch=4)
    places = np.round(numbered.drawn(np.random.default_rng(1)) * np.sqrt(panel.weight)).astype(int)
    for row in places:
        assert sorted(row) == list(range(1, SLICES + 1))
        assert (np.diff(row) == 1).sum() >= SLICES - 1 - 4  # at most five stretches, four of them whole


def test_autocorrelated_luck_is_shuffled_in_stretches():
    """Six neighbouring slices that go up and down together: one by one they would make falls look rare."""
    generator = np.random.default_rng(2)
    noise = generator.standard_normal((6, 40))
    wander = sum(noise[:, place : place + 32] for place in range(6)) / np.sqrt(6)
    luck, within = luck_of(drawn(0.1 * np.exp(0.4 * wander), np.full((6, 32), 600), 1))
    assert within.likeliest.arms.assumed.wander > 0
    assert luck.stretch >= 3
    steady, _ = luck_of(drawn(0.1 * SITE + 0 * staggered(), staggered(), 1))
    assert steady.stretch == 1


def test_levels_are_seen_from_the_others():
    panel = drawn(0.1 * LEVELS * SITE, np.full((5, SLICES), 5000), 1)
    fit, _ = look_at_launches(panel, look_within(panel)).likeliest.fit(panel)
    levels, spreads = levels_in_spreads(fit)
    apart = np.log(LEVELS[:, 0])
    assert levels * spreads == pytest.approx(apart - apart.mean(), abs=0.1)


def test_a_level_that_is_hardly_known_is_worth_no_more_to_others():
    """An arm of a hundredth of the exposures lies wide of the others by luck: in units of its spread it does not."""
    shown = np.full((5, SLICES), 5000)
    shown[2] = 50
    rate = 0.1 * np.where(np.arange(5) == 2, 1.2, 1.0)[:, None] * SITE
    panel = drawn(rate, shown, 1)
    fit, _ = look_at_launches(panel, look_within(panel)).likeliest.fit(panel)
    levels, spreads = levels_in_spreads(fit)
    assert spreads[2] > 3 * spreads[0]
    assert abs(levels[2]) < 3
