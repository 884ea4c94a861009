"""The figure of a bandit's report: what arms are worth against how often they were shown."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from rotting._output.style import line_style, marker_style, new_figure, plain, thousands, tidy
from rotting.bandit.report.reporting import wear_fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rotting.bandit.report.reporting import Report


def wear_figure(report: Report) -> Figure:
    """Return a figure of what the arms of a report are worth against how often they were shown.

    Points are means of some dozen to some thousand rewards in a row, lines the non-increasing fit.
    """
    figure = new_figure(9.0, max(4.5, 0.3 * len(report.values)))
    axes = figure.add_subplot()
    labelled = {}  # by name: matplotlib would leave out those that begin with an underscore
    for place, (name, rewards) in enumerate(report.values.items()):
        if len(rewards) == 0:
            continue
        size = max(1, len(rewards) // 40)
        means = rewards[: len(rewards) // size * size].reshape(-1, size).mean(axis=1)
        middles = (np.arange(len(means)) + 0.5) * size + 0.5
        axes.plot(middles, means, alpha=0.35, **marker_style(place) | {"linestyle": "none"})
        line = axes.plot(np.arange(1, len(rewards) + 1), wear_fit(rewards), **line_style(place), linewidth=1.8)
        labelled[textwrap.fill(plain(name), 36)] = line[0]
    axes.set_xlabel("exposures with a reward")
    axes.set_ylabel("reward: means in a row, and non-increasing fit")
    axes.set_title(plain(f"{report.bandit}: {report.policy}"), loc="left", fontsize="medium")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.xaxis.set_major_formatter(thousands())
    tidy(axes)
    if labelled:
        figure.legend(
            list(labelled.values()), list(labelled), loc="outside right upper", frameon=False, fontsize="small"
        )
    return figure
