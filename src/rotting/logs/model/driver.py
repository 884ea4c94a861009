"""What makes values fall: the arm's own exposures, its age, or the calendar, which all arms share.

Each explanation is a set of hypotheses (shapes) of one model; they are weighed by their evidence. Within one arm
exposures, age and time only grow together, so it is arms that were launched at different times, or shown at a different
pace, that tell the explanations apart: a late arm starts as high as others did if its own exposures wear it out, and
lower if the whole site falls. Where all were launched together and shown alike no log can tell, and none is preferred.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from rotting.logs.model.hypotheses import HOPELESS, MANY_ARMS, Fit, Hypothesis, axis_column, fit
from rotting.logs.model.panel import Panel

EXPOSURE, AGE, CALENDAR, CANNOT_TELL = "exposure", "age", "calendar", "cannot tell"
# Prior probabilities of the explanations, about a third each, and of shapes. Two causes are less likely than one.
PRIORS = {EXPOSURE: 0.29, AGE: 0.33, CALENDAR: 0.33, "exposure and calendar": 0.05}
SHAPES = {np.inf: 0.4, 0.5: 0.3, 0.15: 0.2, 0.05: 0.1}
CALENDAR_SHAPES = {np.inf: 0.5, -0.3: 0.15, 0.5: 0.2, 0.15: 0.1, 0.05: 0.05}
# An explanation is named if it is this likely.
NAMED = 0.7
# Where exposures and time are more nearly proportional than this, it must be this likely: arms fall at unlike speeds.
PROPORTIONAL, SURE = 0.98, 0.95
# Arms which fall beside all others, whatever those follow, may be wrong so much less often than all of them together.
BESIDE_SHARE = 0.25
# An arm whose fall would be this many standard errors, if it fell like the others, must fall by itself at this level.
SHOWS, AT_LEAST = 2.0, 0.2


@dataclasses.dataclass(frozen=True)
class Driver:
    """What values follow, and how likely each explanation is."""

    name: str  # "exposure", "age", "calendar" or "cannot tell"
    reason: str
    probabilities: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Weighed:
    """All hypotheses, fitted and weighed."""

    panel: Panel
    fits: tuple[Fit, ...]
    drivers: tuple[str, ...]  # of each fit
    priors: np.ndarray

    def probability(self, *drivers: str) -> float:
        """Return how likely some explanations are together."""
        return float(sum(weight for weight, own in zip(self.weights, self.drivers, strict=True) if own in drivers))

    @property
    def logs(self) -> np.ndarray:
        """The logarithms of evidence times prior."""
        return np.asarray(np.array([each.log_evidence for each in self.fits]) + np.log(self.priors))

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """The posterior probabilities of the fits."""
        return np.asarray(np.exp(self.logs - self.log_evidence))

    @property
    def log_evidence(self) -> float:
        """The logarithm of the evidence of all explanations together."""
        return float(np.logaddexp.reduce(self.logs))

    def among(self, wanted: Callable[[str, Hypothesis], bool]) -> list[tuple[float, Fit]]:
        """Return some of the fits with their probabilities given that one of them is true, without hopeless ones."""
        own = np.array([wanted(name, each.hypothesis) for name, each in zip(self.drivers, self.fits, strict=True)])
        logs = np.where(own, self.logs, -np.inf)
        weights = np.exp(logs - logs.max())
        weights = np.where(weights > HOPELESS, weights, 0.0) / weights[weights > HOPELESS].sum()
        return [(float(weight), each) for weight, each in zip(weights, self.fits, strict=True) if weight > 0]

    @property
    def best(self) -> Fit:
        """The likeliest fit."""
        return self.fits[int(np.argmax(self.weights))]

    @property
    def value(self) -> np.ndarray:
        """The fitted values of the panel's rows, averaged over everything."""
        total = np.zeros(len(self.panel.mean))
        for weight, each in zip(self.weights, self.fits, strict=True):
            total += weight * (each.weight @ each.value)
        return total


def weigh(panel: Panel, start: Weighed | None = None) -> Weighed:
    """Fit all hypotheses to a panel, from the fits to a similar one if there are any."""
    starts = {} if start is None else {each.hypothesis: each for each in start.fits}
    fits, drivers, priors = [], [], []
    for driver, prior in PRIORS.items():
        axis = {AGE: "age", CALENDAR: "time"}.get(driver, "exposure")
        shapes = CALENDAR_SHAPES if driver == CALENDAR else SHAPES
        for shape, share in shapes.items() if panel.arms < MANY_ARMS else list(shapes.items())[:2]:
            hypothesis = Hypothesis(axis, shape, trend=driver not in (EXPOSURE, AGE, CALENDAR))
            fits.append(fit(panel, hypothesis, starts.get(hypothesis)))
            drivers.append(EXPOSURE if axis == "exposure" else driver)
            priors.append(prior * share)
    return Weighed(panel, tuple(fits), tuple(drivers), np.array(priors))


def arm_tests(weighed: Weighed, calendar: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the p-values of "does not fall" and "does not rise" of each arm, with what arms share taken into account.

    `calendar` is the p-value of the calendar as the only cause. An arm falls if it is likely to fall given any other
    cause, and the calendar is ruled out as well; or if it falls beside all others, whatever they fall with, and by
    itself, too: beside arms that wear out (or in), a steady one seems to rise (or fall). Of logs in which only the
    calendar moves values, at most 5 % are wrong about all arms, and 1 to 2 % about one.
    """
    falling, rising = _own_tests(weighed)
    beside = _tests_beside(weighed)

    def combined(own: np.ndarray, other: np.ndarray) -> np.ndarray:
        either = np.minimum(np.maximum(own, calendar), np.maximum(other / BESIDE_SHARE, own))
        return np.asarray(np.minimum(1.0, either))

    return combined(falling, beside), combined(rising, 1 - beside)


def _own_tests(weighed: Weighed) -> tuple[np.ndarray, np.ndarray]:
    """Return p-values of "does not fall" and "does not rise" of each arm, unless the calendar is the cause.

    Each is twice the smaller of two: how likely that is, given that arms are more or less alike, so that arms which
    say little by themselves say more together; and a test of the arm's own speed with nothing assumed about it.
    """
    from scipy.special import ndtr

    tails = np.zeros((2, weighed.panel.arms))
    for weight, each in weighed.among(lambda driver, hypothesis: driver != CALENDAR):
        mean, variance = each.slopes()
        alike, own = mean / np.sqrt(variance), each.own_z()
        if each.hypothesis.trend:  # beside a trend an arm may stand out, or all may fall more than it explains
            relative = each.relative_z()
            own = np.where(np.abs(relative) > np.abs(own), relative, own)
        tails += weight * np.stack([each.weight @ ndtr(-alike), each.weight @ ndtr(-own)])
    return 2 * tails.min(axis=0), 2 * (1 - tails).min(axis=0)


def _tests_beside(weighed: Weighed) -> np.ndarray:
    """Return p-values of "does not fall along its exposures" beside what all arms share with the calendar."""
    from scipy.special import ndtr

    panel = weighed.panel
    shapes = weighed.among(lambda driver, hypothesis: driver == EXPOSURE and not hypothesis.trend)
    p_value = np.zeros(panel.arms)
    for weight, each in weighed.among(lambda driver, hypothesis: driver == CALENDAR):
        for share, own in shapes:
            column = axis_column(panel, Hypothesis("exposure", own.hypothesis.shape))
            p_value += weight * share * (each.weight @ ndtr(-each.added_z(panel, column)))
    return p_value


def falls_alone(weighed: Weighed) -> tuple[np.ndarray, np.ndarray]:
    """Return how much each arm falls along its exposures by itself, whatever the others do, and the standard error.

    As a share of the arm's mean value, averaged over the shapes that exposures may have.
    """
    panel = weighed.panel
    weight, value = panel.count / panel.variance, panel.mean / panel.expected
    total = np.add.reduceat(weight, panel.first)
    mean = np.add.reduceat(weight * value, panel.first) / total
    level = np.maximum(mean, 1e-3) if panel.multiplicative else np.ones(panel.arms)
    fall, error = np.zeros(panel.arms), np.zeros(panel.arms)
    for share, own in weighed.among(lambda driver, hypothesis: driver == EXPOSURE and not hypothesis.trend):
        column = axis_column(panel, own.hypothesis)
        column = column - (np.add.reduceat(weight * column, panel.first) / total)[panel.arm]
        square = np.maximum(np.add.reduceat(weight * column**2, panel.first), 1e-300)
        slope = np.add.reduceat(weight * column * (value - mean[panel.arm]), panel.first) / square
        fall -= share * slope / level
        error += share / np.sqrt(square) / level
    return fall, error


def checked_alone(
    falling: np.ndarray, rising: np.ndarray, called: np.ndarray, weighed: Weighed, strict: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return p-values of "does not fall" and "does not rise", some of them raised to those of the arm by itself.

    An arm is called with the others, being more or less like them. That goes too far for one that would show by itself
    what the called ones show, and does not; and for all (`strict`) where the model does not explain the log.
    """
    from scipy.special import ndtr

    fall, error = falls_alone(weighed)
    alone = ndtr(-fall / error)
    typical = float(np.median(fall[called])) if called.any() else 0.0
    doubtful = (typical > SHOWS * error) & (alone > AT_LEAST)
    falling = np.where(doubtful | strict, np.maximum(falling, alone), falling)
    return falling, np.maximum(rising, 1 - alone) if strict else rising


def is_separable(panel: Panel) -> bool:
    """Say whether exposures are anything but the time since the first launch: launches or paces differ."""
    weight = panel.count / panel.count.sum()
    exposure, time = panel.exposure - weight @ panel.exposure, panel.time - weight @ panel.time
    spread = float(np.sqrt((weight @ exposure**2) * (weight @ time**2)))
    return spread > 0 and float(weight @ (exposure * time)) / spread < PROPORTIONAL


def find_driver(weighed: Weighed, falls: bool) -> Driver:
    """Name the explanation of the fall, if there is one and the log can tell."""
    probabilities = {name: weighed.probability(name) for name in (EXPOSURE, AGE, CALENDAR)}
    if not falls:
        return Driver(CANNOT_TELL, "nothing is seen to fall", probabilities)
    name = max(probabilities, key=lambda each: probabilities[each])
    if weighed.panel.arms == 1:
        reason = "one arm alone does not tell its exposures, its age and the time apart"
        return Driver(CANNOT_TELL, reason, probabilities)
    likely = ", ".join(f"{each} {share:.0%}" for each, share in probabilities.items())
    if not is_separable(weighed.panel) and probabilities[name] < SURE:
        reason = "all arms were launched together and shown at one pace, so exposures, age and time are one thing here"
        return Driver(CANNOT_TELL, reason, probabilities)
    if probabilities[name] < NAMED:
        return Driver(CANNOT_TELL, f"the log does not tell the explanations apart ({likely})", probabilities)
    return Driver(name, f"{name} explains the log best ({likely})", probabilities)
