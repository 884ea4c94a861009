"""What makes values fall: the arm's own exposures, its age, or the calendar, which all arms share.

Each explanation is a set of hypotheses (shapes) of one model; they are weighed by their evidence. Within one arm
exposures, age and time only grow together, so it is arms that were launched at different times, or shown at a different
pace, that tell the explanations apart: a late arm starts as high as others did if its own exposures wear it out, and
lower if the whole site falls. Where all were launched together and shown alike no log can tell, and none is preferred.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.model import MANY_ARMS, Fit, Hypothesis, axis_column, fit
from rotting.logs.panel import Panel

EXPOSURE, AGE, CALENDAR, CANNOT_TELL = "exposure", "age", "calendar", "cannot tell"
# Prior probabilities of the explanations and of shapes. Two causes at once are less likely than one.
PRIORS = {EXPOSURE: 0.4, AGE: 0.2, CALENDAR: 0.35, "exposure and calendar": 0.05}
SHAPES = {np.inf: 0.4, 0.5: 0.3, 0.15: 0.2, 0.05: 0.1}
CALENDAR_SHAPES = {np.inf: 0.5, -0.3: 0.15, 0.5: 0.2, 0.15: 0.1, 0.05: 0.05}
# An explanation is named if it is this likely.
NAMED = 0.5
# Where exposures and time are more nearly proportional than this, it must be this likely: arms fall at unlike speeds.
PROPORTIONAL, SURE = 0.98, 0.95
# The p-values of arms, given that the calendar is not the cause, are multiplied by 1 + this many times the odds that
# it is: on generated logs nine of ten site-wide trends have odds above 1/4.
CALENDAR_PENALTY = 10.0


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
    weights: np.ndarray  # posterior probabilities

    def probability(self, *drivers: str) -> float:
        """Return how likely some explanations are together."""
        return float(sum(weight for weight, own in zip(self.weights, self.drivers, strict=True) if own in drivers))

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


def weigh(panel: Panel) -> Weighed:
    """Fit all hypotheses to a panel."""
    fits, drivers, logs = [], [], []
    for driver, prior in PRIORS.items():
        axis = {AGE: "age", CALENDAR: "time"}.get(driver, "exposure")
        shapes = CALENDAR_SHAPES if driver == CALENDAR else SHAPES
        for shape, share in shapes.items() if panel.arms < MANY_ARMS else list(shapes.items())[:2]:
            found = fit(panel, Hypothesis(axis, shape, trend=driver not in (EXPOSURE, AGE, CALENDAR)))
            fits.append(found)
            drivers.append(EXPOSURE if axis == "exposure" else driver)
            logs.append(found.log_evidence + np.log(prior * share))
    weights = np.exp(np.array(logs) - max(logs))
    return Weighed(panel, tuple(fits), tuple(drivers), weights / weights.sum())


def arm_tests(weighed: Weighed) -> tuple[np.ndarray, np.ndarray]:
    """Return the p-values of "does not fall" and "does not rise" of each arm, with what arms share taken into account.

    Given a hypothesis without the arm's own exposures, a fall along them is tested beside it (score test); given one
    with them, the arm's own speed is tested without what is assumed about it. Both are averaged over hypotheses.
    """
    from scipy.special import ndtr

    falling, rising = np.zeros((2, weighed.panel.arms)), np.zeros((2, weighed.panel.arms))
    calendar = weighed.probability(CALENDAR)
    own_shapes = {
        each.hypothesis.shape: weight
        for each, weight, driver in zip(weighed.fits, weighed.weights, weighed.drivers, strict=True)
        if driver == EXPOSURE and not each.hypothesis.trend
    }
    total = sum(own_shapes.values()) or 1.0
    columns = [
        (weight / total, axis_column(weighed.panel, Hypothesis("exposure", shape)))
        for shape, weight in own_shapes.items()
    ]
    for each, weight, driver in zip(weighed.fits, weighed.weights, weighed.drivers, strict=True):
        if weight < 1e-4:
            continue
        if driver == CALENDAR:
            beside = [(share, each.added_z(weighed.panel, column)) for share, column in columns]
            tests = [(share, z, z) for share, z in beside]
        elif each.hypothesis.trend:  # beside a trend an arm may stand out, or all may fall more than it explains
            both = np.stack([each.own_z(), each.relative_z()])
            tests = [(1.0, both.max(axis=0), both.min(axis=0))]
        else:
            tests = [(1.0, each.own_z(), each.own_z())]
        kind = int(driver == CALENDAR)
        for share, down, up in tests:
            falling[kind] += weight * share * (each.weight @ ndtr(-down))
            rising[kind] += weight * share * (each.weight @ ndtr(up))
    return tuple(_combined(sums, calendar) for sums in (falling, rising))  # type: ignore[return-value]


def _combined(sums: np.ndarray, calendar: float) -> np.ndarray:
    """Return p-values from sums over the hypotheses without and with the calendar as the cause.

    An arm is called if it falls beside what all share (whatever the cause of that), or if its fall is its own and the
    calendar is ruled out well enough.
    """
    own, beside = sums[0] / max(1 - calendar, 1e-9), sums[1] / max(calendar, 1e-9)
    odds = calendar / max(1 - calendar, 1e-9)
    if calendar < 1e-4:
        return np.asarray(np.minimum(1.0, own))
    if calendar > 1 - 1e-4:
        return np.asarray(np.minimum(1.0, beside))
    mixed = (1 - calendar) * own + calendar * beside
    return np.asarray(np.minimum(1.0, np.minimum(own * (1 + CALENDAR_PENALTY * odds), mixed)))


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
    likely = ", ".join(f"{each} {share:.0%}" for each, share in probabilities.items())
    if not is_separable(weighed.panel) and probabilities[name] < SURE:
        reason = "all arms were launched together and shown at one pace, so exposures, age and time are one thing here"
        return Driver(CANNOT_TELL, reason, probabilities)
    if probabilities[name] < NAMED:
        return Driver(CANNOT_TELL, f"the log does not tell the explanations apart ({likely})", probabilities)
    return Driver(name, f"{name} explains the log best ({likely})", probabilities)
