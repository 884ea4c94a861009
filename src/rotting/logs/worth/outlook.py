"""What arms may be worth: draws from the mixed model, in which nothing falls, or arms fall in one of several ways."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from rotting.logs.arrays import Floats, Whole
from rotting.logs.model.findings import Findings
from rotting.logs.model.launches import AGE, ALIKE, COMMON, EXPOSURE, SOON, STRAIGHT, Explanation, shaped
from rotting.logs.model.mixed import Assumed, wandering, weights
from rotting.logs.model.panel import Panel, every_cell

DRAWS = 400
LIKELIEST, LIKELIEST_OF_MANY, MANY_ARMS = 24, 8, 300  # explanations that are drawn from
LATELY = 0.25  # of the log's time: what arms are worth now is what they are worth then
STEPS = 2


@dataclasses.dataclass(frozen=True)
class Draw:
    """What arms may be worth, as a function of exposures and time: one explanation, with its numbers."""

    panel: Panel
    way: tuple[str, float]
    falls: bool
    slope: Floats  # of each arm, along the way
    start: Floats  # logarithms without the slope, at an arm's launch
    now: Floats  # and at its end
    season: Floats  # what each slice does to all
    ratio: Floats  # of each arm: what its rewards are worth in units of those that the model was fitted to
    highest: float  # no reward is more
    scale: float = 1.0  # what values from now on are multiplied by, so that arms earn what they earned lately
    faster: float = 0.0  # by how much arms fall beyond the log, besides, over a typical arm's exposures

    @property
    def along(self) -> str:
        """What arms fall along: "exposure" or "age"."""
        return self.way[0]

    def values(self, arm: int | Whole, exposures: npt.ArrayLike, time: npt.ArrayLike = 1.0) -> Floats:
        """Return what an arm is worth after so many exposures, at a time; beyond the log it does not rise."""
        panel = self.panel
        exposures, time = np.asarray(exposures, dtype=float), np.asarray(time, dtype=float)
        seen, rises = np.minimum(exposures, panel.exposures[arm]), self.slope[arm] > 0
        if self.along == EXPOSURE:
            place = np.where(rises, seen, exposures) / panel.typical_exposures
        else:
            age = np.where(rises, np.minimum(time, 1.0), time) - panel.launch[arm]
            place = np.maximum(age, 0.0) / panel.typical_age
        level = self.start[arm] + seen / panel.exposures[arm] * (self.now[arm] - self.start[arm])
        beyond = (exposures - seen) / panel.typical_exposures
        logarithm = level + self.slope[arm] * shaped(place, self.way[1]) + self._season(time) - self.faster * beyond
        return self.ratio[arm] * np.where(time >= 1, self.scale, 1.0) * panel.values(logarithm)

    def _season(self, time: Floats) -> Floats:
        """Return what a time does to all arms; after the log, what its last quarter does."""
        slices = self.panel.time
        now = self.season[slices >= min(1 - LATELY, slices.max())].mean()
        return np.where(time >= 1, now, np.interp(time, slices, self.season))

    def first_values(self, exposures: float = 0.0) -> Floats:
        """Return what each arm was worth over its first exposures, in the last quarter's calendar."""
        if self.along == AGE:
            return self.scale * self.ratio * self.panel.values(self.start + self._season(np.array(1.0)))
        steps = np.linspace(0, exposures, 5)
        return np.mean([self.values(np.arange(self.panel.arms), step) for step in steps], axis=0)

    def half_lives(self) -> Floats:
        """Return after how many exposures half of each arm's first value is lost; infinite if never."""
        panel = self.panel
        lost = np.log(2.0) if not panel.additive else np.maximum(panel.mean / panel.rate + self.start, 0.0) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.slope < 0, lost / -self.slope, np.inf)
            width = self.way[1]
            place = share if width == STRAIGHT else -width * np.log(np.maximum(1 - share / width, 0.0))
        pace = panel.exposures / np.maximum(panel.end - panel.launch, 1e-9)
        return place * (panel.typical_exposures if self.along == EXPOSURE else panel.typical_age * pace)


def draw_values(findings: Findings, generator: np.random.Generator, times: int = DRAWS) -> list[Draw]:
    """Return draws of the values of all arms."""
    explanations = findings.together.explanations
    chances = weights(np.array([each.evidence for each in explanations]))
    best = np.argsort(-chances)[: LIKELIEST if findings.panel.arms <= MANY_ARMS else LIKELIEST_OF_MANY]
    counts = generator.multinomial(times, chances[best] / chances[best].sum())
    draws: list[Draw] = []
    ratio = _capped_ratios(findings)
    for index, count in zip(best.tolist(), counts.tolist(), strict=True):
        if count:
            draws += _drawn(findings, explanations[index], count, generator, ratio)
    return [draws[place] for place in generator.permutation(len(draws))]


def _drawn(
    findings: Findings, explanation: Explanation, count: int, generator: np.random.Generator, ratio: Floats
) -> list[Draw]:
    """Return draws of slices, slopes and levels, given one explanation."""
    panel, highest = findings.panel, 1.0 if findings.log.binary else np.inf
    prior, assumed, seen = COMMON if explanation.falls else 1e-6, explanation.assumed, panel
    fit, axis = explanation.fit(seen)
    for _ in range(STEPS):
        mean, _ = fit.joint(axis, prior)
        beside = mean[:-1] + mean[-1] * axis
        rest = fit.arms.response - fit.arms.weighed(beside)
        seen = seen.seen_from(beside + np.einsum("ast,at->as", fit.arms.spread, rest))
        fit, _ = explanation.fit(seen)
    common = generator.multivariate_normal(*fit.joint(axis, prior), size=count, method="eigh")
    known, spread = _ends(seen, assumed, axis)
    gain = known @ fit.arms.precision
    variance = spread - gain @ known.swapaxes(1, 2) + 1e-12 * np.eye(3)
    values, vectors = np.linalg.eigh(variance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    centre, along = (np.einsum("avs,as->av", gain, each) for each in (seen.response, axis))
    draws, falls = [], explanation.falls
    for slices, slope in zip(common[:, :-1], common[:, -1], strict=True):
        mean = centre - gain @ slices - slope * along
        own = mean + np.einsum("avw,aw->av", root, generator.standard_normal((panel.arms, 3)))
        total = slope + own[:, 2] if falls else np.zeros(panel.arms)
        if assumed.level <= ALIKE and assumed.wander == 0:
            own[:, :2] = 0.0  # exactly alike
        draws.append(Draw(panel, explanation.way, falls, total, own[:, 0], own[:, 1], slices, ratio, highest))
    return draws


def _capped_ratios(findings: Findings) -> Floats:
    """Return what rewards of each arm are worth in units of the capped ones that the model was fitted to.

    Of few rewards, it is more like that of all arms.
    """
    cells, arm = every_cell(findings.log)
    totals, capped = np.bincount(arm, cells.total), np.bincount(arm, cells.capped)
    if findings.log.cap is None or capped.sum() <= 0:
        return np.ones(findings.panel.arms)
    usual, few = totals.sum() / capped.sum(), findings.within.fewest * findings.panel.event
    return (totals + few * usual) / (capped + few)


def _ends(panel: Panel, assumed: Assumed, axis: Floats) -> tuple[Floats, Floats]:
    """Return the covariance of (first level, last level, own slope) with responses, and among themselves.

    The last level is the mean over the arm's last exposures, as that of the season is: one odd day is not all there is.
    """
    times = np.column_stack([panel.launch, np.broadcast_to(panel.time, panel.weight.shape)])
    levels = assumed.level**2 + wandering(panel, assumed, times, times)
    last_shown = np.where(panel.shown > 0, panel.time, 0.0).max(axis=1, keepdims=True)
    late = panel.shown * (panel.time >= last_shown - LATELY)
    ends = np.zeros((panel.arms, 2, times.shape[1]))
    ends[:, 0, 0], ends[:, 1, 1:] = 1.0, late / late.sum(axis=1, keepdims=True)
    known = ends @ levels
    spread = np.zeros((panel.arms, 3, 3))
    spread[:, :2, :2], spread[:, 2, 2] = known @ ends.swapaxes(1, 2), assumed.slope**2
    return np.concatenate([known[:, :, 1:], assumed.slope**2 * axis[:, None]], axis=1), spread


def wearing_faster(draw: Draw) -> Draw:
    """Return a draw in which each arm loses half of its value soon: no log shows what comes after it."""
    return dataclasses.replace(draw, faster=float(np.log(2.0)) / SOON, way=(EXPOSURE, draw.way[1]))


def wearing_out(draws: list[Draw]) -> list[Draw]:
    """Return the draws in which arms fall, or all if there are too few of those."""
    return enough([draw for draw in draws if draw.falls], draws)


def enough(some: list[Draw], draws: list[Draw]) -> list[Draw]:
    """Return some of the draws, or all if those are too few."""
    return some if len(some) >= DRAWS // 20 else draws
