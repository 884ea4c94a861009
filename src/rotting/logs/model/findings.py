"""What a log says about its arms: which wear out, what drives it, and what had to be set aside to see it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from rotting.logs.model.calendar import calendar_p_value
from rotting.logs.model.cleaning import (
    LONGEST_CUT,
    Burst,
    LateRewards,
    corrected,
    cut_off,
    delay_share,
    find_late_rewards,
    set_bursts_aside,
)
from rotting.logs.model.driver import (
    CANNOT_TELL,
    EXPOSURE,
    Driver,
    Weighed,
    arm_tests,
    checked_alone,
    find_driver,
    weigh,
)
from rotting.logs.model.noise import sigma_of
from rotting.logs.model.panel import Panel, make_panel
from rotting.logs.model.wearout import discoveries
from rotting.logs.read.reading import Log

# Lags over which residuals of successive rows of an arm are taken to depend on each other.
LAGS = 4
SHORTEST_CUT = 0.002  # of the log's time; rewards that arrive sooner need no cut
# Rewards that vary this much more than by chance come in stretches, or follow what no explanation has.
DEPENDENT = 1.3
# A common fall is seen if it is this many standard errors from nothing.
SEEN = 1.645
# Standard errors from nothing at which an arm is called where about half of them wear out, and for a power of 80 %.
CALLED, POWER = 2.0, 0.84
SEED = 1  # of the logs that are played: one log, one finding


@dataclasses.dataclass(frozen=True)
class Findings:
    """The tests of all arms, which of them are called rotting, and what their values follow."""

    falling: np.ndarray  # p-values of each arm, against "does not fall"
    rising: np.ndarray
    recovering: np.ndarray
    rotting: np.ndarray  # bool, one per arm
    driver: Driver
    weighed: Weighed
    dispersion: float  # how much more than chance rewards vary from stretch to stretch
    common_fall: float  # of all arms together, in standard errors
    log: Log  # what was tested: without what was set aside
    bursts: tuple[Burst, ...] = ()
    starts_fade: bool = False  # rewards come often at launch, and fade: kept, as wear-out
    late: LateRewards | None = None
    rotting_otherwise: dict[str, int] = dataclasses.field(
        default_factory=dict
    )  # calls without a treatment, by its name


def find_wear_out(
    log: Log, reward_delay: str | float | None = None, step: Callable[[], None] = lambda: None, simple: bool = False
) -> Findings:
    """Set aside what is not to be believed, weigh what could explain the rest, and test the arms.

    `simple` leaves out what a log would have said without each treatment.
    """
    cleaned, bursts, fades = set_bursts_aside(log)
    late = first = None
    if reward_delay is not None:
        late = LateRewards(None, delay_share(reward_delay, log.counted.seconds), "as asked for")
    elif log.reward_wait is not None and log.counted.seconds:
        why = "from the times of rewards: by then 95 % of them have arrived"
        share = min(log.reward_wait / log.counted.seconds, LONGEST_CUT)
        late = LateRewards(None, share, why) if share > SHORTEST_CUT else None
    elif log.columns.time is not None and not log.per_unit:
        first = weigh(make_panel(cleaned))
        late = find_late_rewards(first)
    step()
    findings = _tested(cleaned, None, first) if late is None else _tested(cut_off(cleaned, late), late)
    step()
    otherwise = {}
    if not simple:
        if bursts:
            otherwise["bursts"] = int(_tested(log if late is None else cut_off(log, late), late).rotting.sum())
        if log.counted.segment is not None:
            otherwise["segment"] = int(_tested(findings.log, late, segments=False).rotting.sum())
    return dataclasses.replace(findings, bursts=bursts, starts_fade=fades, late=late, rotting_otherwise=otherwise)


def _tested(log: Log, late: LateRewards | None, first: Weighed | None = None, segments: bool = True) -> Findings:
    """Test the arms of a log at the nominal false-discovery rate; `first` is a first fit, if there is one already."""
    from scipy.special import ndtr

    panel = make_panel(log)
    if not segments:
        panel = dataclasses.replace(panel, expected=np.ones(len(panel.mean)))
    weighed, dispersion = weigh_twice(corrected(panel, late), log.binary, first)
    calendar = calendar_p_value(weighed, np.random.default_rng(SEED))
    falling, rising = arm_tests(weighed, calendar)
    # Where the model does not explain the log to within noise, what it says of an arm may be off.
    strict = dispersion > DEPENDENT
    falling, rising = checked_alone(falling, rising, discoveries(falling), weighed, strict)
    if log.per_unit:
        users = log.counted.users
        z = np.zeros(panel.arms) if users is None else users.tires
        falling, rising = ndtr(-z), ndtr(z)
    if sigma_of(log) == 0:  # nothing varies, and nothing can be said
        falling, rising = np.ones(panel.arms), np.ones(panel.arms)
    rotting = discoveries(falling)
    common = common_fall(weighed)
    driver = find_driver(weighed, falls=bool(rotting.any()) or common > SEEN)
    if log.per_unit and log.counted.users is not None:
        driver = Driver(EXPOSURE if rotting.any() else CANNOT_TELL, log.counted.users.sentence, driver.probabilities)
    return Findings(falling, rising, _recovering(weighed), rotting, driver, weighed, dispersion, common, log)


def weigh_twice(panel: Panel, binary: bool, first: Weighed | None = None) -> tuple[Weighed, float]:
    """Return the hypotheses weighed with variances, and a dispersion, that a first fit has shown."""
    first = weigh(panel) if first is None else first
    value = np.clip(first.value, 0.2, 5.0) if panel.multiplicative else first.value
    variance = panel.variance
    if binary and panel.multiplicative:
        variance = np.maximum(value / panel.scale - value**2, 0.05 * value / panel.scale)
    elif panel.nonnegative and panel.multiplicative:
        variance = variance * value  # sales come less often rather than smaller
    dispersion = _dispersion(panel, first.value, variance)
    again = weigh(dataclasses.replace(panel, variance=variance * dispersion), first)
    return again, dispersion


def _dispersion(panel: Panel, value: np.ndarray, variance: np.ndarray) -> float:
    """Return the long-run variance of residuals in units of what independent rewards would have, at least 1.

    Successive rows of an arm are correlated where its value wanders; correlations over a few lags are added up, with
    weights that fall with the lag (Newey and West, 1987), all arms together.
    """
    residual = (panel.mean - value) * np.sqrt(panel.count / variance)
    ratio = float(np.mean(residual**2))
    total = ratio
    for lag in range(1, LAGS + 1):
        same = panel.arm[lag:] == panel.arm[:-lag]
        if same.sum() < 20:
            break
        products = (residual[lag:] * residual[:-lag])[same]
        # What lies within chance is not counted: it would make most logs look a little dependent.
        if products.mean() > 1.5 * ratio / np.sqrt(len(products)):
            total += 2 * (1 - lag / (LAGS + 1)) * float(products.mean())
    chance = 1.5 * np.sqrt(2 / len(residual))
    return max(1.0, total if total > 1 + chance else 1.0)


def common_fall(weighed: Weighed) -> float:
    """Return how far the fall of all arms together is from nothing, in standard errors of the likeliest fit."""
    best = weighed.best
    member = int(np.argmax(best.weight))
    return float(best.common[member, 1] / np.sqrt(best.solution.common_cov[member, 1, 1]))


def _recovering(weighed: Weighed) -> np.ndarray:
    """Return p-values of "does not rise in the second half of its exposures", beside the likeliest explanation."""
    from scipy.special import ndtr

    panel = weighed.panel
    last = np.maximum.reduceat(panel.exposure, panel.first)[panel.arm]
    late = np.maximum(panel.exposure / np.maximum(last, 1.0) - 0.5, 0.0)
    best = weighed.best
    return np.asarray(best.weight @ ndtr(best.added_z(panel, late)))


def detectable_loss(findings: Findings) -> float | None:
    """Return the share that a typical arm must lose over its exposures to be called in about 4 of 5 cases."""
    fits = [
        (weight, each)
        for weight, each, driver in zip(
            findings.weighed.weights, findings.weighed.fits, findings.weighed.drivers, strict=True
        )
        if driver == EXPOSURE
    ]
    best = max(fits, key=lambda pair: pair[0])[1]
    member = int(np.argmax(best.weight))
    fall, spread = best.slopes()
    freed = best.own_z()[member]
    errors = np.sqrt(spread[member])
    # The error of an arm's own speed, if nothing were assumed about it.
    own = np.abs(fall[member]) / np.maximum(np.abs(freed), 1e-9)
    error = float(np.median(np.maximum(own, errors)))
    needed = (CALLED + POWER) * error
    if not findings.weighed.panel.multiplicative or not np.isfinite(needed):
        return None
    return float(-np.expm1(-needed))
