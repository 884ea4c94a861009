"""Arms that fall at once: where, by how much, and the chance that those which have not dropped yet will.

Each arm may have dropped, anywhere between two rows of the panel, to any share of what it was worth. How likely that
is follows from the rewards before and after (a Bayes factor against "steady", which is 1 on average where nothing
drops, however many arms there are), and from how many arms drop, which the arms tell together.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.model.driver import Weighed
from rotting.logs.model.panel import Panel
from rotting.logs.worth.steady import NOTHING_FALLS, Steady

# How likely drops are before the log is seen, and the shares of arms that may have dropped, if any does.
PRIOR = 0.1
SHARES = np.array([0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
LARGEST_REMAINDER = 0.8  # more than this share left is no drop
REMAINDERS = LARGEST_REMAINDER * (np.arange(8) + 0.5) / 8
LEVEL_SHAPE = 2.0  # of the gamma prior of a scaled level, which is about 1
SEEN = 8.0  # a drop is seen once it lessens the loss by this much: about 20 places to choose from, and a size
LEVEL_SPREAD, UNKNOWN = 0.2, 1e-4  # of the logarithms of levels; the precision of what is common to them
LEAST_ROWS, LEAST_SHRUNK = 6, 3
MODERATE = (0.2, 5.0)  # fitted values beyond these are not believed when variances are taken from them
LEAST_SPREAD = 0.3  # of the logarithms of the places of drops


@dataclasses.dataclass(frozen=True)
class Drops:
    """The likeliest drop of each arm, how likely it is, and levels with errors."""

    at: np.ndarray  # exposures before the drop; infinite where none is possible
    dropped: np.ndarray  # how likely each arm has dropped, if arms drop at all
    before: np.ndarray  # scaled value before the drop
    before_error: np.ndarray
    whole: np.ndarray  # scaled value if there was no drop
    whole_error: np.ndarray
    left: np.ndarray  # the share that is left
    left_error: np.ndarray
    exposures: np.ndarray
    unseen: np.ndarray  # so many exposures after a drop are too few to see it
    probability: float  # that arms drop at once rather than fall smoothly, or not at all

    def draw(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the logarithms of levels, and drops: arms that have not dropped yet will do so as others did.

        The places of drops are log-normal, with a mean drawn given those seen, and arms that have not dropped counted
        where they are. An arm may also have dropped so recently that it is not seen yet.
        """
        from scipy.special import ndtr, ndtri

        arms = len(self.at)
        dropped = generator.random(arms) < self.dropped
        places = np.log(np.maximum(np.where(dropped, self.at, 1.5 * self.exposures), 1.0))
        spread = max(float(places.std()), LEAST_SPREAD)
        centre = generator.normal(places.mean(), spread / np.sqrt(arms))
        known = ndtr((np.log(np.maximum(self.exposures - self.unseen, 1.0)) - centre) / spread)
        share = known + (1 - known) * generator.random(arms)
        waiting = np.exp(centre + spread * ndtri(np.clip(share, 1e-9, 1 - 1e-9)))
        error = np.where(dropped, self.before_error, self.whole_error) * generator.standard_normal(arms)
        before = np.maximum(np.where(dropped, self.before, self.whole) + error, 1e-6)
        left = np.clip(self.left + self.left_error * generator.standard_normal(arms), 0.0, 1.0)
        others = self.left[dropped] if dropped.any() else self.left[self.dropped == self.dropped.max()]
        remainders = generator.choice(others, arms)
        return np.log(before), np.where(dropped, self.at, waiting), np.where(dropped, left, remainders)


@dataclasses.dataclass(frozen=True)
class _Place:
    """The likeliest drop of one arm, and the Bayes factor of all its places together."""

    at: float = np.inf
    before: float = 1.0
    before_error: float = 0.0
    left: float = 1.0
    left_error: float = 0.0
    log_factor: float = -np.inf
    row: int = -1  # the last one before the drop


def find_drops(weighed: Weighed, steady: Steady) -> Drops | None:
    """Return the drops of a log and how likely they are, or None if no arm can have one."""
    panel = weighed.panel
    if not panel.multiplicative:
        return None
    limits = np.append(panel.first, len(panel.mean))
    # Rewards in units of their variance over their mean: clicks, where they are clicks.
    unit = panel.variance / (np.clip(weighed.value, *MODERATE) if panel.nonnegative else 1.0)
    columns = (panel.count * panel.expected / unit, panel.count * panel.mean / unit, panel.exposure + panel.count / 2)
    places = [_drop(*(each[limits[arm] : limits[arm + 1]] for each in columns)) for arm in range(panel.arms)]
    columns_of = np.array([dataclasses.astuple(each) for each in places]).T
    at, before, before_error, left, left_error, factors, row = columns_of
    # By share of arms that drop and arm: the evidence with drops against that without.
    mixed = np.logaddexp(np.log(1 - SHARES)[:, None], np.log(SHARES)[:, None] + factors)
    together = mixed.sum(axis=1)
    share = np.exp(together - np.logaddexp.reduce(together))
    dropped = share @ np.exp(np.log(SHARES)[:, None] + factors - mixed)
    likely = dropped > 0.5
    if not likely.any():
        return None
    exposures = np.add.reduceat(panel.count, panel.first)
    whole = np.add.reduceat(panel.count * panel.mean, panel.first) / exposures
    whole_error = np.sqrt(np.add.reduceat(panel.count * panel.variance, panel.first)) / exposures
    level, level_error = _shrunk(np.where(likely, before, whole), np.where(likely, before_error, whole_error))
    left[likely], left_error[likely] = _shrunk(left[likely], left_error[likely])
    # Of an arm that is worth nothing, no drop is ever seen: the exposures needed are beyond all bounds, not undefined.
    fall = np.maximum((whole * (1 - np.median(left[likely]))) ** 2, 1e-60)
    return Drops(
        at=at,
        dropped=np.where(np.isfinite(at), dropped, 0.0),
        before=np.where(likely, level, before),
        before_error=np.where(likely, level_error, before_error),
        whole=np.where(likely, whole, level),
        whole_error=np.where(likely, whole_error, level_error),
        left=left,
        left_error=left_error,
        exposures=exposures,
        unseen=SEEN * panel.variance[panel.first] / fall,
        probability=_probability(
            weighed,
            steady,
            log_factor=float(np.logaddexp.reduce(together) - np.log(len(SHARES))),
            loss=_loss(panel, np.where(likely, row, -1).astype(np.int64)),
        ),
    )


def _probability(weighed: Weighed, steady: Steady, log_factor: float, loss: float) -> float:
    """Return how likely drops are: their evidence against that of all smooth explanations, and of none.

    Of two figures the lower is taken. "Steady" with the Bayes factor is right where few units came in; where drops
    are many standard errors deep, only the loss of the two levels compares with that of smooth curves.
    """
    panel = weighed.panel
    information = np.add.reduceat(panel.count / panel.variance, panel.first)
    levels = np.log1p(information * LEVEL_SPREAD**2).sum() + np.log1p(information.sum() / UNKNOWN)
    drops = np.log(PRIOR) + min(steady.log_evidence_without_time + log_factor, -0.5 * (loss + levels))
    smooth = np.log((1 - PRIOR) * (1 - NOTHING_FALLS)) + weighed.log_evidence
    none = np.log((1 - PRIOR) * NOTHING_FALLS) + steady.log_evidence
    return float(np.exp(drops - np.logaddexp.reduce([drops, smooth, none])))


def _loss(panel: Panel, row: np.ndarray) -> float:
    """Return the loss of arms with two levels, changing after a row, or one (-1), and what places and sizes cost."""
    total = 0.0
    limits = np.append(panel.first, len(panel.mean))
    for arm, last in enumerate(row.tolist()):
        middle = limits[arm] + last + 1
        parts = [slice(limits[arm], middle), slice(middle, limits[arm + 1])] if last >= 0 else []
        for rows in parts or [slice(limits[arm], limits[arm + 1])]:
            weight, mean = panel.count[rows] / panel.variance[rows], panel.mean[rows] / panel.expected[rows]
            total += float(weight @ (mean - weight @ mean / weight.sum()) ** 2)
        total += SEEN * (last >= 0)
    return total


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


def _drop(exposures: np.ndarray, units: np.ndarray, ends: np.ndarray) -> _Place:
    """Return the likeliest drop of one arm, after one of its rows.

    Units (such as clicks) come as often as chance has it: with y of them in n exposures, the likelihood of a level is
    that of a Poisson distribution, and with a gamma prior that of a drop to a share r, after n_b exposures with y_b,
    against none, is r^(y - y_b) ((a + n) / (a + n_b + r (n - n_b)))^(a + y). Few clicks are skewed: a normal
    likelihood would see drops in every second log of many arms.
    """
    if len(units) < LEAST_ROWS:
        return _Place()
    n, y = np.cumsum(exposures), np.cumsum(units)
    n_after, y_after = n[-1] - n[:-1], np.maximum(y[-1] - y[:-1], 0.0)
    whole = np.log(LEVEL_SHAPE + n[-1])
    log_factors = np.logaddexp.reduce(
        [
            np.log(left) * y_after
            + (LEVEL_SHAPE + max(y[-1], 0.0)) * (whole - np.log(LEVEL_SHAPE + n[:-1] + left * n_after))
            for left in REMAINDERS
        ]
    )
    best = int(np.argmax(log_factors))
    before, after = float(y[best] / n[best]), float(y_after[best] / n_after[best])
    if before <= 0:
        return _Place()
    left = min(after / before, 1.0)
    before_error = float(np.sqrt(before / n[best]))
    return _Place(
        at=float(ends[best]),
        before=before,
        before_error=before_error,
        left=left,
        # Half a unit more: nothing seen after the drop does not mean that nothing is left.
        left_error=float(np.hypot(np.sqrt((y_after[best] + 0.5) / n_after[best] ** 2), left * before_error) / before),
        log_factor=float(np.logaddexp.reduce(log_factors) - np.log(len(log_factors) * len(REMAINDERS))),
        row=best,
    )
