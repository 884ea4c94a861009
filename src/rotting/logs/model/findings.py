"""What a log says about its arms: which wear out, on which evidence, and what had to be set aside to see it."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import ndtr, ndtri

from rotting.logs.arrays import Flags, Floats
from rotting.logs.model.cleaning import (
    LONGEST_CUT,
    Burst,
    LateRewards,
    cut_off,
    delay_share,
    find_late_rewards,
    set_bursts_aside,
)
from rotting.logs.model.launches import CALENDAR, CANNOT_TELL, Together, look_at_launches
from rotting.logs.model.mixed import averaged
from rotting.logs.model.noise import sigma_of
from rotting.logs.model.panel import Panel, make_panel
from rotting.logs.model.placebos import RARE, Placebos, play_placebos
from rotting.logs.model.within import FALSE_DISCOVERIES, Within, discoveries, look_within
from rotting.logs.read.reading import Log

SHORTEST_CUT = 0.002  # of the log's time; rewards that arrive sooner need no cut
# What a call rests on.
OWN, LAUNCHES, USERS, NONE = "its own course", "launches", "its users", ""
# An arm is not called with the others if by itself it rises, or falls, surely, by less than half of what is said of it.
RISES, CONTRADICTED = 0.5, 0.1
UNLIKELY = 0.05  # an explanation that is less likely is ruled out
# Standard errors beyond the threshold: 80 % for the false-discovery rate alone, about 67 % with all that a call takes.
POWER = 0.84


@dataclasses.dataclass(frozen=True)
class Findings:
    """The tests of all arms, which of them are called worn, and what their values follow."""

    log: Log  # what was tested: without what was set aside
    panel: Panel
    within: Within
    together: Together
    placebos: Placebos
    evidence: tuple[str, ...]  # what the call of each arm rests on; empty where it is not called
    falling: Floats  # the p-value of each arm, against "does not fall"
    testable: Flags  # enough is known of the arm to call it
    rising: Flags
    driver: str
    driver_reason: str
    common_fall: float  # of all arms, as if time did nothing, in standard errors
    bursts: tuple[Burst, ...] = ()
    starts_fade: bool = False  # rewards come often at launch, and fade: kept
    late: LateRewards | None = None

    @property
    def worn(self) -> Flags:
        """Which arms are called worn."""
        return np.array([each != NONE for each in self.evidence])

    @property
    def alike(self) -> bool:
        """Whether all arms may well be worth the same: equal ones differ as much by chance."""
        return self.placebos.equal >= UNLIKELY and not self.worn.any()

    @property
    def wander(self) -> float:
        """By how much values of an arm wander for no reason that the log knows, as a share; 0 unless that is seen."""
        fits = self.within.fits
        sure = averaged(fits, lambda fit: fit.arms.assumed.wander == 0) < UNLIKELY
        return float(sure * averaged(fits, lambda fit: fit.arms.assumed.wander))


def find_wear_out(log: Log, reward_delay: str | float | None = None) -> Findings:
    """Set aside what is not to be believed, and test the arms."""
    cleaned, bursts, fades = set_bursts_aside(log)
    late = _asked(log, reward_delay)
    if late is None and log.reward_wait is None and log.columns.time is not None and not log.per_unit:
        panel = make_panel(cleaned)
        late = find_late_rewards(panel, look_within(panel))
    findings = _tested(cleaned if late is None else cut_off(cleaned, late))
    return dataclasses.replace(findings, bursts=bursts, starts_fade=fades, late=late)


def _asked(log: Log, reward_delay: str | float | None) -> LateRewards | None:
    """Return the cut that was asked for, or that the times of rewards ask for."""
    if reward_delay is not None:
        return LateRewards(delay_share(reward_delay, log.seconds), "as asked for")
    if log.reward_wait is None or not log.seconds:
        return None
    share = min(log.reward_wait / log.seconds, LONGEST_CUT)
    why = "from the times of rewards: by then 95 % of them have arrived"
    return LateRewards(share, why) if share > SHORTEST_CUT else None


def _tested(log: Log) -> Findings:
    panel = make_panel(log)
    within = look_within(panel)
    together = look_at_launches(panel, within)
    placebos = play_placebos(panel, within, together)
    own, falling, testable = _called_alone(log, within, placebos)
    launches = np.zeros(panel.arms, dtype=bool)
    if not log.per_unit:
        if placebos.launches <= RARE:
            half = 0.5 * together.slopes * panel.exposures / panel.typical_exposures
            as_called = within.alone(half) < 1 - CONTRADICTED
            agree = (within.alone() < RISES) & as_called & ~(within.sure_jumps & (within.lost < 0))
            launches = together.called(testable & agree) & ~own
        shared = testable & ~own & together.tells
        falling = np.where(shared, np.minimum(falling, together.falling), falling)
    if sigma_of(log) == 0:  # nothing varies, and nothing can be said
        own, launches, falling = np.zeros_like(own), np.zeros_like(own), np.ones(panel.arms)
    worn = own | launches
    driver, reason = _driver(log, panel, together, bool(worn.any()), testable)
    return Findings(
        log=log,
        panel=panel,
        within=within,
        together=together,
        placebos=placebos,
        evidence=tuple(np.select([own, launches], [USERS if log.per_unit else OWN, LAUNCHES], NONE).tolist()),
        falling=falling,
        testable=testable,
        rising=discoveries(within.rising, within.testable) & ~worn & ~within.sure_jumps,
        driver=driver,
        driver_reason=reason,
        common_fall=_common_fall(within),
    )


def _called_alone(log: Log, within: Within, placebos: Placebos) -> tuple[Flags, Floats, Flags]:
    """Return which arms are called on evidence of their own, p-values, and which could be."""
    if not log.per_unit:
        return within.called() & (placebos.order <= FALSE_DISCOVERIES), within.falling, within.testable
    users = log.users
    if users is None:
        nothing = np.zeros(len(log.arms), dtype=bool)
        return nothing, np.ones(len(log.arms)), nothing
    falling = np.where(users.known, ndtr(-users.tires), 1.0)
    return discoveries(falling, users.known) & (users.placebo <= FALSE_DISCOVERIES), falling, users.known


def _driver(log: Log, panel: Panel, together: Together, worn: bool, testable: Flags) -> tuple[str, str]:
    """Return what values follow, if the log can tell, and why it can or cannot."""
    if log.per_unit and log.users is not None:
        return ("exposure" if worn else CANNOT_TELL), log.users.sentence
    if panel.arms == 1:
        return CANNOT_TELL, "one arm alone does not tell its exposures, its age and the time apart"
    if not testable.any():
        return CANNOT_TELL, "no arm has rewards enough for any loss to be seen"
    left = f"levels of arms and slices of time leave {together.left:.1%} of what is known of a fall that all share"
    if not together.tells:
        reason = (
            "arms were launched together or shown at one pace, or earned too few rewards, so exposures, age and time"
        )
        return CANNOT_TELL, f"{reason} are one thing here: {left}"
    likely = ", ".join(f"{each} {share:.0%}" for each, share in together.probabilities.items())
    if together.driver == CANNOT_TELL:
        return CANNOT_TELL, f"the log does not tell the explanations apart ({likely}): {left}"
    change = np.expm1(together.trend) if together.driver == CALENDAR else 0.0
    name = together.driver + (f", which changes by {change:+.0%} over the log," if round(change, 2) else "")
    return together.driver, f"{name} explains the log best ({likely}), if {assumption(together)}"


def assumption(together: Together) -> str:
    """Return what a common fall is taken from, where no arm by itself shows it."""
    if together.staggered:
        return "newer arms are as good at first as older ones were"
    return "arms that were shown more would otherwise have kept up with the others"


def _common_fall(within: Within) -> float:
    """Return how far arms fall along their exposures, as if time did nothing, in standard errors.

    Without the one that falls most, if there are others: one arm is not all of them.
    """
    own = within.likeliest.own(within.column, calendar=False)
    others = np.argsort(own.z(), kind="stable")[1:] if len(own.score) > 1 else [0]
    return float(-own.score[others].sum() / np.sqrt(max(own.information[others].sum(), 1e-9)))


def detectable_loss(findings: Findings) -> float | None:
    """Return the share that a typical arm must lose over its exposures to be called by itself in about 2 of 3 cases."""
    within = findings.within
    if findings.panel.additive or not within.testable.any():
        return None
    needed = POWER - float(ndtri(FALSE_DISCOVERIES / within.testable.sum()))
    return float(-np.expm1(-needed * float(np.median(within.error[within.testable]))))
