"""The verdict of a diagnosis in words, and what else could be the cause of what is called wear-out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rotting.logs.model.findings import LAUNCHES, OWN, Findings, assumption
from rotting.logs.model.launches import AGE, CALENDAR, EXPOSURE
from rotting.logs.read.reading import Log
from rotting.logs.worth.arms import ArmDiagnosis
from rotting.logs.worth.estimates import NINETY, figures, money, rounded
from rotting.logs.worth.gain import KEEP, Gain
from rotting.logs.worth.recommending import Recommendation

ROTTING, NOT_ROTTING, CONSTANT_REWARDS = "rotting", "no wear-out found", "rewards never change"
WIDEST_GAIN = 3.0  # intervals whose ends differ by more than this factor are told by their lower end
LARGE_SHARE = 0.1  # of the rows; smaller ones are a caveat
FALLS_WITH_CALENDAR, FALLS_TOGETHER = "falls with the calendar", "falls, cause unclear"
# A fall of all arms together is named if it is so many standard errors from nothing.
CLEAR_FALL = 2.5
# What may change along with an arm's exposures, in words, by the roles of columns that would tell.
CAUSES = (
    (("position", "slate"), "their place on the page"),
    (("spend", "reach", "frequency", "segment"), "their budget or audience"),
    ((), "the creatives behind their names"),
)


def verdict_of(sigma: float, findings: Findings) -> str:
    """Return the verdict on rewards that vary so much."""
    if sigma == 0:
        return CONSTANT_REWARDS
    if findings.worn.any():
        return ROTTING
    if findings.common_fall > CLEAR_FALL and not findings.log.per_unit:
        return FALLS_WITH_CALENDAR if findings.driver == CALENDAR else FALLS_TOGETHER
    return NOT_ROTTING


def summary(
    verdict: str,
    arms: Sequence[ArmDiagnosis],
    findings: Findings,
    advice: Recommendation | None,
    gains: Sequence[Gain],
) -> str:
    """Return the verdict in one or two sentences."""
    if verdict == CONSTANT_REWARDS:
        return "Rewards hardly ever change from one exposure to the next, so there is nothing to learn from this log."
    gain = _expected_gain(advice, gains, findings.log.currency)
    return f"{_finding(verdict, arms, findings)}{gain}.{left_out(findings.log)}"


def left_out(log: Log) -> str:
    """Return a sentence about the rows of arms that were left out, if they are a large share of the log."""
    used = log.rows - sum(log.dropped.values())
    if log.rows_left_out <= LARGE_SHARE * used:
        return ""
    return (
        f" This is about the {len(log.arms):,} arms shown most: {log.arms_left_out:,} others, with "
        f"{log.rows_left_out / used:.0%} of the rows, were left out."
    )


def _finding(verdict: str, arms: Sequence[ArmDiagnosis], findings: Findings) -> str:
    one = len(arms) == 1
    if verdict == FALLS_WITH_CALENDAR:
        what = "The arm falls" if one else f"All {len(arms)} arms fall together"
        return f"{what} with the calendar, whether new or old: that is not wear-out"
    if verdict == FALLS_TOGETHER:
        what, wears = (
            ("The only arm falls", "it wears") if one else (f"The {len(arms)} arms fall together", "they wear")
        )
        return f"{what}, and this log cannot tell whether {wears} out or everything falls with time"
    rotting = [arm for arm in arms if arm.rotting]
    if not rotting:
        return "The only arm is not seen to wear out" if one else f"None of the {len(arms)} arms is seen to wear out"
    if findings.log.per_unit:
        users = findings.log.users
        which = ", which ones cannot be told apart" if users is not None and users.pooled else ""
        return f"Users tire of {len(rotting)} of {len(arms)} arms{which}: the same user responds less every time"
    if one:
        return f"The only arm wears out{_speed(rotting, 'its')}{_unless(findings)}"
    alone = [arm for arm in rotting if arm.evidence == OWN]
    together = [arm for arm in rotting if arm.evidence == LAUNCHES]
    told = []
    if alone:
        wear = f"{len(alone)} of {len(arms)} arms wear{'s' if len(alone) == 1 else ''} out"
        told.append(f"{wear} beside others that share the calendar{_speed(alone, 'their')}")
    if together:
        cause = {EXPOSURE: " along their exposures", AGE: " with their age"}.get(findings.driver, "")
        others = "other items" if alone else "Items"
        told.append(
            f"{others} here wear out{cause} ({len(together)} of {len(arms)}; which ones cannot be told apart)"
            f"{_speed(together, 'their')}, if {assumption(findings.together)}"
        )
    return "; ".join(told) + _unless(findings)


def _unless(findings: Findings) -> str:
    causes = other_causes(findings.log)
    return f", and unless {causes} changed along with it" if causes else ""


def finding_of(arm: ArmDiagnosis, verdict: str) -> str:
    """Return what was found about one arm, in words that agree with the verdict on all of them."""
    if arm.rotting:
        if arm.first is None:
            return "users tire of it"
        return "wears out" if arm.evidence == OWN else "wears out with the others"
    if arm.drop_at is not None:
        return "drops at once"
    if arm.rising:
        return "rises"
    if not arm.enough:
        return "too little to say"
    return verdict if verdict in (FALLS_WITH_CALENDAR, FALLS_TOGETHER) else "no wear-out seen"


def _speed(rotting: Sequence[ArmDiagnosis], their: str) -> str:
    known = [arm for arm in rotting if arm.half_life is not None]
    if not known:
        return f" (this log cannot tell how fast half {their} value is lost)"
    bounds = [(arm.half_life, arm.half_life_low, arm.half_life_high) for arm in known]
    middle, low, high = map(rounded, np.median(np.array(bounds, dtype=float), axis=0))
    beyond = 2 * sum(arm.half_life_beyond_log for arm in known) > len(known)
    speed = f", losing half {their} value in about {middle} exposures ({low} to {high})"
    return speed + (", more than the log holds" if beyond else "")


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return some names, and how many more there are.

    >>> listed(["red", "green", "blue"], 2)
    'red, green and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _expected_gain(advice: Recommendation | None, gains: Sequence[Gain], currency: str) -> str:
    if advice is None or not gains:
        return ""
    gain = next(each for each in gains if each.policy == advice.played_as)
    if advice.label == KEEP:
        return "; no other way of choosing is sure to earn more than what you do"
    kept = gains[0].reward.point
    relative = f" ({100 * gain.gain.point / kept:.0f} %)" if 0 < 0.005 * kept < gain.gain.point else ""
    point, low, high = (money(figures(each), currency) for each in (gain.gain.point, gain.gain.low, gain.gain.high))
    told = f"about {point} more per 1000 exposures{relative}, between {low} and {high}"
    if gain.gain.low > kept > 0:
        return (
            "; arms differ so much that choosing among them would more than double what is earned, if they stood in "
            "the same places, before the same people: see first whether they do"
        )
    if gain.gain.high > WIDEST_GAIN * gain.gain.low:
        told = f"at least {low} more per 1000 exposures"
    return f"; from now on {advice.label} would earn {told}, if arms were shown to people who are alike"


def other_causes(log: Log) -> str:
    """Return the causes that no column of the log settles, as a list in words; empty where users are compared."""
    if log.per_unit:
        return ""
    settled = {each.role for each in log.covariates if each.can_be_stratum or not each.varies}
    left = [words for roles, words in CAUSES if not settled.intersection(roles)]
    return f"{', '.join(left[:-1])} or {left[-1]}" if len(left) > 1 else "".join(left)


def rivals(findings: Findings) -> Iterator[str]:
    """Yield what would undo the calls, one sentence for each kind of evidence."""
    causes = other_causes(findings.log)
    own = [arm for arm, evidence in enumerate(findings.evidence) if evidence == OWN]
    if own and causes:
        within = findings.within
        lost = np.clip(-within.lost[own], 0.0, None)
        least = np.clip(lost - NINETY * within.error[own], 0.0, None)
        yield (
            "Evidence of their own: arms are compared with others that share the calendar. A change of "
            f"{causes} that grows with an arm's exposures looks the same: it would have to take away "
            f"{-np.expm1(-np.median(lost)):.0%} of its rewards (at least {-np.expm1(-np.median(least)):.0%}) from its "
            "first exposure to its last."
        )
    if LAUNCHES in findings.evidence:
        yield from _of_launches(findings)


def _of_launches(findings: Findings) -> Iterator[str]:
    together, panel = findings.together, findings.panel
    if not together.staggered:
        yield (
            "Evidence of paces: arms were launched together, and those shown more fall more. Arms that were shown more "
            "because they did well at first, by luck, look the same; so do arms whose audience changed as they were "
            "shown more. A randomised experiment, or resting an arm for a week, would tell."
        )
        return
    ages = float(panel.launch.max() - panel.launch.min()) / panel.typical_age
    better, least = (np.expm1(max(-together.slope - errors * together.error, 0.0) * ages) for errors in (0.0, NINETY))
    yield (
        "Evidence of launches: late arms start as high as early ones did, and fall from there. That takes newer arms "
        "that are as good at first as older ones were (exchangeable launches). If, from the first launch to the "
        f"last, newer arms had become better by {better:.0%} (at least {least:.0%}) while everything fell, nothing "
        "would wear out; levels of the arms of this log differ by about "
        f"{np.expm1(together.level_spread):.0%}, whenever they were launched. A randomised experiment, or resting an "
        "arm for a week, would tell."
    )
