"""The figure of a bandit's report: what arms are worth against how often they were shown."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from rotting._output.style import line_style, marker_style, new_figure, plain, thousands, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        style["linestyle"] = "none"
        axes.plot(middles, means, alpha=0.35, **style)
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
