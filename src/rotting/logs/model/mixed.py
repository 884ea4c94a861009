"""Levels of arms, what slices of time do to all of them, slopes, and the wandering of each arm: a mixed model.

    response[arm, slice] = slice + level[arm] + slope[arm] * axis[arm, slice] + wandering[arm, slice] + noise

Slices are free, or smooth beside a free trend. What differs from arm to arm is normal with known spreads
(`Assumed`); those are unknown, so everything is computed for many of them and weighed by how well they explain the log
(restricted likelihood). All of it is generalised least squares on small matrices, all arms at once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rotting.logs.arrays import Floats
from rotting.logs.model.panel import Panel

Kind = TypeVar("Kind")
FREE = 10.0  # the spread of what is not known at all; effects are logarithms
TINY = 1e-9
# Smooth calendars: the time over which they change, and the spread of their changes; and of days by themselves.
SMOOTH = 0.15
CALENDARS = tuple((smooth, rough) for smooth in (0.01, 0.05, 0.15, 0.5) for rough in (0.0, 0.15))
WALK = np.inf  # the length of wandering that never comes back


class Assumed(NamedTuple):
    """Spreads of what differs from arm to arm."""

    level: float = FREE
    slope: float = 0.0
    wander: float = 0.0
    length: float = 0.1


# The wanderings that are weighed, with how likely each is beforehand. Lengths are shares of the log.
WANDERINGS = (
    (Assumed(), 0.3),
    *(
        (Assumed(wander=spread, length=length), 0.7 / 18)
        for spread in (0.1, 0.2, 0.35, 0.6, 1.0)
        for length in (0.01, 0.08, 0.25)
    ),
    *((Assumed(wander=spread, length=WALK), 0.7 / 18) for spread in (0.3, 0.7, 1.5)),
)


class Slope(NamedTuple):
    """A slope: what the log says of it (score and information), so that priors can be added: N(0, prior^2)."""

    score: Floats
    information: Floats

    def z(self, prior: float = np.inf) -> Floats:
        """Return how many standard errors it lies above 0."""
        return self.score / np.sqrt(self.information + prior**-2 + TINY)

    def mean(self, prior: float) -> Floats:
        """Return the likeliest slope."""
        return self.score / (self.information + prior**-2)

    def error(self, prior: float) -> Floats:
        """Return its standard error."""
        return 1 / np.sqrt(self.information + prior**-2)

    def log_evidence(self, prior: float) -> Floats:
        """Return the logarithm of the evidence for a slope drawn from the prior against none."""
        spread = prior**2
        ratio = 1 + self.information * spread
        return 0.5 * (self.score**2 * spread / ratio - np.log(ratio))


def wandering(panel: Panel, assumed: Assumed, one: Floats, other: Floats) -> Floats:
    """Return the covariance of wandering between two times of each arm, [arm, one, other]; times are [arm, n]."""
    if assumed.length == WALK:
        since = [np.maximum(time - panel.launch[:, None], 0.0) for time in (one, other)]
        return assumed.wander**2 * np.minimum(since[0][:, :, None], since[1][:, None, :])
    return assumed.wander**2 * np.exp(-np.abs(one[:, :, None] - other[:, None, :]) / assumed.length)


class Arms:
    """What differs from arm to arm under assumed spreads: the precision of each arm's responses."""

    def __init__(self, panel: Panel, assumed: Assumed, axis: Floats | None = None) -> None:
        self.panel, self.assumed = panel, assumed
        times = np.broadcast_to(panel.time, panel.weight.shape)
        self.spread = assumed.level**2 + wandering(panel, assumed, times, times)
        if axis is not None and assumed.slope > 0:
            self.spread = self.spread + assumed.slope**2 * axis[:, :, None] * axis[:, None, :]
        root = np.sqrt(panel.weight)
        inner = np.eye(len(panel.time)) + root[:, :, None] * self.spread * root[:, None, :]
        self.log_determinant = 2 * float(np.log(np.einsum("ass->as", np.linalg.cholesky(inner))).sum())
        self.precision = root[:, :, None] * np.linalg.inv(inner) * root[:, None, :]
        self.response = self.weighed(panel.response)

    def weighed(self, values: Floats) -> Floats:
        """Return values[arm, slice], or those of each slice, times the precision."""
        return np.einsum("ast,at->as", self.precision, np.broadcast_to(values, self.panel.weight.shape))


class Fit:
    """Arms beside slices of time: free ones, or those of a smooth calendar."""

    def __init__(self, arms: Arms, calendar: Calendar | None = None) -> None:
        self.arms, self.panel = arms, arms.panel
        self._prior = calendar or Calendar(TINY * np.eye(len(self.panel.time)), 0.0)

    @functools.cached_property
    def information(self) -> Floats:
        """What is known of slices, [slice, slice]."""
        return self.arms.precision.sum(axis=0) + self._prior.precision

    @functools.cached_property
    def covariance(self) -> Floats:
        """The covariance of slices."""
        return np.linalg.inv(self.information).astype(float)

    @functools.cached_property
    def slices(self) -> Floats:
        """The most likely slices."""
        return self.covariance @ self.arms.response.sum(axis=0)

    @functools.cached_property
    def rest(self) -> Floats:
        """What slices leave of responses, weighed by the precision."""
        return self.rest_of(self.panel.response)

    def rest_of(self, response: Floats) -> Floats:
        """Return the same of other responses."""
        weighed = self.arms.weighed(response)
        return weighed - self.arms.weighed(self.covariance @ weighed.sum(axis=0))

    @functools.cached_property
    def log_likelihood(self) -> float:
        """The restricted likelihood's logarithm, but for what is the same for all assumptions."""
        explained = float(self.slices @ self.arms.response.sum(axis=0))
        loss = float((self.panel.response * self.arms.response).sum()) - explained
        slices = float(np.linalg.slogdet(self.information)[1]) - self._prior.log_determinant
        return -0.5 * (self.arms.log_determinant + slices + loss)

    def own(self, column: Floats, calendar: bool = True) -> Slope:
        """Return what the log says of a slope of each arm by itself along column[arm, slice], beside all others.

        Without `calendar` beside none: as if time did nothing.
        """
        weighed = self.arms.weighed(column)
        information = (column * weighed).sum(axis=1)
        if not calendar:
            return Slope((column * self.arms.response).sum(axis=1), information)
        shared = np.einsum("as,st,at->a", weighed, self.covariance, weighed)
        return Slope((column * self.rest).sum(axis=1), np.maximum(information - shared, 0.0))

    def common(self, column: Floats) -> Slope:
        """Return what the log says of a slope that all arms share, once levels and slices are projected out."""
        weighed = self.arms.weighed(column)
        total = weighed.sum(axis=0)
        information = (column * weighed).sum() - total @ self.covariance @ total
        return Slope((column * self.rest).sum(), np.maximum(information, 0.0))

    def joint(self, axis: Floats, prior: float) -> tuple[Floats, Floats]:
        """Return what is known of slices and, last, of a common slope from N(0, prior^2): means and covariance."""
        weighed = self.arms.weighed(axis)
        shared = weighed.sum(axis=0)
        slope = (axis * weighed).sum() + prior**-2
        covariance = np.linalg.inv(np.block([[self.information, shared[:, None]], [shared, slope]]))
        score = np.append(self.arms.response.sum(axis=0), (axis * self.arms.response).sum())
        return covariance @ score, covariance


@dataclasses.dataclass(frozen=True)
class Calendar:
    """What is known of slices beforehand: nothing of their level and trend, something of how they bend."""

    precision: Floats
    log_determinant: float

    @classmethod
    def of(cls, time: Floats, smooth: float, rough: float) -> Calendar:
        """Return a calendar whose bends have these spreads."""
        spread = smooth**2 * np.exp(-np.abs(time[:, None] - time) / SMOOTH) + (rough**2 + 1e-8) * np.eye(len(time))
        inverse = np.linalg.inv(spread)
        trend = np.stack([np.ones(len(time)), time - time.mean()], axis=1)
        known = inverse @ trend
        precision = inverse - known @ np.linalg.inv(trend.T @ known) @ known.T
        return cls(precision, float(np.log(np.linalg.eigvalsh(precision)[2:]).sum()))


def calendars(time: Floats) -> list[Calendar]:
    """Return the calendars that are weighed."""
    return [Calendar.of(time, smooth, rough) for smooth, rough in CALENDARS]


def weights(logs: Floats) -> Floats:
    """Return probabilities from logarithms of evidence.

    >>> weights(np.log(np.array([1.0, 3.0])))
    array([0.25, 0.75])
    """
    likely = np.exp(logs - np.max(logs))
    return likely / likely.sum()


def averaged(likely: Sequence[tuple[float, Kind]], value: Callable[[Kind], Any]) -> Any:
    """Return the mean of a value over what is so likely."""
    return sum(chance * value(each) for chance, each in likely)


def log_averaged(likely: Sequence[tuple[float, Kind]], value: Callable[[Kind], Floats]) -> Floats:
    """Return the same of logarithms: that of the mean of what they are logarithms of."""
    return np.logaddexp.reduce([np.log(chance) + value(each) for chance, each in likely])
