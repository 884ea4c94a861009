"""A bandit and its report as notebooks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting._output.notebooks import card, number

if TYPE_CHECKING:
    from rotting.bandit.reading import ReadableBandit
    from rotting.bandit.reporting import ArmReport, Report

COUNTS = ("shows", "pending", "rewards")


def report_html(report: Report) -> str:
    """Return the table of a report."""
    windows = list(report.arms[0].means) if report.arms else []
    means = [f"last {window}" if window != "all" else "all" for window in windows]
    numbers = [*COUNTS, *means, "worn from", "to"]
    rows = [
        [
            arm.arm,
            *(f"{getattr(arm, count):,}" for count in COUNTS),
            *(number(arm.means[window]) for window in windows),
            number(arm.wear_start),
            number(arm.wear_now),
            _verdict(arm),
        ]
        for arm in report.arms
    ]
    note = '"last 10": mean of the last 10 rewards. "worn": ends of the non-increasing fit.'
    return card(f"{report.bandit}: {report.policy}", ["arm", *numbers, "filter"], rows, numbers, note)


def bandit_html(bandit: ReadableBandit) -> str:
    """Return what a bandit is: its policy and its arms. Reports read all rewards; this reads none."""
    rows = [[arm, "available" if available else "retired"] for arm, available in bandit.arms.items()]
    return card(f"{bandit.name}: {bandit.policy}", ["arm", ""], rows, text="report() says how the arms are doing.")


def _verdict(arm: ArmReport) -> str:
    if not arm.available:
        return "retired"
    if arm.active is None:
        return ""
    return "passes" if arm.active else f"dropped by window {arm.window}"
