"""Arms that fall at once: where, by how much, and the chance that those which have not dropped yet will."""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.driver import Weighed

# A drop must beat the smooth fit by this much in minus twice the log-likelihood: 6 is strong evidence by Kass and
# Raftery (1995), and the place of the drop is a parameter, too.
STRONG_EVIDENCE = 10.0
LEAST_ROWS = 6
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

    def draw(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return levels, falls (none), and drops: arms that have not dropped yet may do so at any exposure.

        The hazard of a drop per exposure is the same for all arms and all times, and is drawn from its posterior given
        how many dropped in how many exposures.
        """
        dropped = np.isfinite(self.at)
        at_risk = float(np.where(dropped, self.at, self.exposures).sum())
        hazard = generator.gamma(dropped.sum(), 1 / at_risk)
        before = np.maximum(self.before + self.before_error * generator.standard_normal(len(self.at)), 1e-6)
        left = np.clip(self.left + self.left_error * generator.standard_normal(len(self.at)), 0.0, 1.0)
        waiting = self.exposures + generator.exponential(1 / hazard, len(self.at))
        remainders = generator.choice(self.left[dropped], len(self.at))
        at = np.where(dropped, self.at, waiting)
        return np.log(before), np.zeros(len(self.at)), at, np.where(dropped, left, remainders)


def find_drops(weighed: Weighed) -> Drops | None:
    """Return the drops of a log, or None if its arms fall smoothly, or not at all."""
    panel = weighed.panel
    if not panel.multiplicative:
        return None
    smooth = panel.count / panel.variance * (panel.mean - weighed.value) ** 2
    limits = np.append(panel.first, len(panel.mean))
    found = np.array([_drop(weighed, slice(limits[arm], limits[arm + 1]), smooth) for arm in range(panel.arms)])
    at, before, before_error, left, left_error, better = found.T
    falls = left < LARGEST_REMAINDER
    at = np.where((better > STRONG_EVIDENCE) & falls, at, np.inf)
    if not np.isfinite(at).any() or (better[np.isfinite(at)].sum() + np.minimum(better[~np.isfinite(at)], 0).sum()) < 0:
        return None
    exposures = np.add.reduceat(panel.count, panel.first)
    whole = np.add.reduceat(panel.count * panel.mean, panel.first) / exposures
    whole_error = np.sqrt(panel.variance[panel.first] / exposures)
    without = ~np.isfinite(at)
    return Drops(
        at=at,
        before=np.where(without, whole, before),
        before_error=np.where(without, whole_error, before_error),
        left=np.where(without, 1.0, left),
        left_error=np.where(without, 0.0, left_error),
        exposures=exposures,
    )


def _drop(weighed: Weighed, rows: slice, smooth: np.ndarray) -> tuple[float, ...]:
    """Return the best drop of one arm: its place, levels with errors, and by how much it beats the smooth fit."""
    panel = weighed.panel
    weight = panel.count[rows] / panel.variance[rows]
    mean, exposure, count = panel.mean[rows], panel.exposure[rows], panel.count[rows]
    if len(mean) < LEAST_ROWS:
        return np.inf, 1.0, 0.0, 1.0, 0.0, -np.inf
    total, moment = np.cumsum(weight), np.cumsum(weight * mean)
    before = moment[:-1] / total[:-1]
    rest = np.maximum(total[-1] - total[:-1], 1e-300)
    after = (moment[-1] - moment[:-1]) / rest
    explained = total[:-1] * before**2 + rest * after**2
    explained[(after >= before) | (before <= 0)] = -np.inf
    best = int(np.argmax(explained))
    loss = float(weight @ mean**2) - float(explained[best])
    if not np.isfinite(loss):
        return np.inf, 1.0, 0.0, 1.0, 0.0, -np.inf
    left = max(float(after[best] / before[best]), 0.0)
    error = 1 / np.sqrt(total[best])
    left_error = np.sqrt(1 / rest[best] + (left * error) ** 2) / before[best]
    at = float(exposure[best] + count[best] / 2)
    return at, float(before[best]), float(error), left, float(left_error), float(smooth[rows].sum()) - loss
