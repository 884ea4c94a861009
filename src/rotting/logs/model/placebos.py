"""The log played again without wear: what chance makes of levels, calendar and stretches of luck like this log's.

Two nulls. *Order*: each arm keeps its level, the site its calendar, and what these and slopes leave of an arm keeps its
stretches, whose order is shuffled. *Launches*: the same, and levels of arms are dealt out again among the launches, so
that newer arms are as good as older ones.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.arrays import Floats
from rotting.logs.model.launches import COMMON, MOST_LEARNT_FROM, Together
from rotting.logs.model.mixed import FREE, Arms, Fit
from rotting.logs.model.panel import Panel
from rotting.logs.model.within import Within

PLACEBOS, MANY_PLACEBOS = 199, 999
RARE = 0.05  # what placebos show more often does not count as evidence of launches
STRETCHES = 4  # of an arm, at least: with fewer there is nothing to shuffle
SEED = 1  # one log, one finding
ROUNDING = 1e-9  # statistics no further apart are equal: where a log says nothing, they are all 0


@dataclasses.dataclass(frozen=True)
class Placebos:
    """How often chance gives what the log shows."""

    order: float  # the p-value of the largest fall of an arm beside the others
    launches: float  # the p-value of the fall of all arms together
    equal: float  # the p-value of the differences between levels of arms


def play_placebos(panel: Panel, within: Within, together: Together) -> Placebos:
    """Return how often placebos of a log say as much as the log does."""
    generator = np.random.default_rng(SEED)
    fit = within.likeliest
    luck = Luck.of(panel, within, fit)
    falls = fit.own(within.column)
    error = falls.error(FREE)
    largest = np.max((-falls.score * error)[within.testable], initial=-np.inf)
    some = panel.some(MOST_LEARNT_FROM)
    launched, axis = together.likeliest.fit(panel.of(some))
    slope = together.likeliest.slope
    levels, spreads = levels_in_spreads(launched)
    as_large = as_common = 1  # the log itself is one of them
    for _ in range(PLACEBOS):
        drawn = luck.drawn(generator)
        z = -(within.column * fit.rest_of(drawn)).sum(axis=1) * error
        as_large += bool(np.max(z[within.testable], initial=-np.inf) >= largest - ROUNDING)
        dealt = drawn[some] + (generator.permutation(levels) * spreads)[:, None] * (panel.shown[some] > 0)
        again = slope._replace(score=(axis * launched.rest_of(dealt)).sum())
        as_common += bool(again.z(COMMON) <= slope.z(COMMON) + ROUNDING)
    return Placebos(as_large / (1 + PLACEBOS), as_common / (1 + PLACEBOS), _equal_arms(fit, generator))


def _equal_arms(fit: Fit, generator: np.random.Generator) -> float:
    """Return how often arms that are equally good differ as much as these do: rewards drawn for all at one rate."""
    panel, assumed = fit.panel, fit.arms.assumed._replace(level=0.0)
    if not panel.additive:
        rates = panel.earned.sum(axis=0) / np.maximum(panel.shown.sum(axis=0), 1e-12) * panel.event / panel.rate
        panel = panel.seen_from(np.broadcast_to(np.log(np.maximum(rates, 1e-6)), panel.shown.shape))
    alike = Fit(Arms(panel, assumed))
    ones = (panel.shown > 0).astype(float)
    precision = np.maximum(alike.own(ones, calendar=False).information, 1e-12)
    differ = (((ones * alike.rest).sum(axis=1)) ** 2 / precision).sum()
    expected = np.maximum(panel.weight.sum(axis=1), 1e-12)
    wander = np.sqrt(np.maximum(1 / precision - 1 / expected, 0.0))
    drawn = generator.standard_normal((MANY_PLACEBOS, panel.arms)) * wander
    if panel.additive:
        left = drawn + generator.standard_normal(drawn.shape) / np.sqrt(expected)
    else:
        luck = np.exp(np.clip(drawn - wander**2 / 2, -8, 8))
        left = generator.poisson(expected * luck) / expected - 1
    left -= (left @ precision / precision.sum())[:, None]
    return float((1 + ((precision * left**2).sum(axis=1) >= differ).sum()) / (1 + MANY_PLACEBOS))


@dataclasses.dataclass(frozen=True)
class Luck:
    """What levels, slices and slopes leave of each arm, in standard errors, to be shuffled in stretches."""

    panel: Panel
    left: Floats
    stretch: int

    @classmethod
    def of(cls, panel: Panel, within: Within, fit: Fit) -> Luck:
        """Return what a fit leaves."""
        there = panel.shown > 0
        left = panel.response - fit.slices - within.lost[:, None] * within.column
        weight = np.maximum(panel.weight.sum(axis=1, keepdims=True), 1e-12)
        left = np.where(there, left - (panel.weight * left).sum(axis=1, keepdims=True) / weight, 0.0)
        cells = there.sum()
        taken = 2 * panel.arms + len(panel.time)
        wider = np.sqrt(cells / max(cells - taken, 0.2 * cells))
        most = max(int(np.median(there.sum(axis=1))) // STRETCHES, 1)
        assumed = fit.arms.assumed
        length = 2 * assumed.length * len(panel.time) if assumed.wander > 0 else 0.0
        stretch = max(round(min(length, most)), 1)
        return cls(panel, wider * left * np.sqrt(panel.weight), stretch)

    def drawn(self, generator: np.random.Generator) -> Floats:
        """Return responses in which stretches of each arm's luck stand in another order."""
        there = self.panel.shown > 0
        arms, slices = there.shape
        number = np.cumsum(there, axis=1) - 1 + generator.integers(0, self.stretch, (arms, 1))
        keys = np.take_along_axis(generator.random((arms, slices // self.stretch + 2)), number // self.stretch, axis=1)
        order = np.argsort(np.where(there, keys, np.inf), axis=1, kind="stable")
        place = np.argsort(~there, axis=1, kind="stable")
        shuffled = np.zeros_like(self.left)
        np.put_along_axis(shuffled, place, np.take_along_axis(self.left, order, axis=1), axis=1)
        return np.where(there, shuffled / np.sqrt(np.maximum(self.panel.weight, 1e-12)), 0.0)


def levels_in_spreads(fit: Fit) -> tuple[Floats, Floats]:
    """Return the levels of arms in units of their spreads, and those.

    Of arms that were hardly shown, levels are hardly known: dealt to others, they must not be worth as much.
    """
    weight = np.maximum(fit.panel.weight.sum(axis=1), 1e-12)
    level = (fit.panel.weight * (fit.panel.response - fit.slices)).sum(axis=1) / weight
    spread = np.sqrt(fit.arms.assumed.level**2 + 1 / weight)
    centre = np.average(level, weights=spread**-2)
    return (level - centre) / spread, spread
