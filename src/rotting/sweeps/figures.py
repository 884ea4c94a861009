"""The figures of a sweep: regret over time, final regret against a parameter, policies x problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FuncFormatter

from rotting._output.style import add_legend, add_title, marker_style, new_figure, plain, wrapped
from rotting.simulation.figures import LARGEST_RATIO, draw_means, draw_regret, panels, scale_regret
from rotting.sweeps import ranking
from rotting.sweeps.errors import SweepError
from rotting.sweeps.results import of_problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More cannot be distinguished.
MAX_LINES, MAX_PANELS = 12, 12


def curves(dataset: xarray.Dataset, final: xarray.DataArray) -> Figure:
    """Return regret over time, a panel per problem, of the policies that are best over all (or the first ones)."""
    labels = final["policy"].values.tolist()
    shown = {row.policy for row in ranking.rank_overall(final)[:MAX_LINES]} or set(labels[:MAX_LINES])
    kept = [index for index, label in enumerate(labels) if label in shown]
    problems = _drawable(final)
    figure, every = _panels(final, problems, final["problem"].values.tolist(), len(kept))
    for axes, index in zip(every, problems, strict=True):
        finished = ranking.finished(final, index)
        draw_regret(axes, of_problem(dataset, index).isel(policy=kept, run=finished).compute())
        axes.yaxis.label.set_fontsize("small")
    add_legend(figure, every[0])
    return figure


def against(final: xarray.DataArray, parameter: str) -> Figure:
    """Return final regret against a parameter, a panel per problem, a line per kind of policy that has it."""
    lines = ranking.against(final, parameter)
    problems = _drawable(final)
    figure, every = _panels(final, problems, _with_oracles(final), final.sizes["policy"])
    for axes, problem in zip(every, problems, strict=True):
        regret = final.values[problem][:, ranking.finished(final, problem)]
        _draw_against(axes, lines, regret)
        axes.set_xlabel(parameter)
        axes.set_ylabel("final regret: mean and its 95 % interval", fontsize="small")
    add_legend(figure, every[0])
    return figure


def _draw_against(axes: Axes, lines: dict[str, list[tuple[float, int]]], regret: np.ndarray) -> None:
    """Draw regret[policy, run] as lines through (value, policy)."""
    for place, (label, points) in enumerate(lines.items()):
        values, policies = map(list, zip(*points, strict=True))
        draw_means(axes, np.array(values), regret[policies].T, marker_style(place), label)
    tried = sorted({value for points in lines.values() for value, _ in points})
    if tried[0] > 0 and tried[-1] > LARGEST_RATIO * tried[0]:
        axes.set_xscale("log")
    if len(tried) <= 9:
        axes.set_xticks(tried, [f"{value:g}" for value in tried], fontsize="small")
        axes.set_xticks([], minor=True)
    scale_regret(axes, [float(regret[policy].mean()) for points in lines.values() for _, policy in points])


def heatmap(final: xarray.DataArray) -> Figure:
    """Return policies x problems: mean final regret on the scale of rankings, 0 for the best policy of a problem.

    Light is 0, dark the largest; each number is written into its field.
    """
    from matplotlib.colors import PowerNorm

    values = _on_the_scale_of_rankings(final)
    figure = new_figure(min(3.5 + 1.1 * values.shape[1], 24.0), min(2.6 + 0.34 * len(values), 40.0))
    axes = figure.add_subplot()
    scale = PowerNorm(0.5, 0.0, float(np.nanmax(values, initial=1.0)))  # small scores are what one looks for
    picture = axes.imshow(values, cmap="cividis_r", norm=scale, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        known = np.isfinite(value)
        colour, text = "white" if known and scale(value) > 0.5 else "black", f"{value:.2g}" if known else "?"
        axes.text(column, row, text, ha="center", va="center", fontsize="x-small", color=colour)
    columns = [wrapped(name, 24) for name in _with_oracles(final)]
    axes.set_xticks(range(len(columns)), columns, rotation=30, ha="right")
    axes.set_yticks(range(len(values)), map(plain, final["policy"].values.tolist()))
    axes.tick_params(length=0, labelsize="small")
    axes.spines[:].set_visible(False)
    add_title(axes, "Final regret: 0 is the best policy on a problem, 1 the average one")
    shown = FuncFormatter(lambda value, _: f"{value:g}")
    figure.colorbar(picture, ax=axes, label="0: the best, 1: the average", format=shown).outline.set_visible(False)
    return figure


def _on_the_scale_of_rankings(final: xarray.DataArray) -> np.ndarray:
    """Return [policy, problem]; NaN where no run is finished by all, or all have the same regret."""
    found = np.full((final.sizes["policy"], final.sizes["problem"]), np.nan)
    for index in range(final.sizes["problem"]):
        regret = final.values[index][:, ranking.finished(final, index)]
        if regret.size:
            means = regret.mean(axis=1)
            lowest, above = ranking.spread(means[None])
            found[:, index] = (means - lowest) / above
    return found


def _with_oracles(final: xarray.DataArray) -> list[str]:
    """Return what problems are called, and what regret is measured against on each."""
    pairs = zip(final["problem"].values.tolist(), final["oracle"].values.tolist(), strict=True)
    return [f"{label} ({oracle})" for label, oracle in pairs]


def _drawable(final: xarray.DataArray) -> list[int]:
    """Return the problems that something can be said about, the first ones if there are many."""
    found = [index for index in range(final.sizes["problem"]) if ranking.finished(final, index).any()]
    if not found:
        raise SweepError("there is nothing to draw: no run is finished by every policy on any problem yet")
    return found[:MAX_PANELS]


def _panels(
    final: xarray.DataArray, problems: Sequence[int], titles: Sequence[str], policies: int
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each problem that says above them if it does not show everything."""
    figure, every = panels([titles[problem] for problem in problems], 4.0, 3.6, legend=3.0)
    said = []
    if policies < final.sizes["policy"]:
        said.append(f"the best {policies} of {final.sizes['policy']} policies")
    if len(problems) < final.sizes["problem"]:
        said.append(f"the first {len(problems)} of {final.sizes['problem']} problems")
    if said:
        figure.suptitle("Shown: " + ", ".join(said), fontsize="small", x=0.01, ha="left")
    return figure, every
