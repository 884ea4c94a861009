"""What an experiment of the paper is: settings, an analysis and figures, in one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.policies import Policy
from rotting.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Results = Mapping[str, "xarray.Dataset"]  # by the keys of the blocks
Row = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """A part of an experiment that is played, and kept, as a whole: policies on one problem."""

    key: str
    policies: Mapping[str, Policy]  # by their labels
    problem: Problem
    rounds: int = 1  # how many rounds to record, evenly spaced, the last one included
    runs: int | None = None  # if it is not the experiment's number of runs


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    `figures` and `tables` make, from what was played, the files that are written: pictures by name, and rows of numbers
    by name. Whatever depends on the clock is left out of the tables, so that they are the same every time.
    """

    name: str
    title: str
    runs: int  # as many as in the paper
    blocks: tuple[Block, ...]
    figures: Callable[[Results], dict[str, Figure]]
    tables: Callable[[Results], dict[str, list[Row]]]


def over_time(dataset: xarray.Dataset) -> list[Row]:
    """Return regret over time as rows: mean, and the 10 and 90 % quantiles of the runs."""
    rows = []
    for label in dataset["policy"].values:
        regret = dataset["regret"].sel(policy=label).transpose("run", "round").values
        low, high = np.quantile(regret, (0.1, 0.9), axis=0)
        for place, t in enumerate(dataset["round"].values):
            rows.append(
                {
                    "policy": str(label),
                    "round": int(t),
                    "mean": regret[:, place].mean(),
                    "quantile_10": low[place],
                    "quantile_90": high[place],
                }
            )
    return rows
