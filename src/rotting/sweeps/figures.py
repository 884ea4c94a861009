"""The figures of a sweep: regret over time, final regret against a parameter, policies x problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FuncFormatter

from rotting._output.style import add_legend, add_title, marker_style, new_figure, plain, wrapped
from rotting.simulation.figures import LARGEST_RATIO, draw_regret, draw_runs, panels, scale_regret
from rotting.simulation.summary import final_regret, finished
from rotting.sweeps import ranking
from rotting.sweeps.errors import SweepError
from rotting.sweeps.results import of_problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More cannot be distinguished.
MAX_LINES, MAX_PANELS = 12, 12


def curves(dataset: xarray.Dataset, finals: Sequence[xarray.Dataset]) -> Figure:
    """Return regret over time, a panel per problem, of the policies that are best over all (or the first ones)."""
    labels = dataset["policy"].values.tolist()
    shown = {row.policy for row in ranking.rank_overall(finals)[0][:MAX_LINES]} or set(labels[:MAX_LINES])
    kept = [place for place, label in enumerate(labels) if label in shown]
    drawn, figure, every = _panels(finals, lambda final: str(final.attrs["problem"]), len(kept))
    for axes, place in zip(every, drawn, strict=True):
        runs = finished(finals[place])["run"]
        draw_regret(axes, of_problem(dataset, place).isel(policy=kept).sel(run=runs).compute())
        axes.yaxis.label.set_fontsize("small")
    add_legend(figure, every[0])
    return figure


def against(finals: Sequence[xarray.Dataset], parameter: str) -> Figure:
    """Return final regret against a parameter, a panel per problem, a line per kind of policy that has it."""
    lines = ranking.against(ranking.policies_of(finals[0]), parameter)
    drawn, figure, every = _panels(finals, _with_oracle, finals[0].sizes["policy"])
    for axes, place in zip(every, drawn, strict=True):
        _draw_against(axes, lines, final_regret(finished(finals[place])))
        axes.set_xlabel(parameter)
        axes.set_ylabel("final regret: mean and its 95 % interval", fontsize="small")
    add_legend(figure, every[0])
    return figure


def _draw_against(axes: Axes, lines: dict[str, list[tuple[float, int]]], regret: np.ndarray) -> None:
    """Draw regret[policy, run] as lines through (value, policy)."""
    for place, (label, points) in enumerate(lines.items()):
        values, policies = map(list, zip(*points, strict=True))
        draw_runs(axes, np.array(values), regret[policies].T, marker_style(place), label, interval=True)
    tried = sorted({value for points in lines.values() for value, _ in points})
    if tried[0] > 0 and tried[-1] > LARGEST_RATIO * tried[0]:
        axes.set_xscale("log")
    if len(tried) <= 9:
        axes.set_xticks(tried, [f"{value:g}" for value in tried], fontsize="small")
        axes.set_xticks([], minor=True)
    scale_regret(axes, [float(regret[policy].mean()) for points in lines.values() for _, policy in points])


def heatmap(finals: Sequence[xarray.Dataset]) -> Figure:
    """Return policies x problems: mean final regret on the scale of rankings, 0 for the best policy of a problem.

    Light is 0, dark the largest; each number is written into its field.
    """
    from matplotlib.colors import PowerNorm

    values = np.transpose([_on_the_scale_of_rankings(final) for final in finals])
    figure = new_figure(min(3.5 + 1.1 * values.shape[1], 24.0), min(2.6 + 0.34 * len(values), 40.0))
    axes = figure.add_subplot()
    scale = PowerNorm(0.5, 0.0, float(np.nanmax(values, initial=1.0)))  # small scores are what one looks for
    picture = axes.imshow(values, cmap="cividis_r", norm=scale, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        known = np.isfinite(value)
        colour, text = "white" if known and scale(value) > 0.5 else "black", f"{value:.2g}" if known else "?"
        axes.text(column, row, text, ha="center", va="center", fontsize="x-small", color=colour)
    columns = [wrapped(_with_oracle(final), 24) for final in finals]
    axes.set_xticks(range(len(columns)), columns, rotation=30, ha="right")
    axes.set_yticks(range(len(values)), map(plain, finals[0]["policy"].values.tolist()))
    axes.tick_params(length=0, labelsize="small")
    axes.spines[:].set_visible(False)
    add_title(axes, "Final regret: 0 is the best policy on a problem, 1 the average one")
    shown = FuncFormatter(lambda value, _: f"{value:g}")
    figure.colorbar(picture, ax=axes, label="0: the best, 1: the average", format=shown).outline.set_visible(False)
    return figure


def _on_the_scale_of_rankings(final: xarray.Dataset) -> np.ndarray:
    """Return one number per policy; NaN where no run is finished by all, or all have the same regret."""
    regret = final_regret(finished(final))
    means = regret.mean(axis=1) if regret.size else np.full(len(regret), np.nan)
    lowest, above = ranking.spread(means[None])
    return np.asarray((means - lowest) / above)


def _with_oracle(final: xarray.Dataset) -> str:
    """Return what a problem is called, and what regret is measured against."""
    return f"{final.attrs['problem']} ({final.attrs['oracle']})"


def _panels(
    finals: Sequence[xarray.Dataset], title: Callable[[xarray.Dataset], str], policies: int
) -> tuple[list[int], Figure, list[Axes]]:
    """Return the problems that something can be said about (the first ones), and a figure with a panel for each.

    Above its panels it says so if it does not show everything.
    """
    drawn = [place for place, final in enumerate(finals) if finished(final).sizes["run"]][:MAX_PANELS]
    if not drawn:
        raise SweepError("there is nothing to draw: no run is finished by every policy on any problem yet")
    figure, every = panels([title(finals[place]) for place in drawn], 4.0, 3.6, legend=3.0)
    said = []
    if policies < finals[0].sizes["policy"]:
        said.append(f"the best {policies} of {finals[0].sizes['policy']} policies")
    if len(drawn) < len(finals):
        said.append(f"the first {len(drawn)} of {len(finals)} problems")
    if said:
        figure.suptitle("Shown: " + ", ".join(said), fontsize="small", x=0.01, ha="left")
    return drawn, figure, every
