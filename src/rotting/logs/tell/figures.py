"""The two figures of a diagnosis: the arms, and what would be gained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rotting._output.style import COLOURS, new_figure, plain, thousands, tidy
from rotting.logs.tell.answers import in_order
from rotting.logs.tell.sentences import finding_of
from rotting.logs.worth.gain import KEEP, ORACLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rotting.logs.diagnosis import Diagnosis
    from rotting.logs.worth.arms import ArmDiagnosis
    from rotting.logs.worth.recommending import Recommendation

SHOWN_ARMS, COLUMNS = 12, 2
LONGEST_TITLE = 34  # letters that fit above a panel
# The axis starts at 0 unless all values are this many times their range away from it.
FAR_FROM_ZERO = 10
# Panels share an axis unless one arm is this many times as high as the usual one.
ALIKE = 2.0
_NEUTRAL, _ROTTING, _MUTED = COLOURS[0], COLOURS[1], "0.6"


def arms_figure(diagnosis: Diagnosis) -> Figure:
    """Return small multiples: the mean rewards of each arm, what the model makes of them and its band."""
    arms = in_order(diagnosis.arms)[:SHOWN_ARMS]
    columns = min(COLUMNS, len(arms))
    rows = -(-len(arms) // columns)
    figure = new_figure(7.0, 0.4 + 2.3 * rows)
    highest = [max(max(arm.curve["high"]), 1e-300) for arm in arms]
    # One strong arm must not flatten all others.
    alike = max(highest) <= ALIKE * float(np.median(highest))
    every = figure.subplots(rows, columns, sharey=alike, squeeze=False).ravel()
    for axes in every[len(arms) :]:
        axes.set_visible(False)
    for arm, axes in zip(arms, every, strict=False):
        _draw_arm(axes, arm, finding_of(arm, diagnosis.verdict), binary=diagnosis.rewards == "0/1")
        _set_limits(axes, arms if alike else [arm])
    figure.supxlabel("exposures", fontsize=11)
    return figure


def _set_limits(axes: Axes, arms: list[ArmDiagnosis]) -> None:
    # The limits follow the bands: the noisy mean of a bin of few rows must not flatten the fits.
    low, high = min(min(arm.curve["low"]) for arm in arms), max(max(arm.curve["high"]) for arm in arms)
    apart = high - low or 1.0
    # An axis from 0 shows how much is lost of the whole, unless all lies so far away from 0 that nothing would be seen.
    bottom = 0.0 if 0 <= low < FAR_FROM_ZERO * apart else low - 0.1 * apart
    axes.set_ylim(bottom, high + 0.1 * apart)


def _draw_arm(axes: Axes, arm: ArmDiagnosis, finding: str, binary: bool) -> None:
    curve = {name: np.array(values) for name, values in arm.curve.items()}
    x, colour = curve["exposure"], _ROTTING if arm.rotting else _NEUTRAL
    axes.scatter(x, curve["mean"], s=10, color=_MUTED, linewidth=0)
    axes.fill_between(x, curve["low"], curve["high"], color=colour, alpha=0.2, linewidth=0)
    if arm.first is not None:  # per unit no curve is behind the numbers
        axes.plot(x, curve["fit"], color=colour, linewidth=2)
    axes.set_title(
        f"{plain(_short(arm.arm, LONGEST_TITLE - len(finding)))}: {finding}", loc="left", fontsize=11, color=colour
    )
    axes.xaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    axes.xaxis.set_major_formatter(thousands())
    if binary:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.tick_params(labelsize=10)
    tidy(axes)


def gain_figure(diagnosis: Diagnosis) -> Figure:
    """Return the gain of every policy over the logged allocation, with intervals, the best on top."""
    gains = sorted((gain for gain in diagnosis.gain if gain.policy != KEEP), key=lambda gain: gain.gain.point)
    figure = new_figure(7.0, 1.0 + 0.4 * len(gains))
    axes = figure.add_subplot()
    for height, gain in enumerate(gains):
        colour = _MUTED if gain.policy == ORACLE else _NEUTRAL
        axes.plot([gain.gain.low, gain.gain.high], [height] * 2, color=colour, linewidth=2)
        axes.plot(gain.gain.point, height, "o", color=colour, markersize=7)
    axes.axvline(0, color="0.3", linewidth=1)
    labels = [_label(gain.policy, diagnosis.recommended) for gain in gains]
    axes.set_yticks(range(len(gains)), labels, fontsize=11)
    axes.tick_params(axis="x", labelsize=10)
    axes.set_xlabel("gain per 1000 exposures over what is done now", fontsize=11)
    tidy(axes)
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    return figure


def _label(policy: str, advice: Recommendation | None) -> str:
    if policy == ORACLE:
        return "oracle (knows all)"
    if advice is None or policy != advice.played_as or advice.label == KEEP:
        return policy
    return f"{policy} (advised)" if policy == advice.label else f"{policy}\n(stands for the advice)"


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[:most] + "\u2026"
