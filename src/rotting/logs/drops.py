"""Arms that fall at once: where, by how much, and the chance that those which have not dropped yet will.

Each arm may have dropped, anywhere between two rows of the panel, to any share of what it was worth. How likely that
is follows from the rewards before and after (a Bayes factor against "steady", which is 1 on average where nothing
drops, however many arms there are), and from how many arms drop, and to what, which the arms tell together.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.driver import Weighed
from rotting.logs.panel import Panel
from rotting.logs.steady import NOTHING_FALLS, Steady

# How likely drops are before the log is seen, and the shares of arms that may have dropped, if any does.
PRIOR = 0.1
SHARES = np.array([0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
REMAINDERS = np.arange(0.05, 0.8, 0.1)  # the shares that may be left; more than 0.8 is no drop
LEVEL_SHAPE = 3.0  # of the gamma prior of a scaled level, which is about 1
LEAST_ROWS, PARAMETERS = 6, 3  # of an arm that drops: its place and two levels
MODERATE = (0.2, 5.0)  # fitted values beyond these are not believed when variances are taken from them
LEAST_SPREAD = 0.3  # of the logarithms of the places of drops


@dataclasses.dataclass(frozen=True)
class _Cells:
    """Every drop that an arm may have had: one after each of its rows, to each share that may be left."""

    arm: np.ndarray
    at: np.ndarray  # exposures before the drop
    remainder: np.ndarray  # which of the shares is left
    seen: np.ndarray  # exposures in units of information, those after the drop counted by what is left
    log_factor: np.ndarray  # against no drop
    first: np.ndarray  # the first cell of each arm

    def reduced(self, logs: np.ndarray) -> np.ndarray:
        """Return, for each arm, the logarithm of the sum over its cells."""
        highest = np.maximum.reduceat(logs, self.first)
        return np.asarray(highest + np.log(np.add.reduceat(np.exp(logs - highest[self.arm]), self.first)))


@dataclasses.dataclass(frozen=True)
class Drops:
    """The drops that arms may have had, and how likely each is."""

    cells: _Cells
    cumulative: np.ndarray  # of the chances of cells, which add up to 1 for each arm
    dropped: np.ndarray  # how likely each arm has dropped, if arms drop at all
    remainders: np.ndarray  # how likely each share is left
    shape: np.ndarray  # of the gamma distribution of the level of each arm
    whole: np.ndarray  # its rate, without a drop
    exposures: np.ndarray
    probability: float  # that arms drop at once rather than fall smoothly, or not at all

    def draw(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the logarithms of levels, places, and shares left: arms that have not dropped will do so as others.

        The places of drops are log-normal, with a mean drawn given those seen, and arms that have not dropped counted
        where they are.
        """
        from scipy.special import ndtr, ndtri

        arms = len(self.dropped)
        dropped = generator.random(arms) < self.dropped
        cell = np.searchsorted(self.cumulative, np.arange(arms) + generator.random(arms))
        cell = np.clip(cell, self.cells.first, np.append(self.cells.first[1:], len(self.cumulative)) - 1)
        places = np.log(np.maximum(np.where(dropped, self.cells.at[cell], 1.5 * self.exposures), 1.0))
        spread = max(float(places.std()), LEAST_SPREAD)
        centre = generator.normal(places.mean(), spread / np.sqrt(arms))
        past = ndtr((np.log(self.exposures) - centre) / spread)
        waiting = np.exp(centre + spread * ndtri(np.clip(past + (1 - past) * generator.random(arms), 1e-9, 1 - 1e-9)))
        level = generator.gamma(self.shape) / np.where(dropped, self.cells.seen[cell], self.whole)
        others = generator.choice(len(REMAINDERS), arms, p=self.remainders)
        left = REMAINDERS[np.where(dropped, self.cells.remainder[cell], others)]
        left = left + (generator.random(arms) - 0.5) * (REMAINDERS[1] - REMAINDERS[0])
        return np.log(np.maximum(level, 1e-9)), np.where(dropped, self.cells.at[cell], waiting), left


def find_drops(weighed: Weighed, steady: Steady) -> Drops | None:
    """Return the drops of a log and how likely they are, or None if no arm is likely to have one."""
    panel = weighed.panel
    if not panel.multiplicative:
        return None
    # Rewards in units of their variance over their mean: clicks, where they are clicks.
    unit = panel.variance / (np.clip(weighed.value, *MODERATE) if panel.nonnegative else 1.0)
    cells, shape, whole = _all_cells(panel, unit)
    exposures = np.add.reduceat(panel.count, panel.first)
    uniform = -np.log(np.bincount(cells.arm).astype(float))[cells.arm]  # any place, and any share
    log_factor, dropped, chances = _weighed_cells(cells, uniform)
    if dropped.max() < 0.5:
        return None
    # What the arms say together: the shares that are left, and the places, with those that have not dropped counted
    # where they are. The second is what tells an arm that has dropped so recently that it is hardly seen.
    cells, shape, whole = _all_cells(panel, unit * _misfit(panel))
    _, dropped, chances = _weighed_cells(cells, uniform)
    remainders = np.bincount(cells.remainder, chances, minlength=len(REMAINDERS)) + 1 / len(REMAINDERS)
    remainders /= remainders.sum()
    places = np.concatenate([np.log(np.maximum(cells.at, 1.0)), np.log(1.5 * exposures)])
    weight = np.concatenate([np.where(np.isfinite(cells.at), chances, 0.0), 1 - dropped])
    places = np.where(weight > 0, places, 0.0)
    centre = float(weight @ places / weight.sum())
    spread = max(float(np.sqrt(weight @ (places - centre) ** 2 / weight.sum())), LEAST_SPREAD)
    dropped, chances = _with_others(cells, np.log(remainders), centre, spread, exposures)
    return Drops(
        cells=cells,
        cumulative=np.cumsum(chances),
        dropped=dropped,
        remainders=remainders,
        shape=shape,
        whole=whole,
        exposures=exposures,
        probability=_probability(weighed, steady, log_factor),
    )


def _weighed_cells(cells: _Cells, log_prior: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the Bayes factor of drops (its logarithm), how likely each arm has dropped, and that in each cell.

    An unknown share of the arms have dropped.
    """
    logs = cells.log_factor + log_prior
    factors = cells.reduced(logs)
    mixed = np.logaddexp(np.log(1 - SHARES)[:, None], np.log(SHARES)[:, None] + factors)
    together = mixed.sum(axis=1)
    share = np.exp(together - np.logaddexp.reduce(together))
    dropped = share @ np.exp(np.log(SHARES)[:, None] + factors - mixed)
    chances = np.exp(logs - factors[cells.arm]) * dropped[cells.arm]
    return float(np.logaddexp.reduce(together) - np.log(len(SHARES))), dropped, chances


def _misfit(panel: Panel) -> float:
    """Return by how much the variance is too large if arms drop: what smooth curves miss was taken for scatter."""
    loss, freedom = 0.0, 0
    for a, b in _slices(panel.first, len(panel.mean)):
        weight, mean = panel.count[a:b] / panel.variance[a:b], panel.mean[a:b] / panel.expected[a:b]
        total, moment = np.cumsum(weight), np.cumsum(weight * mean)
        rest = np.maximum(total[-1] - total[:-1], 1e-300)
        explained = moment[:-1] ** 2 / total[:-1] + (moment[-1] - moment[:-1]) ** 2 / rest
        loss += float(weight @ mean**2) - max(float(explained.max(initial=0.0)), float(moment[-1] ** 2 / total[-1]))
        freedom += len(mean) - PARAMETERS
    return float(np.clip(loss / freedom, 1e-3, 1.0)) if freedom > 0 else 1.0


def _with_others(
    cells: _Cells, log_remainders: np.ndarray, centre: float, spread: float, exposures: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how likely each arm has dropped, and in which cell if it has, where places are log-normal."""
    from scipy.special import log_ndtr, ndtr

    ends = ndtr((np.log(np.maximum(cells.at, 1.0)) - centre) / spread)
    begins = np.concatenate([np.zeros(len(REMAINDERS)), ends[: -len(REMAINDERS)]])
    begins[cells.arm != np.concatenate([np.full(len(REMAINDERS), -1), cells.arm[: -len(REMAINDERS)]])] = 0.0
    logs = cells.log_factor + log_remainders[cells.remainder] + np.log(np.maximum(ends - begins, 1e-12))
    factors = cells.reduced(logs)
    waits = log_ndtr(-(np.log(exposures) - centre) / spread)
    return np.exp(factors - np.logaddexp(factors, waits)), np.exp(logs - factors[cells.arm])


def _probability(weighed: Weighed, steady: Steady, log_factor: float) -> float:
    """Return how likely drops are: their evidence against that of all smooth explanations, and of none."""
    drops = np.log(PRIOR) + steady.log_evidence_without_time + log_factor
    smooth = np.log((1 - PRIOR) * (1 - NOTHING_FALLS)) + weighed.log_evidence
    none = np.log((1 - PRIOR) * NOTHING_FALLS) + steady.log_evidence
    return float(np.exp(drops - np.logaddexp.reduce([drops, smooth, none])))


def _slices(first: np.ndarray, length: int) -> zip[tuple[int, int]]:
    return zip(first.tolist(), [*first[1:].tolist(), length], strict=True)


def _all_cells(panel: Panel, unit: np.ndarray) -> tuple[_Cells, np.ndarray, np.ndarray]:
    """Return the possible drops of all arms, and the gamma distributions of their levels."""
    exposures, units = panel.count * panel.expected / unit, panel.count * panel.mean / unit
    ends = panel.exposure + panel.count / 2
    found, sizes, shape, whole = [], [], [], []
    for a, b in _slices(panel.first, len(units)):
        own = _cells_of(exposures[a:b], units[a:b], ends[a:b])
        found.append(own)
        sizes.append(own.shape[1])
        shape.append(LEVEL_SHAPE + max(float(units[a:b].sum()), 0.0))
        whole.append(LEVEL_SHAPE + float(exposures[a:b].sum()))
    at, remainder, seen, log_factor = np.concatenate(found, axis=1)
    arm = np.repeat(np.arange(panel.arms), sizes)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return _Cells(arm, at, remainder.astype(np.int64), seen, log_factor, first), np.array(shape), np.array(whole)


def _cells_of(exposures: np.ndarray, units: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the possible drops of one arm: places, numbers of shares left, exposures, logarithms of Bayes factors.

    Units (such as clicks) come as often as chance has it: with y of them in n exposures, the likelihood of a level is
    that of a Poisson distribution, and with a gamma prior that of a drop to a share r, after n_b exposures with y_b,
    against none, is r^(y - y_b) ((a + n) / (a + n_b + r (n - n_b)))^(a + y). Few clicks are skewed: a normal
    likelihood would see drops in every second log of many arms.
    """
    if len(units) < LEAST_ROWS:  # too few to say: cells that cannot be
        same = np.ones(len(REMAINDERS))
        return np.stack([np.inf * same, np.arange(len(REMAINDERS)), same, -1e9 * same])
    n, y = np.cumsum(exposures), np.cumsum(units)
    before, after = n[:-1, None], np.maximum(y[-1] - y[:-1], 0.0)[:, None]
    seen = LEVEL_SHAPE + before + REMAINDERS * (n[-1] - before)
    log_factor = np.log(REMAINDERS) * after + (LEVEL_SHAPE + max(y[-1], 0.0)) * np.log((LEVEL_SHAPE + n[-1]) / seen)
    places = np.repeat(ends[:-1], len(REMAINDERS))
    number = np.tile(np.arange(len(REMAINDERS)), len(units) - 1)
    return np.stack([places, number, seen.ravel(), log_factor.ravel()])
