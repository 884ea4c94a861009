"""What the log says about each arm, and what to do with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from rotting.logs.model.findings import NONE, Findings
from rotting.logs.model.noise import reward_variance
from rotting.logs.read.counting import Arm
from rotting.logs.read.reading import Log
from rotting.logs.worth.estimates import TAILS, Estimate
from rotting.logs.worth.outlook import Draw, wearing_out
from rotting.logs.worth.recommending import (
    CHANCE,
    KEEP_IT,
    Action,
    Recommendation,
    action_for,
    action_per_unit,
    chances,
    estimate,
    estimates,
    settled,
)
from rotting.logs.worth.shown import curves

LONGEST_HALF_LIFE = 10  # times the exposures of the arm; longer ones are not given
# Half-lives whose interval spans more than this factor are not told: the log does not hold them.
WIDEST_HALF_LIFE = 10.0
AHEAD = 1000  # exposures over which an arm is valued
LATELY = 0.25  # of the log's time, at its end
NINETY = 1.645  # standard errors on either side of a 90 % interval


@dataclasses.dataclass(frozen=True)
class ArmDiagnosis:
    """What the log says about one arm. Numbers with `low` and `high` have 90 % intervals."""

    arm: str
    exposures: int
    rewards: float  # what it earned in all, in events: single rewards, if they are alike
    rotting: bool
    evidence: str  # what the call rests on: "its own course", "launches" or "its users"; empty if it is not called
    enough: bool  # whether its rewards would do to call it; if not, there is too little to say
    p_value: float
    half_life: float | None  # exposures until half the first value is lost; None if the log cannot tell, or never
    half_life_low: float | None
    half_life_high: float | None  # None: no upper bound
    half_life_beyond_log: bool  # extrapolated: the log has fewer exposures than that
    value_first: float | None  # None per unit: users who leave and users who tire make it up together
    value_last: float | None
    value_lost: float | None  # value_first - value_last
    first: Estimate | None
    last: Estimate | None
    next_1000: Estimate  # the mean reward of its next 1000 exposures; per unit, that of the log's last quarter
    shown_lately: bool  # in the last quarter of the log
    action: str  # "keep", "rest", "replace" or "retire"
    action_reason: str
    rising: bool
    drop_at: int | None  # the exposure at which its value drops at once
    curve: dict[str, list[float]]  # exposure, mean, fit (of the model), low and high (of its 90 % band)


@dataclasses.dataclass(frozen=True)
class _Values:
    """What the draws say about all arms, as [draw, arm]."""

    first: np.ndarray
    last: np.ndarray
    ahead: np.ndarray  # the mean over the next exposures
    halves: np.ndarray  # half-lives, where arms wear out

    @classmethod
    def of(cls, log: Log, draws: list[Draw]) -> _Values:
        """Return the values of all arms."""
        arms = np.arange(len(log.arms))
        exposures = np.array([arm.exposures for arm in log.arms], dtype=float)
        steps = np.linspace(0, AHEAD, 9)
        return cls(
            first=np.array([draw.first_values() for draw in draws]),
            last=np.array([draw.values(arms, exposures - 1, 1.0) for draw in draws]),
            ahead=np.mean([[draw.values(arms, exposures + step, 1.0) for draw in draws] for step in steps], axis=0),
            halves=np.array([draw.half_lives() for draw in wearing_out(draws)]),
        )


def diagnose_arms(log: Log, findings: Findings, draws: list[Draw]) -> list[ArmDiagnosis]:
    """Return what is known about every arm, in the order of the log."""
    values = _Values.of(log, draws)
    chance, fresh = chances(values.ahead), float(np.mean(values.first))
    told = _told_per_unit(values, log) if log.per_unit else _told(values, log, findings)
    events, jumps, differ = findings.panel.events, drops(findings), not findings.alike
    # An arm that earned next to nothing where others would have earned enough is known to be worse.
    expected = findings.panel.exposures * findings.panel.mean / findings.panel.event
    result = []
    for index, (arm, curve, own) in enumerate(zip(log.arms, curves(log, findings, draws), told, strict=True)):
        is_rotting, enough = bool(findings.evidence[index] != NONE), bool(findings.testable[index])
        if not enough and not (expected[index] >= findings.within.fewest and chance[index] < CHANCE):
            action = Action(KEEP_IT, too_little(float(events[index]), findings))
        elif log.per_unit:
            action = action_per_unit(is_rotting)
        else:
            first, lost = own["value_first"], own["value_lost"]
            better = fresh > float(np.mean(values.ahead[:, index])) * 1.2
            share = lost / first if first > 0 else 0.0
            action = action_for(is_rotting, float(chance[index]), share, better, differ)
        result.append(
            ArmDiagnosis(
                arm=arm.name,
                exposures=arm.exposures,
                rewards=float(events[index]),
                rotting=is_rotting,
                evidence=findings.evidence[index],
                enough=enough,
                p_value=float(findings.falling[index]),
                shown_lately=recent_mean(arm, log) is not None,
                action=action.name,
                action_reason=action.reason,
                rising=bool(findings.rising[index]),
                drop_at=jumps[index],
                curve=curve,
                **own,
            )
        )
    return result


def drops(findings: Findings) -> list[int | None]:
    """Return the exposure at which each arm's value drops at once, if it surely does."""
    panel, within = findings.panel, findings.within
    at = [round(float(panel.exposure[arm, place])) for arm, place in enumerate(within.jump_at)]
    down = (within.lost < 0) & within.sure_jumps & within.testable
    return [place if is_down else None for place, is_down in zip(at, down.tolist(), strict=True)]


def too_little(rewards: float, findings: Findings) -> str:
    """Return why nothing is said of an arm."""
    fewest = findings.within.fewest
    if rewards >= fewest and not findings.log.per_unit:
        return "too little to say: nothing tells its exposures from the calendar"
    needed = "" if findings.log.per_unit else f" of at least {fewest:.0f} that a call takes"
    return f"too little to say: {rewards:.0f} rewards{needed}, or too few days"


def _told(values: _Values, log: Log, findings: Findings) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each arm."""
    drawn = [estimates(each) for each in (values.first, values.last, values.ahead)]
    for index, (arm, is_rotting) in enumerate(zip(log.arms, findings.worn.tolist(), strict=True)):
        first, last, ahead = (each[index].shifted(log.offset) for each in drawn)
        # Half of a value that is counted from far above 0 says nothing of wear-out.
        tells = is_rotting and not log.offset
        half, low, high = half_life_of(values.halves[:, index], arm.exposures) if tells else (None, None, None)
        yield {
            "half_life": half,
            "half_life_low": low,
            "half_life_high": high,
            "half_life_beyond_log": half is not None and half > arm.exposures,
            "value_first": first.point,
            "value_last": last.point,
            "value_lost": first.point - last.point,
            "first": first,
            "last": last,
            "next_1000": ahead,
        }


def _told_per_unit(values: _Values, log: Log) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each arm where exposures are counted per unit: what it earned lately, and nothing else.

    The panel counts exposures of all users together: it tells no speed per user, and its first and last values mix
    users who tire with users who leave.
    """
    unknown = ("half_life", "half_life_low", "half_life_high", "value_first", "value_last", "value_lost")
    for arm, ahead in zip(log.arms, estimates(values.ahead), strict=True):
        coming = recent_mean(arm, log) or ahead.shifted(log.offset)
        nothing = dict.fromkeys((*unknown, "first", "last"))
        yield nothing | {"half_life_beyond_log": False, "next_1000": coming}


def in_agreement(arm: ArmDiagnosis, advice: Recommendation | None) -> ArmDiagnosis:
    """Return the arm with an action that agrees with the advice for all arms."""
    action = settled(Action(arm.action, arm.action_reason), advice)
    return dataclasses.replace(arm, action=action.name, action_reason=action.reason)


def fresh_value(log: Log, findings: Findings, draws: list[Draw]) -> Estimate | None:
    """Return what a fresh arm is worth at first, if it is like those of the log; None where nothing wears out."""
    if not findings.worn.any() or log.per_unit:
        return None
    drawn = [draw.first_values(AHEAD) for draw in draws]
    return estimate(np.concatenate(drawn)).shifted(log.offset)


def recent_mean(arm: Arm, log: Log) -> Estimate | None:
    """Return the mean reward of an arm in the last quarter of the log, or None if it was not shown there."""
    late = arm.cells.time >= 1 - LATELY
    count = float(arm.cells.count[late].sum())
    if count == 0:
        return None
    mean = float(arm.cells.total[late].sum()) / count
    error = NINETY * float(np.sqrt(reward_variance(arm, log) / count))
    low = max(mean - error, 0.0) if log.binary else mean - error
    return Estimate(mean, low, min(mean + error, 1.0) if log.binary else mean + error).shifted(log.offset)


def half_life_of(draws: np.ndarray, exposures: float) -> tuple[float | None, float | None, float | None]:
    """Return the median of drawn half-lives and their interval; None where the log cannot tell."""
    low, middle, high = np.quantile(draws, (TAILS[0], 0.5, TAILS[1]), method="inverted_cdf")
    upper = float(high) if high < LONGEST_HALF_LIFE * 10 * exposures else None
    if not middle < LONGEST_HALF_LIFE * exposures:
        return None, float(low) if np.isfinite(low) else None, None
    told = upper is not None and upper < WIDEST_HALF_LIFE * low
    return (float(middle) if told else None), float(low), upper
