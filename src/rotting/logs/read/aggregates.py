"""Exports with one row per arm and day or hour: impressions, and the sum of what they earned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.read.segments import segment_code

if TYPE_CHECKING:
    import duckdb

SLICES = 64  # into which the time of the log is cut


def sums_of_aggregates(
    database: duckdb.DuckDBPyConnection, arms: int, bins: int, binary: bool, segment: int | None
) -> dict[str, np.ndarray]:
    """Return sums per arm, bin of exposures and slice of time, as of a log with one row per exposure.

    The exposures of a row are numbered from the sum of those before it, and the row lies at their middle. What is not
    known is how single exposures spread. Of 0/1 rewards the sum says it: a row of n exposures with s successes holds
    2 s (n - s) / n of squared differences in n - 1 pairs. Of numbers it is learnt from how the means m of successive
    rows differ: 2 (m - m')**2 / (1/n + 1/n') has the mean of one squared difference.
    """
    within, pairs = ("2 * reward * (impressions - reward) / impressions", "impressions - 1") if binary else ("0", "0")
    squares = "reward" if binary else "reward * reward / impressions"
    found = database.execute(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last, max(rowid) AS rows FROM log),
        numbered AS (
            SELECT id, exposures, impressions, reward, {squares} AS squares, {segment_code(segment)} AS segment,
                coalesce((time - first) / nullif(last - first, 0), log.rowid / nullif(rows, 0), 0) AS time,
                sum(impressions) OVER in_order - impressions + (impressions - 1) / 2 AS exposure, {within} AS within,
                {pairs} AS pairs, 2 * power(reward / impressions - lag(reward / impressions) OVER in_order, 2)
                    / (1 / impressions + 1 / lag(impressions) OVER in_order) AS difference
            FROM log JOIN arms USING (arm), bounds
            WINDOW in_order AS (PARTITION BY id ORDER BY time, log.rowid ROWS UNBOUNDED PRECEDING)
        )
        SELECT id, sum(exposure * impressions) / sum(impressions) AS exposure,
            sum(time * impressions) / sum(impressions) AS time, sum(impressions) AS count, sum(reward) AS total,
            sum(squares) AS squares, coalesce(sum(difference), 0) + sum(within) AS squared_differences,
            (count(difference) + sum(pairs))::DOUBLE AS differences, sum(reward) AS capped, segment,
            count(*)::DOUBLE AS rows
        FROM numbered GROUP BY id, floor(exposure * $2 / exposures), least(floor(time * $1), $1 - 1), segment
        ORDER BY id, exposure, time
        """,
        [SLICES, bins],
    ).fetchnumpy()
    sums = {column: np.ma.getdata(values) for column, values in found.items()}
    return sums if binary else _with_spread(sums, arms)


def _with_spread(sums: dict[str, np.ndarray], arms: int) -> dict[str, np.ndarray]:
    """Return the sums with the squares that single exposures must have had, given the noise of their arm."""
    squared = np.bincount(sums["id"], sums["squared_differences"], minlength=arms)
    variance = squared / np.maximum(2 * np.bincount(sums["id"], sums["differences"], minlength=arms), 1.0)
    return sums | {"squares": sums["squares"] + (sums["count"] - sums["rows"]) * variance[sums["id"]]}
