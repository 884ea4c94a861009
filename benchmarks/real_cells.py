"""One, two, three rewards in each cell of arm and slice of 10 000 exposures of 38 equal arms: no call is right.

Whole diagnoses of all cells would take hours, most of which goes into reading and gains. So each cell goes through the
part that says which arms have rewards enough to be called, on the log as it was read, with rewards put into its counts,
and where some have, through all that calls (`find_wear_out`). Some cells go through whole diagnoses as well, which must
say the same of each arm as `find_wear_out` does, to the last digit of its p-value.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pandas

import rotting
from rotting._core.noise import variance_from_differences
from rotting.logs.model.cleaning import set_bursts_aside
from rotting.logs.model.findings import find_wear_out
from rotting.logs.model.panel import make_panel
from rotting.logs.model.within import look_within
from rotting.logs.read.reading import Log, read_log

ARMS, ROWS, SLICES = 38, 10_000, 24
SEED = 4000
BESIDE, REWARDS = (0, 46), (1, 2, 3)  # other rewards in the log, and those that are placed
COLUMNS = {"arm": "item", "reward": "click", "time": "time"}
Cell = tuple[int, int, int, int]  # other rewards, arm, slice (-1: right behind the first exposure), rewards placed


def cell_log(clicks: int) -> pandas.DataFrame:
    """Return 10 000 exposures of 38 equal arms over a week, with so many clicks anywhere."""
    generator = np.random.default_rng([SEED, clicks])
    times = pandas.Timestamp("2024-03-04") + pandas.to_timedelta(np.sort(generator.random(ROWS)) * 7, unit="D")
    arms = [f"item {arm:02}" for arm in generator.integers(0, ARMS, ROWS)]
    frame = pandas.DataFrame({"time": times, "item": arms, "click": 0})
    frame.loc[generator.choice(ROWS, clicks, replace=False), "click"] = 1
    return frame


@functools.lru_cache
def read(clicks: int) -> tuple[pandas.DataFrame, np.ndarray, Log]:
    """Return the log as a frame, the slice of each row, and the log as it is read."""
    frame = cell_log(clicks)
    days = (frame["time"] - frame["time"].iloc[0]).dt.total_seconds().to_numpy() / 86_400
    return frame, (days * SLICES / 7).astype(int), read_log(frame, rotting.logs.ReadOptions(**COLUMNS))


def every_cell() -> list[Cell]:
    """Return all cells, with one to three rewards, in both logs."""
    return [
        (base, arm, piece, rewards)
        for base in BESIDE
        for arm in range(ARMS)
        for piece in range(-1, SLICES)
        for rewards in REWARDS
    ]


def places_of(cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the arm, and which of them are rewarded."""
    base, arm, piece, rewards = cell
    frame, slices, _ = read(base)
    own = np.flatnonzero(frame["item"] == f"item {arm:02}")
    return own, np.arange(1, 1 + rewards) if piece < 0 else np.flatnonzero(slices[own] == piece)[:rewards]


def placed(cell: Cell) -> Log:
    """Return the log as it would be read with these rewards."""
    log = read(cell[0])[2]
    own, places = places_of(cell)
    index = next(index for index, arm in enumerate(log.arms) if arm.name == f"item {cell[1]:02}")
    arms, cells = list(log.arms), log.arms[index].cells
    assert len(cells.count) == len(own), "each exposure must be a cell of its own"
    totals = cells.total.copy()
    totals[places] = 1.0
    noise = variance_from_differences(float((np.diff(totals) ** 2).sum()), len(totals) - 1.0)
    cells = dataclasses.replace(cells, total=totals, squares=totals, capped=totals)
    arms[index] = dataclasses.replace(arms[index], cells=cells, noise_variance=noise)
    return dataclasses.replace(log, arms=tuple(arms))


def called_in(cell: Cell) -> dict[str, Any]:
    """Return how many arms are called where a cell is rewarded: none can be, unless some arm can be tested."""
    log = placed(cell)
    within = look_within(make_panel(set_bursts_aside(log)[0]))
    called = int(find_wear_out(log).worn.sum()) if within.testable.any() else 0
    most = max(float(arm.cells.total.sum()) for arm in log.arms)
    row = {"base": cell[0], "rewards": cell[3], "tested": int(within.testable.sum()), "called": called}
    return row | {"most_rewards": most, "fewest_rewards": round(within.fewest, 1)}


def whole(cell: Cell) -> dict[str, Any]:
    """Return what a whole diagnosis says of a cell, and whether the part that calls says the same."""
    frame = read(cell[0])[0].copy()
    own, places = places_of(cell)
    frame.loc[own[places], "click"] = 1
    diagnosis, findings = rotting.diagnose(frame, **COLUMNS), find_wear_out(placed(cell))
    alone = {
        arm.name: (falling, evidence)
        for arm, falling, evidence in zip(findings.log.arms, findings.falling, findings.evidence, strict=True)
    }
    return {
        "base": cell[0],
        "rewards": cell[3],
        "called": sum(arm.rotting for arm in diagnosis.arms),
        "sure": any(row.gain.low > 1e-9 or row.gain.high < -1e-9 for row in diagnosis.gain),
        "same": all(alone[arm.arm] == (arm.p_value, arm.evidence) for arm in diagnosis.arms),
    }
