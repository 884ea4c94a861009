"""What a reader of a diagnosis must know: what was done to the log, and what it does not say.

Python, the command and the page show the same texts, so options have their plain names here: drop_duplicates, unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rotting.logs.model.findings import Findings
from rotting.logs.model.launches import CANNOT_TELL
from rotting.logs.read.counting import LEAST_EXPOSURES, MOST_ARMS
from rotting.logs.read.reading import Log
from rotting.logs.tell.sentences import listed
from rotting.logs.worth.arms import ArmDiagnosis
from rotting.logs.worth.gain import MOST_PLAYED, Gain

DAY = 86_400.0
_LAUNCHES = " Some lie at launch: if they are true, arms wear out within them, and that is not looked at here."


def find_caveats(
    log: Log, arms: Sequence[ArmDiagnosis], findings: Findings, gains: Sequence[Gain], power: float | None
) -> Iterator[str]:
    """Yield the caveats of a diagnosis, the most important first."""
    yield from _about_causes(findings)
    yield from _about_cleaning(log, findings)
    yield from _about_power(arms, power)
    yield from _about_gains(log, gains)
    yield from _about_arms(arms)
    yield from _about_rows(log)


def _about_causes(findings: Findings) -> Iterator[str]:
    if findings.log.per_unit:
        yield f"Users compared with themselves: {findings.driver_reason}."
        return
    yield f"Exposure, age or calendar: {findings.driver_reason}."
    if findings.driver == CANNOT_TELL and (findings.worn.any() or findings.common_fall > 2):
        if findings.together.staggered and len(findings.log.arms) > 1:
            yield "Launches did not settle it: an arm that rests for some weeks, and comes back, would tell."
        elif len(findings.log.arms) == 1:
            yield "Season, site or audience may be the cause as well: a second arm, launched now, would tell."
        else:
            yield (
                "Arms launched at other times, or that rest for a while, would tell exposures from the calendar "
                "(season, site, audience): launch a fresh one now."
            )
    if findings.wander:
        yield (
            f"Values of arms wander by about {findings.wander:.0%} from stretch to stretch, more than by chance. "
            "Tests and intervals allow for that; such a log says less than its size promises."
        )


def _about_cleaning(log: Log, findings: Findings) -> Iterator[str]:
    late, seconds = findings.late, log.seconds
    if late is not None:
        how_long = f"{late.cut:.0%} of its time"
        if seconds and (log.first_time or 0) > 3e8:
            how_long = f"{late.cut * seconds / DAY:.1f} days"
        yield f"The last days are not complete yet: the last {how_long} of the log were left out ({late.why})."
    if findings.bursts:
        rewards = sum(burst.rewards for burst in findings.bursts)
        total = sum(arm.cells.total.sum() for arm in log.arms)
        arms = sorted({burst.arm for burst in findings.bursts})
        yield (
            f"Suspicious bursts were set aside: {len(findings.bursts):,} runs of {rewards:,.0f} rewards in all "
            f"({rewards / max(total, 1):.0%} of them), in {listed(arms)}: tests, bots, counting errors, or days that "
            f"were out of the ordinary.{_LAUNCHES if any(each.first_exposure == 0 for each in findings.bursts) else ''}"
        )
    if findings.starts_fade:
        yield (
            "Rewards come far more often in the first exposures of an arm, and fade rather than stop: they were kept. "
            "If they were tests before the launch, leave those rows out and ask again."
        )
    if log.strata:
        columns = " and ".join(map(repr, log.strata))
        yield (
            f"Arms were compared within {columns}: what changes along with that does not count as wear, and gains take "
            "it to be alike for all arms. What each arm is worth holds for its own mix of that."
        )
    if log.cap is not None:
        yield (
            f"A few large rewards carry most of the spread: {log.capped_rows:,} above {log.cap:,.4g} "
            "count as that much in the tests, so that one sale does not decide. Values and gains are in full rewards; "
            "what is kept may differ from what was earned lately, by luck with a few of them."
        )


def _about_power(arms: Sequence[ArmDiagnosis], power: float | None) -> Iterator[str]:
    if power is None:
        return
    typical = sorted(arm.exposures for arm in arms)[len(arms) // 2]
    yield (
        f"What this log can see of one arm: a loss of {power:.0%} over its exposures, beside others that do not "
        f"lose, is called in about 2 of 3 cases (arms have about {typical:,} exposures). To see a loss of a quarter it "
        f"would take about {exposures_to_see(power, typical):,} per arm."
    )
    if any(arm.rotting and arm.half_life is None for arm in arms):
        yield (
            f"Some half-lives cannot be told from this log; it would take about {4 * typical:,} exposures per arm, or "
            "more arms that wear out alike."
        )


def exposures_to_see(power: float, exposures: int) -> int:
    """Return how many exposures per arm would show the loss of a quarter, if now one of `power` is seen.

    >>> exposures_to_see(0.5, 1000)
    5800
    """
    needed = exposures * (math.log1p(-min(power, 0.999)) / math.log(0.75)) ** 2
    return int(float(f"{needed:.2g}"))


def _about_gains(log: Log, gains: Sequence[Gain]) -> Iterator[str]:
    if gains:
        yield (
            "The gains are a simulation from what this log makes likely, not a measurement: only an experiment can "
            "confirm them. Policies begin without the log, and pay for their own exploration; arms go on as they did, "
            "each draw in its own way. Intervals hold 90 % of the draws. Arms are taken to have been shown to "
            "people who are alike: where some were offered to others only, differences may be those of people."
        )
        if len(log.arms) > MOST_PLAYED:
            yield (
                f"Of {len(log.arms):,} arms, policies choose among the {MOST_PLAYED} that were shown most (in the last "
                "quarter of the log for gains from now on); gains are those of these arms."
            )
    elif len(log.arms) == 1:
        yield "There is only one arm: nothing to choose between, and nothing to gain by choosing."
    elif log.per_unit:
        yield (
            "Exposures are counted per unit. No gain is estimated: each unit would be a bandit of its own, with "
            "too few exposures to learn from; the advice means one agent per unit."
        )


def _about_arms(arms: Sequence[ArmDiagnosis]) -> Iterator[str]:
    never = "FEWA and RAW-UCB assume that arms never do, and promise nothing there"
    happened = "that is no wear-out by itself: look for what happened there (a replaced creative, another audience)"
    for verb, manner, names, remark in (
        ("rise", "with exposure", [arm.arm for arm in arms if arm.rising], never),
        ("drop", "at once", [arm.arm for arm in arms if arm.drop_at is not None], happened),
    ):
        if names:
            subject = f"An arm {verb}s" if len(names) == 1 else f"Some arms {verb}"
            yield f"{subject} {manner} ({listed(names)}): {remark}."
    few = [arm for arm in arms if not arm.enough]
    if few:
        yield (
            f"Too little to say of {len(few):,} of {len(arms):,} arms: they have too few rewards, or were shown on "
            "too few days, or beside no others, for any loss to be seen. They are not called, whatever they did."
        )


def _about_rows(log: Log) -> Iterator[str]:
    if log.columns.aggregated:
        yield (
            f"Each row stands for many exposures (column {log.columns.impressions!r}), and its reward is their sum: "
            "what happened within a row, such as a day, is not known."
        )
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
        yield "No column of times was used: rows were taken to be in order of time."
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
