"""What a reader of a diagnosis must know: what was done to the log, and what it does not say.

Python, the command and the page show the same texts, so options have their plain names here: drop_duplicates, unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rotting.logs.driver import CALENDAR, Driver
from rotting.logs.fitting import MOST_ROUNDS, batch_of
from rotting.logs.gain import Gain
from rotting.logs.reading import LEAST_EXPOSURES, MOST_ARMS, Log
from rotting.logs.wearout import FALSE_DISCOVERIES

if TYPE_CHECKING:
    from rotting.logs.diagnosis import ArmDiagnosis


def find_caveats(log: Log, arms: list[ArmDiagnosis], driver: Driver, gains: list[Gain]) -> Iterator[str]:
    """Yield the caveats of a diagnosis, the most important first."""
    yield from _about_gains(log, driver, gains)
    yield from _about_arms(arms, driver)
    yield from _about_rows(log)
    yield (
        "The test assumes that without wear-out every order of the rewards is equally likely. Seasons, campaigns and a "
        "changing audience violate that, too: look at what else happened before blaming exposures."
    )


def _about_gains(log: Log, driver: Driver, gains: list[Gain]) -> Iterator[str]:
    if gains:
        yield (
            "The gains are a simulation from curves fitted to this log, not a measurement: only an experiment can "
            "confirm them. Intervals cover the uncertainty of the fit (90 %, bootstrap over fits)."
        )
        if driver.name == CALENDAR:
            yield (
                "Values follow the calendar here. In the simulation every arm is available from the first day to the "
                "last: before its own first day with the value of that day, after its last with the value of that, or "
                "falling further."
            )
        else:
            most = max(arm.exposures for arm in log.arms)
            yield (
                f"No arm was shown more than {most:,} times in the log, and policies show good arms more often. "
                "Beyond its last exposure an arm is held constant, or goes on falling along its fitted curve: both are "
                "shown, and the gain is their mean."
            )
        if (batch := batch_of(log.exposures)) > 1:
            yield f"The simulation decides {MOST_ROUNDS:,} times or less: one decision stands for {batch:,} exposures."
    elif len(log.arms) == 1:
        yield "There is only one arm: nothing to choose between, and nothing to gain by choosing."
    elif log.per_unit:
        yield (
            "Exposures are counted per unit. No gain is estimated: each unit would be a bandit of its own, with "
            "too few exposures to learn from; the advice means one agent per unit."
        )


def _about_arms(arms: list[ArmDiagnosis], driver: Driver) -> Iterator[str]:
    never = "FEWA and RAW-UCB assume that arms never do, and promise nothing there"
    happened = "find out what happened there. The gains assume that it would have happened at the same exposure"
    for verb, manner, names, remark in (
        ("rise", "with exposure", [arm.arm for arm in arms if arm.rising], never),
        ("recover", "after falling", [arm.arm for arm in arms if arm.recovering and not arm.rising], never),
        ("fall", "at once", [arm.arm for arm in arms if arm.rotting and arm.drop_at is not None], happened),
    ):
        if names:
            subject = f"An arm {verb}s" if len(names) == 1 else f"Some arms {verb}"
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
            yield f"{subject} {manner} ({shown}): {remark}."
    unsure = [arm for arm in arms if arm.rotting and arm.p_value > FALSE_DISCOVERIES]
    if unsure:
        shown = ", ".join(f"{arm.arm}: {arm.p_value:.2g}" for arm in unsure[:5])
        yield (
            f"Some arms are called rotting with a p-value above {FALSE_DISCOVERIES:g} ({shown}). Where most arms are, "
            f"that keeps the share of false calls among all calls at {FALSE_DISCOVERIES:.0%}; on its own it is "
            "weak evidence."
        )
    yield f"Exposure or calendar: {driver.reason}."


def _about_rows(log: Log) -> Iterator[str]:
    for reason, count in log.dropped.items():
        yield f"Dropped {count:,} of {_counted(log.rows, 'row')}: {reason}."
    if log.copies_kept:
        yield (
            f"Repeated in every column: {log.duplicates:,} of {_counted(log.rows, 'row')}. They were kept: two "
            "exposures in one second look the same. If they are copies, drop them with the option drop_duplicates: "
            "copies make p-values and intervals look surer than they are. The noise was estimated from the variance "
            "within short bins, which copies hardly change."
        )
    if log.backwards:
        yield f"Time goes backwards at {_counted(log.backwards, 'row')}; rows were put in order of time."
    if log.columns.time is None:
        yield "The log has no time column: its rows were taken to be in order of time."
    if log.arms_left_out:
        yield (
            f"Left out: {_counted(log.arms_left_out, 'arm')} with {_counted(log.rows_left_out, 'row')} (fewer than "
            f"{LEAST_EXPOSURES} exposures, or beyond the {MOST_ARMS} most shown)."
        )
    if log.offset:
        yield (
            "All rewards are far from 0, with little between them: curves fall towards the smallest, "
            f"{log.offset:.12g}, and not towards 0."
        )
    if log.columns.possible_unit is not None:
        yield (
            f"Exposures were counted over all users. Column {log.columns.possible_unit!r} looks like a unit: "
            "with the option unit they are counted for each one."
        )


def _counted(count: int, what: str) -> str:
    """Return a number of things.

    >>> _counted(1, "row"), _counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {what}" + ("" if count == 1 else "s")
