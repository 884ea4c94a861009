"""Does the value follow exposures or the calendar? Both are fitted; the log may be unable to tell."""

from __future__ import annotations

import dataclasses

import numpy as np

from rotting.logs.noise import reward_variance
from rotting.logs.reading import Cells, Log
from rotting.logs.shapes import Sample, log_evidence
from rotting.logs.wearout import merged

EXPOSURE, CALENDAR, CANNOT_TELL = "exposure", "calendar", "cannot tell"
FITTED_BINS = 256
# One is named when its log-likelihood is higher by the first. Below the second ("positive evidence" by Kass and
# Raftery, 1995) the reason calls the evidence weak.
WEAK_EVIDENCE, CLEAR_EVIDENCE = 0.5, 1.0
# Where exposures and time are more nearly proportional than this, both fits are the same fit.
PROPORTIONAL = 0.995
# Arms that start within this share of the log's time start together.
SAME_START = 0.05
# Fewer different times of an arm are too coarse for a curve along the calendar.
LEAST_TIMES = 20


@dataclasses.dataclass(frozen=True)
class Driver:
    """What wear-out follows, and the evidence for it."""

    name: str  # "exposure", "calendar" or "cannot tell"
    reason: str
    log_likelihood_exposure: float
    log_likelihood_calendar: float


def find_driver(log: Log, rotting: list[bool]) -> Driver:
    """Compare wear-out along exposures with wear-out along the calendar.

    An exponential is fitted to every arm along each axis, with speed and level from one distribution each for all arms.
    Along the right axis that is more likely: launches and busy days bend the curves along the other, and arms that are
    launched late start lower if the calendar wears them out, and as high as others if exposures do.

    Parameters
    ----------
    log
        The log.
    rotting
        Which arms are called rotting: the others say nothing about what wears arms out.
    """
    arms = [arm for arm, is_rotting in zip(log.arms, rotting, strict=True) if is_rotting]
    if not arms:
        return Driver(CANNOT_TELL, "no arm is seen to wear out", 0.0, 0.0)
    cells = [arm.cells if log.per_unit else merged(arm.cells, FITTED_BINS) for arm in arms]
    if any(_is_coarse(own) for own in cells):
        return Driver(CANNOT_TELL, "the times of the log are too coarse to be distinguished from exposures", 0.0, 0.0)
    if _start_together(cells) and min(_proportionality(own) for own in cells) > PROPORTIONAL:
        reason = f"exposures grow in proportion to time (correlation above {PROPORTIONAL} wherever there is wear-out)"
        return Driver(CANNOT_TELL, reason, 0.0, 0.0)
    variances = [reward_variance(arm, log) for arm in arms]

    def evidence(axis: str) -> float:
        return log_evidence(
            [
                Sample(getattr(own, axis), own.mean, own.count, noise)
                for own, noise in zip(cells, variances, strict=True)
            ]
        )

    exposure, calendar = evidence("exposure"), evidence("time")
    return Driver(*_verdict(exposure - calendar), exposure, calendar)


def _verdict(difference: float) -> tuple[str, str]:
    if not np.isfinite(difference):
        return CANNOT_TELL, "the calendar cannot be fitted; look for wrong times, such as one far from all others"
    if abs(difference) < WEAK_EVIDENCE:
        return CANNOT_TELL, f"both explain the log alike (log-likelihoods differ by {abs(difference):.1f})"
    better, worse = (EXPOSURE, CALENDAR) if difference > 0 else (CALENDAR, EXPOSURE)
    how = "" if abs(difference) >= CLEAR_EVIDENCE else ", which is weak evidence"
    return better, f"{better} explains the log better than {worse} (log-likelihood {abs(difference):.1f} higher{how})"


def _is_coarse(cells: Cells) -> bool:
    """Say whether an arm has so few different times (dates, say) that its calendar curve is only a few steps."""
    return len(np.unique(np.round(cells.time, 6))) < min(LEAST_TIMES, len(cells.time) / 2)


def _start_together(cells: list[Cells]) -> bool:
    """Say whether all arms are launched at about the same time; if not, their levels at launch are evidence."""
    starts = [own.time[0] for own in cells]
    return bool(max(starts) - min(starts) < SAME_START)


def _proportionality(cells: Cells) -> float:
    """Return the correlation of exposure number and time."""
    if np.ptp(cells.time) == 0 or np.ptp(cells.exposure) == 0:
        return 1.0
    weight = cells.count / cells.count.sum()
    exposure, time = cells.exposure - weight @ cells.exposure, cells.time - weight @ cells.time
    return float((weight * exposure) @ time / np.sqrt((weight @ exposure**2) * (weight @ time**2)))
