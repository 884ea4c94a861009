"""The log as a panel: one row per arm, slice of time and bin of exposures. Everything after reading works on it."""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.model.noise import reward_variance
from rotting.logs.read.counting import Cells
from rotting.logs.read.reading import Log

# Slices of the whole log's time (each with as many rows as the others) and bins of an arm's exposures.
TIME_SLICES, EXPOSURE_BINS = 32, 16
# With more arms, each gets fewer of both, down to the least.
MOST_ROWS, LEAST_SLICES, LEAST_BINS = 2_400, 5, 4
SAME_TIME = 1e-8  # of the log's time: cells that are no further apart have one time
SMALLEST_VARIANCE = 1e-6  # of scaled rewards: those that never change would have none


@dataclasses.dataclass(frozen=True)
class Panel:
    """Counts and sums, sorted by arm and exposure; what differs between rows of one arm is time and exposure.

    Rewards are divided by `scale`, so that the mean of the whole log is about 1.
    """

    arms: int
    arm: np.ndarray  # of each row
    first: np.ndarray  # the first row of each arm
    exposure: np.ndarray  # mean number of earlier exposures
    time: np.ndarray  # mean time, 0 to 1
    age: np.ndarray  # time since the arm's first exposure
    count: np.ndarray
    mean: np.ndarray  # of the scaled rewards
    variance: np.ndarray  # of one scaled reward
    expected: np.ndarray  # what the audience makes of a value of 1: 1 without segments
    scale: float
    multiplicative: bool  # values are positive, and effects multiply
    nonnegative: bool  # and so is every reward

    @property
    def typical_exposures(self) -> float:
        """How often an arm was shown: the mean over exposures, not over arms."""
        exposures = np.add.reduceat(self.count, self.first)
        return float((exposures**2).sum() / exposures.sum())

    @property
    def typical_age(self) -> float:
        """How old arms got, weighted likewise."""
        exposures = np.add.reduceat(self.count, self.first)
        oldest = np.maximum.reduceat(self.age, self.first)
        return max(float(exposures @ oldest / exposures.sum()), 1e-6)

    def of_arms(self, arms: int) -> Panel:
        """Return the panel of the first arms: those shown most."""
        rows = int(np.searchsorted(self.arm, arms))
        kept = {
            field.name: getattr(self, field.name)[:rows]
            for field in dataclasses.fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return dataclasses.replace(self, **kept | {"arms": arms, "first": self.first[:arms]})


def make_panel(log: Log) -> Panel:
    """Return the panel of a log."""
    times = np.concatenate([arm.cells.time for arm in log.arms])
    counts = np.concatenate([arm.cells.count for arm in log.arms])
    fineness = min(1.0, MOST_ROWS / len(log.arms) / (TIME_SLICES + EXPOSURE_BINS))
    edges = _slice_edges(times, counts, max(round(fineness * TIME_SLICES), LEAST_SLICES))
    bins = max(round(fineness * EXPOSURE_BINS), LEAST_BINS)
    segments = max(len(log.counted.segments), 1)
    rows = [_rows_of(arm.cells, edges, bins, segments, log.per_unit) for arm in log.arms]
    sizes = [len(own["count"]) for own in rows]
    flat = {name: np.concatenate([own[name] for own in rows]) for name in rows[0]}
    arm = np.repeat(np.arange(len(rows)), sizes)
    scale, multiplicative = _scale(log)
    variance = np.maximum([reward_variance(each, log) / scale**2 for each in log.arms], SMALLEST_VARIANCE)
    launches = np.array([each.cells.time.min() for each in log.arms])
    return Panel(
        arms=len(rows),
        arm=arm,
        first=np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        exposure=flat["exposure"],
        time=flat["time"],
        age=flat["time"] - launches[arm],
        count=flat["count"],
        mean=flat["capped"] / flat["count"] / scale,
        variance=variance[arm],
        expected=_expected(flat["counts"], flat["totals"]) if multiplicative else np.ones(len(arm)),
        scale=scale,
        multiplicative=multiplicative,
        nonnegative=min(float(each.cells.capped.min()) for each in log.arms) >= 0,
    )


def _slice_edges(times: np.ndarray, counts: np.ndarray, slices: int) -> np.ndarray:
    """Return times between which about equally many rows lie."""
    order = np.argsort(times, kind="stable")
    share = np.cumsum(counts[order]) / counts.sum()
    inner = np.searchsorted(share, np.arange(1, slices) / slices)
    return np.unique(times[order][inner])


def _rows_of(
    cells: Cells, edges: np.ndarray, bins: int, segments: int, per_unit: bool = False
) -> dict[str, np.ndarray]:
    """Return the sums of one arm by slice of time and bin of exposures, in order of exposures."""
    before = np.cumsum(cells.count) - cells.count
    if not per_unit:
        before = _mean_of_ties(before, cells)
    bin_of = np.minimum((before * bins / cells.count.sum()).astype(np.int64), bins - 1)
    key = np.searchsorted(edges, cells.time, side="right") + (len(edges) + 1) * bin_of
    _, row = np.unique(key, return_inverse=True)
    count = np.bincount(row, cells.count)
    averages = {name: np.bincount(row, cells.count * getattr(cells, name)) / count for name in ("exposure", "time")}
    order = np.argsort(averages["exposure"], kind="stable")
    place, shape = row * segments + cells.segment, (len(count), segments)
    by_segment = {
        name: np.bincount(place, values, minlength=len(count) * segments).reshape(shape)
        for name, values in (("counts", cells.count), ("totals", cells.capped))
    }
    sums = averages | {"count": count, "capped": np.bincount(row, cells.capped)} | by_segment
    return {name: values[order] for name, values in sums.items()}


def _mean_of_ties(values: np.ndarray, cells: Cells) -> np.ndarray:
    """Return the mean of values over cells with one time: a day or a week, within which nobody knows the order.

    Otherwise a log by the week would tell exposures finely and time coarsely, and a falling site would look worn.

    >>> cells = Cells(np.arange(4.0), np.array([0.0, 0.0, 0.5, 1.0]), np.ones(4), np.ones(4), np.ones(4))
    >>> _mean_of_ties(np.arange(4.0), cells)
    array([0.5, 0.5, 2. , 3. ])
    """
    _, tie = np.unique(np.round(cells.time / SAME_TIME).astype(np.int64), return_inverse=True)
    return np.asarray((np.bincount(tie, cells.count * values) / np.bincount(tie, cells.count))[tie])


def _expected(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return what the mix of segments makes of a value of 1 in each row, given counts and totals[row, segment].

    Segments multiply the value of every arm by the same factor; the factors are those that explain the differences
    between segments within rows, so a value that falls in all segments is not explained away.
    """
    factors = np.ones(counts.shape[1])
    if len(factors) == 1:
        return np.ones(len(counts))
    for _ in range(20):
        level = totals.sum(axis=1) / np.maximum(counts @ factors, 1e-300)
        factors = (totals.sum(axis=0) + 0.5 * level.mean()) / np.maximum(level @ counts + 0.5 * level.mean(), 1e-300)
        factors /= (counts.sum(axis=0) @ factors) / counts.sum()
    return np.asarray(np.maximum(counts @ factors / counts.sum(axis=1), 1e-3))


def _scale(log: Log) -> tuple[float, bool]:
    """Return what rewards are divided by, and whether effects multiply: all arms are clearly worth more than 0."""
    totals = np.array([arm.cells.capped.sum() for arm in log.arms])
    counts = np.array([arm.cells.count.sum() for arm in log.arms])
    errors = np.sqrt([reward_variance(arm, log) for arm in log.arms] / counts)
    grand = float(totals.sum() / counts.sum())
    smallest = min(float(arm.cells.capped.min()) for arm in log.arms)
    if (smallest >= 0 and grand > 0) or np.all(totals / counts > 5 * errors):
        return grand, True
    return max(abs(grand), 3 * float(np.median(errors)), 1e-300), False
