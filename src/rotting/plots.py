"""Figures shared by the rooms, drawn without pyplot: nothing here needs a display or leaves state behind."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, SymmetricalLogLocator

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

# Okabe and Ito's palette: told apart with any kind of colour vision. Its yellow is too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Beyond this ratio of the largest to the smallest final regret, a linear axis would press the good policies flat.
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
    axes.set_title(f"{plain(dataset.attrs['problem'])}, {runs} run{'s' * (runs > 1)}", loc="left", fontsize="medium")
    add_legend(figure, axes)
    return figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, its size in inches, that arranges its contents by itself."""
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def line_style(place: int) -> dict[str, Any]:
    """Return how the line of policy number `place` looks: colours first, then other dashes."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
    }


def marker_style(place: int) -> dict[str, Any]:
    """Return what `line_style` does, with a marker that tells the lines apart in print, too."""
    return {**line_style(place), "marker": MARKERS[place % len(MARKERS)], "markersize": 5}


def draw_regret(axes: Axes, dataset: xarray.Dataset) -> None:
    """Draw regret over time, from nothing at round 0: means as lines, the 10 to 90 % region of the runs shaded."""
    rounds = np.concatenate([[0], dataset["round"].values])
    # The more regions lie on top of each other, the fainter each must be.
    shade = min(0.18, 1 / dataset.sizes["policy"])
    finals = []
    for place, label in enumerate(dataset["policy"].values):
        regret = dataset["regret"].isel(policy=place).transpose("run", "round").values
        regret = np.concatenate([np.zeros((len(regret), 1)), regret], axis=1)
        draw_runs(axes, rounds, regret, {**line_style(place), "label": str(label)}, shade)
        finals.append(float(regret[:, -1].mean()))
    scale_regret(axes, finals)
    axes.set_xlim(0, rounds[-1])
    axes.set_xlabel("round")
    axes.set_ylabel("regret: mean, and 10 % to 90 % of the runs")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.xaxis.set_major_formatter(thousands())
    tidy(axes)


def draw_runs(axes: Axes, x: np.ndarray, runs: np.ndarray, style: dict[str, Any], shade: float = 0.18) -> None:
    """Draw the mean of `runs` (first axis) over `x` as a line, and the region between their 10 and 90 % quantiles.

    Parameters
    ----------
    style
        What `Axes.plot` takes: `line_style(...)` and a label.
    shade
        How opaque the region is.
    """
    low, high = np.quantile(runs, (0.1, 0.9), axis=0)
    axes.plot(x, runs.mean(axis=0), linewidth=1.8, zorder=3, **style)
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


def add_legend(figure: Figure, axes: Axes) -> None:
    """Add a legend on the right whose entries stand in the order in which the lines end, highest first."""
    lines = sorted(axes.get_lines(), key=lambda line: np.asarray(line.get_ydata())[-1], reverse=True)
    # A long name must not leave the axes without room.
    labels = [textwrap.fill(str(line.get_label()), 36) for line in lines]
    figure.legend(lines, labels, loc="outside right upper", frameon=False, fontsize="small")


def shared_legend(figure: Figure, axes: Axes) -> None:
    """Add one legend below a figure whose panels show what `axes` does."""
    handles, labels = axes.get_legend_handles_labels()
    columns = len(labels) if len(labels) <= 7 else -(-len(labels) // 2)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def tidy(axes: Axes) -> None:
    """Take away what carries no information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def thousands() -> FuncFormatter:
    """Return a formatter that writes 25000 as 25 000."""
    return FuncFormatter(lambda value, _: with_thousands(value))


def with_thousands(value: float) -> str:
    """Return a number with thin spaces between groups of three digits."""
    return f"{value:,.10g}".replace(",", "\u2009")


def regret_panels(datasets: Sequence[xarray.Dataset]) -> Figure:
    """Return regret over time on several problems, a panel each; the datasets have the same policies."""
    figure, panels = _panels([str(dataset.attrs["problem"]) for dataset in datasets])
    for axes, dataset in zip(panels, datasets, strict=True):
        draw_regret(axes, dataset)
        axes.yaxis.label.set_fontsize("small")
    add_legend(figure, panels[0])
    return figure


def _panels(titles: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many axes, at most three in a row, and room for a legend."""
    columns = min(len(titles), 3)
    rows = -(-len(titles) // columns)
    figure = new_figure(4.0 * columns + 3.0, 3.6 * rows)
    places = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in places[len(titles) :]:
        axes.remove()
    for axes, title in zip(places, titles, strict=False):
        axes.set_title(textwrap.fill(title, 44), loc="left", fontsize="small")
    return figure, places[: len(titles)]


def parameter_panels(panels: Sequence[tuple[str, dict[str, tuple[np.ndarray, np.ndarray]]]], parameter: str) -> Figure:
    """Return final regret against a parameter: means as lines, the 95 % intervals of the means shaded.

    Parameters
    ----------
    panels
        For each problem its name, and from labels to lines: the values tried, and regret[value, run].
    parameter
        What the values are of.
    """
    from rotting.simulation.summary import mean_interval

    figure, places = _panels([title for title, _ in panels])
    for axes, (_, lines) in zip(places, panels, strict=True):
        for place, (label, (values, regret)) in enumerate(lines.items()):
            means = regret.mean(axis=1)
            axes.plot(values, means, linewidth=1.8, label=label, **marker_style(place))
            ends = [mean_interval(one) for one in regret]
            if None not in ends[0]:
                low, high = np.array(ends, dtype=float).T
                axes.fill_between(values, low, high, color=line_style(place)["color"], alpha=0.18, linewidth=0)
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
    add_legend(figure, places[0])
    return figure


def heat_map(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], title: str, label: str) -> Figure:
    """Return a table of ratios >= 1 as colours: light is 1, dark the largest; each is written into its field."""
    from matplotlib.colors import LogNorm

    figure = new_figure(min(3.5 + 1.1 * len(columns), 24.0), min(2.6 + 0.34 * len(rows), 40.0))
    axes = figure.add_subplot()
    largest = float(np.nanmax(values, initial=1.0))
    picture = axes.imshow(values, cmap="cividis_r", norm=LogNorm(1.0, max(largest, 1.1)), aspect="auto")
    for row, column in np.ndindex(*values.shape):
        value = values[row, column]
        dark = np.isfinite(value) and value > max(largest, 1.1) ** 0.5
        text = f"{value:.3g}" if np.isfinite(value) else "?"
        axes.text(column, row, text, ha="center", va="center", fontsize="x-small", color="white" if dark else "black")
    axes.set_xticks(range(len(columns)), [textwrap.fill(name, 24) for name in columns], rotation=30, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0, labelsize="small")
    axes.spines[:].set_visible(False)
    axes.set_title(title, loc="left", fontsize="medium")
    bar = figure.colorbar(picture, ax=axes, label=label, format=FuncFormatter(lambda value, _: f"{value:g}"))
    bar.outline.set_visible(False)
    return figure


def plain(name: str) -> str:
    """Return a name as matplotlib is to be given it, lest it take what lies between two dollars for a formula."""
    return name.replace("$", r"\$")


def wear_figure(title: str, values: Mapping[str, np.ndarray], fits: Mapping[str, np.ndarray]) -> Figure:
    """Return a figure of what arms are worth against how often they were shown.

    Parameters
    ----------
    values
        The rewards of each arm, in order. Points are means of some dozen to some thousand in a row.
    fits
        A curve for each arm that has one, a value per reward, drawn as a line.
    """
    figure = new_figure(9.0, max(4.5, 0.3 * len(values)))
    axes = figure.add_subplot()
    labelled = {}  # by name: matplotlib would leave out those that begin with an underscore
    for place, (name, rewards) in enumerate(values.items()):
        style = marker_style(place)
        if name not in fits:
            continue
        size = max(1, len(rewards) // 40)
        whole = len(rewards) // size * size
        means = rewards[:whole].reshape(-1, size).mean(axis=1)
        middles = (np.arange(len(means)) + 0.5) * size + 0.5
        axes.plot(middles, means, **{**style, "linestyle": "none", "alpha": 0.35})
        line = axes.plot(np.arange(1, len(rewards) + 1), fits[name], **line_style(place), linewidth=1.8)
        labelled[textwrap.fill(plain(name), 36)] = line[0]
    axes.set_xlabel("exposures with a reward")
    axes.set_ylabel("reward: means in a row, and non-increasing fit")
    axes.set_title(plain(title), loc="left", fontsize="medium")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.xaxis.set_major_formatter(thousands())
    tidy(axes)
    if labelled:
        lines, names = list(labelled.values()), list(labelled)
        figure.legend(lines, names, loc="outside right upper", frameon=False, fontsize="small")
    return figure
