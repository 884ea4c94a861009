"""Table 1: the running time of the 10-arm experiment, on the same runs as figure 2."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from rotting._output.style import COLOURS
from rotting.paper.experiment import Experiment, Results
from rotting.paper.ten_arm import PUBLISHED_TIMES, seconds_per_run


def _times(axes: Axes, results: Results) -> None:
    """Draw the times per run, ours and the paper's, on a logarithmic axis."""
    positions = np.arange(len(PUBLISHED_TIMES))[::-1]
    both = ((0.19, PUBLISHED_TIMES, "0.6", "the paper"), (-0.19, seconds_per_run(results), COLOURS[0], "here"))
    for offset, times, colour, name in both:
        bars = axes.barh(positions + offset, list(times.values()), height=0.36, color=colour, label=name)
        shown = [f" {each:,.0f} s" if each >= 1 else f" {1000 * each:.2g} ms" for each in times.values()]
        axes.bar_label(bars, shown, fontsize="small")
    axes.set_yticks(positions, list(PUBLISHED_TIMES))
    axes.set_xscale("log")
    axes.set_xlim(right=3e4)
    axes.set_xlabel("seconds per run of 25 000 rounds (logarithmic)")
    axes.grid(visible=False, axis="y")
    axes.legend(frameon=False, loc="lower right")


EXPERIMENT = Experiment(
    name="table1",
    section="Ten arms",
    alt="Seconds per run of five policies, in the paper and here",
    caption="Table 1 redrawn. Ours were taken while runs were played side by side, so they are a little longer.",
    size=(8.0, 3.6),
    panels={"Time per run": _times},
    # Not as rows: times differ from one day to the next.
    tables={"times": lambda results: {"seconds_per_run": seconds_per_run(results), "published": PUBLISHED_TIMES}},
    runs_of="fig2",
)
