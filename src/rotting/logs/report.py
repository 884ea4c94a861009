"""The page of a diagnosis, for readers who do not write code."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from rotting._output.pages import figure, page, table
from rotting.logs.figures import SHOWN_ARMS, arms_figure, gain_figure

if TYPE_CHECKING:
    from rotting.logs.diagnosis import Diagnosis
    from rotting.logs.gain import Estimate

SHOWN_ROWS = 100
ARM_COLUMNS = ("arm", "exposures", "wears out", "p", "half-life", "first value", "last value", "note")
GAIN_COLUMNS = ("per 1000 exposures", "reward", "gain", "if arms keep their last value", "if they go on falling")


def report_page(diagnosis: Diagnosis) -> str:
    """Return report.html: the verdict, the arms, the gains, what to do, and the caveats."""
    title = "Do these arms wear out?" if len(diagnosis.arms) > 1 else "Does this arm wear out?"
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="lead">{escape(diagnosis.summary)}</p>',
        f'<p class="soft">{escape(_about(diagnosis))}</p>',
        *_arms(diagnosis),
        *_gains(diagnosis),
        *_advice(diagnosis),
        "<h2>What to keep in mind</h2>",
        "<ul>" + "".join(f"<li>{escape(caveat)}</li>" for caveat in diagnosis.caveats) + "</ul>",
    ]
    return page(title, "\n".join(parts))


def _about(diagnosis: Diagnosis) -> str:
    dropped = f", {diagnosis.dropped_rows:,} dropped" if diagnosis.dropped_rows else ", none dropped"
    name = diagnosis.log[:1].upper() + diagnosis.log[1:]
    return f"{name}: {diagnosis.rows:,} rows{dropped}; columns {diagnosis.columns}."


def _arms(diagnosis: Diagnosis) -> list[str]:
    shown = diagnosis.arms[:SHOWN_ROWS]
    rest = f" The {SHOWN_ARMS} most shown of {len(diagnosis.arms)}." if len(diagnosis.arms) > SHOWN_ARMS else ""
    caption = (
        "Dots: mean rewards of bins of exposures. Line: the best fit that never rises; around it a 90 % band. "
        f"Orange: wears out, at a false-discovery rate of 5 %.{rest}"
    )
    findings = "; ".join(
        f"{arm.arm}: {'wears out' if arm.rotting else 'no wear-out seen'}" for arm in shown[:SHOWN_ARMS]
    )
    return [
        "<h2>The arms</h2>" if len(diagnosis.arms) > 1 else "<h2>The arm</h2>",
        figure(arms_figure(diagnosis), f"Reward against exposures. {findings}", caption),
        table(ARM_COLUMNS, arm_rows(diagnosis)[:SHOWN_ROWS], numbers={1, 3, 4, 5, 6}),
        *([f'<p class="soft">{len(diagnosis.arms):,} arms in all.</p>'] if len(diagnosis.arms) > SHOWN_ROWS else []),
    ]


def arm_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return the arms as rows of texts."""
    formatted = _value_format(diagnosis)
    rows = []
    for arm in diagnosis.arms:
        half = "" if arm.half_life is None else f"{arm.half_life:,.0f}"
        notes = [
            *(["rises"] if arm.rising else ["recovers"] if arm.recovering else []),
            *(["half-life beyond the log"] if arm.half_life_beyond_log else []),
        ]
        wears_out = "yes" if arm.rotting else "not seen"
        first, last = formatted(arm.value_first), formatted(arm.value_last)
        rows.append(
            [arm.arm, f"{arm.exposures:,}", wears_out, f"{arm.p_value:.3g}", half, first, last, ", ".join(notes)],
        )
    return rows


def _value_format(diagnosis: Diagnosis) -> Callable[[float], str]:
    """Return how values are shown: rates as percentages, others with enough decimals to distinguish the arms."""
    if diagnosis.rewards == "0/1":
        return lambda value: f"{100 * value:.3g}%"
    values = [value for arm in diagnosis.arms for value in (arm.value_first, arm.value_last)]
    decimals = _decimals((max(values) - min(values)) / 10 or max(map(abs, values)) / 100)
    return lambda value: f"{value:,.{decimals}f}"


def _decimals(apart: float) -> int:
    """Return how many decimals show numbers that lie so far apart, to two digits of the difference.

    >>> _decimals(3.3), _decimals(0.0042), _decimals(700.0), _decimals(0.0)
    (1, 4, 0, 0)
    """
    return min(max(1 - math.floor(math.log10(apart)), 0), 15) if apart > 0 else 0


def gain_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return the gains as rows of texts, the best first."""
    best_first = sorted(diagnosis.gain, key=lambda row: -row.reward.point)
    return [[row.policy, *map(with_interval, (row.reward, row.gain, row.held, row.pessimistic))] for row in best_first]


def with_interval(estimate: Estimate) -> str:
    """Return an estimate and its interval.

    >>> from rotting.logs import Estimate
    >>> with_interval(Estimate(1.23456, 0.5, 2.0))
    '1.2 (0.5 to 2.0)'
    >>> with_interval(Estimate(1_000_025.31, 1_000_024.9, 1_000_025.8))
    '1,000,025.31 (1,000,024.90 to 1,000,025.80)'
    """
    decimals = _decimals(estimate.high - estimate.low)
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    point, low, high = (
        f"{round(value, decimals) + 0.0:,.{decimals}f}" for value in (estimate.point, estimate.low, estimate.high)
    )
    return f"{point} ({low} to {high})"


def _gains(diagnosis: Diagnosis) -> list[str]:
    if len(diagnosis.arms) == 1:
        return ["<h2>What would be gained</h2>", "<p>Nothing: with one arm there is nothing to choose between.</p>"]
    if not diagnosis.gain:
        return []
    caption = (
        "A simulation from curves fitted to the log, with 90 % intervals. What arms would do beyond the log is a "
        "guess: grey lets them keep their last value, orange lets them go on falling, blue is the mean of both."
    )
    advised = f" Advised: {diagnosis.recommended.label}." if diagnosis.recommended else ""
    return [
        "<h2>What would be gained</h2>",
        figure(gain_figure(diagnosis), f"Gain of each policy over the logged allocation.{advised}", caption),
        table(GAIN_COLUMNS, gain_rows(diagnosis), numbers={1, 2, 3, 4}),
    ]


def _advice(diagnosis: Diagnosis) -> list[str]:
    advice = diagnosis.recommended
    if advice is None:
        return []
    arms = ", ".join(f"{index}: {arm.arm}" for index, arm in enumerate(diagnosis.arms[:SHOWN_ARMS]))
    return [
        "<h2>What to do</h2>",
        f"<p>Use {escape(advice.label)}: {escape(advice.reason)}. The noise of a reward is {diagnosis.sigma:.3g}.</p>",
        f"<pre>{escape(advice.code)}</pre>",
        f'<p class="soft">Arms {escape(arms)}{", ..." if len(diagnosis.arms) > SHOWN_ARMS else ""}.</p>',
    ]
