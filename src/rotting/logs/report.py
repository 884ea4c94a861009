"""The page that a product manager is shown."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rotting.logs.figures import SHOWN_ARMS, arms_figure, gain_figure
from rotting.pages import figure, page, table

if TYPE_CHECKING:
    from rotting.logs.diagnosis import ArmDiagnosis, Diagnosis
    from rotting.logs.gain import Estimate

SHOWN_ROWS = 100
ARM_COLUMNS = ("arm", "exposures", "wears out", "p", "half-life", "first value", "last value", "note")
GAIN_COLUMNS = ("per 1000 exposures", "reward", "gain", "gain if arms go on falling")


def report_page(diagnosis: Diagnosis) -> str:
    """Return report.html: the verdict, the arms, the gains, what to do, and the caveats."""
    parts = [
        "<h1>Do these arms wear out?</h1>",
        f'<p class="lead">{escape(diagnosis.summary)}</p>',
        f'<p class="soft">{escape(_about(diagnosis))}</p>',
        *_arms(diagnosis),
        *_gains(diagnosis),
        *_advice(diagnosis),
        "<h2>What to keep in mind</h2>",
        "<ul>" + "".join(f"<li>{escape(caveat)}</li>" for caveat in diagnosis.caveats) + "</ul>",
    ]
    return page("Do these arms wear out?", "\n".join(parts))


def _about(diagnosis: Diagnosis) -> str:
    dropped = f", {diagnosis.dropped_rows:,} dropped" if diagnosis.dropped_rows else ", none dropped"
    name = diagnosis.log[:1].upper() + diagnosis.log[1:]
    return f"{name}: {diagnosis.rows:,} rows{dropped}; columns {diagnosis.columns}."


def _arms(diagnosis: Diagnosis) -> list[str]:
    shown = diagnosis.arms[:SHOWN_ROWS]
    rest = f" The {SHOWN_ARMS} most shown of {len(diagnosis.arms)}." if len(diagnosis.arms) > SHOWN_ARMS else ""
    caption = (
        "Dots: mean rewards of stretches of exposures. Line: the best fit that never rises; around it a 90 % band. "
        f"Orange arms wear out, at a false-discovery rate of 5 %.{rest}"
    )
    said = "; ".join(f"{arm.arm}: {'wears out' if arm.rotting else 'no wear-out seen'}" for arm in shown[:SHOWN_ARMS])
    return [
        "<h2>The arms</h2>",
        figure(arms_figure(diagnosis), f"Reward against exposures. {said}", caption),
        table(ARM_COLUMNS, [arm_row(arm, diagnosis.rewards == "0/1") for arm in shown], numbers={1, 3, 4, 5, 6}),
        *([f'<p class="soft">{len(diagnosis.arms):,} arms in all.</p>'] if len(diagnosis.arms) > SHOWN_ROWS else []),
    ]


def arm_row(arm: ArmDiagnosis, rates: bool) -> list[str]:
    """Return an arm as a row of texts; values as percentages if they are rates."""

    def value(number: float) -> str:
        return f"{number:.1%}" if rates else f"{number:.4g}"

    half = "" if arm.half_life is None else f"{arm.half_life:,.0f}"
    note = "rises" if arm.rising else "recovers" if arm.recovering else ""
    said = "yes" if arm.rotting else "not seen"
    first, last = value(arm.value_first), value(arm.value_last)
    return [arm.arm, f"{arm.exposures:,}", said, f"{arm.p_value:.3g}", half, first, last, note]


def gain_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return the gains as rows of texts, the best first."""
    best_first = sorted(diagnosis.gain, key=lambda row: -row.reward.point)
    return [[row.policy, told(row.reward), told(row.gain), told(row.pessimistic)] for row in best_first]


def told(estimate: Estimate) -> str:
    """Return an estimate and its interval."""
    return f"{estimate.point:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"


def _gains(diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.gain:
        return []
    caption = (
        "A simulation from curves fitted to the log, with 90 % intervals. Filled: arms keep their last value beyond "
        "what the log covers. Hollow: they go on falling."
    )
    advised = f" Advised: {diagnosis.recommended.label}." if diagnosis.recommended else ""
    return [
        "<h2>What would be gained</h2>",
        figure(gain_figure(diagnosis), f"Gain of each policy over the logged allocation.{advised}", caption),
        table(GAIN_COLUMNS, gain_rows(diagnosis), numbers={1, 2, 3}),
    ]


def _advice(diagnosis: Diagnosis) -> list[str]:
    advice = diagnosis.recommended
    if advice is None:
        return []
    arms = ", ".join(f"{place}: {arm.arm}" for place, arm in enumerate(diagnosis.arms[:SHOWN_ARMS]))
    return [
        "<h2>What to do</h2>",
        f"<p>Use {escape(advice.label)}: {escape(advice.reason)}. The noise of a reward is {diagnosis.sigma:.3g}.</p>",
        f"<pre>{escape(advice.code)}</pre>",
        f'<p class="soft">Arms {escape(arms)}{", ..." if len(diagnosis.arms) > SHOWN_ARMS else ""}.</p>',
    ]
