"""What a comparison says, as tables: on the terminal, from Python, for papers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rotting._output.sheets import PLUS_MINUS, Sheet
from rotting.simulation.significance import Difference
from rotting.simulation.summary import PolicySummary, summarise

if TYPE_CHECKING:
    import xarray


def oracle_note(oracles: Mapping[str, str]) -> str:
    """Return which oracle regret is measured against, by problem.

    >>> oracle_note({"ten_arm()": "greedy: optimal", "two_arm()": "greedy: optimal"})
    'Regret against the oracle (greedy: optimal).'
    """
    kinds = dict.fromkeys(oracles.values())
    if len(kinds) == 1:
        return f"Regret against the oracle ({next(iter(kinds))})."
    several = "; ".join(f"{kind}: {', '.join(each for each in oracles if oracles[each] == kind)}" for kind in kinds)
    return f"Regret against oracles ({several})."


def summary_sheet(
    title: str, summaries: Sequence[PolicySummary], oracles: Mapping[str, str], times: bool = True
) -> Sheet:
    """Return a comparison, the best policy first; `times` tells the time per decision, where it was kept."""
    show = _number_format(summaries)

    def with_interval(mean: float, high: float | None) -> str:
        return show(mean) if high is None else f"{show(mean)} {PLUS_MINUS} {show(high - mean)}"

    timed = times and not math.isnan(summaries[0].nanoseconds_per_decision)
    numbers = ("mean regret", "10 %", "90 %", "above best", *(["ns/decision"] if timed else []))
    sheet = Sheet(title, ("policy", *numbers), numbers)
    for row in sorted(summaries, key=lambda row: (row.mean, not row.best)):
        sheet.add(
            row.policy,
            with_interval(row.mean, row.mean_high),
            show(row.quantile_10),
            show(row.quantile_90),
            "best" if row.best else with_interval(row.difference, row.difference_high),
            *([f"{row.nanoseconds_per_decision:,.0f}"] if timed else []),
            bold=row.behind is False,
        )
    if summaries[0].runs == 1:
        sheet.notes.append("One run gives no intervals; two or more do.")
    else:
        sheet.notes.append(
            f"{PLUS_MINUS}: 95 % intervals over runs; 10 % and 90 %: quantiles of the runs; bold: the best, "
            "and what is not behind it by more than chance."
        )
    if oracles:
        sheet.notes.append(oracle_note(oracles))
    return sheet


def comparison_sheet(dataset: xarray.Dataset, times: bool = True) -> Sheet:
    """Return what a result says of its policies: runs that every one of them has finished."""
    said, summaries = dataset.attrs, summarise(dataset)
    runs = summaries[0].runs
    late = f", {said['delay']}" if "delay" in said else ""
    title = f"{said['problem']}: {said['horizon']} rounds, {runs} run{'s' * (runs > 1)}, seed {said['seed']}{late}"
    return summary_sheet(title, summaries, {said["problem"]: said["oracle"]} if "oracle" in said else {}, times)


def differences_sheet(found: Sequence[Difference], limit: int | None = None) -> Sheet:
    """Return which differences between policies are more than chance; only the first few, if there is a limit."""
    several = len({row.problem for row in found}) > 1
    numbers = ("difference", "95 % interval", "p", "p (Holm)")
    columns = (*(["problem"] if several else []), "policy", "minus", *numbers, "more than chance")
    sheet = Sheet("Paired differences of final regret", columns, numbers)
    for row in found[:limit]:
        interval = "" if row.low is None or row.high is None else f"{row.low:,.4g} to {row.high:,.4g}"
        sheet.add(
            *([row.problem] if several else []),
            row.policy,
            row.other,
            f"{row.difference:,.4g}",
            interval,
            *("" if p is None else "< 1e-6" if p < 1e-6 else f"{p:.2g}" for p in (row.p, row.adjusted)),
            "yes" if row.is_significant else "no" if row.adjusted is not None else "cannot tell",
        )
    if oracles := {row.problem: row.oracle for row in found if row.oracle}:
        sheet.notes.append(oracle_note(oracles))
    if any(row.p is None for row in found):
        sheet.notes.append("One run gives no intervals and no tests; two or more do.")
    else:
        sheet.notes.append(
            f"Paired t tests over runs; p (Holm) is corrected for all {len(found)} comparisons, intervals are not; "
            "more than chance: p (Holm) is at most 0.05."
        )
    return sheet


def _number_format(summaries: Sequence[PolicySummary]) -> Callable[[float], str]:
    """Return a format with as many decimals as give the smallest mean three digits."""
    largest = max(abs(row.mean) for row in summaries)
    smallest = min((abs(row.mean) for row in summaries if abs(row.mean) > 1e-9 * largest), default=1.0)
    decimals = min(max(2 - math.floor(math.log10(smallest)), 0), 6)
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"
