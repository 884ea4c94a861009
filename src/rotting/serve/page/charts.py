"""Pictures, as SVG. What they show is also in a table next to them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from html import escape

import numpy as np

from rotting._output.style import with_thousands
from rotting.serve.overview import ArmOverview, duration
from rotting.serve.page.html import Html

COLOURS = 7  # classes c0, c1, ... in the style
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 300.0, 150.0, 40.0, 20.0, 8.0


def colour(place: int) -> str:
    """Return the class of an arm's colour."""
    return f"c{place % COLOURS}"


def highest(arms: Sequence[ArmOverview]) -> tuple[float, float]:
    """Return the range of rewards that all arms are drawn on, so that they can be compared."""
    values = [y for arm in arms for _, y in (*_thinned(arm), *arm.fit)]
    low, high = min([0.0, *values]), max([0.0, *values])
    return low, high if high > low else low + 1.0


def _thinned(arm: ArmOverview) -> Sequence[tuple[float, float]]:
    """Return the dots without the few that are made of very few rewards: they would flatten all the others."""
    return arm.dots if arm.rewards >= 10 * max(1, len(arm.dots)) else ()


def wear(arm: ArmOverview, place: int, limits: tuple[float, float]) -> Html:
    """Draw what an arm was worth against how often it was shown."""
    low, high = limits
    end = max((x for x, _ in (*arm.dots, *arm.fit)), default=1.0)

    def at(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT) * x / end
        clipped = min(max(y, low), high)
        return across, _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - clipped) / (high - low)

    base = _HEIGHT - _BOTTOM
    parts = []
    for value in (low, (low + high) / 2, high):
        _, y = at(0.0, value)
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{value:.2g}</text>')
    parts.append(f'<text x="{_LEFT}" y="{base + 15}">0</text>')
    parts.append(f'<text x="{_WIDTH}" y="{base + 15}" text-anchor="end">{with_thousands(end)} rewards</text>')
    for x, y in arm.dots:
        across, down = at(x, y)
        parts.append(f'<circle class="dot area" cx="{across:.1f}" cy="{down:.1f}" r="2.5"/>')
    if arm.fit:
        points = " ".join(f"{across:.1f},{down:.1f}" for across, down in (at(x, y) for x, y in arm.fit))
        parts.append(f'<polyline class="fit line" points="{points}"/>')
    label = f"{arm.name}: reward against exposures. " + (
        "No rewards yet." if arm.fresh is None else f"The fit begins at {arm.fresh:.3g} and is now at {arm.now:.3g}."
    )
    return _svg(label, "".join(parts), _WIDTH, _HEIGHT, colour(place))


def shares(names: Sequence[str], counts: np.ndarray, start: float, seconds: float) -> Html:
    """Draw which part of the decisions each arm had, over time."""
    width, height, base = 900.0, 220.0, 195.0
    totals = counts.sum(axis=1)
    filled = np.flatnonzero(totals)  # periods without a decision are bridged
    portions = counts[filled] / totals[filled, None]
    heights = np.cumsum(portions, axis=1)
    span = max(1, len(counts))
    across: list[float] = [40.0 + (width - 40.0) * (period + 0.5) / span for period in filled.tolist()]
    if len(across) == 1:
        across, heights = [40.0, width], np.repeat(heights, 2, axis=0)
    parts = []
    lower = np.zeros(len(across))
    for arm in range(heights.shape[1]):
        upper = heights[:, arm]
        if float(np.max(upper - lower)) > 0.0:
            there = [f"{x:.1f},{base - (base - 8) * y:.1f}" for x, y in zip(across, upper, strict=True)]
            back = [f"{x:.1f},{base - (base - 8) * y:.1f}" for x, y in zip(across, lower, strict=True)][::-1]
            parts.append(f'<polygon class="area {colour(arm)}" points="{" ".join(there + back)}"/>')
        lower = upper
    for part in (0.0, 0.5, 1.0):
        y = base - (base - 8) * part
        parts.append(f'<line class="axis" x1="40" x2="{width}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="35" y="{y + 4}" text-anchor="end">{part:.0%}</text>')
    for place, anchor in ((0, "start"), (span, "end")):
        x = 40.0 if place == 0 else width
        parts.append(f'<text x="{x}" y="{base + 18}" text-anchor="{anchor}">{clock(start + place * seconds)}</text>')
    return _svg(f"Shares of {len(names)} arms over time.", "".join(parts), width, height)


def delays(seconds: Sequence[float]) -> Html:
    """Draw how long rewards take, as bars of times that double."""
    width, height, base = 460.0, 130.0, 108.0
    steps = [max(-7, math.floor(math.log2(each))) if each > 0 else -7 for each in seconds]
    first, last = min(steps), max(steps)
    counts = [steps.count(step) for step in range(first, last + 1)]
    wide = min(60.0, width / len(counts))
    parts = [f'<line class="axis" x1="0" x2="{width}" y1="{base}" y2="{base}"/>']
    every = max(1, math.ceil(70.0 / wide))
    for place, count in enumerate(counts):
        tall = (base - 10) * count / max(counts)
        x = place * wide
        parts.append(
            f'<rect class="area" x="{x + 1:.1f}" y="{base - tall:.1f}" width="{wide - 2:.1f}" height="{tall:.1f}"/>'
        )
        if place % every == 0:
            parts.append(f'<text x="{x:.1f}" y="{base + 15}">{duration(2.0 ** (first + place))}</text>')
    return _svg("How long the last rewards took.", "".join(parts), width, height, colour(0))


def clock(at: float) -> str:
    """Return a time, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at)) + " UTC"


def _svg(label: str, inside: str, width: float, height: float, kind: str = "") -> Html:
    return Html(
        f'<svg class="{kind}" role="img" aria-label="{escape(label)}" viewBox="0 0 {width:g} {height:g}">{inside}</svg>'
    )
