"""Each arm beside the others: whether it falls along its own exposures by more than what all arms share over time.

Nothing is assumed of levels of arms and slices of time. So a fall that all arms share is no evidence here: with free
levels and free slices it is a trend. What tells are differences of slopes and of paces.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from rotting.logs.arrays import Flags, Floats, Whole
from rotting.logs.model.mixed import FREE, WANDERINGS, Arms, Fit, averaged, log_averaged, weights
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
    column: Floats  # exposures as a share of all the arm has, [arm, slice]
    falling: Floats  # p-values of "does not fall more than the others"
    rising: Floats
    lost: Floats  # the logarithm of what is left of the first value at the last exposure, beside the others
    error: Floats
    testable: Flags  # enough rewards and slices
    fewest: float  # rewards (events) that an arm must have to be called
    jumps: Flags  # a jump is likelier than a slope
    sure_jumps: Flags  # and far likelier than that nothing happened
    jump_at: Whole  # the slice from which the arm is worth something else, where it jumps

    @property
    def likeliest(self) -> Fit:
        """The fit under the likeliest kind of wandering."""
        return max(self.fits, key=lambda pair: pair[0])[1]

    def called(self) -> Flags:
        """Return which arms fall at a false-discovery rate, and more likely in a slope than at once.

        An arm must fall by itself, too, and beside the others whichever slice of time is left out.
        """
        fallen = discoveries(self.falling, self.testable) & ~self.jumps & (self.alone() < BY_ITSELF)
        fallen[fallen] = [without_any_slice(self, arm) < SEEN_WITHOUT for arm in np.flatnonzero(fallen).tolist()]
        return fallen

    def alone(self, lost: Floats | float = 0.0) -> Floats:
        """Return p-values of "loses no more than that", as if time did nothing; losses are logarithms, as `lost`."""
        own = [(chance, fit.own(self.column, calendar=False)) for chance, fit in self.fits]
        return averaged(own, lambda slope: ndtr(slope.z() - lost * np.sqrt(slope.information)))


def discoveries(p_values: Floats, tested: Flags) -> Flags:
    """Return which hypotheses are rejected at the false-discovery rate (Benjamini and Hochberg, 1995).

    >>> discoveries(np.array([0.001, 0.04, 0.3, 0.001]), np.array([True, True, True, False]))
    array([ True,  True, False, False])
    """
    rejected = np.zeros(len(p_values), dtype=bool)
    order = np.flatnonzero(tested)[np.argsort(p_values[tested], kind="stable")]
    below = np.flatnonzero(p_values[order] <= FALSE_DISCOVERIES * np.arange(1, len(order) + 1) / max(len(order), 1))
    rejected[order[: below.max(initial=-1) + 1]] = True
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
    there = panel.shown > 0
    column = np.where(there, panel.exposure / panel.exposures[:, None] - 0.5, 0.0)
    fits = learnt(panel, column)
    slopes = [(chance, fit.own(column)) for chance, fit in fits]
    fewest = fewest_rewards(panel.arms)
    known = averaged(slopes, lambda slope: slope.information) > FREE**-2
    testable = (panel.events >= fewest) & (there.sum(axis=1) >= LEAST_SLICES) & known
    return Within(
        fits,
        column,
        falling=np.where(testable, averaged(slopes, lambda slope: ndtr(slope.z())), 1.0),
        rising=np.where(testable, averaged(slopes, lambda slope: ndtr(-slope.z())), 1.0),
        lost=averaged(slopes, lambda slope: slope.mean(FREE)),
        error=averaged(slopes, lambda slope: slope.error(FREE)),
        testable=testable,
        fewest=fewest,
        **_jumps(panel, column, fits),
    )


def learnt(panel: Panel, column: Floats) -> list[tuple[float, Fit]]:
    """Return how likely each kind of wandering is, given any slopes of arms, with fits without slopes."""
    some = panel.some(MOST_LEARNT_FROM)
    sample, axis = panel.of(some), column[some]
    logs = [
        Fit(Arms(sample, assumed._replace(slope=FREE), axis)).log_likelihood + np.log(prior)
        for assumed, prior in WANDERINGS
    ]
    chances = zip(likely_enough(weights(np.array(logs))).tolist(), WANDERINGS, strict=True)
    return [(chance, Fit(Arms(panel, assumed))) for chance, (assumed, _) in chances if chance > 0]


def likely_enough(chances: Floats) -> Floats:
    """Return probabilities without those that are far smaller than the largest."""
    kept = np.where(chances >= HOPELESS * chances.max(), chances, 0.0)
    return kept / kept.sum()


def _jumps(panel: Panel, column: Floats, fits: list[tuple[float, Fit]]) -> dict[str, Any]:
    """Return which arms jump rather than slope, which surely do, and where: a replaced creative, a new audience.

    Slopes fall steadily, or at first; jumps may be anywhere. Each has its own spread beforehand. A jump must
    be seen beside slopes of all arms, too: what others lose on busy days must not look like a jump of one that rests.
    """
    soon = np.exp(-(column + 0.5) / FADES) * (panel.shown > 0)
    ways = [(0.5, column), (0.5, soon)]
    slope = log_averaged(fits, lambda fit: log_averaged(ways, lambda way: fit.own(way).log_evidence(SLOPES)))
    jump, at = _jump_evidence(panel, fits)
    beside = [(chance, Fit(Arms(panel, fit.arms.assumed._replace(slope=SLOPES), column))) for chance, fit in fits]
    added, _ = _jump_evidence(panel, beside)
    jumps = (jump > slope) & (added > np.log(LEAST_ADDED))
    return {"jumps": jumps, "sure_jumps": jumps & (np.minimum(jump, added) > np.log(STRONG)), "jump_at": at}


def _jump_evidence(panel: Panel, fits: list[tuple[float, Fit]]) -> tuple[Floats, Whole]:
    """Return the logarithm of the evidence for a jump of each arm, against none, and the likeliest place."""
    slices = np.arange(len(panel.time))
    after = [np.where(slices >= place, panel.shown > 0, 0.0) for place in slices[1:]]

    def evidence(fit: Fit) -> Floats:
        found = map(fit.own, after)
        return np.array([np.where(each.information > FREE**-2, each.log_evidence(JUMPS), -np.inf) for each in found])

    jump = log_averaged(fits, evidence)
    places = np.maximum(np.isfinite(jump).sum(axis=0), 1)
    return np.logaddexp.reduce(jump, axis=0) - np.log(places), 1 + np.argmax(jump, axis=0)


def without_any_slice(within: Within, arm: int) -> float:
    """Return the largest p-value of an arm's fall if one slice of time of it is left out: one day decides nothing."""
    panel = within.fits[0][1].panel
    places = np.flatnonzero(panel.shown[arm] > 0)
    copies = np.full(len(places), arm)
    own = panel.of(copies)
    own.weight[np.arange(len(places)), places] = 0.0

    def alone(fit: Fit) -> Floats:
        left = Arms(dataclasses.replace(own, response=own.response - fit.slices), fit.arms.assumed)
        return ndtr(Fit(left).own(within.column[copies], calendar=False).z())

    return float(averaged(within.fits, alone).max())
