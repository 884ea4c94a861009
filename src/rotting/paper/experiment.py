"""What an experiment of the paper is: settings, an analysis, a figure and its place in the report, in one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from rotting.paper import BEYOND, MODULES
from rotting.policies import Policy
from rotting.problems import Problem
from rotting.simulation.summary import QUANTILES

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Results = Mapping[str, "xarray.Dataset"]  # by the keys of the blocks
Row = dict[str, str | int | float | None]
Tables = dict[str, list[Row]]  # by the names of their files


@dataclass(frozen=True)
class Block:
    """A part of an experiment that is played, and kept, as a whole: policies on one problem."""

    key: str
    policies: Mapping[str, Policy]  # by their labels
    problem: Problem
    rounds: int = 1  # how many rounds to record, evenly spaced, the last one included
    runs: int | None = None  # if it is not the experiment's number of runs


@dataclass(frozen=True)
class ReportTable:
    """A table below a figure of the report."""

    introduction: str
    columns: list[str]
    rows: list[list[str]]
    numbers: set[int]  # which columns hold numbers, counted from 0


@dataclass(frozen=True)
class Experiment:
    """A figure of the paper, or beyond it: what is played, and all that is shown of it.

    Parameters
    ----------
    name
        What the command's `--only`, the figure's file and the folder of its runs are called.
    section
        The heading in the report; experiments that follow each other can share one.
    alt, caption
        What the figure shows, for those who cannot see it, and what the report says below it.
    figure
        Draws the results.
    blocks, runs
        What is played, and how often: as in the paper.
    runs_of
        The experiment whose runs this one shows instead of playing blocks of its own.
    tables
        The numbers behind the figure, as CSV files: by name. Whatever depends on the clock is left out, so that they
        are the same every time.
    timings
        What depends on the clock, as JSON files: by name.
    report_table
        A table that the report shows below the figure.
    """

    name: str
    section: str
    alt: str
    caption: str
    figure: Callable[[Results], Figure]
    blocks: tuple[Block, ...] = ()
    runs: int = 0
    runs_of: str | None = None
    tables: Callable[[Results], Tables] = lambda results: {}
    timings: Callable[[Results], dict[str, object]] = lambda results: {}
    report_table: Callable[[Results], ReportTable] | None = None

    @property
    def source(self) -> str:
        """The experiment whose runs are shown."""
        return self.runs_of or self.name


def experiments() -> tuple[Experiment, ...]:
    """Return all experiments, in the order in which they are played and reported."""
    return tuple(import_module(f"rotting.paper.{module}").EXPERIMENT for module in (MODULES | BEYOND).values())


def over_time(dataset: xarray.Dataset) -> list[Row]:
    """Return regret over time as rows: mean, and the 10 and 90 % quantiles of the runs."""
    rows: list[Row] = []
    for label in dataset["policy"].values:
        regret = dataset["regret"].sel(policy=label).transpose("run", "round").values
        low, high = np.quantile(regret, QUANTILES, axis=0)
        rows += [
            {
                "policy": str(label),
                "round": int(t),
                "mean": regret[:, index].mean(),
                "quantile_10": low[index],
                "quantile_90": high[index],
            }
            for index, t in enumerate(dataset["round"].values)
        ]
    return rows
