"""What the log says about each arm, and what to do with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaincinv

from rotting.logs.arrays import Floats
from rotting.logs.model.findings import NONE, Findings
from rotting.logs.model.noise import merged, reward_variances
from rotting.logs.read.reading import Log
from rotting.logs.worth.estimates import NINETY, TAILS, Estimate, estimates
from rotting.logs.worth.gain import KEEP, lately
from rotting.logs.worth.outlook import Draw, wearing_out
from rotting.logs.worth.recommending import (
    CHANCE,
    KEEP_IT,
    REST,
    Action,
    Recommendation,
    action_for,
    chances,
)

LONGEST_HALF_LIFE = 10  # times the exposures of the arm; longer ones are not given
# Half-lives whose interval spans more than this factor are not told: the log does not hold them.
WIDEST_HALF_LIFE = 10.0
AHEAD = 1000  # exposures over which an arm is valued
SHOWN_BINS = 32  # of the figure of an arm
# Draws times arms over which curves are taken, and draws at least.
MOST_CURVES, LEAST_CURVES = 10_000, 50


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


def diagnose_arms(log: Log, findings: Findings, draws: list[Draw], advice: Recommendation | None) -> list[ArmDiagnosis]:
    """Return what is known about every arm, in the order of the log."""
    numbers, exposures = np.arange(len(log.arms)), np.array([arm.exposures for arm in log.arms])
    first = np.array([draw.first_values() for draw in draws])
    last = np.array([draw.values(numbers, exposures - 1) for draw in draws])
    steps = np.linspace(0, AHEAD, 9)
    ahead = np.mean([[draw.values(numbers, exposures + step) for draw in draws] for step in steps], axis=0)
    level, own = noise_of(findings, last.shape)
    noisy = ((first, level), (last, level + own / 2), (ahead, level + own))
    first, last, ahead = (each * np.exp(noise - noise.var() / 2) for each, noise in noisy)
    halves = np.array([draw.half_lives() for draw in wearing_out(draws)]).T
    # What is advised compares arms within strata; what an arm is said to be worth holds for its own.
    firsts, lasts, nexts = (
        [value.shifted(log.offset) for value in estimates(np.minimum(drawn * findings.panel.mix, draws[0].highest))]
        for drawn in (first, last, ahead)
    )
    actions = _actions(findings, first, last, ahead, advice)
    rows = zip(
        log.arms, curves(findings, draws), findings.evidence, firsts, lasts, nexts, halves, actions, recent_means(log),
        drops(findings), strict=True,
    )  # fmt: skip
    # Per unit the panel counts exposures of all users together: it tells no speed per user, and its first and last
    # values mix users who tire with users who leave.
    known = not log.per_unit
    result = []
    for index, (arm, curve, evidence, begins, ends, coming, own, action, recent, drop_at) in enumerate(rows):
        # Half of a value that is counted from far above 0 says nothing of wear-out.
        tells = evidence != NONE and not log.offset and known
        half_life, low, high = half_life_of(own, arm.exposures) if tells else (None, None, None)
        result.append(
            ArmDiagnosis(
                arm=arm.name,
                exposures=arm.exposures,
                rewards=float(findings.panel.events[index]),
                rotting=evidence != NONE,
                evidence=evidence,
                enough=bool(findings.testable[index]),
                p_value=float(findings.falling[index]),
                half_life=half_life,
                half_life_low=low,
                half_life_high=high,
                half_life_beyond_log=half_life is not None and half_life > arm.exposures,
                value_first=begins.point if known else None,
                value_last=ends.point if known else None,
                value_lost=begins.point - ends.point if known else None,
                first=begins if known else None,
                last=ends if known else None,
                next_1000=coming if known else recent or coming,
                shown_lately=recent is not None,
                action=action.name,
                action_reason=action.reason,
                rising=bool(findings.rising[index]),
                drop_at=drop_at,
                curve=curve,
            )
        )
    return result


def _actions(
    findings: Findings, first: Floats, last: Floats, ahead: Floats, advice: Recommendation | None
) -> list[Action]:
    """Return what to do with each arm, given drawn values[draw, arm]."""
    panel, log = findings.panel, findings.log
    chance = chances(ahead, lately(log)[0])
    # An arm that earned next to nothing where others would have earned enough is known to be worse.
    worse = (panel.exposures * panel.mean / panel.event >= findings.within.fewest) & (chance < CHANCE)
    better = first.mean() > ahead.mean(axis=0) * 1.2
    begins, ends = first.mean(axis=0) + log.offset, last.mean(axis=0) + log.offset
    lost = np.divide(begins - ends, begins, out=np.zeros_like(begins), where=begins > 0)
    differ, going_on = not (findings.alike or log.per_unit), advice is not None and advice.label == KEEP
    actions = []
    for arm, worn in enumerate(findings.worn.tolist()):
        if not (findings.testable[arm] or worse[arm]):
            actions.append(Action(KEEP_IT, too_little(float(panel.events[arm]), findings)))
        elif log.per_unit and worn:  # for those who have seen it
            actions.append(Action(REST, "users tire of it: show each of them something else for a while"))
        else:
            actions.append(action_for(worn, chance[arm], lost[arm], better[arm], differ, going_on))
    return actions


def noise_of(findings: Findings, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return what draws of values leave out, as logarithms: of the level of all arms, and of each arm, by draw.

    Draws earn what the log earned lately, which says as much about the level as its rewards do; and arms wander on as
    they did, half as much over their last quarter as from one stretch to the next.
    """
    log, generator = findings.log, np.random.default_rng(0)
    count, total, _ = lately(log)
    spread = np.sqrt(count @ reward_variances(log))
    error = 0.0 if findings.panel.additive else spread / max(total.sum(), spread)
    return error * generator.standard_normal((shape[0], 1)), findings.wander * generator.standard_normal(shape)


def drops(findings: Findings) -> list[int | None]:
    """Return the exposure at which each arm's value drops at once, if it surely does."""
    panel, within = findings.panel, findings.within
    at = panel.exposure[np.arange(panel.arms), within.jump_at]
    down = (within.lost < 0) & within.sure_jumps & within.testable
    return [round(place) if is_down else None for place, is_down in zip(at.tolist(), down.tolist(), strict=True)]


def too_little(rewards: float, findings: Findings) -> str:
    """Return why nothing is said of an arm."""
    fewest = findings.within.fewest
    if rewards >= fewest and not findings.log.per_unit:
        return "too little to say: nothing tells its exposures from the calendar"
    needed = "" if findings.log.per_unit else f" of at least {fewest:.0f} that a call takes"
    return f"too little to say: {rewards:.0f} rewards{needed}, or too few days"


def fresh_value(findings: Findings, draws: list[Draw]) -> Estimate | None:
    """Return what a fresh arm is worth at first, if it is like those of the log; None where nothing wears out."""
    if not findings.worn.any() or findings.log.per_unit:
        return None
    drawn = [draw.first_values(AHEAD) for draw in draws]
    return estimates(np.minimum(np.concatenate(drawn), draws[0].highest)[:, None])[0].shifted(findings.log.offset)


def recent_means(log: Log) -> list[Estimate | None]:
    """Return the mean reward of each arm in the last quarter of the log, or None if it was not shown there."""
    count, total, _ = lately(log)
    shown = np.maximum(count, 1.0)
    mean, error = total / shown, NINETY * np.sqrt(reward_variances(log) / shown)
    bounds = np.clip([mean - error, mean + error], *((0.0, 1.0) if log.binary else (-np.inf, np.inf)))
    found = [Estimate(*each).shifted(log.offset) for each in np.array([mean, *bounds]).T.tolist()]
    return [own if any_shown else None for own, any_shown in zip(found, count > 0, strict=True)]


def half_life_of(draws: Floats, exposures: float) -> tuple[float | None, float | None, float | None]:
    """Return the median of drawn half-lives and their interval; None where the log cannot tell."""
    low, middle, high = np.quantile(draws, (TAILS[0], 0.5, TAILS[1]), method="inverted_cdf")
    upper = float(high) if high < LONGEST_HALF_LIFE * 10 * exposures else None
    if not middle < LONGEST_HALF_LIFE * exposures:
        return None, float(low) if np.isfinite(low) else None, None
    told = upper is not None and upper < WIDEST_HALF_LIFE * low
    return (float(middle) if told else None), float(low), upper


def curves(findings: Findings, draws: Sequence[Draw]) -> list[dict[str, list[float]]]:
    """Return bins of exposures of each arm: their mean rewards, the mean of the draws there, and a 90 % band.

    Per unit no curve is behind the numbers: there the band is that of the counts of each bin by itself.
    """
    some = draws[:: max(len(draws) // max(MOST_CURVES // findings.panel.arms, LEAST_CURVES), 1)]
    log, result = findings.log, []
    for index, arm in enumerate(log.arms):
        cells = merged(arm.cells, SHOWN_BINS)
        if log.per_unit:
            fit, event = cells.mean, findings.panel.event
            events = np.maximum(cells.total / event, 0)
            bounds = zip((events + 1e-9, events + 1), TAILS, strict=True)
            low, high = (gammaincinv(shape, tail) * event / cells.count for shape, tail in bounds)
        else:
            values = np.array([draw.values(index, cells.exposure, cells.time) for draw in some])
            values = np.minimum(values * findings.panel.mix[index], draws[0].highest)
            fit, (low, high) = values.mean(axis=0), np.quantile(values, TAILS, axis=0)
        shown = {"mean": cells.mean, "fit": fit, "low": np.minimum(low, fit), "high": np.maximum(high, fit)}
        result.append({"exposure": cells.exposure.tolist()} | {k: (v + log.offset).tolist() for k, v in shown.items()})
    return result
