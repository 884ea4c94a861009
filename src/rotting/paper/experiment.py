"""What an experiment is: what is played, and its tables, panels and claims; and what experiments share of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from rotting._output.style import COLOURS, shared_legend
from rotting.paper import BEYOND, MODULES
from rotting.paper.claims import Claim
from rotting.policies import Policy
from rotting.problems import Problem
from rotting.simulation.figures import draw_regret, panels
from rotting.simulation.summary import QUANTILES

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Mapping[str, "xarray.Dataset"]  # by the keys of the blocks
Row = dict[str, str | int | float | None]
Table = Callable[[Results], list[Row] | dict[str, object]]
Panel = Callable[["Axes", Results], object]  # draws


@dataclass(frozen=True)
class Block:
    """A part of an experiment that is played, and kept, as a whole: policies on one problem."""

    key: str
    policies: Mapping[str, Policy]  # by their labels
    problem: Problem
    rounds: int = 1  # how many rounds to record, evenly spaced, the last one included
    runs: int | None = None  # if it is not the experiment's number of runs
    trace: tuple[str, ...] = ()  # what is kept of its rounds besides regret


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
    size
        Width and height of a panel, in inches.
    panels
        What draws the panels of the figure, by their titles.
    tables
        The numbers behind the figure, by the names of their files: rows, which are the same every time, become CSV, and
        what depends on the clock JSON.
    blocks, runs
        What is played, and how often: as in the paper.
    runs_of
        The experiment whose runs this one shows instead of playing blocks of its own.
    claims
        What is judged.
    """

    name: str
    section: str
    alt: str
    caption: str
    size: tuple[float, float]
    panels: Mapping[str, Panel]
    tables: Mapping[str, Table]
    blocks: Sequence[Block] = ()
    runs: int = 0
    runs_of: str | None = None
    claims: Sequence[Claim] = ()

    @property
    def source(self) -> str:
        """The experiment whose runs are shown."""
        return self.runs_of or self.name

    def figure(self, results: Results) -> Figure:
        """Draw the figure, with one legend below it, unless panels have legends of their own."""
        canvas, every = panels(list(self.panels), *self.size)
        for axes, draw in zip(every, self.panels.values(), strict=True):
            draw(axes, results)
        if axes.get_legend() is None and axes.get_legend_handles_labels()[0]:
            shared_legend(canvas, axes)
        return canvas


def experiments() -> tuple[Experiment, ...]:
    """Return all experiments, in the order in which they are played and reported."""
    return tuple(import_module(f"rotting.paper.{module}").EXPERIMENT for module in (MODULES | BEYOND).values())


# What experiments say of runs.


def final_regret(dataset: xarray.Dataset, label: str) -> np.ndarray:
    """Return the regret of a policy at T, of each run."""
    return np.asarray(dataset["regret"].sel(policy=label).isel(round=-1).values)


def final_regrets(dataset: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return the regret at T of each run, by policy."""
    return {label: final_regret(dataset, label) for label in map(str, dataset["policy"].values)}


def final_reward(dataset: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return the expected reward until T of each run, by policy."""
    oracle = dataset["oracle_reward"].isel(round=-1).values
    return {label: oracle - regret for label, regret in final_regrets(dataset).items()}


# Tables.


def summary_row(values: np.ndarray) -> Row:
    """Return the mean and the 10 and 90 % quantiles."""
    return summary_rows(values[None])[0]


def summary_rows(values: np.ndarray) -> list[Row]:
    """Return what `summary_row` does of each row, all at once, which is much faster."""
    numbers = zip(values.mean(axis=1), *np.quantile(values, QUANTILES, axis=1), strict=True)
    return [{"mean": float(mean), "quantile_10": float(low), "quantile_90": float(high)} for mean, low, high in numbers]


def over_time(key: str) -> Callable[[Results], list[Row]]:
    """Return a table of regret over time in a block: mean, and the 10 and 90 % quantiles of the runs."""

    def table(results: Results) -> list[Row]:
        regret = results[key]["regret"].transpose("policy", "round", "run")
        places = product(regret["policy"].values, regret["round"].values)
        rows = summary_rows(regret.values.reshape(-1, regret.sizes["run"]))
        return [{"policy": str(label), "round": int(t), **row} for (label, t), row in zip(places, rows, strict=True)]

    return table


def at_the_end(column: str, values: Mapping[str, str | float]) -> Table:
    """Return a table of the regret at T of each policy; the column holds the values, by the keys of their blocks."""
    return lambda results: [
        {column: value, "policy": label, **summary_row(regret)}
        for key, value in values.items()
        for label, regret in final_regrets(results[key]).items()
    ]


# Panels.


def regret_over_time(key: str) -> Panel:
    """Return what draws the regret over time in a block."""
    return lambda axes, results: draw_regret(axes, results[key])


def draw_ranking(axes: Axes, numbers: Mapping[str, np.ndarray], what: str, best_is_large: bool = False) -> None:
    """Draw a line per policy, the best on top: a dot for the mean of its runs, a bar for 10 % to 90 % of them."""
    order = sorted(numbers, key=lambda label: numbers[label].mean(), reverse=not best_is_large)
    for index, label in enumerate(order):
        axes.plot(np.quantile(numbers[label], QUANTILES), [index, index], color="0.6", linewidth=2.5)
        axes.plot(numbers[label].mean(), index, "o", color=COLOURS[0], markersize=5)
    axes.set_yticks(range(len(order)), order, fontsize="small")
    axes.set_xlabel(f"{what}: mean, and 10 % to 90 % of the runs")


def draw_regret_ranking(axes: Axes, results: Results, key: str) -> None:
    """Draw the ranking of the policies of a block by their regret at T."""
    draw_ranking(axes, final_regrets(results[key]), "regret at T")
    axes.set_xlim(left=0)
