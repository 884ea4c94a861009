"""Exposure or time: what a log, and an experiment after it, tell of the cause of a fall that all arms share.

Values are exp(level of the arm + what all arms share at that time - the arm's own trend - fall x exposures of the arm).
What all share at a time may be anything, and arms may fall at speeds of their own. So `fall` is known from one thing
alone: arms that were rested, and then stand better beside the others than their courses until then would have led them.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.arrays import Floats
from rotting.logs.model.noise import sigma_of
from rotting.logs.model.panel import every_cell
from rotting.logs.read.counting import SLICES
from rotting.logs.read.reading import Log

EXPOSURE, TIME, UNCLEAR = "exposure", "time", "unclear"
ODDS = 19.0  # of one cause over the other, for a verdict
LEAST_SPEEDS = 0.2  # how much falls of arms differ at least, as a share of them
_STEPS, DRAWS = 7, 50
_LOOSE = 1e-2  # how little is known before of what all arms share: a standard deviation of 10
_DAY = 86_400.0


@dataclasses.dataclass(frozen=True)
class Counts:
    """Exposures and rewards, [slice of time, arm]; `before` are exposures of the arm until the middle of the slice."""

    before: Floats
    shown: Floats
    earned: Floats

    def with_more(self, other: Counts) -> Counts:
        """Return these counts and others, of later slices."""
        return Counts(*(np.vstack(pair) for pair in zip(_fields(self), _fields(other), strict=True)))

    @property
    def times(self) -> Floats:
        """The middles of the slices, from 0 to 1."""
        return (np.arange(len(self.shown)) + 0.5) / len(self.shown)


def _fields(counts: Counts) -> tuple[Floats, Floats, Floats]:
    return counts.before, counts.shown, counts.earned


@dataclasses.dataclass(frozen=True)
class Grounds:
    """What a log gives: its counts, and how rewards vary."""

    names: tuple[str, ...]
    counts: Counts
    days: float
    sigma: float | None  # None: rewards are 0 or 1
    excess: float = 1.0  # the variance of sums over what single rewards explain

    @property
    def unit(self) -> float:
        """The exposures by which falls are counted: those of a typical arm."""
        return float(self.counts.shown.sum()) / len(self.names)

    @property
    def daily(self) -> float:
        """Exposures of all arms in a day."""
        return float(self.counts.shown.sum()) / self.days

    def bounded(self, means: Floats) -> Floats:
        """Return means that rewards can have."""
        return means if self.sigma is not None else np.minimum(means, 0.999)

    def information(self, means: Floats, shown: Floats) -> Floats:
        """Return what counts tell of the logarithm of their means."""
        return shown * means**2 / (self.variance(means) * self.excess)

    def variance(self, means: Floats) -> Floats:
        """Return the variance of single rewards of such means."""
        return means * (1.0 - means) if self.sigma is None else np.full_like(means, self.sigma**2)


def grounds_of(log: Log, upto: float = 1.0) -> Grounds:
    """Return what a log gives until a share of its time."""
    whole = counts_of(log)
    early = (np.arange(SLICES) + 1) / SLICES <= upto
    counts = Counts(*(each[early] for each in _fields(whole)))
    names, days = tuple(each.name for each in log.arms), (log.seconds or 0.0) / _DAY * early.mean()
    plain = Grounds(names, counts, days, None if log.binary else sigma_of(log))
    fit, shown = fitted(plain, along_time=True), counts.shown > 0
    gaps = ((counts.earned / np.maximum(counts.shown, 1.0) - fit.means) / fit.means)[shown]
    residuals = plain.information(fit.means, counts.shown)[shown] * gaps**2
    return dataclasses.replace(plain, excess=max(1.0, residuals.sum() / max(len(gaps) - 2 * len(names) - 1, 1)))


def counts_of(log: Log) -> Counts:
    """Return the counts of a log in slices of its time."""
    cells, arm = every_cell(log)
    place = np.minimum((cells.time * SLICES).astype(np.int64), SLICES - 1) * len(log.arms) + arm

    def sums(values: Floats) -> Floats:
        return np.bincount(place, values, SLICES * len(log.arms)).astype(float).reshape(SLICES, -1)

    shown = sums(cells.count)
    before = sums(cells.count * cells.exposure) / np.maximum(shown, 1.0)
    return Counts(before, shown, sums(cells.total + log.offset * cells.count))


@dataclasses.dataclass(frozen=True)
class Fitted:
    """Levels of the arms (logarithms), and how much of the value is lost by one cause."""

    levels: Floats
    falls: Floats  # of each arm, over the exposures of a typical arm, or over the time of the log; logarithms
    fall: float  # of a typical arm
    error: float  # its standard error
    speeds: float  # the standard deviation of `falls` between arms
    means: Floats
    draws: Floats  # of what is as likely, given the log: [draw, levels or falls, arm]


def fitted(grounds: Grounds, along_time: bool) -> Fitted:
    """Return the model in which all of the fall comes from time, or all of it from exposures.

    Levels and falls of arms are drawn together as far as they differ by chance alone.
    """
    counts, arms = grounds.counts, len(grounds.names)
    along = np.tile(counts.times[:, None], arms) if along_time else counts.before / grounds.unit
    raw = _solved(grounds, counts, -along, -along, np.array([_LOOSE, _LOOSE]), free=False)
    level = _spread(raw.levels, raw.covariance[:arms, :arms], 0.02)
    speed = _spread(raw.slopes, raw.covariance[arms:-1, arms:-1], LEAST_SPEEDS * abs(raw.fall + raw.slopes.mean()))
    found = _solved(grounds, counts, -along, -along, np.array([level, speed]) ** -2.0, free=False)
    error = float(np.sqrt(found.covariance[-1, -1]))
    middle = np.concatenate([found.levels, found.slopes, [found.fall]])
    drawn = np.random.default_rng(0).multivariate_normal(middle, found.covariance, DRAWS, method="cholesky")
    draws = np.stack([drawn[:, :arms], drawn[:, arms:-1] + drawn[:, -1:]], axis=1)
    return Fitted(found.levels, found.fall + found.slopes, found.fall, error, speed, found.means, draws)


def _spread(values: Floats, covariance: Floats, least: float) -> float:
    """Return by how much values differ beyond their errors: a standard deviation."""
    centred = covariance - covariance.mean(axis=0)
    return float(np.sqrt(max(values.var(ddof=1) - np.trace(centred) / (len(values) - 1), least**2)))


@dataclasses.dataclass(frozen=True)
class _Solved:
    levels: Floats
    slopes: Floats
    fall: float
    covariance: Floats  # of these, in this order
    means: Floats


def _solved(grounds: Grounds, counts: Counts, own: Floats, common: Floats, tightness: Floats, free: bool) -> _Solved:
    """Return what fits counts, by Newton's steps: of each arm a level and a slope along `own`, and one of `common`.

    With `free`, slices have values of their own. Those are eliminated from the equations, which are then as many as
    the arms ask for.
    """
    arms, shown = len(grounds.names), counts.shown
    columns = columns_of(own, common)
    observed = counts.earned / np.maximum(shown, 1e-9)
    middle = np.log(max(counts.earned.sum() / shown.sum(), 1e-9))
    found, shared = np.concatenate([np.full(arms, middle), np.zeros(arms + 1)]), np.zeros((len(shown), 1))
    prior = np.concatenate([np.repeat(tightness, arms), [_LOOSE]])
    for _ in range(_STEPS):
        means = grounds.bounded(np.exp(np.clip(columns @ found + shared, middle - 7.0, middle + 5.0)))
        weight = grounds.information(means, shown)
        response = np.log(means) + np.clip((observed - means) / means, -1.0, 3.0)
        matrix = np.einsum("sk,skc,skd->cd", weight, columns, columns, optimize=True)
        pull = np.einsum("sk,skc->c", weight * response, columns)
        total = weight.sum(axis=1, keepdims=True) + _LOOSE
        if free:
            crossed = np.einsum("sk,skc->sc", weight, columns)
            matrix -= crossed.T @ (crossed / total)
            pull -= crossed.T @ ((weight * response).sum(axis=1) / total[:, 0])
        pull[:arms] += prior[:arms] * found[:arms].mean()
        inverse = np.linalg.inv(matrix + np.diag(prior))
        found = inverse @ pull
        if free:
            shared = (weight * (response - columns @ found)).sum(axis=1, keepdims=True) / total
    return _Solved(found[:arms], found[arms:-1], float(found[-1]), inverse, means)


def columns_of(own: Floats, common: Floats) -> Floats:
    """Return what each unknown is multiplied by: [slice, arm, unknown]; levels, slopes of arms, and the one of all."""
    every = np.broadcast_to(np.eye(own.shape[1]), (*own.shape, own.shape[1]))
    return np.concatenate([every, every * own[:, :, None], common[:, :, None]], axis=2)


def free_information(weight: Floats, own: Floats, common: Floats) -> Floats:
    """Return what each slice tells of the unknowns, whatever else happened at its time: [slice, unknown, unknown]."""
    columns = columns_of(own, common)
    crossed = np.einsum("sk,skc->sc", weight, columns)
    whole = np.einsum("sk,skc,skd->scd", weight, columns, columns, optimize=True)
    return np.asarray(whole - crossed[:, :, None] * crossed[:, None, :] / (weight.sum(axis=1)[:, None, None] + _LOOSE))


def error_of(information: Floats, speeds: float) -> Floats:
    """Return the standard error of the fall, from what is known: of one matrix or of many."""
    arms = information.shape[-1] // 2
    prior = np.concatenate([np.full(arms, _LOOSE), np.full(arms, speeds**-2.0), [_LOOSE]])
    return np.asarray(np.sqrt(np.linalg.inv(information + np.diag(prior))[..., -1, -1]))


@dataclasses.dataclass(frozen=True)
class Separation:
    """How much of the log's fall goes with exposures: 0 is none, 1 all of it; with its 90 % interval."""

    verdict: str  # "exposure", "time" or "unclear"
    share: float
    low: float
    high: float
    odds: float  # of exposure over time

    def __str__(self) -> str:
        odds = max(self.odds, 1.0 / self.odds)
        said = {
            EXPOSURE: "Arms fall by being shown",
            TIME: "Arms fall with time, shown or not",
            UNCLEAR: "It is still unclear what makes arms fall",
        }[self.verdict]
        return (
            f"{said}: of the fall, {self.share:.0%} ({self.low:.0%} to {self.high:.0%}) goes with exposures; "
            f"odds {min(odds, 1e6):,.0f} to 1 for {EXPOSURE if self.odds >= 1.0 else TIME}."
        )


def separated(grounds: Grounds, counts: Counts, times: Floats, whole: Fitted) -> Separation:
    """Weigh the two causes, by counts of the log and of an experiment; `whole` is the fall if exposures make all of it.

    `times` are those of the slices, 1 being the end of the log. What arms share at a time is free, so a season, a
    campaign beside or a change of the site tells for neither.
    """
    trend, common = -np.tile(times[:, None], len(grounds.names)), -counts.before / grounds.unit
    found = _solved(grounds, counts, trend, common, np.array([_LOOSE, whole.speeds**-2.0]), free=True)
    variance = float(found.covariance[-1, -1])
    log_odds = 0.5 * (found.fall**2 / variance - (found.fall - whole.fall) ** 2 / (variance + whole.error**2))
    width = 1.645 * float(np.sqrt(variance)) / whole.fall
    verdict = UNCLEAR if abs(log_odds) < np.log(ODDS) else EXPOSURE if log_odds > 0 else TIME
    share = found.fall / whole.fall
    return Separation(verdict, share, share - width, share + width, float(np.exp(np.clip(log_odds, -500, 500))))
