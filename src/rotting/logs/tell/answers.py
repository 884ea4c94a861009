"""The first screen of the page: what is worn, how sure that is, and what to do, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rotting.logs.model.findings import LAUNCHES, OWN
from rotting.logs.model.within import FALSE_DISCOVERIES
from rotting.logs.tell.sentences import CONSTANT_REWARDS, FALLS_TOGETHER, FALLS_WITH_CALENDAR, rounded
from rotting.logs.worth.estimates import Estimate, money
from rotting.logs.worth.gain import KEEP, PER
from rotting.logs.worth.recommending import KEEP_IT, REPLACE, REST, RETIRE, figures, interval_text

if TYPE_CHECKING:
    from rotting.logs.diagnosis import Diagnosis
    from rotting.logs.worth.arms import ArmDiagnosis

NAMED_ARMS, WORN_ARMS = 12, 5
LOWEST_SHARE = 0.01  # probabilities below are said to be less than this


def in_order(arms: Sequence[ArmDiagnosis]) -> list[ArmDiagnosis]:
    """Return arms in an order that helps: those still shown and to act on first, the worst first; then the best."""
    order = [REPLACE, REST, RETIRE, KEEP_IT]

    def key(arm: ArmDiagnosis) -> tuple[bool, int, bool, float]:
        worth = arm.next_1000.point
        return (
            not arm.shown_lately,
            order.index(arm.action),
            not arm.rotting,
            -worth if arm.action == KEEP_IT else worth,
        )

    return sorted(arms, key=key)


def named(arms: Sequence[ArmDiagnosis], most: int = NAMED_ARMS) -> str:
    """Return the names of some arms, and how many more there are."""
    more = f" and {len(arms) - most:,} more" if len(arms) > most else ""
    return ", ".join(arm.arm for arm in arms[:most]) + more


def per_1000(value: Estimate, diagnosis: Diagnosis) -> str:
    """Return what 1000 exposures earn, with its interval: successes, rewards or money."""
    return value.written(lambda each: money(figures(PER * each), diagnosis.currency), what_is_earned(diagnosis))


def what_is_earned(diagnosis: Diagnosis) -> str:
    """Return the unit of what exposures earn, where money does not say it."""
    return "" if diagnosis.currency else " rewards" if diagnosis.rewards == "numbers" else " successes"


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
    shown = sorted((arm for arm in worn if arm.shown_lately), key=lambda arm: -(lost_share(arm) or 0.0))
    losses = [f"{arm.arm} ({_loss(arm, diagnosis)})" for arm in shown[:WORN_ARMS]]
    more = len(shown) - len(losses)
    text = f"{len(worn):,} of {len(diagnosis.arms):,} arms"
    if losses:
        told = any(arm.first is not None for arm in shown)
        begins = ", most of all " if more else ": "
        names = ", ".join(losses) if told else ", ".join(arm.arm for arm in shown[:WORN_ARMS])
        text += begins + names + (f"; {more:,} more are in the table" if more else "")
    yield text + "."
    if len(shown) < len(worn):
        gone = len(worn) - len(shown)
        yield f"{gone:,} of them {'was' if gone == 1 else 'were'} not shown in the last quarter of the log."


def lost_share(arm: ArmDiagnosis) -> float | None:
    """Return the share of its first value that an arm has lost, if that is known."""
    return arm.value_lost / arm.value_first if arm.value_first and arm.value_lost is not None else None


def _loss(arm: ArmDiagnosis, diagnosis: Diagnosis) -> str:
    if arm.first is None or arm.last is None:
        return "users tire of it"
    first, last = (
        f"{figures(100 * each.point)}%"
        if diagnosis.rewards == "0/1"
        else money(figures(each.point), diagnosis.currency)
        for each in (arm.first, arm.last)
    )
    return f"from {first} to {last}"


def how_sure(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield how far the answer can be trusted."""
    if diagnosis.verdict == CONSTANT_REWARDS:
        return
    alone, together = (sum(arm.evidence == kind for arm in diagnosis.arms) for kind in (OWN, LAUNCHES))
    chance = {name: f"{share:.2g}" for name, share in diagnosis.placebos.items()}
    if alone:
        rate = 1 / FALSE_DISCOVERIES
        yield f"Of arms called on evidence of their own, at most about 1 in {rate:.0f} is a false alarm by chance."
    if together:
        yield "That items wear out rests on launches, or on how fast arms were shown: see what would undo it."
    if chance:
        dealt = "; ".join(f"{name}: p = {share}" for name, share in chance.items())
        yield f"How often placebos, which are this log with one thing left to chance, say as much: {dealt}."
    yield from diagnosis.rivals
    if diagnosis.detectable_loss is not None:
        yield (
            f"This log could have seen an arm lose {100 * diagnosis.detectable_loss:.0f} % of its value over its "
            "exposures (in about 2 of 3 cases); smaller losses may be there and not be seen."
        )
    elif diagnosis.per_unit:
        yield "How small a loss per user this log could have seen is not known."
    else:
        yield "How small a loss this log could have seen is not known, since rewards are not all positive."


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
        (REST, _rest_reason(diagnosis)),
        (RETIRE, ": they were never worth as much as the best"),
        (KEEP_IT, ""),
    ):
        own = [arm for arm in arms if arm.action == action]
        if own:
            what = "all" if len(own) == len(arms) > 1 else named(own)
            yield action.capitalize(), what + why + "."
    yield from _about_fresh_ones(diagnosis)
    yield from _about_sharing(diagnosis)


def _rest_reason(diagnosis: Diagnosis) -> str:
    if diagnosis.per_unit:
        return ": per user, not for all. Show a user who has seen one of them several times another one"
    return ": they wear out and come back"


def _about_fresh_ones(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    replaced = [arm for arm in diagnosis.arms if arm.action == REPLACE and arm.shown_lately]
    if diagnosis.fresh_value is not None and replaced:
        now = sum(arm.next_1000.point for arm in replaced) / len(replaced)
        yield (
            "What fresh ones may earn",
            f"per 1000 exposures: {per_1000(diagnosis.fresh_value, diagnosis)}, if they are like those of this log "
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
