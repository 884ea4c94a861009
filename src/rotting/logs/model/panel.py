"""The log as a panel: what every arm was shown and earned in every slice of time. All evidence is taken from it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from rotting.logs.arrays import Floats, Whole
from rotting.logs.model.noise import reward_variances
from rotting.logs.read.counting import Cells
from rotting.logs.read.reading import Log

# Slices of time, each with as many exposures as the others: as many as leave so many rewards to an arm in each.
MOST_SLICES, FEWEST_SLICES, REWARDS_PER_CELL = 32, 4, 5.0
MANY_ARMS, SLICES_OF_MANY = 300, 14
SAME_TIME = 1e-8  # of the log's time: cells that are no further apart have one time
MOST_WEIGHT = 1e6  # of a cell: nothing is known to a thousandth, whatever the log says
MOST_ROUNDS, SETTLED = 1000, 1e-4  # of fitting levels


@dataclasses.dataclass(frozen=True)
class Panel:
    """Arrays [arm, slice]; where an arm was not shown, `shown` and `weight` are 0.

    Rewards are counted in events: one event is a reward whose variance is its own size, as that of a rare click is. The
    logarithm of what a cell earned per exposure is `response`, seen from the levels of arms and slices (a first step of
    Newton's method), with the variance 1 / `weight`: the number of events that the levels expect there.
    """

    shown: Floats  # exposures, weighed by what their segments are usually worth
    earned: Floats  # events
    exposure: Floats  # the mean number of the arm's earlier exposures
    age: Floats  # time since the arm's first exposure
    time: Floats  # of each slice, 0 to 1
    response: Floats
    weight: Floats
    exposures: Floats  # of each arm in all
    launch: Floats  # of each arm, 0 to 1
    end: Floats  # when it was shown last
    typical_exposures: float  # how often an arm was shown: the mean over exposures, not over arms
    typical_age: float  # how old arms got, weighted likewise
    event: float  # what an event is worth
    mean: float  # what an exposure earns at the response 0, in rewards
    rate: float  # the same; where effects add up, what they are measured in
    additive: bool  # rewards may be negative: effects add up

    @property
    def arms(self) -> int:
        """The number of arms."""
        return len(self.exposures)

    @property
    def mix(self) -> Floats:
        """What its own strata make of an exposure to each arm, where they are usually worth 1."""
        return self.shown.sum(axis=1) / self.exposures

    @property
    def events(self) -> Floats:
        """What each arm earned, in events."""
        return self.earned.sum(axis=1)

    def some(self, most: int) -> Whole:
        """Return at most so many arms, from the most shown to the least: to learn from what would take long for all."""
        return np.unique(np.linspace(0, self.arms - 1, min(self.arms, most)).astype(int))

    def of(self, arms: Whole) -> Panel:
        """Return the panel of some arms."""
        own = ("shown", "earned", "exposure", "age", "response", "weight", "exposures", "launch", "end")
        return dataclasses.replace(self, **{name: getattr(self, name)[arms] for name in own})

    def values(self, logarithm: Floats) -> Floats:
        """Return what exposures earn at some responses."""
        if self.additive:
            return self.mean + self.rate * logarithm
        return self.rate * np.exp(np.clip(logarithm, -8, 8))

    def seen_from(self, fitted: Floats) -> Panel:
        """Return the panel with responses and weights seen from fitted logarithms: another step of Newton's method."""
        if self.additive:
            return self
        expected = self.shown * self.rate / self.event * np.exp(np.clip(fitted, -8, 8))
        response = np.where(expected > 0, fitted + self.earned / np.maximum(expected, 1e-12) - 1, 0.0)
        return dataclasses.replace(self, response=response, weight=np.minimum(expected, MOST_WEIGHT))


def every_cell(log: Log) -> tuple[Cells, Whole]:
    """Return the cells of all arms, one arm after the other, and the arm of each."""
    fields = [field.name for field in dataclasses.fields(Cells)]
    cells = Cells(*(np.concatenate([getattr(arm.cells, name) for arm in log.arms]) for name in fields))
    return cells, np.repeat(np.arange(len(log.arms)), [len(arm.cells.count) for arm in log.arms])


def make_panel(log: Log) -> Panel:
    """Return the panel of a log."""
    cells, arm = every_cell(log)
    event, rate, additive = _event(log, cells, arm)
    events = np.inf if additive else float(cells.capped.sum()) / event
    edges = _slice_edges(cells, len(log.arms), events)
    shape = len(log.arms), len(edges) + 1
    piece = np.searchsorted(edges, cells.time, side="right")

    def sums(values: np.ndarray, strata: int = 0) -> np.ndarray:
        """Return sums over arms and slices, and over strata if there are any."""
        place, within = ((arm, piece, cells.segment), (*shape, strata)) if strata else ((arm, piece), shape)
        return np.bincount(np.ravel_multi_index(place, within), values, math.prod(within)).reshape(within)

    shown, earned = sums(cells.count), sums(cells.capped)
    before = np.concatenate([_before(own.cells, log.per_unit) for own in log.arms])
    exposure, own_time = (sums(cells.count * each) / np.maximum(shown, 1e-300) for each in (before, cells.time))
    launch, end = (np.array([limit(own.cells.time) for own in log.arms]) for limit in (np.min, np.max))
    exposures, mean = shown.sum(axis=1), float(cells.capped.sum() / cells.count.sum())
    panel = Panel(
        shown=shown,
        earned=earned / event,
        exposure=exposure,
        age=np.where(shown > 0, own_time - launch[:, None], 0.0),
        time=(shown * own_time).sum(axis=0) / shown.sum(axis=0),
        response=np.zeros(shape),
        weight=np.zeros(shape),
        exposures=exposures,
        launch=launch,
        end=end,
        typical_exposures=float((exposures**2).sum() / exposures.sum()),
        typical_age=max(float(exposures @ (end - launch) / exposures.sum()), 1e-6),
        event=event,
        mean=mean,
        rate=rate,
        additive=additive,
    )
    if additive:
        response = np.where(shown > 0, (earned / np.maximum(shown, 1e-300) - mean) / rate, 0.0)
        weight = np.minimum(shown * rate**2 / np.maximum(reward_variances(log), 1e-300)[:, None], MOST_WEIGHT)
        return dataclasses.replace(panel, response=response, weight=weight)
    strata = len(log.segments)
    if strata > 1:
        shown = shown * _mix(sums(cells.count, strata), sums(cells.capped, strata), event)
    level, moment = _levels(shown, panel.earned, 1.0)
    fitted = np.log(level) + np.log(moment) + np.log(panel.earned.sum() / shown.sum() * event / rate)
    return dataclasses.replace(panel, shown=shown).seen_from(fitted)


def _event(log: Log, cells: Cells, arm: Whole) -> tuple[float, float, bool]:
    """Return what an event is worth, what an exposure earns, and whether effects add up.

    They multiply if all arms are clearly worth more than 0. A click is an event; sales of very different amounts are
    fewer events than there are sales.
    """
    counts, totals = np.bincount(arm, cells.count), np.bincount(arm, cells.capped)
    variances = reward_variances(log)
    errors = np.sqrt(variances / counts)
    mean = float(totals.sum() / counts.sum())
    if (cells.capped.min() >= 0 and mean > 0) or np.all(totals / counts > 5 * errors):
        event = max(float(counts @ variances / totals.sum()), 1e-6 * mean)
        return event if log.cap is None else min(event, log.cap), mean, False
    return 1.0, max(abs(mean), 3 * float(np.median(errors)), 1e-300), True


def _slice_edges(cells: Cells, arms: int, events: float) -> Floats:
    """Return times between which about equally many exposures lie."""
    most = MOST_SLICES if arms <= MANY_ARMS else SLICES_OF_MANY
    slices = int(np.clip(events / (REWARDS_PER_CELL * arms), FEWEST_SLICES, most))
    order = np.argsort(cells.time, kind="stable")
    times, share = cells.time[order], np.cumsum(cells.count[order]) / cells.count.sum()
    edges = np.unique(times[np.searchsorted(share, np.arange(1, slices) / slices)])
    return edges[edges > times[0]]


def _before(cells: Cells, per_unit: bool) -> Floats:
    """Return how many exposures of an arm lie before the middle of each cell; those of one time have no order.

    Otherwise a log by the week would tell exposures finely and time coarsely, and a falling site would look worn.

    >>> cells = Cells(np.arange(4.0), np.array([0.0, 0.0, 0.5, 1.0]), *np.ones((5, 4)))
    >>> _before(cells, False)
    array([1. , 1. , 2.5, 3.5])
    """
    if per_unit:
        return cells.exposure
    before = np.cumsum(cells.count) - 0.5 * cells.count
    _, tie = np.unique(np.round(cells.time / SAME_TIME), return_inverse=True)
    return (np.bincount(tie, cells.count * before) / np.bincount(tie, cells.count))[tie]


def _mix(counts: Floats, totals: Floats, event: float) -> Floats:
    """Return what the mix of strata makes of an exposure in each cell, given [arm, slice, stratum]: 1 on average.

    What could be either the stratum or the arm's exposures is given to the stratum: a fall that follows the place on
    the page does not count as wear.
    """
    factor = _levels(counts, totals, event)[2].ravel()
    factor = factor / ((counts.sum(axis=(0, 1)) @ factor) / counts.sum())
    shown = counts.sum(axis=2)
    return np.where(shown > 0, np.maximum(counts @ factor, 1e-3) / np.maximum(shown, 1.0), 1.0)


def _levels(counts: Floats, totals: Floats, event: float) -> list[Floats]:
    """Return levels along each axis, which multiply to what an exposure earns, in units of the mean of all.

    Each has half an event of the mean level besides. Where places on a page follow exposures closely, levels settle
    slowly; left too early, they would leave their fall to the arms.
    """
    axes = range(counts.ndim)
    levels = [np.ones([size if axis == own else 1 for own in axes]) for axis, size in enumerate(counts.shape)]
    usual = totals.sum() / counts.sum()
    for _ in range(MOST_ROUNDS):
        last = levels[-1]
        for axis in axes:
            beside = tuple(each for each in axes if each != axis)
            others = math.prod(levels[each] for each in beside)
            known = usual * (counts * others).sum(axis=beside, keepdims=True)
            levels[axis] = (totals.sum(axis=beside, keepdims=True) + 0.5 * event) / (known + 0.5 * event)
        if np.abs(np.log(levels[-1] / last)).max() < SETTLED:
            break
    return levels
