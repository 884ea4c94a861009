"""Arms that fall at once: where, by how much, and the chance that those which have not dropped yet will."""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.driver import Weighed

# How likely drops are before the log is seen, and what the place and the size of one cost, in minus twice the
# log-likelihood: about 20 places to choose from, and a size.
PRIOR, DROP_PENALTY = 0.1, 8.0
LEVEL_SPREAD, LEVEL_PRECISION = 0.2, 1e-4  # of the logarithms of levels, and of what is common to them
LEAST_ROWS, LEAST_SHRUNK = 6, 3
LEAST_SPREAD = 0.3  # of the logarithms of the places of drops
LARGEST_REMAINDER = 0.8  # more than this share left is no drop


@dataclasses.dataclass(frozen=True)
class Drops:
    """Levels before and after a drop, for arms that have one; the level of the others."""

    at: np.ndarray  # exposures before the drop; infinite for arms without one
    before: np.ndarray  # scaled value
    before_error: np.ndarray
    left: np.ndarray  # the share that is left; 1 without a drop
    left_error: np.ndarray
    exposures: np.ndarray
    unseen: np.ndarray  # so many exposures after a drop are too few to see it
    probability: float  # that arms drop at once rather than fall smoothly

    def draw(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return levels, falls (none), and drops: arms that have not dropped yet will do so as others did.

        The places of drops are log-normal, with a mean drawn given those seen, and arms that have not dropped counted
        where they are. An arm may also have dropped so recently that it is not seen yet.
        """
        from scipy.special import ndtr, ndtri

        dropped = np.isfinite(self.at)
        places = np.log(np.maximum(np.where(dropped, self.at, 1.5 * self.exposures), 1.0))
        spread = max(float(places.std()), LEAST_SPREAD)
        centre = generator.normal(places.mean(), spread / np.sqrt(len(places)))
        known = ndtr((np.log(np.maximum(self.exposures - self.unseen, 1.0)) - centre) / spread)
        share = known + (1 - known) * generator.random(len(places))
        waiting = np.exp(centre + spread * ndtri(np.clip(share, 1e-9, 1 - 1e-9)))
        before = np.maximum(self.before + self.before_error * generator.standard_normal(len(self.at)), 1e-6)
        left = np.clip(self.left + self.left_error * generator.standard_normal(len(self.at)), 0.0, 1.0)
        remainders = generator.choice(self.left[dropped], len(self.at))
        at = np.where(dropped, self.at, waiting)
        return np.log(before), np.zeros(len(self.at)), at, np.where(dropped, left, remainders)


def find_drops(weighed: Weighed) -> Drops | None:
    """Return the drops of a log and how likely they are, or None if no arm has one."""
    panel = weighed.panel
    if not panel.multiplicative:
        return None
    limits = np.append(panel.first, len(panel.mean))
    found = np.array([_drop(weighed, slice(limits[arm], limits[arm + 1])) for arm in range(panel.arms)])
    at, before, before_error, left, left_error, loss, constant_loss = found.T
    dropped = (loss + DROP_PENALTY < constant_loss) & (left < LARGEST_REMAINDER)
    at = np.where(dropped, at, np.inf)
    if not dropped.any():
        return None
    probability = _probability(weighed, float(np.where(dropped, loss + DROP_PENALTY, constant_loss).sum()))
    exposures = np.add.reduceat(panel.count, panel.first)
    whole = np.add.reduceat(panel.count * panel.mean, panel.first) / exposures
    whole_error = np.sqrt(panel.variance[panel.first] / exposures)
    without = ~dropped
    level, level_error = _shrunk(np.where(without, whole, before), np.where(without, whole_error, before_error))
    rest, rest_error = np.ones(panel.arms), np.zeros(panel.arms)
    rest[dropped], rest_error[dropped] = _shrunk(left[dropped], left_error[dropped])
    # Of an arm that is worth nothing, no drop is ever seen: the exposures needed are beyond all bounds, not undefined.
    fall = np.maximum((whole * (1 - np.median(left[dropped]))) ** 2, 1e-60)
    return Drops(
        at=at,
        before=level,
        before_error=level_error,
        left=rest,
        left_error=rest_error,
        exposures=exposures,
        unseen=DROP_PENALTY * panel.variance[panel.first] / fall,
        probability=probability,
    )


def _probability(weighed: Weighed, loss: float) -> float:
    """Return how likely drops are, given their loss: their evidence against that of all smooth explanations.

    Levels of arms, and what is common to them, cost drops what they cost the others.
    """
    panel = weighed.panel
    information = np.add.reduceat(panel.count / panel.variance, panel.first)
    levels = np.log1p(information * LEVEL_SPREAD**2).sum() + np.log1p(information.sum() / LEVEL_PRECISION)
    odds = -0.5 * (loss + levels) - weighed.log_evidence + np.log(PRIOR / (1 - PRIOR))
    return float(1 / (1 + np.exp(-np.clip(odds, -700, 700))))


def _shrunk(values: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values shrunk towards their mean by as much as their scatter is noise, and their errors.

    References
    ----------
    DerSimonian and Laird (1986), "Meta-analysis in clinical trials".

    Examples
    --------
    >>> _shrunk(np.array([1.0, 1.2, 0.8]), np.array([0.5, 0.5, 0.5]))[0]
    array([1., 1., 1.])
    """
    if len(values) < LEAST_SHRUNK:
        return values, errors
    weight = 1 / np.maximum(errors, 1e-12) ** 2
    centre = float(weight @ values / weight.sum())
    excess = float(weight @ (values - centre) ** 2) - (len(values) - 1)
    between = max(0.0, excess / float(weight.sum() - (weight**2).sum() / weight.sum()))
    keep = between / (between + errors**2)
    own = 1 / (between + errors**2)
    centre, centre_error = float(own @ values / own.sum()), float(1 / np.sqrt(own.sum()))
    return centre + keep * (values - centre), np.sqrt(keep * errors**2 + ((1 - keep) * centre_error) ** 2)


def _drop(weighed: Weighed, rows: slice) -> tuple[float, ...]:
    """Return the best drop of one arm: its place, levels with errors, its loss, and that of a constant."""
    panel = weighed.panel
    weight = panel.count[rows] / panel.variance[rows]
    mean, exposure, count = panel.mean[rows], panel.exposure[rows], panel.count[rows]
    flat = float(weight @ (mean - weight @ mean / weight.sum()) ** 2)
    if len(mean) < LEAST_ROWS:
        return np.inf, 1.0, 0.0, 1.0, 0.0, np.inf, flat
    total, moment = np.cumsum(weight), np.cumsum(weight * mean)
    before = moment[:-1] / total[:-1]
    rest = np.maximum(total[-1] - total[:-1], 1e-300)
    after = (moment[-1] - moment[:-1]) / rest
    explained = total[:-1] * before**2 + rest * after**2
    explained[(after >= before) | (before <= 0)] = -np.inf
    best = int(np.argmax(explained))
    loss = float(weight @ mean**2) - float(explained[best])
    if not np.isfinite(loss):
        return np.inf, 1.0, 0.0, 1.0, 0.0, np.inf, flat
    left = max(float(after[best] / before[best]), 0.0)
    error = 1 / np.sqrt(total[best])
    left_error = np.sqrt(1 / rest[best] + (left * error) ** 2) / before[best]
    at = float(exposure[best] + count[best] / 2)
    return at, float(before[best]), float(error), left, float(left_error), loss, flat
