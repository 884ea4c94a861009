"""Figures of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting._output.style import COLOURS, add_legend, add_title, line_style, new_figure, shared_legend, thousands, tidy
from rotting.policies import FilterVerdict
from rotting.simulation.figures import panels, show_rounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rotting.simulation.replay import Replay


def pulls_figure(played: Replay, n_arms: int) -> Figure:
    """Return a figure of the pulls of each arm over the rounds of a run."""
    figure, [axes] = panels([played.policy], 9.0, 4.2)
    _draw_pulls(axes, played, n_arms)
    add_legend(figure, axes)
    return figure


def drops_figure(played: Replay, n_arms: int) -> Figure:
    """Return a figure of which window dropped which arm in the rounds that were explained, and of the pulls."""
    figure = new_figure(9.0, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for arm in range(n_arms):
        verdicts = ((t, said.arms[arm]) for t, said in played.explanations.items())
        found = [(t, one.window) for t, one in verdicts if isinstance(one, FilterVerdict) and one.window]
        if found:
            above.plot(*zip(*found, strict=True), ".", markersize=3, color=COLOURS[arm % len(COLOURS)])
    above.set_yscale("log")
    above.yaxis.set_major_formatter(thousands())
    above.set_ylabel("window that dropped it")
    add_title(above, f"{played.policy}: what the filter does in each round")
    tidy(above)
    _draw_pulls(below, played, n_arms)
    shared_legend(figure, below)
    return figure


def _draw_pulls(axes: Axes, played: Replay, n_arms: int) -> None:
    rounds = np.arange(1, len(played.arms) + 1)
    # No picture shows more points than this; the last round is always one of them.
    shown = np.unique(np.linspace(0, len(rounds) - 1, 1000).astype(int))
    for arm in range(n_arms):
        counts = np.cumsum(played.arms == arm)
        axes.plot(rounds[shown], counts[shown], linewidth=1.8, label=f"arm {arm}", **line_style(arm))
    show_rounds(axes, rounds[-1])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("pulls so far")
    axes.yaxis.set_major_formatter(thousands())
    tidy(axes)
