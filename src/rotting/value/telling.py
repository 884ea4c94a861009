"""Sentences and tables of an evaluation: every number with the target that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting.logs import Estimate
from rotting.logs.worth.estimates import figures
from rotting.value.replaying import CALENDAR, EXPOSURES, Run

if TYPE_CHECKING:
    from rotting.value.evaluation import Evaluation, Valued

PER = 1000  # exposures that values are given for
NEXT_COLUMNS = ("policy", "next decision", "over what was done", "p", "may be best", "effective rows", "largest share")
NEXT_NUMBERS = ("p", "effective rows", "largest share")
RUN_COLUMNS = ("policy", "if arms wear by their exposures", "decisions", "if only the calendar counts", "decisions ")
RUN_NUMBERS = ("decisions", "decisions ")
OTHER_COLUMNS = ("policy", "doubly robust", "self-normalised", "inverse propensity")
NEXT_TARGET = (
    "The next decision, given the log's histories: at each row the policy has learnt what the log had learnt, and "
    "decides once. That is not what running it earns where being shown wears arms out: it would have shown other arms, "
    "and worn those."
)
RUN_TARGET = (
    "Running the policy from the log's beginning on, for as many decisions as its rewards last: mean reward of these "
    "decisions. It rests on what rewards depend on, which you must know."
)
ASSUMED = {
    EXPOSURES: (
        "If arms wear by their exposures: an arm's n-th exposure in the log stands for its n-th whoever shows it. So "
        "rewards must depend on an arm's own exposures only (not on the calendar, not on rests), and how often the log "
        "showed an arm must not have depended on its rewards."
    ),
    CALENDAR: (
        "If only the calendar counts: rewards must not depend on what was shown before. The policy decides on a random "
        "part of the log's time, as large as the smallest probability in the log."
    ),
}


def per_1000(value: Estimate | None) -> str:
    """Return an estimate per 1000 exposures.

    >>> per_1000(Estimate(0.0123, 0.01, 0.015))
    '12.3 (10 to 15)'
    """
    return "" if value is None else value.written(lambda each: figures(PER * each, 3))


def next_rows(evaluation: Evaluation) -> list[list[str]]:
    """Return target 1 as rows of texts."""
    return [
        [
            each.policy,
            per_1000(each.next_decision) if not each.refused else f"not told: {each.refused}",
            per_1000(each.gain),
            "" if each.p_value is None else _p(each.p_value),
            "" if each.refused else "yes" if each.may_be_best else "no",
            f"{each.support.effective:,.0f}",
            f"{each.support.largest_share:.1%}",
        ]
        for each in evaluation.policies
    ]


def run_rows(evaluation: Evaluation) -> list[list[str]]:
    """Return target 2 as rows of texts."""
    return [
        [each.policy, *(text for world in (EXPOSURES, CALENDAR) for text in _run(each, world))]
        for each in evaluation.policies
    ]


def other_rows(evaluation: Evaluation) -> list[list[str]]:
    """Return what other estimators make of target 1, for the policies that are told."""
    return [
        [each.policy, per_1000(each.next_decision), per_1000(each.snips), per_1000(each.ips)]
        for each in evaluation.policies
        if not each.refused
    ]


def _run(valued: Valued, world: str) -> tuple[str, str]:
    found: Run | None = next((each for each in valued.running if each.world == world), None)
    if found is None:
        return "not asked for", ""
    if found.value is None:
        return f"not told: {found.refused}", ""
    return per_1000(found.value), f"{found.decisions:,}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.2g}"


def summary(evaluation: Evaluation) -> str:
    """Return the answer in a few sentences."""
    done = f"An exposure of the log earned {per_1000(evaluation.done)} per {PER}."
    told = [(each, each.gain, each.next_decision) for each in evaluation.policies if each.gain and each.next_decision]
    if not told:
        reasons = "; ".join(f"{each.policy}: {each.refused}" for each in evaluation.policies[:3])
        return f"{done} The log cannot tell what the next decision of any of these policies is worth: {reasons}."
    best, gain, value = told[0]
    worth = f"the next decision of {best.policy} is worth {per_1000(value)}"
    many = f", for {len(told)} policies together" if len(told) > 1 else ""
    if gain.low > 0:
        others = sum(each.may_be_best for each, *_ in told[1:])
        rest = f" {others} of the others may be as good." if others else ""
        return f"{done} Given its histories, {worth}: surely more, by {per_1000(gain)}{many}.{rest}"
    surely_less = all(each.high < 0 for _, each, _ in told)
    verdict = "Every policy's is worth surely less" if surely_less else "No policy's is worth surely more"
    most = ", the most of all" if len(told) > 1 else ""
    return f"{done} Given its histories, {worth}{most}. {verdict} than what was done{many}."
