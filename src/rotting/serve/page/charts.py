"""Pictures, as SVG. What they show is also in a table next to them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

import numpy as np

from rotting.serve.overview import ArmOverview
from rotting.serve.page.html import Html

COLOURS = 7  # classes c0, c1, ... in the style
LEFT, TOP, BOTTOM = 40.0, 8.0, 20.0  # where an axis leaves room


def colour(place: int) -> str:
    """Return the class of an arm's colour."""
    return f"c{place % COLOURS}"


class Plot:
    """A picture of points (x, y), within ranges from 0 to `end` and from `low` to `high`."""

    def __init__(self, width: float, height: float, end: float, low: float, high: float):
        self._size = width, height
        self._range = end, low, high
        self._parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point is drawn."""
        (width, height), (end, low, high) = self._size, self._range
        inside = min(max(y, low), high)
        down = TOP + (height - TOP - BOTTOM) * (high - inside) / (high - low)
        return LEFT + (width - LEFT) * x / end, down

    def axes(self, form: str, first: str, last: str) -> None:
        """Draw three lines across, and say what the left and the right end are."""
        (width, height), (_, low, high) = self._size, self._range
        for y in (low, (low + high) / 2, high):
            _, down = self.at(0.0, y)
            self._parts.append(f'<line class="axis" x1="{LEFT}" x2="{width}" y1="{down:.1f}" y2="{down:.1f}"/>')
            self._parts.append(f'<text x="{LEFT - 5}" y="{down + 4:.1f}" text-anchor="end">{y:{form}}</text>')
        for x, anchor, said in ((LEFT, "start", first), (width, "end", last)):
            self._parts.append(f'<text x="{x}" y="{height - 5}" text-anchor="{anchor}">{said}</text>')

    def draw(self, shape: str, kind: str, points: Sequence[tuple[float, float]]) -> None:
        """Draw a polyline, a polygon or, as "circle", dots."""
        found = [self.at(x, y) for x, y in points]
        if shape == "circle":
            self._parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in found]
        elif found:
            listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in found)
            self._parts.append(f'<{shape} class="{kind}" points="{listed}"/>')

    def svg(self, label: str, kind: str = "") -> Html:
        """Return the picture."""
        box = f"0 0 {self._size[0]:g} {self._size[1]:g}"
        inside = "".join(self._parts)
        return Html(f'<svg class="{kind}" role="img" aria-label="{escape(label)}" viewBox="{box}">{inside}</svg>')


def highest(arms: Sequence[ArmOverview]) -> tuple[float, float]:
    """Return the range of rewards that all arms are drawn on, so that they can be compared.

    Means of very few rewards do not count: they would flatten all the others.
    """
    values = [0.0]
    for arm in arms:
        dots = arm.dots if arm.rewards >= 10 * len(arm.dots) else ()
        values += [y for _, y in (*dots, *arm.fit)]
    low, high = min(values), max(values)
    return low, high if high > low else low + 1.0


def wear(arm: ArmOverview, place: int, limits: tuple[float, float]) -> Html:
    """Draw what an arm was worth against how often it was shown."""
    end = max((x for x, _ in (*arm.dots, *arm.fit)), default=1.0)
    plot = Plot(300.0, 150.0, end, *limits)
    plot.axes(".2g", "0", f"{end:,.0f} rewards")
    plot.draw("circle", "dot area", arm.dots)
    plot.draw("polyline", "fit line", arm.fit)
    said = "No rewards yet."
    if arm.fit:
        said = f"The fit begins at {arm.fit[0][1]:.3g} and is now at {arm.fit[-1][1]:.3g}."
    return plot.svg(f"{arm.name}: reward against exposures. {said}", colour(place))


def shares(counts: np.ndarray, start: float, seconds: float) -> Html:
    """Draw which part of the decisions each arm had, over time."""
    plot = Plot(900.0, 220.0, len(counts), 0.0, 1.0)
    filled = np.flatnonzero(counts.sum(axis=1))  # periods without a decision are bridged
    heights = np.cumsum(counts[filled], axis=1) / counts[filled].sum(axis=1, keepdims=True)
    across = (filled + 0.5).tolist()
    if len(across) == 1:
        across, heights = [0.0, float(len(counts))], np.repeat(heights, 2, axis=0)
    lower = np.zeros(len(across))
    for arm, upper in enumerate(heights.T):
        if float(np.max(upper - lower)) > 0.0:
            there, back = (list(zip(across, edge.tolist(), strict=True)) for edge in (upper, lower))
            plot.draw("polygon", f"area {colour(arm)}", [*there, *back[::-1]])
        lower = upper
    plot.axes(".0%", clock(start), clock(start + len(counts) * seconds))
    return plot.svg(f"Shares of {counts.shape[1]} arms over time.")


def clock(at: float) -> str:
    """Return a time, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at)) + " UTC"
