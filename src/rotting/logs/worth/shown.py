"""What a figure of each arm shows: what was measured, and what the model makes of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaincinv

from rotting.logs.model.findings import Findings
from rotting.logs.read.counting import Cells
from rotting.logs.read.reading import Log
from rotting.logs.worth.estimates import TAILS
from rotting.logs.worth.outlook import Draw

SHOWN_BINS = 32
# Draws times arms over which curves are taken, and draws at least.
MOST_CURVES, LEAST_CURVES = 10_000, 50


def curves(log: Log, findings: Findings, draws: Sequence[Draw]) -> list[dict[str, list[float]]]:
    """Return bins of exposures of each arm: their mean rewards, the mean of the draws there, and a 90 % band.

    Per unit no curve is behind the numbers: there the band is that of the counts of each bin by itself.
    """
    some = draws[:: max(len(draws) // max(MOST_CURVES // len(log.arms), LEAST_CURVES), 1)]
    result = []
    for index, arm in enumerate(findings.log.arms):
        cells = merged(arm.cells, SHOWN_BINS)
        if log.per_unit:
            fit, event = cells.mean, findings.panel.event
            events = np.maximum(cells.total / event, 0)
            low, high = (
                gammaincinv(events + more, tail) * event / cells.count
                for more, tail in zip((1e-9, 1), TAILS, strict=True)
            )
        else:
            values = np.array([draw.values(index, cells.exposure, cells.time) for draw in some])
            fit, (low, high) = values.mean(axis=0), np.quantile(values, TAILS, axis=0)
        shown = {"mean": cells.mean, "fit": fit, "low": np.minimum(low, fit), "high": np.maximum(high, fit)}
        result.append({"exposure": cells.exposure.tolist()} | {k: (v + log.offset).tolist() for k, v in shown.items()})
    return result


def merged(cells: Cells, bins: int) -> Cells:
    """Return the cells merged along exposures into at most so many bins of about equal counts.

    >>> cells = Cells(np.arange(4.0), np.linspace(0, 1, 4), np.ones(4), np.array([1.0, 0, 1, 1]), np.ones(4))
    >>> merged(cells, 2).mean
    array([0.5, 1. ])
    """
    # Cells with the same exposure number (of several users) stay together.
    _, level = np.unique(cells.exposure, return_inverse=True)
    before = np.cumsum(np.bincount(level, cells.count)) - np.bincount(level, cells.count)
    own_bin = np.minimum((before * bins / cells.count.sum()).astype(np.int64), bins - 1)[level]
    _, own_bin = np.unique(own_bin, return_inverse=True)
    count = np.bincount(own_bin, cells.count)
    exposure, time = (np.bincount(own_bin, cells.count * each) / count for each in (cells.exposure, cells.time))
    return Cells(exposure, time, count, *(np.bincount(own_bin, each) for each in (cells.total, cells.squares)))
