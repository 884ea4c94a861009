"""Each arm beside the others: whether it falls along its own exposures by more than what all arms share over time.

Nothing is assumed of levels of arms and slices of time. So a fall that all arms share is no evidence here: with free
levels and free slices it is a trend. What tells are differences of slopes and of paces.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr, ndtri

from rotting.logs.model.mixed import FREE, WANDERINGS, Arms, Assumed, Fit, weights
from rotting.logs.model.panel import Panel

FALSE_DISCOVERIES = 0.1
LEAST_SLICES = 4  # of an arm: fewer show no slope
MOST_LEARNT_FROM = 200  # arms from which wandering is learnt
HOPELESS = 0.01  # assumptions so much less likely than the best are left out
# Spreads, beforehand, of how much arms lose over their exposures and of how much they jump, as logarithms.
SLOPES, JUMPS = 1.0, 0.7
STRONG = 10.0  # odds for a jump against nothing at which it is told
LEAST_ADDED = 0.5  # odds for it beside slopes of all arms, below which it is none
FADES = 0.25  # a fall that is over soon, as a share of the arm's exposures
BY_ITSELF = 0.25  # beside arms that rise a steady one seems to fall: it must fall by itself, too, at this level
SEEN_WITHOUT = 0.1  # a call must hold without any one slice of time, at this level


@dataclasses.dataclass(frozen=True)
class Within:
    """What is seen of each arm beside the others."""

    fits: list[tuple[float, Fit]]  # probabilities of assumptions, and what they fit
    column: np.ndarray  # exposures as a share of all the arm has, [arm, slice]
    falling: np.ndarray  # p-values of "does not fall more than the others"
    rising: np.ndarray
    lost: np.ndarray  # the logarithm of what is left of the first value at the last exposure, beside the others
    error: np.ndarray
    testable: np.ndarray  # bool: enough rewards and slices
    fewest: float  # rewards (events) that an arm must have to be called
    jumps: np.ndarray  # bool: a jump is likelier than a slope
    sure_jumps: np.ndarray  # bool: and far likelier than that nothing happened
    jump_at: np.ndarray  # the slice from which the arm is worth something else, where it jumps

    @property
    def likeliest(self) -> Fit:
        """The fit under the likeliest kind of wandering."""
        return max(self.fits, key=lambda pair: pair[0])[1]

    def called(self) -> np.ndarray:
        """Return which arms fall at a false-discovery rate, and more likely in a slope than at once.

        An arm must fall by itself, too, and beside the others whichever slice of time is left out.
        """
        seen = discoveries(self.falling, self.testable)
        fallen = np.asarray(seen & ~self.jumps & (self.alone() < BY_ITSELF))
        for arm in np.flatnonzero(fallen).tolist():
            fallen[arm] = without_any_slice(self, arm) < SEEN_WITHOUT
        return fallen

    def alone(self, lost: np.ndarray | float = 0.0) -> np.ndarray:
        """Return p-values of "loses no more than that", as if time did nothing; losses are logarithms, as `lost`."""
        p_value = np.zeros(len(self.falling))
        for chance, fit in self.fits:
            own = fit.own(self.column, calendar=False)
            p_value += chance * ndtr(own.z() - lost * np.sqrt(own.information))
        return p_value


def discoveries(p_values: np.ndarray, tested: np.ndarray, rate: float = FALSE_DISCOVERIES) -> np.ndarray:
    """Return which hypotheses are rejected at a false-discovery rate (Benjamini and Hochberg, 1995).

    >>> discoveries(np.array([0.001, 0.04, 0.3, 0.001]), np.array([True, True, True, False]))
    array([ True,  True, False, False])
    """
    rejected = np.zeros(len(p_values), dtype=bool)
    order = np.flatnonzero(tested)[np.argsort(p_values[tested], kind="stable")]
    below = np.flatnonzero(p_values[order] <= rate * np.arange(1, len(order) + 1) / max(len(order), 1))
    rejected[order[: below[-1] + 1 if len(below) else 0]] = True
    return rejected


def fewest_rewards(arms: int) -> float:
    """Return how many rewards an arm must have to be called: below, no loss is seen in half of the cases.

    An arm that loses all in a straight line, on m rewards, lies sqrt(m / 3) standard errors from a steady one.

    >>> round(fewest_rewards(1)), round(fewest_rewards(5)), round(fewest_rewards(38)), round(fewest_rewards(5000))
    (5, 13, 23, 51)
    """
    return float(3 * ndtri(FALSE_DISCOVERIES / arms) ** 2)


def look_within(panel: Panel) -> Within:
    """Test each arm beside the others, averaged over how arms may wander."""
    share = np.where(panel.shown > 0, panel.exposure / panel.exposures[:, None] - 0.5, 0.0)
    column = share * (panel.shown > 0)
    fits = learnt(panel, column)
    slopes = [fit.own(column) for _, fit in fits]
    chances = np.array([chance for chance, _ in fits])
    z = np.stack([slope.z() for slope in slopes])
    information = chances @ np.stack([slope.information for slope in slopes])
    fewest = fewest_rewards(panel.arms)
    testable = (panel.events >= fewest) & ((panel.shown > 0).sum(axis=1) >= LEAST_SLICES) & (information > FREE**-2)
    error = chances @ np.stack([1 / np.sqrt(slope.information + FREE**-2) for slope in slopes])
    lost = chances @ np.stack([slope.score / (slope.information + FREE**-2) for slope in slopes])
    falling = np.where(testable, chances @ ndtr(z), 1.0)
    rising = np.where(testable, chances @ ndtr(-z), 1.0)
    return Within(fits, column, falling, rising, lost, error, testable, fewest, *_jumps(panel, share, fits))


def learnt(panel: Panel, column: np.ndarray) -> list[tuple[float, Fit]]:
    """Return how likely each kind of wandering is, given any slopes of arms, with fits without slopes."""
    some = panel.some(MOST_LEARNT_FROM)
    sample, axis = panel.of(some), column[some]
    logs = [
        Fit(Arms(sample, Assumed(slope=FREE, wander=spread, length=length), axis)).log_likelihood + np.log(prior)
        for spread, length, prior in WANDERINGS
    ]
    chances = weights(np.array(logs))
    chances = np.where(chances >= HOPELESS * chances.max(), chances, 0.0)
    chances /= chances.sum()
    return [
        (float(chance), Fit(Arms(panel, Assumed(wander=spread, length=length))))
        for chance, (spread, length, _) in zip(chances, WANDERINGS, strict=True)
        if chance > 0
    ]


def _jumps(panel: Panel, share: np.ndarray, fits: list[tuple[float, Fit]]) -> tuple[np.ndarray, ...]:
    """Return which arms jump rather than slope, which surely do, and where: a replaced creative, a new audience.

    Slopes fall steadily, or at first; jumps may be anywhere. Each has its own spread beforehand. A jump must
    be seen beside slopes of all arms, too: what others lose on busy days must not look like a jump of one that rests.
    """
    there = panel.shown > 0
    straight, soon = share * there, np.exp(-(share + 0.5) / FADES) * there
    slope = np.full(panel.arms, -np.inf)
    for chance, fit in fits:
        smooth = np.logaddexp(*(fit.own(each).log_evidence(SLOPES) for each in (straight, soon))) - np.log(2)
        slope = np.logaddexp(slope, np.log(chance) + smooth)
    jump, at = _jump_evidence(panel, fits)
    beside = [(chance, Fit(Arms(panel, fit.arms.assumed._replace(slope=SLOPES), straight))) for chance, fit in fits]
    added, _ = _jump_evidence(panel, beside)
    jumps = (jump > slope) & (added > np.log(LEAST_ADDED))
    return jumps, jumps & (np.minimum(jump, added) > np.log(STRONG)), at


def _jump_evidence(panel: Panel, fits: list[tuple[float, Fit]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithm of the evidence for a jump of each arm, against none, and the likeliest place."""
    there, slices = panel.shown > 0, len(panel.time)
    jump = np.full((slices - 1, panel.arms), -np.inf)
    for chance, fit in fits:
        for place in range(1, slices):
            found = fit.own(there * (np.arange(slices) >= place))
            known = np.where(found.information > FREE**-2, found.log_evidence(JUMPS), -np.inf)
            jump[place - 1] = np.logaddexp(jump[place - 1], np.log(chance) + known)
    places = np.maximum(np.isfinite(jump).sum(axis=0), 1)
    return np.logaddexp.reduce(jump, axis=0) - np.log(places), 1 + np.argmax(jump, axis=0)


def without_any_slice(within: Within, arm: int) -> float:
    """Return the largest p-value of an arm's fall if one slice of time of it is left out: one day decides nothing."""
    largest = 0.0
    panel = within.fits[0][1].panel
    for place in np.flatnonzero(panel.shown[arm] > 0):
        p_value = 0.0
        for chance, fit in within.fits:
            own = panel.of(np.array([arm]))
            weight = own.weight.copy()
            weight[0, place] = 0.0
            left = Arms(dataclasses.replace(own, weight=weight, response=own.response - fit.slices), fit.arms.assumed)
            alone = Fit(left).own(within.column[[arm]], calendar=False)
            p_value += chance * float(ndtr(alone.z()[0]))
        largest = max(largest, p_value)
    return largest
