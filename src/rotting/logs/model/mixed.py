"""Levels of arms, what slices of time do to all of them, slopes, and the wandering of each arm: a mixed model.

    response[arm, slice] = slice + level[arm] + slope[arm] * axis[arm, slice] + wandering[arm, slice] + noise

Slices are free, or smooth beside a free trend. What differs from arm to arm is normal with known spreads
(`Assumed`); those are unknown, so everything is computed for many of them and weighed by how well they explain the log
(restricted likelihood). All of it is generalised least squares on small matrices, all arms at once.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from rotting.logs.model.panel import Panel

FREE = 10.0  # the spread of what is not known at all; effects are logarithms
TINY = 1e-9
# Smooth calendars: the time over which they change, and the spread of their changes; and of days by themselves.
SMOOTH = 0.15
CALENDARS = tuple((smooth, rough) for smooth in (0.01, 0.05, 0.15, 0.5) for rough in (0.0, 0.15))
WALK = np.inf  # the length of wandering that never comes back
# Spreads and lengths of wandering that are weighed, with how likely each is beforehand. Lengths are shares of the log.
WANDERINGS = (
    (0.0, 0.1, 0.3),
    *((spread, length, 0.7 / 18) for spread in (0.1, 0.2, 0.35, 0.6, 1.0) for length in (0.01, 0.08, 0.25)),
    *((spread, WALK, 0.7 / 18) for spread in (0.3, 0.7, 1.5)),
)


class Assumed(NamedTuple):
    """Spreads of what differs from arm to arm."""

    level: float = FREE
    slope: float = 0.0
    wander: float = 0.0
    length: float = 0.1


class Slope(NamedTuple):
    """A slope: what the log says of it (score and information), so that priors can be added."""

    score: np.ndarray
    information: np.ndarray

    def z(self, prior: float = np.inf) -> np.ndarray:
        """Return how many standard errors it lies above 0, given that it is drawn from N(0, prior^2)."""
        return np.asarray(self.score / np.sqrt(self.information + prior**-2 + TINY))

    def log_evidence(self, prior: float) -> np.ndarray:
        """Return the logarithm of the evidence for a slope drawn from N(0, prior^2) against none."""
        spread = prior**2
        ratio = 1 + self.information * spread
        return np.asarray(0.5 * (self.score**2 * spread / ratio - np.log(ratio)))


def wandering(panel: Panel, assumed: Assumed, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the covariance of wandering between two times of each arm, [arm, one, other]; times are [arm, n]."""
    if assumed.length == WALK:
        since = [np.maximum(time - panel.launch[:, None], 0.0) for time in (one, other)]
        return np.asarray(assumed.wander**2 * np.minimum(since[0][:, :, None], since[1][:, None, :]))
    return np.asarray(assumed.wander**2 * np.exp(-np.abs(one[:, :, None] - other[:, None, :]) / assumed.length))


class Arms:
    """What differs from arm to arm under assumed spreads: the precision of each arm's responses."""

    def __init__(self, panel: Panel, assumed: Assumed, axis: np.ndarray | None = None) -> None:
        self.panel, self.assumed, self.axis = panel, assumed, axis
        times = np.broadcast_to(panel.time, panel.weight.shape)
        self.spread = assumed.level**2 + wandering(panel, assumed, times, times)
        if axis is not None and assumed.slope > 0:
            self.spread = self.spread + assumed.slope**2 * axis[:, :, None] * axis[:, None, :]
        root = np.sqrt(panel.weight)
        inner = np.eye(len(panel.time)) + root[:, :, None] * self.spread * root[:, None, :]
        lower = np.linalg.cholesky(inner)
        self.log_determinant = 2 * float(np.log(np.einsum("ass->as", lower)).sum())
        self.precision = root[:, :, None] * np.linalg.inv(inner) * root[:, None, :]
        self.response = self.weighed(panel.response)

    def weighed(self, values: np.ndarray) -> np.ndarray:
        """Return values[arm, slice] times the precision."""
        return np.asarray(np.einsum("ast,at->as", self.precision, values))


class Fit:
    """Arms beside slices of time: free ones, or those of a smooth calendar."""

    def __init__(self, arms: Arms, calendar: Calendar | None = None) -> None:
        self.arms, self.panel = arms, arms.panel
        slices = len(self.panel.time)
        self._prior = TINY * np.eye(slices) if calendar is None else calendar.precision
        self._log_prior = 0.0 if calendar is None else calendar.log_determinant

    @functools.cached_property
    def information(self) -> np.ndarray:
        """What is known of slices, [slice, slice]."""
        return np.asarray(self.arms.precision.sum(axis=0) + self._prior)

    @functools.cached_property
    def covariance(self) -> np.ndarray:
        """The covariance of slices."""
        return np.asarray(np.linalg.inv(self.information))

    @functools.cached_property
    def slices(self) -> np.ndarray:
        """The most likely slices."""
        return np.asarray(self.covariance @ self.arms.response.sum(axis=0))

    @functools.cached_property
    def rest(self) -> np.ndarray:
        """What slices leave of responses, weighed by the precision."""
        return self.rest_of(self.panel.response)

    def rest_of(self, response: np.ndarray) -> np.ndarray:
        """Return the same of other responses."""
        weighed = self.arms.weighed(response)
        slices = self.covariance @ weighed.sum(axis=0)
        return np.asarray(weighed - np.einsum("ast,t->as", self.arms.precision, slices))

    @functools.cached_property
    def log_likelihood(self) -> float:
        """The restricted likelihood's logarithm, but for what is the same for all assumptions."""
        explained = float(self.slices @ self.arms.response.sum(axis=0))
        loss = float((self.panel.response * self.arms.response).sum()) - explained
        slices = float(np.linalg.slogdet(self.information)[1]) - self._log_prior
        return -0.5 * (self.arms.log_determinant + slices + loss)

    def own(self, column: np.ndarray, calendar: bool = True) -> Slope:
        """Return what the log says of a slope of each arm by itself along column[arm, slice], beside all others.

        Without `calendar` beside none: as if time did nothing.
        """
        weighed = self.arms.weighed(column)
        information = (column * weighed).sum(axis=1)
        if not calendar:
            return Slope((column * self.arms.response).sum(axis=1), information)
        shared = np.einsum("as,st,at->a", weighed, self.covariance, weighed)
        return Slope((column * self.rest).sum(axis=1), np.maximum(information - shared, 0.0))

    def common(self, column: np.ndarray) -> Slope:
        """Return what the log says of a slope that all arms share, once levels and slices are projected out."""
        weighed = self.arms.weighed(column)
        total = weighed.sum(axis=0)
        information = float((column * weighed).sum() - total @ self.covariance @ total)
        return Slope(np.array((column * self.rest).sum()), np.array(max(information, 0.0)))

    def joint(self, axis: np.ndarray, prior: float) -> Joint:
        """Return what is known of slices and of a common slope from N(0, prior^2) along an axis, together."""
        weighed = self.arms.weighed(axis)
        shared = weighed.sum(axis=0)
        slope = np.array([[(axis * weighed).sum() + prior**-2]])
        covariance = np.linalg.inv(np.block([[self.information, shared[:, None]], [shared[None], slope]]))
        score = np.append(self.arms.response.sum(axis=0), (axis * self.arms.response).sum())
        return Joint(covariance @ score, covariance)


class Joint(NamedTuple):
    """Slices, and last the common slope: the most likely ones, and their covariance."""

    mean: np.ndarray
    covariance: np.ndarray


@dataclasses.dataclass(frozen=True)
class Calendar:
    """What is known of slices beforehand: nothing of their level and trend, something of how they bend."""

    precision: np.ndarray
    log_determinant: float

    @classmethod
    def of(cls, time: np.ndarray, smooth: float, rough: float) -> Calendar:
        """Return a calendar whose bends have these spreads."""
        spread = smooth**2 * np.exp(-np.abs(time[:, None] - time) / SMOOTH) + (rough**2 + 1e-8) * np.eye(len(time))
        inverse = np.linalg.inv(spread)
        trend = np.stack([np.ones(len(time)), time - time.mean()], axis=1)
        known = inverse @ trend
        precision = inverse - known @ np.linalg.inv(trend.T @ known) @ known.T
        return cls(precision, float(np.log(np.linalg.eigvalsh(precision)[2:]).sum()))


def calendars(time: np.ndarray) -> list[Calendar]:
    """Return the calendars that are weighed."""
    return [Calendar.of(time, smooth, rough) for smooth, rough in CALENDARS]


def weights(logs: np.ndarray) -> np.ndarray:
    """Return probabilities from logarithms of evidence.

    >>> weights(np.log(np.array([1.0, 3.0])))
    array([0.25, 0.75])
    """
    likely = np.exp(logs - np.max(logs))
    return np.asarray(likely / likely.sum())
