"""What the log says about each arm, and what to do with it."""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.estimates import Estimate
from rotting.logs.findings import Findings
from rotting.logs.outlook import Draw, wearing_out
from rotting.logs.reading import Log
from rotting.logs.recommending import action_for, chances, estimate
from rotting.logs.wearout import TAILS, Band, discoveries

LONGEST_HALF_LIFE = 10  # times the exposures of the arm; longer ones are not given
# Half-lives whose interval spans more than this factor are not told: the log does not hold them.
WIDEST_HALF_LIFE = 10.0
AHEAD = 1000  # exposures over which an arm is valued
# Draws times arms over which the curves that are shown are averaged, and draws at least.
MOST_CURVES, LEAST_CURVES = 10_000, 20


@dataclasses.dataclass(frozen=True)
class ArmDiagnosis:
    """What the log says about one arm. Numbers with `low` and `high` have 90 % intervals."""

    arm: str
    exposures: int
    rotting: bool
    p_value: float
    half_life: float | None  # exposures until half the first value is lost; None if the log cannot tell, or never
    half_life_low: float | None
    half_life_high: float | None  # None: no upper bound
    half_life_beyond_log: bool  # extrapolated: the log has fewer exposures than that
    value_first: float
    value_last: float
    value_lost: float  # value_first - value_last
    first: Estimate
    last: Estimate
    next_1000: Estimate  # the mean reward of its next 1000 exposures
    action: str  # "keep", "rest", "replace" or "retire"
    action_reason: str
    rising: bool
    recovering: bool
    drop_at: int | None  # the exposure at which the value drops, if it does so at once
    curve: dict[str, list[float]]  # exposure, mean, fit (isotonic), low and high (of its 90 % band), model


def diagnose_arms(log: Log, findings: Findings, bands: list[Band], draws: list[Draw]) -> list[ArmDiagnosis]:
    """Return what is known about every arm, in the order of the log."""
    arms = np.arange(len(log.arms))
    exposures = np.array([arm.exposures for arm in log.arms], dtype=float)
    start = np.array([arm.cells.time.min() for arm in log.arms])
    own = wearing_out(draws)
    first = np.array([draw.values(arms, np.zeros(len(arms)), start) for draw in draws])
    last = np.array([draw.values(arms, exposures - 1, 1.0) for draw in draws])
    steps = np.linspace(0, AHEAD, 9)
    ahead = np.mean([[draw.values(arms, exposures + step, 1.0) for draw in draws] for step in steps], axis=0)
    halves = np.array([draw.half_lives() for draw in own])
    # Beside others that wear out faster an arm that wears out may seem to rise: it is one thing or the other.
    rising = discoveries(findings.rising) & ~findings.rotting
    recovering = discoveries(findings.recovering) & findings.rotting
    chance, fresh = chances(ahead), float(np.mean(first))
    places = np.array([draw.drop_at for draw in draws])
    dropped = (np.mean(places < exposures, axis=0) > 0.5) & findings.rotting & (not log.per_unit)
    some = draws[:: max(len(draws) // max(MOST_CURVES // len(arms), LEAST_CURVES), 1)]
    result = []
    for index, (arm, band) in enumerate(zip(log.arms, bands, strict=True)):
        value_first, value_last = (estimate(values[:, index]).shifted(log.offset) for values in (first, last))
        lost = value_first.point - value_last.point
        is_rotting = bool(findings.rotting[index])
        # Half of a value that is counted from far above 0 is no matter of wear-out.
        # Per user, the panel counts exposures of all users together, and tells no speed per user.
        has_half = is_rotting and not log.offset and not log.per_unit
        half = _half_life(halves[:, index], exposures[index]) if has_half else (None, None, None)
        share = lost / value_first.point if value_first.point > 0 else 0.0
        better = fresh > float(np.mean(ahead[:, index])) * 1.2
        action = action_for(is_rotting, bool(recovering[index]), float(chance[index]), share, better)
        result.append(
            ArmDiagnosis(
                arm=arm.name,
                exposures=arm.exposures,
                rotting=is_rotting,
                p_value=float(findings.falling[index]),
                half_life=half[0],
                half_life_low=half[1],
                half_life_high=half[2],
                half_life_beyond_log=half[0] is not None and half[0] > arm.exposures,
                value_first=value_first.point,
                value_last=value_last.point,
                value_lost=lost,
                first=value_first,
                last=value_last,
                next_1000=estimate(ahead[:, index]).shifted(log.offset),
                action=action.name,
                action_reason=action.reason,
                rising=bool(rising[index]),
                recovering=bool(recovering[index]),
                drop_at=round(float(np.median(places[:, index]))) if dropped[index] else None,
                curve=_curve(band, log.offset, some, index, start[index]),
            )
        )
    return result


def _half_life(draws: np.ndarray, exposures: float) -> tuple[float | None, float | None, float | None]:
    """Return the median of drawn half-lives and their interval; None where the log cannot tell."""
    low, middle, high = np.quantile(draws, (TAILS[0], 0.5, TAILS[1]), method="inverted_cdf")
    upper = float(high) if high < LONGEST_HALF_LIFE * 10 * exposures else None
    if not middle < LONGEST_HALF_LIFE * exposures:
        return None, float(low) if np.isfinite(low) else None, None
    told = upper is not None and upper < WIDEST_HALF_LIFE * low
    return (float(middle) if told else None), float(low), upper


def _curve(band: Band, offset: float, draws: list[Draw], arm: int, start: float) -> dict[str, list[float]]:
    """Return what a figure of the arm needs: what was measured, and the mean of the draws."""
    time = start + (1 - start) * band.exposure / max(float(band.exposure[-1]), 1.0)
    model = np.mean([draw.values(arm, band.exposure, time) for draw in draws], axis=0)
    curve = {"exposure": band.exposure.tolist(), "model": (model + offset).tolist()}
    return curve | {name: (getattr(band, name) + offset).tolist() for name in ("mean", "fit", "low", "high")}
