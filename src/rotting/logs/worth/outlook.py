"""What arms may be worth: draws from the mixed model, in which nothing falls, or arms fall in one of several ways."""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.model.findings import Findings
from rotting.logs.model.launches import AGE, ALIKE, COMMON, EXPOSURE, SOON, STRAIGHT, Explanation, shaped
from rotting.logs.model.mixed import Assumed, wandering, weights
from rotting.logs.model.panel import Panel

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
    slope: np.ndarray  # of each arm, along the way
    start: np.ndarray  # logarithms without the slope, at an arm's launch
    now: np.ndarray  # and at its end
    season: np.ndarray  # what each slice does to all
    ratio: np.ndarray  # of each arm: what its rewards are worth in units of those that the model was fitted to
    highest: float  # no value is more
    scale: float = 1.0  # what values from now on are multiplied by, so that arms earn what they earned lately
    faster: float = 0.0  # by how much arms fall beyond the log, besides, over a typical arm's exposures

    @property
    def along(self) -> str:
        """What arms fall along: "exposure" or "age"."""
        return self.way[0]

    def values(self, arm: int | np.ndarray, exposures: np.ndarray, time: np.ndarray | float = 1.0) -> np.ndarray:
        """Return what an arm is worth after so many exposures, at a time; beyond the log it does not rise."""
        panel = self.panel
        exposures, time = np.asarray(exposures, dtype=float), np.asarray(time, dtype=float)
        share = np.minimum(exposures / panel.exposures[arm], 1.0)
        if self.along == EXPOSURE:
            place, last = exposures / panel.typical_exposures, panel.exposures[arm] / panel.typical_exposures
        else:
            place = np.maximum(time - panel.launch[arm], 0.0) / panel.typical_age
            last = (1 - panel.launch[arm]) / panel.typical_age
        place = np.where(self.slope[arm] > 0, np.minimum(place, last), place)
        level = self.start[arm] + share * (self.now[arm] - self.start[arm])
        beyond = np.maximum(exposures - panel.exposures[arm], 0.0) / panel.typical_exposures
        logarithm = level + self.slope[arm] * shaped(place, self.way[1]) + self._season(time) - self.faster * beyond
        scale = self.ratio[arm] * np.where(time >= 1, self.scale, 1.0)
        return np.asarray(np.minimum(scale * panel.values(logarithm), self.highest))

    def _season(self, time: np.ndarray) -> np.ndarray:
        """Return what a time does to all arms; after the log, what its last quarter does."""
        late = self.panel.time >= 1 - LATELY
        if not late.any():
            late = self.panel.time >= self.panel.time.max()
        now = float(self.season[late].mean())
        return np.where(time >= 1, now, np.interp(time, self.panel.time, self.season))

    def first_values(self, exposures: float = 0.0) -> np.ndarray:
        """Return what each arm was worth over its first exposures, in the last quarter's calendar."""
        arms = np.arange(self.panel.arms)
        if self.along == AGE:
            values = self.panel.values(self.start + self._season(np.array(1.0)))
            return np.asarray(np.minimum(self.scale * self.ratio * values, self.highest))
        steps = np.linspace(0, exposures, 5)
        return np.asarray(np.mean([self.values(arms, np.full(len(arms), step)) for step in steps], axis=0))

    def half_lives(self) -> np.ndarray:
        """Return after how many exposures half of each arm's first value is lost; infinite if never."""
        panel = self.panel
        lost = np.log(2.0) if not panel.additive else np.maximum(panel.mean / panel.rate + self.start, 0.0) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.slope < 0, lost / -self.slope, np.inf)
            width = self.way[1]
            left = np.maximum(1 - share / width, 0.0)
            place = share if width == STRAIGHT else -width * np.log(left)
            pace = panel.exposures / np.maximum(panel.end - panel.launch, 1e-9)
        return np.asarray(place * (panel.typical_exposures if self.along == EXPOSURE else panel.typical_age * pace))


def draw_values(findings: Findings, generator: np.random.Generator, times: int = DRAWS) -> list[Draw]:
    """Return draws of the values of all arms."""
    panel = findings.panel
    explanations = findings.together.explanations
    chances = weights(np.array([each.evidence for each in explanations]))
    most = LIKELIEST if panel.arms <= MANY_ARMS else LIKELIEST_OF_MANY
    best = np.argsort(-chances)[:most]
    counts = generator.multinomial(times, chances[best] / chances[best].sum())
    draws, ratio = [], _capped_ratios(findings)
    for index, count in zip(best.tolist(), counts.tolist(), strict=True):
        if count:
            draws += _drawn(findings, explanations[index], count, generator, ratio)
    return [draws[place] for place in generator.permutation(len(draws))]


def _drawn(
    findings: Findings, explanation: Explanation, count: int, generator: np.random.Generator, ratio: np.ndarray
) -> list[Draw]:
    """Return draws of slices, slopes and levels, given one explanation."""
    panel, highest = findings.panel, 1.0 if findings.log.binary else np.inf
    prior, assumed, seen = COMMON if explanation.falls else 1e-6, explanation.assumed, panel
    fit, axis = explanation.fit(seen)
    for _ in range(STEPS):
        mean = fit.joint(axis, prior).mean
        beside = mean[:-1] + mean[-1] * axis
        rest = fit.arms.response - fit.arms.weighed(beside)
        seen = seen.seen_from(beside + np.einsum("ast,at->as", fit.arms.spread, rest))
        fit, _ = explanation.fit(seen)
    joint = fit.joint(axis, prior)
    common = generator.multivariate_normal(joint.mean, joint.covariance, size=count, method="eigh")
    known, spread = _ends(seen, assumed, axis)
    gain = np.einsum("avs,ast->avt", known, fit.arms.precision)
    variance = spread - np.einsum("avs,aws->avw", gain, known) + 1e-12 * np.eye(3)
    values, vectors = np.linalg.eigh(variance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    centre = np.einsum("avs,as->av", gain, seen.response)
    along = np.einsum("avs,as->av", gain, axis)
    draws, ratio = [], _capped_ratios(findings)
    for slices, slope in zip(common[:, :-1], common[:, -1], strict=True):
        mean = centre - gain @ slices - slope * along
        own = mean + np.einsum("avw,aw->av", root, generator.standard_normal((panel.arms, 3)))
        falls = explanation.falls
        total = slope + own[:, 2] if falls else np.zeros(panel.arms)
        if assumed.level <= ALIKE and assumed.wander == 0:
            own[:, :2] = 0.0  # exactly alike
        draws.append(Draw(panel, explanation.way, falls, total, own[:, 0], own[:, 1], slices, ratio, highest))
    return draws


def _capped_ratios(findings: Findings) -> np.ndarray:
    """Return what rewards of each arm are worth in units of the capped ones that the model was fitted to.

    Of few rewards, it is more like that of all arms.
    """
    log = findings.log
    totals, capped = (np.array([getattr(arm.cells, kind).sum() for arm in log.arms]) for kind in ("total", "capped"))
    if log.counted.cap is None or capped.sum() <= 0:
        return np.ones(len(totals))
    usual, few = totals.sum() / capped.sum(), findings.within.fewest * findings.panel.event
    return np.asarray((totals + few * usual) / (capped + few))


def _ends(panel: Panel, assumed: Assumed, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariance of (first level, last level, own slope) with responses, and among themselves.

    The last level is the mean over the arm's last exposures, as that of the season is: one odd day is not all there is.
    """
    times = np.broadcast_to(panel.time, panel.weight.shape)
    first = assumed.level**2 + wandering(panel, assumed, panel.launch[:, None], times)
    beside = assumed.level**2 + wandering(panel, assumed, times, times)
    last_shown = np.where(panel.shown > 0, times, 0.0).max(axis=1, keepdims=True)
    late = panel.shown * (times >= last_shown - LATELY)
    late = late / late.sum(axis=1, keepdims=True)
    last = np.einsum("as,ast->at", late, beside)
    known = np.concatenate([first, last[:, None], (assumed.slope**2 * axis)[:, None]], axis=1)
    own = assumed.level**2 + wandering(panel, assumed, panel.launch[:, None], panel.launch[:, None])[:, 0, 0]
    spread = np.zeros((panel.arms, 3, 3))
    spread[:, 0, 0], spread[:, 2, 2] = own, assumed.slope**2
    spread[:, 1, 1] = (last * late).sum(axis=1)
    spread[:, 0, 1] = spread[:, 1, 0] = (first[:, 0] * late).sum(axis=1)
    return known, spread


def wearing_faster(draw: Draw) -> Draw:
    """Return a draw in which each arm loses half of its value soon: no log shows what comes after it."""
    return dataclasses.replace(draw, faster=float(np.log(2.0)) / SOON, way=(EXPOSURE, draw.way[1]))


def wearing_out(draws: list[Draw]) -> list[Draw]:
    """Return the draws in which arms fall, or all if there are too few of those."""
    falling = [draw for draw in draws if draw.falls]
    return falling if len(falling) >= DRAWS // 20 else draws
