"""All arms together: whether late arms start as high as early ones did, and fall from there.

Of a slope that all arms share, levels and slices of time leave nothing if all go at one pace. It shows in how high arms
start that were launched at different times, and only if newer arms are as good at first as older ones were
(exchangeable launches). A site that falls while newer arms are better looks the same.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from rotting.logs.arrays import Flags, Floats
from rotting.logs.model.mixed import TINY, Arms, Assumed, Calendar, Fit, Slope, averaged, calendars, weights
from rotting.logs.model.panel import Panel
from rotting.logs.model.within import Within, likely_enough

# How much levels of arms differ (or not at all), with how likely that is beforehand, and how much slopes do.
ALIKE = 1e-6
LEVELS = {ALIKE: 0.15, 0.1: 0.25, 0.2: 0.25, 0.4: 0.2, 0.8: 0.15}
SLOPES = (0.05, 0.2, 0.5)
COMMON = 1.0  # the spread, beforehand, of what a typical arm loses over its exposures
NOTHING_FALLS = 0.5  # beforehand
MOST_WANDERINGS, MOST_LEARNT_FROM = 3, 100
EXPOSURE, AGE, CALENDAR, CANNOT_TELL = "exposure", "age", "calendar", "cannot tell"
# Levels at which all arms together must fall (1.5 standard errors; placebos are asked besides), and each with them.
CLEAR, ARM_CLEAR = 0.067, 0.1
KNOWN = 0.5  # a standard error of the common slope above which a log says nothing of it
# The share of the information of a common fall that levels and slices must leave: of less, a calendar or a shape that
# is a little wrong is all there is.
LEAST_LEFT = 0.04
STAGGERED = 0.1  # launches this far apart, as a share of how old arms get: closer ones are one launch
LIKELY = 0.8  # an explanation that is so likely is named


# Ways to fall: straight, or soon and then no more (over this share of a typical arm's exposures); along what.
STRAIGHT, SOON = np.inf, 0.25
WAYS = ((EXPOSURE, STRAIGHT), (EXPOSURE, SOON), (AGE, STRAIGHT))


@dataclasses.dataclass(frozen=True)
class Explanation:
    """One way in which arms may fall or not, and how well it explains the log."""

    way: tuple[str, float]
    assumed: Assumed
    season: Calendar
    weight: float  # logarithm of its evidence times its prior, without a common slope
    slope: Slope  # the common one, as far as the log knows it
    raw: float  # what would be known of it if nothing were known of levels and slices

    @property
    def falls(self) -> bool:
        """Whether arms fall at all."""
        return self.assumed.slope > 0

    @property
    def evidence(self) -> float:
        """The logarithm of the evidence, with a common slope where arms fall."""
        return self.weight + (float(self.slope.log_evidence(COMMON)) if self.falls else 0.0)

    def fit(self, panel: Panel) -> tuple[Fit, Floats]:
        """Return the fit to a panel, and the axis along which arms fall."""
        axis = fall_axis(panel, self.way)
        return Fit(Arms(panel, self.assumed, axis), self.season), axis


def fall_axis(panel: Panel, way: tuple[str, float]) -> Floats:
    """Return how much of a fall is over in each cell."""
    along, width = way
    place = panel.exposure / panel.typical_exposures if along == EXPOSURE else panel.age / panel.typical_age
    return shaped(place, width) * (panel.shown > 0)


def shaped(place: Floats, width: float) -> Floats:
    """Return how much of a fall is over at a place along the axis: steep at first if the width is finite.

    >>> shaped(np.array([0.0, 1.0]), np.inf).tolist(), shaped(np.array([1.0]), 0.25).round(3).tolist()
    ([0.0, 1.0], [0.245])
    """
    return place if width == STRAIGHT else -width * np.expm1(-place / width)


@dataclasses.dataclass(frozen=True)
class Together:
    """What launches say."""

    p_value: float  # of "arms do not fall, on average"
    falling: Floats  # the same of each arm
    slopes: Floats  # what each arm keeps over a typical arm's exposures, as a logarithm
    slope: float  # the logarithm of what a typical arm keeps over a typical arm's exposures
    error: float
    level_spread: float  # how much levels of arms differ, as logarithms
    probabilities: dict[str, float]  # of exposure, age and the calendar alone
    trend: float  # of the calendar over the whole log, were arms not to fall
    staggered: bool  # launches tell, not only paces
    left: float  # the share of what is known of the common slope that levels and slices leave
    explanations: tuple[Explanation, ...]
    likeliest: Explanation  # of those in which arms fall straight along their exposures

    @property
    def tells(self) -> bool:
        """Whether this log can tell a fall that all arms share from the calendar."""
        return self.error < KNOWN and self.left >= LEAST_LEFT

    def called(self, tested: Flags) -> Flags:
        """Return which arms are called worn with the others."""
        return tested & (self.falling < ARM_CLEAR) & (self.tells and self.p_value < CLEAR)

    @property
    def driver(self) -> str:
        """What the fall follows, if the log tells."""
        name = max(self.probabilities, key=self.probabilities.__getitem__)
        return name if self.tells and self.probabilities[name] >= LIKELY else CANNOT_TELL


def look_at_launches(panel: Panel, within: Within) -> Together:
    """Compare arms that were launched at different times."""
    sample = panel.of(panel.some(MOST_LEARNT_FROM))
    found = tuple(_explanations(sample, within))
    own, aging = ([each for each in found if each.falls and each.way == (along, STRAIGHT)] for along in (EXPOSURE, AGE))
    logs = {
        EXPOSURE: np.array([each.evidence for each in own]),
        AGE: np.array([each.evidence for each in aging]),
        CALENDAR: np.array([each.weight for each in own]),
    }
    likely = weights(np.array([np.logaddexp.reduce(each) for each in logs.values()]))
    chances = weights(logs[EXPOSURE])
    common = Slope(*np.array([each.slope for each in own]).T)
    raw = float(chances @ [each.raw for each in own])
    kept = [pair for pair in zip(likely_enough(chances), own, strict=True) if pair[0] > 0]
    falling, slopes = averaged(kept, lambda explanation: _arms_fall(panel, sample, explanation))
    return Together(
        p_value=float(chances @ ndtr(common.z(COMMON))),
        falling=falling,
        slopes=slopes,
        slope=float(chances @ common.mean(COMMON)),
        error=float(np.sqrt(chances @ (1 / (common.information + TINY)))),
        level_spread=float(chances @ [each.assumed.level for each in own]),
        probabilities=dict(zip(logs, likely.tolist(), strict=True)),
        trend=_trend(own[int(np.argmax(logs[CALENDAR]))].fit(sample)[0]),
        staggered=bool(np.ptp(panel.launch) > STAGGERED * panel.typical_age),
        left=float(chances @ common.information) / max(raw, TINY),
        explanations=found,
        likeliest=own[int(np.argmax(chances))],
    )


def _explanations(panel: Panel, within: Within) -> Iterator[Explanation]:
    """Yield all explanations: each likely wandering, spread of levels, way to fall (or none), and calendar."""
    wanderings = sorted(within.fits, key=lambda pair: -pair[0])[:MOST_WANDERINGS]
    seasons = calendars(panel.time)
    falls = [*itertools.product(WAYS, SLOPES), (WAYS[0], 0.0)]
    for (chance, fit), (level, prior), (way, slope) in itertools.product(wanderings, LEVELS.items(), falls):
        axis = fall_axis(panel, way)
        arms = Arms(panel, fit.arms.assumed._replace(level=level, slope=slope), axis)
        raw = float((axis * arms.weighed(axis)).sum())
        likely = (1 - NOTHING_FALLS) / (len(falls) - 1) if slope else NOTHING_FALLS
        for season in seasons:
            own = Fit(arms, season)
            weight = np.log(chance * prior * likely) + own.log_likelihood
            yield Explanation(way, arms.assumed, season, weight, own.common(axis), raw)


def _arms_fall(panel: Panel, sample: Panel, explanation: Explanation) -> Floats:
    """Return p-values of "does not fall", and slopes, of all arms: the common slope and each arm's own together."""
    fit, axis = explanation.fit(sample)
    common, covariance = fit.joint(axis, COMMON)
    spread = explanation.assumed.slope**2
    axis = fall_axis(panel, explanation.way)
    arms = Arms(panel, explanation.assumed, axis)
    own = arms.weighed(axis)
    rest = arms.response - arms.weighed(common[:-1]) - common[-1] * own
    informed = (axis * own).sum(axis=1)
    mean = common[-1] + spread * (axis * rest).sum(axis=1)
    passed = np.column_stack([-spread * own, 1 - spread * informed])
    variance = spread - spread**2 * informed + np.einsum("as,st,at->a", passed, covariance, passed)
    return np.stack([ndtr(mean / np.sqrt(np.maximum(variance, TINY))), mean])


def _trend(fit: Fit) -> float:
    """Return by how much slices change over the log, as a logarithm."""
    return float(np.polyfit(fit.panel.time, fit.slices, 1, w=np.sqrt(np.diag(fit.information)))[0])
