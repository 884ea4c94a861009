"""Segments: columns that say who was shown an arm, or where. A changing mix of them looks like wear-out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.read.columns import USUAL_NAMES, Columns

if TYPE_CHECKING:
    import duckdb

# A column of texts with this many values may hold segments; so many such columns are looked at.
FEWEST, MOST = 2, 30
MOST_COLUMNS = 4
# Names that mean segments, even where the values are numbers.
_NAMES = (
    "segment device platform os browser country region city state language gender sex age_group agegroup channel "
    "placement position audience cohort tier plan network source medium returning new_user customer_type market"
)
NAMES = frozenset(_NAMES.split())
# Slices of time by which columns are compared, and the chi-squared per degree of freedom above which one matters.
SLICES, MATTERS = 16, 4.0


def segment_candidates(source: duckdb.DuckDBPyRelation, columns: Columns) -> list[str]:
    """Return the columns that may hold segments: few values, neither used nor a second reward.

    What happened after an arm was shown, such as a click before a sale, must not be adjusted for: numbers and names
    that sound like rewards are left out.
    """
    from duckdb import ColumnExpression, FunctionExpression

    used = {columns.arm, columns.reward, columns.time, columns.unit, columns.possible_unit, columns.impressions}
    rewards, others = set(USUAL_NAMES["reward"].split()), set(USUAL_NAMES["time"].split())
    found = []
    for column, kind in zip(source.columns, map(str, source.types), strict=True):
        words = set(re.split(r"[^a-z0-9]+", column.lower())) | {column.lower()}
        is_named = bool(words & NAMES)
        if column in used or words & (rewards | others) or not (is_named or kind in ("VARCHAR", "ENUM")):
            continue
        found.append((not is_named, column))
    chosen = []
    for _, column in sorted(found, key=lambda pair: pair[0])[: 2 * MOST_COLUMNS]:
        [[distinct]] = source.aggregate(
            [FunctionExpression("approx_count_distinct", ColumnExpression(column))]
        ).fetchall()
        if FEWEST <= distinct <= MOST:
            chosen.append(column)
    return chosen[:MOST_COLUMNS]


def choose_segment(database: duckdb.DuckDBPyConnection, candidates: int, aggregated: bool = False) -> int | None:
    """Return the number of the column whose segments matter most, or None; fill the table segment_codes for it."""
    scores = [_importance(database, number, aggregated) for number in range(candidates)]
    if not scores or max(scores) < MATTERS:
        return None
    best = int(np.argmax(scores))
    database.execute(
        f"""
        CREATE TEMP TABLE segment_codes AS
        SELECT value, row_number() OVER (ORDER BY value) - 1 AS code
        FROM (SELECT DISTINCT coalesce(segment_{best}, '') AS value FROM log)
        """
    )
    database.execute(f"UPDATE log SET segment_{best} = coalesce(segment_{best}, '')")
    return best


def segment_code(chosen: int | None) -> str:
    """Return SQL for the number of a row's segment."""
    return "0" if chosen is None else f"(SELECT code FROM segment_codes WHERE value = segment_{int(chosen)})"


def segment_values(database: duckdb.DuckDBPyConnection, chosen: int | None) -> tuple[str, ...]:
    """Return the segments in the order of their numbers."""
    if chosen is None:
        return ()
    return tuple(str(row[0]) for row in database.execute("SELECT value FROM segment_codes ORDER BY code").fetchall())


def _importance(database: duckdb.DuckDBPyConnection, number: int, aggregated: bool) -> float:
    """Return how much more the segments differ than by chance, per degree of freedom, within arms and times.

    Aggregated rewards are numbers of successes, each of which has the square 1.
    """
    shown, squared = ("sum(impressions)", "sum(reward)") if aggregated else ("count(*)", "sum(reward * reward)")
    sums = database.execute(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last, max(rowid) AS rows FROM log)
        SELECT hash(arm, floor(coalesce((time - first) / nullif(last - first, 0), log.rowid / nullif(rows, 0), 0)
            * {SLICES})) AS cell, coalesce(segment_{number}, '') AS segment, {shown}::DOUBLE AS count,
            sum(reward) AS total, {squared} AS squares
        FROM log, bounds GROUP BY ALL
        """
    ).fetchnumpy()
    _, cell = np.unique(np.ma.getdata(sums["cell"]), return_inverse=True)
    names, segment = np.unique(np.ma.getdata(sums["segment"]).astype(str), return_inverse=True)
    count, total, squares = (np.ma.getdata(sums[name]) for name in ("count", "total", "squares"))
    rows = np.bincount(cell, count)
    mean = np.bincount(cell, total) / rows
    spread = float(squares.sum() - (rows * mean**2).sum()) / max(float(rows.sum() - len(rows)), 1.0)
    if spread <= 0 or len(names) < FEWEST:
        return 0.0
    excess = np.bincount(segment, total - count * mean[cell])
    # Part of each cell's mean is the segment itself.
    share = np.bincount(segment, count * (1 - count / rows[cell]))
    return float((excess**2 / np.maximum(share * spread, 1e-300)).sum() / (len(names) - 1))
