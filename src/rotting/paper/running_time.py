"""Table 1: the running time of the 10-arm experiment, on the same runs as figure 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting._output.style import COLOURS, new_figure, tidy
from rotting.paper.experiment import Experiment, Results, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = {"FEWA 0.06": 2271.0, "EFF-FEWA 0.06": 7.0, "wSWA 0.02": 1.0, "SW-UCB": 5.0, "D-UCB": 2.0}  # seconds


def seconds_per_run(results: Results) -> dict[str, float]:
    """Return the mean time that one run of each policy took here, in seconds."""
    return {
        label: float(results[label]["seconds"].sel(policy=label)) / results[label].sizes["run"] for label in PUBLISHED
    }


def tables(results: Results) -> Tables:
    """Return the times: not as rows, since they differ from one day to the next."""
    return {"times": {"seconds_per_run": seconds_per_run(results), "published": PUBLISHED}}


def figure(results: Results) -> Figure:
    """Return the times per run, ours and the paper's, on a logarithmic axis."""
    ours = seconds_per_run(results)
    canvas = new_figure(8.0, 3.6)
    axes = canvas.add_subplot()
    positions = np.arange(len(PUBLISHED))[::-1]
    for offset, times, colour, name in ((0.19, PUBLISHED, "0.6", "the paper"), (-0.19, ours, COLOURS[0], "here")):
        bars = axes.barh(positions + offset, list(times.values()), height=0.36, color=colour, label=name)
        shown = [f" {each:,.0f} s" if each >= 1 else f" {1000 * each:.2g} ms" for each in times.values()]
        axes.bar_label(bars, shown, fontsize="small")
    axes.set_yticks(positions, list(PUBLISHED))
    axes.set_xscale("log")
    axes.set_xlim(right=3e4)
    axes.set_xlabel("seconds per run of 25 000 rounds (logarithmic)")
    tidy(axes)
    axes.grid(visible=False, axis="y")
    axes.legend(frameon=False, loc="lower right")
    return canvas


EXPERIMENT = Experiment(
    name="table1",
    section="Ten arms",
    alt="Seconds per run of five policies, in the paper and here",
    caption="Table 1 redrawn. Ours were taken while runs were played side by side, so they are a little longer.",
    runs_of="fig2",
    figure=figure,
    tables=tables,
)
