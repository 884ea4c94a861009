"""Figures of a comparison: regret over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator, SymmetricalLogLocator

from rotting._output.style import LineStyle, add_legend, add_title, line_style, new_figure, thousands, tidy
from rotting.simulation.summary import QUANTILES

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Beyond this ratio of the largest to the smallest final regret, a linear axis would hide differences of good policies.
LARGEST_RATIO = 8.0


def regret_figure(dataset: xarray.Dataset) -> Figure:
    """Return a figure of regret over time: the mean of each policy, and the region between its 10 and 90 % quantiles.

    Parameters
    ----------
    dataset
        What `rotting.simulate` returns.

    Examples
    --------
    >>> import rotting
    >>> result = rotting.simulate([rotting.FEWA()], rotting.problems.two_arm(), horizon=100, runs=3)
    >>> regret_figure(result).axes[0].get_xlabel()
    'round'
    """
    figure = new_figure(9.0, max(4.5, 0.3 * dataset.sizes["policy"]))
    axes = figure.add_subplot()
    draw_regret(axes, dataset)
    runs = dataset.sizes["run"]
    add_title(axes, f"{dataset.attrs['problem']}, {runs} run{'s' * (runs > 1)}")
    add_legend(figure, axes)
    return figure


def draw_regret(axes: Axes, dataset: xarray.Dataset) -> None:
    """Draw regret over time, from nothing at round 0: means as lines, the 10 to 90 % region of the runs shaded."""
    rounds = np.concatenate([[0], dataset["round"].values])
    # The more regions lie on top of each other, the fainter each must be.
    shade = min(0.18, 1 / dataset.sizes["policy"])
    finals = []
    for index, label in enumerate(dataset["policy"].values):
        regret = dataset["regret"].isel(policy=index).transpose("run", "round").values
        regret = np.concatenate([np.zeros((len(regret), 1)), regret], axis=1)
        draw_runs(axes, rounds, regret, line_style(index), str(label), shade)
        finals.append(float(regret[:, -1].mean()))
    scale_regret(axes, finals)
    axes.set_xlim(0, rounds[-1])
    axes.set_xlabel("round")
    against = f" ({dataset.attrs['oracle']})" if "oracle" in dataset.attrs else ""
    axes.set_ylabel(f"regret: mean, and 10 % to 90 % of the runs\nagainst the oracle{against}")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.xaxis.set_major_formatter(thousands())
    tidy(axes)


def draw_runs(axes: Axes, x: np.ndarray, runs: np.ndarray, style: LineStyle, label: str, shade: float = 0.18) -> None:
    """Draw the mean of `runs` (first axis) over `x` as a line, and the region between their 10 and 90 % quantiles.

    Parameters
    ----------
    style, label
        How the line looks, and what a legend calls it.
    shade
        How opaque the region is.
    """
    low, high = np.quantile(runs, QUANTILES, axis=0)
    axes.plot(x, runs.mean(axis=0), linewidth=1.8, zorder=3, label=label, **style)
    axes.fill_between(x, low, high, color=style["color"], alpha=shade, linewidth=0)


def scale_regret(axes: Axes, values: Sequence[float]) -> None:
    """Start the y axis at 0, and make it logarithmic from the smallest of `values` on if they differ widely."""
    noise = 1e-9 * max(abs(value) for value in values)
    positive = [value for value in values if value > noise]
    if positive and max(positive) > LARGEST_RATIO * min(positive):
        # Linear below a power of ten: regret is 0 at the beginning, and the oracle's always.
        threshold = 10.0 ** math.floor(math.log10(min(positive)))
        axes.set_yscale("symlog", linthresh=threshold, linscale=0.5)
        axes.yaxis.set_major_locator(SymmetricalLogLocator(axes.yaxis.get_transform(), subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(thousands())
    if axes.dataLim.y0 >= -noise:  # against an oracle that is only a reference, regret can be negative
        axes.set_ylim(bottom=0)
