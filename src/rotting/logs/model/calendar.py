"""Is everything explained by what all arms share over time? A test of the calendar as the only cause.

Evidence for exposures or age over the calendar comes by chance, too, and more easily where launches and paces hardly
differ. How easily is found by playing: logs in which nothing but the calendar moves values, with this log's arms,
launches, paces and counts, and levels of arms drawn anew, are weighed like the log itself (parametric bootstrap). All
logs are weighed in the linear model around the fitted values, in which the matrices are those of the log.
"""

from __future__ import annotations

import numpy as np

from rotting.logs.model.driver import CALENDAR, Weighed
from rotting.logs.model.panel import Panel
from rotting.logs.model.solving import Design, eliminate

PLAYED = 400  # logs; with many arms, fewer; a tenth of them where those leave no doubt
NO_DOUBT = 0.3
MOST_NUMBERS = 100_000  # arms times logs, at most
# Beyond these odds nothing needs to be played.
CLEAR_ODDS = 1e-6


def calendar_p_value(weighed: Weighed, generator: np.random.Generator) -> float:
    """Return how often a log that only follows the calendar would speak as clearly against it as this one does."""
    calendar = weighed.probability(CALENDAR)
    odds = calendar / max(1 - calendar, 1e-300)
    if odds < CLEAR_ODDS:  # by Markov's inequality it is no more than this
        return odds
    panel, value = weighed.panel, weighed.value
    slope = np.maximum(value, 0.05) if panel.multiplicative else np.ones_like(value)
    importance = panel.count / panel.variance * slope**2
    known = np.log(panel.expected) if panel.multiplicative else panel.expected - 1
    u = (np.log(slope) if panel.multiplicative else value - 1) - known
    observed = u + (panel.mean - value) / slope
    most = int(np.clip(MOST_NUMBERS // panel.arms, 50, PLAYED))
    p_value = 1.0
    for times in (max(most // 10, 40), most):
        played = _played(weighed, importance, generator, times)
        ratio = _log_ratio(weighed, np.vstack([observed, played]), importance)
        p_value = float((1 + (ratio[1:] >= ratio[0]).sum()) / (1 + times))
        if p_value > NO_DOUBT:
            break
    return p_value


def _played(weighed: Weighed, importance: np.ndarray, generator: np.random.Generator, times: int) -> np.ndarray:
    """Return linear predictors, with noise, of logs that follow the calendar, as [log, row]."""
    panel = weighed.panel
    causes = weighed.among(lambda driver, hypothesis: driver == CALENDAR)
    chances = np.concatenate([weight * fit.weight for weight, fit in causes])
    members = [(fit, member) for _, fit in causes for member in range(len(fit.weight))]
    chosen = generator.choice(len(members), size=times, p=chances / chances.sum())
    played = generator.standard_normal((times, len(importance))) / np.sqrt(importance)
    for number in np.unique(chosen):
        fit, member = members[number]
        rows = np.flatnonzero(chosen == number)
        mean, covariance = fit.common[member], fit.solution.common_cov[member]
        common = generator.multivariate_normal(mean, covariance, size=len(rows), method="eigh")
        spread = 1 / np.sqrt(fit.design.own_penalty[member])
        own = generator.standard_normal((len(rows), panel.arms, 2)) * spread
        played[rows] += common @ fit.design.common.T + (own[:, panel.arm] * fit.design.own).sum(axis=2)
    return np.asarray(played)


def _log_ratio(weighed: Weighed, u: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """Return the log of the evidence against the calendar over that for it, for logs u[log, row]."""
    for_it: list[np.ndarray] = []
    against: list[np.ndarray] = []
    for fit, driver, prior in zip(weighed.fits, weighed.drivers, weighed.priors, strict=True):
        found = for_it if driver == CALENDAR else against
        found.append(np.log(prior) + linear_evidence(weighed.panel, fit.design, u, importance))
    return np.asarray(np.logaddexp.reduce(np.array(against)) - np.logaddexp.reduce(np.array(for_it)))


def linear_evidence(panel: Panel, design: Design, u: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """Return the log evidence of a design for each of many logs u[log, row], but for what is the same for all designs.

    Rewards are taken to be Gaussian around a linear predictor: this is exact where effects add up.
    """
    equations = eliminate(design, importance[None], panel.first)
    weighted = u * importance
    common = weighted @ design.common
    own = np.stack([np.add.reduceat(weighted * design.own[:, i], panel.first, axis=1) for i in (0, 1)], axis=2)
    flat = own.reshape(len(u), -1)
    members, arms = equations.inverse.shape[:2]
    back = equations.back.reshape(members, 2 * arms, -1)
    explained = np.einsum("sai,baij,saj->bs", own, equations.inverse, own, optimize=True)
    rest = common - flat @ back
    explained += np.einsum("bsg,bgh,bsh->bs", rest, equations.schur_inverse, rest, optimize=True)
    common_prior, own_prior = design.log_prior
    constant = np.log(design.prior) + 0.5 * (common_prior + panel.arms * own_prior - equations.log_determinant())
    return np.asarray(np.logaddexp.reduce(constant[:, None] + 0.5 * explained))
