"""A bandit and its report, as text and as notebooks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting._output.notebooks import card, number
from rotting._output.sheets import Sheet

if TYPE_CHECKING:
    from rotting.bandit.bandit import Bandit
    from rotting.bandit.core.holdout import HoldoutReport
    from rotting.bandit.report.reporting import ArmReport, Report

COUNTS = ("shows", "pending", "rewards")


def report_sheet(report: Report) -> Sheet:
    """Return the table of a report, with what is to be said below it."""
    windows = list(report.arms[0].means) if report.arms else []
    means = [f"last {window}" if window != "all" else "all" for window in windows]
    numbers = (*COUNTS, *means, "worn from", "to")
    sheet = Sheet(f"{report.bandit}: {report.policy}", ("arm", *numbers, "filter"), numbers)
    for arm in report.arms:
        sheet.add(
            arm.arm,
            *(f"{getattr(arm, count):,}" for count in COUNTS),
            *(number(arm.means[window]) for window in windows),
            number(arm.wear_start),
            number(arm.wear_now),
            _verdict(arm),
        )
    if report.holdout is not None:
        sheet.notes.append(_lift(report.holdout))
    if report.estimated_sigma is not None:
        sheet.notes.append(f"sigma is estimated: {report.estimated_sigma:.4g}.")
    sheet.notes.append('"last 10": mean of the last 10 rewards. "worn": ends of the non-increasing fit.')
    return sheet


def bandit_html(bandit: Bandit) -> str:
    """Return what a bandit is: its policy and its arms. Reports read all rewards; this reads none."""
    rows = [[arm, "available" if available else "retired"] for arm, available in bandit.arms.items()]
    return card(f"{bandit.name}: {bandit.policy}", ["arm", ""], rows, text="report() says how the arms are doing.")


def _lift(holdout: HoldoutReport) -> str:
    policy, held = (f"{mean:.4g}" if mean is not None else "unknown" for mean in holdout.means)
    text = f"holdout ({holdout.share:.2%} of decisions): the policy earns {policy}, the holdout {held} per reward"
    if holdout.lift is None:
        return f"{text}."
    interval = "" if holdout.low is None else f", 95 % interval {holdout.low:.4g} to {holdout.high:.4g}"
    return f"{text}; lift {holdout.lift:.4g}{interval}."


def _verdict(arm: ArmReport) -> str:
    if not arm.available:
        return "retired"
    if arm.active is None:
        return ""
    return "passes" if arm.active else f"dropped by window {arm.window:,}"
