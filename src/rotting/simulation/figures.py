"""Figures of a comparison, and what all figures of runs share: panels, lines with bands, axes of rounds and regret."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator, SymmetricalLogLocator

from rotting._output.style import LineStyle, add_legend, line_style, new_figure, shared_legend, thousands, tidy, wrapped
from rotting.simulation.paired import mean_interval
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
    runs = dataset.sizes["run"]
    title = f"{dataset.attrs['problem']}, {runs} run{'s' * (runs > 1)}"
    figure, [axes] = panels([title], 9.0, max(4.5, 0.3 * dataset.sizes["policy"]))
    draw_regret(axes, dataset)
    add_legend(figure, axes)
    return figure


def differences_figure(dataset: xarray.Dataset, against: str) -> Figure:
    """Return a figure of regret minus that of one policy, run by run: means, and 95 % intervals of the means."""
    figure, [axes] = panels([f"{dataset.attrs['problem']}: differences run by run"], 9.0, 4.5)
    regret = dataset["regret"].transpose("policy", "run", "round")
    base, rounds = regret.sel(policy=against).values, dataset["round"].values
    for index, label in enumerate(map(str, dataset["policy"].values)):
        if label != against:
            draw_runs(axes, rounds, regret.values[index] - base, line_style(index), label, interval=True)
    axes.axhline(0, color="0.4", linewidth=1)
    show_rounds(axes, int(rounds[-1]))
    axes.set_ylabel(f"regret minus that of {against}: mean, 95 % interval", wrap=True)
    axes.yaxis.set_major_formatter(thousands())
    if axes.get_legend_handles_labels()[0]:
        shared_legend(figure, axes)
    return figure


def panels(titles: Sequence[str], width: float, height: float, legend: float = 0.0) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each title, at most three in a row.

    Parameters
    ----------
    titles
        What the panels show.
    width, height
        Of a panel, in inches.
    legend
        The width of the space for a legend on the right.
    """
    columns = min(len(titles), 3)
    rows = -(-len(titles) // columns)
    figure = new_figure(width * columns + legend, height * rows)
    every = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in every[len(titles) :]:
        axes.remove()
    for axes, title in zip(every, titles, strict=False):
        axes.set_title(wrapped(title, round(11 * width)), loc="left", fontsize="medium")
        tidy(axes)
    return figure, every[: len(titles)]


def draw_regret(axes: Axes, dataset: xarray.Dataset) -> None:
    """Draw regret over time, from nothing at round 0: means as lines, the 10 to 90 % region of the runs shaded."""
    rounds = np.append(0, dataset["round"].values)
    # The more regions lie on top of each other, the fainter each must be.
    shade = min(0.18, 1 / dataset.sizes["policy"])
    regret = dataset["regret"].transpose("policy", "run", "round").values
    for index, label in enumerate(dataset["policy"].values):
        draw_runs(axes, rounds, np.pad(regret[index], ((0, 0), (1, 0))), line_style(index), str(label), shade)
    scale_regret(axes, regret[:, :, -1].mean(axis=1).tolist())
    show_rounds(axes, rounds[-1])
    against = f" ({dataset.attrs['oracle']})" if "oracle" in dataset.attrs else ""
    axes.set_ylabel(f"regret: mean, and 10 % to 90 % of the runs\nagainst the oracle{against}")


def draw_runs(
    axes: Axes,
    x: np.ndarray,
    runs: np.ndarray,
    style: LineStyle,
    label: str,
    shade: float = 0.18,
    interval: bool = False,
) -> None:
    """Draw the mean of `runs` (first axis) over `x` as a line, and the region between their 10 and 90 % quantiles.

    Parameters
    ----------
    style, label
        How the line looks, and what a legend calls it.
    shade
        How opaque the region is.
    interval
        Whether the region is the 95 % interval of the mean instead.
    """
    axes.plot(x, runs.mean(axis=0), linewidth=1.8, zorder=3, label=label, **style)
    low, high = (
        np.array([mean_interval(each) for each in runs.T], float).T if interval else np.quantile(runs, QUANTILES, 0)
    )
    axes.fill_between(x, low, high, color=style["color"], alpha=shade, linewidth=0)


def show_rounds(axes: Axes, last: int) -> None:
    """Make the x axis one of rounds, from the beginning to the last."""
    axes.set_xlim(0, last)
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.xaxis.set_major_formatter(thousands())


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
