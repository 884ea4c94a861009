"""The style of every figure, drawn without pyplot: nothing here needs a display or leaves state behind."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: distinguishable with any kind of colour vision. Its yellow is too pale for a line on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


class ShownFigure(Figure):
    """A figure that notebooks show, which they otherwise do for figures of pyplot only."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, its size in inches, that arranges its contents by itself."""
    return ShownFigure(figsize=(width, height), dpi=150, layout="constrained")


class LineStyle(TypedDict):
    """How a line looks, in the words of `Axes.plot`."""

    color: str
    linestyle: str
    marker: NotRequired[str]
    markersize: NotRequired[float]


def line_style(index: int) -> LineStyle:
    """Return how the line of policy number `index` looks: colours first, then other dashes."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[index // len(COLOURS) % len(DASHES)],
    }


def marker_style(index: int) -> LineStyle:
    """Return what `line_style` does, with a marker, which distinguishes lines in print, too."""
    return {**line_style(index), "marker": MARKERS[index % len(MARKERS)], "markersize": 5}


def add_legend(figure: Figure, axes: Axes) -> None:
    """Add a legend on the right whose entries stand in the order in which the lines end, highest first."""
    lines = sorted(axes.get_lines(), key=lambda line: np.asarray(line.get_ydata())[-1], reverse=True)
    # Wrapped: a long name would leave the axes too narrow.
    labels = [wrapped(str(line.get_label()), 36) for line in lines]
    # Set afterwards: matplotlib leaves out lines whose label begins with an underscore.
    unnamed = ["line"] * len(lines)
    legend = figure.legend(lines, unnamed, loc="outside right upper", frameon=False, fontsize="small")
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)


def shared_legend(figure: Figure, axes: Axes) -> None:
    """Add one legend below a figure whose panels show what `axes` does."""
    handles, labels = axes.get_legend_handles_labels()
    columns = len(labels) if len(labels) <= 7 else -(-len(labels) // 2)
    shown = [plain(label) for label in labels]
    figure.legend(handles, shown, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def add_title(axes: Axes, title: str) -> None:
    """Set the title of a panel, on the left, as it is written."""
    axes.set_title(plain(title), loc="left", fontsize="medium")


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


def plain(name: str) -> str:
    r"""Return a name with $ escaped, so that matplotlib does not parse what lies between two of them as mathtext.

    Lines keep their labels as they are: what shows a name (a legend, a title, a tick) escapes it.

    >>> plain("$a$ and $b$")
    '\\$a\\$ and \\$b\\$'
    """
    return name.replace("$", r"\$")


def wrapped(name: str, width: int) -> str:
    """Return a name in lines of at most so many characters, with $ escaped."""
    return plain(textwrap.fill(name, width))
