"""Pictures, as SVG. What they show is also in a table next to them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from rotting.serve.overview import ArmOverview, Points
from rotting.serve.page.html import Html

COLOURS = 7  # classes c0, c1, ... in the style
LEFT, TOP, BOTTOM = 40.0, 8.0, 20.0  # where an axis leaves room
Shapes = Iterable[tuple[str, str, Points]]  # "circle" (for each point), "polyline" or "polygon"; their class


def colour(place: int) -> str:
    """Return the class of an arm's colour."""
    return f"c{place % COLOURS}"


def _plot(
    label: str, kind: str, size: tuple[float, float], end: float, limits: tuple[float, float],
    form: str, ends: tuple[str, str], shapes: Shapes,
) -> Html:  # fmt: skip
    """Return a picture of points (x, y) from 0 to `end` and within `limits`, which are written in a `form`."""
    (width, height), (low, high) = size, limits

    def at(x: float, y: float) -> tuple[float, float]:
        part = (high - min(max(y, low), high)) / (high - low)
        return LEFT + (width - LEFT) * x / end, TOP + (height - TOP - BOTTOM) * part

    parts = []
    for shape, drawn, points in shapes:
        found = [at(*point) for point in points]
        if shape == "circle":
            parts += [f'<circle class="{drawn}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in found]
        else:
            listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in found)
            parts.append(f'<{shape} class="{drawn}" points="{listed}"/>')
    for value in (low, (low + high) / 2, high):
        _, y = at(0.0, value)
        parts.append(
            f'<line class="axis" x1="{LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{value:{form}}</text>'
        )
    return Html(
        f'<svg class="{kind}" role="img" aria-label="{escape(label)}" viewBox="0 0 {width:g} {height:g}">'
        f'{"".join(parts)}<text x="{LEFT}" y="{height - 5}" text-anchor="start">{ends[0]}</text>'
        f'<text x="{width}" y="{height - 5}" text-anchor="end">{ends[1]}</text></svg>'
    )


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
    said, shapes = "No rewards yet.", []
    if arm.fit:
        said = f"The fit begins at {arm.fit[0][1]:.3g} and is now at {arm.fit[-1][1]:.3g}."
        shapes = [("circle", "dot area", arm.dots), ("polyline", "fit line", arm.fit)]
    label = f"{arm.name}: reward against exposures. {said}"
    return _plot(label, colour(place), (300.0, 150.0), end, limits, ".2g", ("0", f"{end:,.0f} rewards"), shapes)


def shares(counts: np.ndarray, start: float, seconds: float) -> Html:
    """Draw which part of the decisions each arm had, over time."""
    filled = np.flatnonzero(counts.sum(axis=1))  # periods without a decision are bridged
    parts = np.cumsum(counts[filled], axis=1) / counts[filled].sum(axis=1, keepdims=True)
    heights = np.pad(parts, ((1, 1), (0, 0)), mode="edge")
    across = np.array([0.0, *(filled + 0.5), len(counts)])
    lower, shapes = np.zeros(len(across)), []
    for arm, upper in enumerate(heights.T):
        outline = np.stack([np.append(across, across[::-1]), np.append(upper, lower[::-1])], axis=1)
        shapes.append(("polygon", f"area {colour(arm)}", outline.tolist()))
        lower = upper
    label, times = f"Shares of {counts.shape[1]} arms over time.", (clock(start), clock(start + len(counts) * seconds))
    return _plot(label, "", (900.0, 220.0), len(counts), (0.0, 1.0), ".0%", times, shapes)


def clock(at: float) -> str:
    """Return a time, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at)) + " UTC"
