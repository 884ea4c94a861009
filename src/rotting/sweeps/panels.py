"""Figures of a sweep, from plain arrays: panels of regret, regret against a parameter, a heat map of ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FuncFormatter

from rotting._output.style import add_legend, add_title, line_style, marker_style, new_figure, plain, tidy, wrapped
from rotting.simulation.figures import LARGEST_RATIO, draw_regret, scale_regret
from rotting.simulation.paired import mean_interval

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def regret_panels(datasets: Sequence[xarray.Dataset]) -> Figure:
    """Return regret over time on several problems, a panel each; the datasets have the same policies."""
    figure, panels = _panels([str(dataset.attrs["problem"]) for dataset in datasets])
    for axes, dataset in zip(panels, datasets, strict=True):
        draw_regret(axes, dataset)
        axes.yaxis.label.set_fontsize("small")
    add_legend(figure, panels[0])
    return figure


def _panels(titles: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many axes, at most three in a row, and space for a legend."""
    columns = min(len(titles), 3)
    rows = -(-len(titles) // columns)
    figure = new_figure(4.0 * columns + 3.0, 3.6 * rows)
    every = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in every[len(titles) :]:
        axes.remove()
    for axes, title in zip(every, titles, strict=False):
        axes.set_title(wrapped(title, 44), loc="left", fontsize="small")
    return figure, every[: len(titles)]


def parameter_panels(panels: Sequence[tuple[str, dict[str, tuple[np.ndarray, np.ndarray]]]], parameter: str) -> Figure:
    """Return final regret against a parameter: means as lines, the 95 % intervals of the means shaded.

    Parameters
    ----------
    panels
        For each problem its name, and from labels to lines: the values tried, and regret[value, run].
    parameter
        What the values are of.
    """
    figure, every = _panels([title for title, _ in panels])
    for axes, (_, lines) in zip(every, panels, strict=True):
        for index, (label, (values, regret)) in enumerate(lines.items()):
            means = regret.mean(axis=1)
            axes.plot(values, means, linewidth=1.8, label=label, **marker_style(index))
            ends = [mean_interval(one) for one in regret]
            if None not in ends[0]:
                low, high = np.array(ends, dtype=float).T
                axes.fill_between(values, low, high, color=line_style(index)["color"], alpha=0.18, linewidth=0)
        tried = np.unique(np.concatenate([values for values, _ in lines.values()]))
        if tried[0] > 0 and tried[-1] > LARGEST_RATIO * tried[0]:
            axes.set_xscale("log")
        if len(tried) <= 9:
            axes.set_xticks(tried, [f"{value:g}" for value in tried], fontsize="small")
            axes.set_xticks([], minor=True)
        scale_regret(axes, [float(mean) for _, regret in lines.values() for mean in regret.mean(axis=1)])
        axes.set_xlabel(parameter)
        axes.set_ylabel("final regret: mean and its 95 % interval", fontsize="small")
        tidy(axes)
    add_legend(figure, every[0])
    return figure


def heat_map(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], title: str, label: str) -> Figure:
    """Return a table of scores >= 0 as colours: light is 0, dark the largest; each is written into its field."""
    from matplotlib.colors import PowerNorm

    figure = new_figure(min(3.5 + 1.1 * len(columns), 24.0), min(2.6 + 0.34 * len(rows), 40.0))
    axes = figure.add_subplot()
    largest = float(np.nanmax(values, initial=1.0))
    scale = PowerNorm(0.5, 0.0, largest)  # small scores are what one looks for
    picture = axes.imshow(values, cmap="cividis_r", norm=scale, aspect="auto")
    for row, column in np.ndindex(*values.shape):
        value = values[row, column]
        dark = np.isfinite(value) and scale(value) > 0.5
        text = f"{value:.2g}" if np.isfinite(value) else "?"
        axes.text(column, row, text, ha="center", va="center", fontsize="x-small", color="white" if dark else "black")
    axes.set_xticks(range(len(columns)), [wrapped(name, 24) for name in columns], rotation=30, ha="right")
    axes.set_yticks(range(len(rows)), [plain(name) for name in rows])
    axes.tick_params(length=0, labelsize="small")
    axes.spines[:].set_visible(False)
    add_title(axes, title)
    bar = figure.colorbar(picture, ax=axes, label=label, format=FuncFormatter(lambda value, _: f"{value:g}"))
    bar.outline.set_visible(False)
    return figure
