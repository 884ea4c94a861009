"""The first screen of the page: what is worn, how sure that is, and what to do, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rotting.logs.model.findings import LAUNCHES, OWN
from rotting.logs.model.within import FALSE_DISCOVERIES
from rotting.logs.tell.sentences import CONSTANT_REWARDS, FALLS_TOGETHER, FALLS_WITH_CALENDAR, listed
from rotting.logs.worth.estimates import Estimate, figures, interval_text, money, rounded
from rotting.logs.worth.gain import KEEP, PER
from rotting.logs.worth.recommending import KEEP_IT, REPLACE, REST, RETIRE

if TYPE_CHECKING:
    from rotting.logs.diagnosis import Diagnosis
    from rotting.logs.worth.arms import ArmDiagnosis

NAMED_ARMS, WORN_ARMS = 12, 5


def in_order(arms: Sequence[ArmDiagnosis]) -> list[ArmDiagnosis]:
    """Return arms in an order that helps: those still shown and to act on first, the worst first; then the best."""
    order = [REPLACE, REST, RETIRE, KEEP_IT]
    return sorted(
        arms,
        key=lambda arm: (
            not arm.shown_lately,
            order.index(arm.action),
            not arm.rotting,
            arm.next_1000.point * (-1 if arm.action == KEEP_IT else 1),
        ),
    )


def amount(value: Estimate, diagnosis: Diagnosis, number: Callable[[float], str]) -> str:
    """Return what is earned, with its interval: successes, rewards or money, which says so itself."""
    unit = "" if diagnosis.currency else " rewards" if diagnosis.rewards == "numbers" else " successes"
    return value.written(lambda each: money(number(each), diagnosis.currency), unit)


def what_is_worn(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what is worn, the worst of what is still shown first."""
    worn = [arm for arm in diagnosis.arms if arm.rotting]
    if not worn:
        yield {
            CONSTANT_REWARDS: "Nothing can be said: rewards never change.",
            FALLS_WITH_CALENDAR: "No arm. Rewards fall for new and old ones alike: look at season, audience and site.",
            FALLS_TOGETHER: "That is not known: rewards fall, and this log cannot tell why.",
        }.get(diagnosis.verdict, "Nothing that this log can see.")
        return
    shown = sorted(
        (arm for arm in worn if arm.shown_lately), key=lambda arm: -(arm.value_lost or 0.0) / (arm.value_first or 1.0)
    )
    names = ", ".join(arm.arm + _loss(arm, diagnosis) for arm in shown[:WORN_ARMS])
    text = f"{len(worn):,} of {len(diagnosis.arms):,} arms"
    if len(shown) > WORN_ARMS:
        text += f", most of all {names}; {len(shown) - WORN_ARMS:,} more are in the table"
    elif shown:
        text += f": {names}"
    yield text + "."
    if len(shown) < len(worn):
        gone = len(worn) - len(shown)
        yield f"{gone:,} of them {'was' if gone == 1 else 'were'} not shown in the last quarter of the log."


def _loss(arm: ArmDiagnosis, diagnosis: Diagnosis) -> str:
    if arm.value_first is None or arm.value_last is None:  # per unit
        return ""
    first, last = (
        f"{figures(100 * each)}%" if diagnosis.rewards == "0/1" else money(figures(each), diagnosis.currency)
        for each in (arm.value_first, arm.value_last)
    )
    return f" (from {first} to {last})"


def how_sure(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield how far the answer can be trusted."""
    if diagnosis.verdict == CONSTANT_REWARDS:
        return
    alone, together = (sum(arm.evidence == kind for arm in diagnosis.arms) for kind in (OWN, LAUNCHES))
    if alone:
        rate = 1 / FALSE_DISCOVERIES
        yield f"Of arms called on evidence of their own, at most about 1 in {rate:.0f} is a false alarm by chance."
    if together:
        yield "That items wear out rests on launches, or on how fast arms were shown: see what would undo it."
    if diagnosis.placebos:
        dealt = "; ".join(f"{name}: p = {share:.2g}" for name, share in diagnosis.placebos.items())
        yield f"How often placebos, which are this log with one thing left to chance, say as much: {dealt}."
    yield from diagnosis.rivals
    if diagnosis.detectable_loss is not None:
        yield (
            f"This log could have seen an arm lose {100 * diagnosis.detectable_loss:.0f} % of its value over its "
            "exposures (in about 2 of 3 cases); smaller losses may be there and not be seen."
        )
    else:
        why = "users are compared with themselves, or rewards are too few, or not all positive"
        yield f"How small a loss this log could have seen is not known: {why}."


def what_to_do(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield what to do on Monday: a word or two, and the sentence that goes on from there."""
    if diagnosis.verdict == CONSTANT_REWARDS:
        return
    if diagnosis.verdict == FALLS_TOGETHER:
        yield (
            "Launch a fresh one, or rest one",
            "beside what is shown now, and ask again in some weeks: how it begins, or comes back, tells why.",
        )
    if diagnosis.verdict == FALLS_WITH_CALENDAR:
        yield "Do not replace arms for this", "fresh ones would fall alike: find out what changed for all of them."
    arms = [arm for arm in in_order(diagnosis.arms) if arm.shown_lately]
    for action, why in (
        (REPLACE, ", the worst first: they have lost much of what they were worth"),
        (REST, ": per user, not for all. Show a user who has seen one of them several times another one"),
        (RETIRE, ": they were never worth as much as the others"),
        (KEEP_IT, ""),
    ):
        own = [arm.arm for arm in arms if arm.action == action]
        if own:
            what = "all" if len(own) == len(arms) > 1 else listed(own, NAMED_ARMS)
            yield action.capitalize(), what + why + "."
    yield from _about_fresh_ones(diagnosis)
    yield from _about_sharing(diagnosis)


def _about_fresh_ones(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    replaced = [arm for arm in diagnosis.arms if arm.action == REPLACE and arm.shown_lately]
    if diagnosis.fresh_value is not None and replaced:
        now = sum(arm.next_1000.point for arm in replaced) / len(replaced)
        fresh = amount(diagnosis.fresh_value, diagnosis, lambda value: figures(PER * value))
        yield (
            "What fresh ones may earn",
            f"per 1000 exposures: {fresh}, if they are like those of this log "
            f"were at first. Those to replace will earn {money(figures(PER * now), diagnosis.currency)}.",
        )
    if diagnosis.fresh_arms_per_month is not None:
        yield (
            f"About {rounded(diagnosis.fresh_arms_per_month)} fresh arms a month",
            "replace what wears out: at this pace so many half-lives are used up.",
        )


def _about_sharing(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield how to share exposures among the arms that there are: the first of the gains, or going on."""
    advice = diagnosis.recommended
    if advice is None:
        return
    if not diagnosis.gain:
        yield "To choose", f"among them, {advice.label}, one for each user: {advice.reason}."
        return
    replaces = any(arm.action == REPLACE and arm.shown_lately for arm in diagnosis.arms)
    until = "Until fresh ones are there, " if replaces else ""
    gain = diagnosis.gain_of(advice.played_as).gain
    if advice.label == KEEP:
        because = f"the best of what was tried might gain {interval_text(gain, diagnosis.currency)} per 1000 exposures"
        yield (
            "Keep the present shares",
            f"of the arms that you have: {because}, so no other way of choosing is sure to earn more."
            + (" Fresh arms are another matter: the table of gains knows only those of the log." if replaces else ""),
        )
        return
    text = f"{until}let {advice.label} choose among the arms: {advice.reason}."
    yield "To choose", text[:1].lower() + text[1:] if until else text
