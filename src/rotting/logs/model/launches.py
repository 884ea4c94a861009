"""All arms together: whether late arms start as high as early ones did, and fall from there.

Of a slope that all arms share, levels and slices of time leave nothing if all go at one pace. It shows in how high arms
start that were launched at different times, and only if newer arms are as good at first as older ones were
(exchangeable launches). A site that falls while newer arms are better looks the same.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from scipy.special import ndtr

from rotting.logs.model.mixed import TINY, Arms, Fit, Slope, calendars, weights
from rotting.logs.model.panel import Panel
from rotting.logs.model.within import HOPELESS, MOST_LEARNT_FROM, Within

# How much levels of arms differ, with how likely that is beforehand, and how much their slopes do; as logarithms.
LEVELS = {0.03: 0.15, 0.1: 0.25, 0.2: 0.25, 0.4: 0.2, 0.8: 0.15}
SLOPES = (0.05, 0.2, 0.5)
COMMON = 1.0  # the spread, beforehand, of what a typical arm loses over its exposures
MOST_WANDERINGS = 3
EXPOSURE, AGE, CALENDAR, CANNOT_TELL = "exposure", "age", "calendar", "cannot tell"
CLEAR = 0.05  # the level at which all arms together are called
ARM_CLEAR = 0.1  # and each of them
KNOWN = 0.5  # a standard error of the common slope above which a log says nothing of it
LIKELY = 0.8  # an explanation that is so likely is named


@dataclasses.dataclass(frozen=True)
class Member:
    """The fit under some assumptions, of a common slope along an axis."""

    fit: Fit
    axis: np.ndarray
    sample: np.ndarray  # the arms that it is fitted to
    slope: Slope
    weight: float  # logarithm, without the slope

    @property
    def with_slope(self) -> float:
        """The same with a common slope."""
        return self.weight + float(self.slope.log_evidence(COMMON))


@dataclasses.dataclass(frozen=True)
class Together:
    """What launches say."""

    p_value: float  # of "arms do not fall, on average"
    falling: np.ndarray  # the same of each arm
    slope: float  # the logarithm of what a typical arm keeps over a typical arm's exposures
    error: float
    level_spread: float  # how much levels of arms differ, as logarithms
    probabilities: dict[str, float]  # of exposure, age and the calendar alone
    trend: float  # of the calendar over the whole log, were arms not to fall
    left: float  # the share of what is known of the common slope that levels and slices leave
    likeliest: Member

    @property
    def tells(self) -> bool:
        """Whether this log can tell a fall that all arms share from the calendar."""
        return self.error < KNOWN

    def called(self, tested: np.ndarray) -> np.ndarray:
        """Return which arms are called worn with the others."""
        clear = self.tells and self.p_value < CLEAR
        return np.asarray(tested & (self.falling < ARM_CLEAR) & clear)

    @property
    def driver(self) -> str:
        """What the fall follows, if the log tells."""
        name = max(self.probabilities, key=lambda each: self.probabilities[each])
        return name if self.tells and self.probabilities[name] >= LIKELY else CANNOT_TELL


def look_at_launches(panel: Panel, within: Within) -> Together:
    """Compare arms that were launched at different times."""
    axes = {EXPOSURE: panel.exposure / panel.typical_exposures, AGE: panel.age / panel.typical_age}
    some = panel.some(MOST_LEARNT_FROM)
    members = {name: _members(panel, some, axis, within) for name, axis in axes.items()}
    logs = {name: np.array([each.with_slope for each in own]) for name, own in members.items()}
    evidence = {name: np.logaddexp.reduce(own) for name, own in logs.items()}
    evidence[CALENDAR] = np.logaddexp.reduce([each.weight for each in members[EXPOSURE]])
    likely = dict(zip(evidence, weights(np.array(list(evidence.values()))).tolist(), strict=True))
    own, chances = members[EXPOSURE], weights(logs[EXPOSURE])
    known = np.array([each.slope.information + COMMON**-2 for each in own], dtype=float)
    slopes = np.array([float(each.slope.score) for each in own]) / known
    slope = float(chances @ slopes)
    raw = chances @ [float((each.axis * each.fit.arms.weighed(each.axis)).sum()) for each in own]
    falling = np.zeros(panel.arms)
    kept = np.where(chances >= HOPELESS * chances.max(), chances, 0.0)
    for chance, member in zip(kept / kept.sum(), own, strict=True):
        if chance > 0:
            falling += chance * _arms_fall(panel, axes[EXPOSURE], member)
    return Together(
        p_value=float(chances @ ndtr(np.array([float(each.slope.z(COMMON)) for each in own]))),
        falling=falling,
        slope=slope,
        error=float(np.sqrt(chances @ (1 / (known - COMMON**-2 + TINY)))),
        level_spread=float(chances @ [each.fit.arms.assumed.level for each in own]),
        probabilities=likely,
        trend=_trend(own[int(np.argmax([each.weight for each in own]))].fit),
        left=float(chances @ (known - COMMON**-2)) / max(float(raw), TINY),
        likeliest=own[int(np.argmax(chances))],
    )


def _members(panel: Panel, some: np.ndarray, axis: np.ndarray, within: Within) -> list[Member]:
    """Return fits of the common slope, for each likely wandering, spread of levels, of slopes, and calendar."""
    found = []
    panel, axis = panel.of(some), axis[some]
    wanderings = sorted(within.fits, key=lambda pair: -pair[0])[:MOST_WANDERINGS]
    seasons = calendars(panel.time)
    for (chance, fit), (level, prior), slope in itertools.product(wanderings, LEVELS.items(), SLOPES):
        assumed = fit.arms.assumed._replace(level=level, slope=slope)
        arms = Arms(panel, assumed, axis)
        for season in seasons:
            own = Fit(arms, season)
            found.append(Member(own, axis, some, own.common(axis), np.log(chance * prior) + own.log_likelihood))
    return found


def _arms_fall(panel: Panel, axis: np.ndarray, member: Member) -> np.ndarray:
    """Return p-values of "does not fall" of all arms: the common slope and each arm's own together."""
    fit = member.fit
    spread = fit.arms.assumed.slope**2
    arms = fit.arms if fit.panel is panel else Arms(panel, fit.arms.assumed, axis)
    common, covariance = fit.joint(member.axis, COMMON)
    own = arms.weighed(axis)
    rest = arms.response - arms.weighed(np.broadcast_to(common[:-1], axis.shape)) - common[-1] * own
    informed = (axis * own).sum(axis=1)
    mean = common[-1] + spread * (axis * rest).sum(axis=1)
    passed = np.column_stack([-spread * own, 1 - spread * informed])
    variance = spread - spread**2 * informed + np.einsum("as,st,at->a", passed, covariance, passed)
    return np.asarray(ndtr(mean / np.sqrt(np.maximum(variance, TINY))))


def _trend(fit: Fit) -> float:
    """Return by how much slices change over the log, as a logarithm."""
    time = fit.panel.time
    known = np.diag(fit.information)
    centred = time - known @ time / known.sum()
    return float((known * centred) @ fit.slices / ((known * centred) @ centred))
