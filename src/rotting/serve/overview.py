"""What the page says of a bandit: which arms are worn, what is shown instead, and whether anything needs somebody."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting._core.isotonic import non_increasing_fit
from rotting.bandit import Standing
from rotting.serve.following import RECENT, Curve, Logged, Tally

if TYPE_CHECKING:
    from rotting.serve.app import Service

FEWEST_REWARDS = 40  # of an arm, before anything is said of its wear-out
STANDARD_ERRORS = 2.5  # by which the slope of an arm's rewards must lie below zero
MOST_DOTS = 40  # means in a row that are drawn
SILENCE = 60.0  # seconds, and ten times as long as nine of ten rewards take
MANY_PENDING = 1000
READ_AT_ONCE = 2000  # events, while somebody waits for the page


@dataclasses.dataclass(frozen=True)
class ArmOverview:
    """How one arm is doing. `dots` and `fit` are (exposures with a reward, reward)."""

    name: str
    available: bool
    passes: bool | None
    decisions: int
    rewards: int
    share: float  # of the last decisions
    mean: float | None
    fresh: float | None  # where the fit begins, ...
    now: float | None  # ... and where it ends
    worn: bool
    dots: Sequence[tuple[float, float]]
    fit: Sequence[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Overview:
    """Everything that the page of a bandit shows."""

    bandit: str
    policy: str
    count: str
    arms: Sequence[ArmOverview]
    pending: int
    seq: int
    read: float  # how much of the log is included, 0 to 1
    sealed: int  # the last event that was compacted
    at: float
    start: float | None  # of the first period of the shares
    seconds: float  # of a period
    shares: np.ndarray  # periods x arms, decisions
    delays: Sequence[float]
    recent: Sequence[tuple[Logged, str, str]]  # decision, arm, why
    lead: str
    needs: Sequence[str]


async def make_overview(service: Service, bandit: str) -> Overview:
    """Return what the page of a bandit shows now."""
    await service.entry(bandit)
    found = await service.call(bandit, lambda opened: opened.standing())
    reasons = {choice.id: choice.why for choice in tuple(service.writer.reasons.get(bandit, ()))}

    def read() -> Overview:
        tally = service.follower.read_now(bandit, READ_AT_ONCE)
        tally.know_names(found.available)
        with service.store.lock, service.store.reading():
            delays, last = tally.delays(service.store), tally.recent(service.store)
        with tally.lock:
            return overview(tally, found, delays, last, reasons)

    return await service.in_thread(read)


def overview(
    tally: Tally, found: Standing, delays: Sequence[float], last: Sequence[Logged], reasons: Mapping[str, str]
) -> Overview:
    """Put together what is known of a bandit."""
    recent = Counter(tally.recent_arms)
    arms = [_arm(tally, number, found, recent) for number in range(len(tally.names))]
    needs = _needs(tally, found, arms, delays)
    decisions = [
        (each, tally.names[each.arm], reasons.get(each.decision, "")) for each in last if each.arm < len(tally.names)
    ]
    return Overview(
        bandit=tally.bandit,
        policy=found.policy,
        count=found.settings.count,
        arms=arms,
        pending=found.pending,
        seq=tally.seq,
        read=1.0 if tally.is_complete else tally.seq / max(1, tally.log_seq),
        sealed=found.sealed,
        at=tally.at,
        start=tally.shares.start,
        seconds=tally.shares.seconds,
        shares=tally.shares.counts,
        delays=sorted(delays),
        recent=decisions,
        lead=lead(arms),
        needs=needs,
    )


def _arm(tally: Tally, number: int, found: Standing, recent: Mapping[int, int]) -> ArmOverview:
    name, curve, rewards = tally.names[number], tally.curves[number], tally.rewarded[number]
    fit = fit_of(curve, rewards)
    return ArmOverview(
        name=name,
        available=found.available.get(name, False),
        passes=found.passes.get(name),
        decisions=found.decided.get(name, 0),
        rewards=found.received.get(name, 0),
        share=recent.get(number, 0) / max(1, sum(recent.values())),
        mean=tally.sums[number] / rewards if rewards else None,
        fresh=fit[0][1] if fit else None,
        now=fit[-1][1] if fit else None,
        worn=is_worn(curve, rewards),
        dots=_dots(curve),
        fit=fit,
    )


def is_worn(curve: Curve, rewards: int) -> bool:
    """Say whether an arm's rewards fall with its exposures by more than chance explains.

    The test is that of a straight line's slope, which finds any shape of wear-out: it must lie so many standard errors
    below zero.
    """
    number = len(curve.sums)
    if rewards < FEWEST_REWARDS or number < 4:
        return False
    total = number * curve.size
    variance = max(0.0, curve.squares.sum() / total - (curve.sums.sum() / total) ** 2)  # of one reward
    places = np.arange(number) - (number - 1) / 2
    slope = float(places @ (curve.sums / curve.size)) / float(places @ places)
    error = math.sqrt(variance / curve.size / float(places @ places))
    return slope < -STANDARD_ERRORS * error


def fit_of(curve: Curve, rewards: int) -> list[tuple[float, float]]:
    """Return the fit that never rises, as in `Bandit.report`: one step per block of about sqrt(n) rewards."""
    if len(curve.sums) == 0:
        return []
    blocks = np.array_split(curve.sums, min(max(1, math.isqrt(rewards)), len(curve.sums)))
    sizes = np.array([len(block) * curve.size for block in blocks], float)
    levels = non_increasing_fit([block.sum() for block in blocks] / sizes, sizes)
    ends = np.cumsum(sizes)
    points: list[tuple[float, float]] = []
    for end, size, level in zip(ends, sizes, levels, strict=True):
        if points and points[-1][1] == level:
            points[-1] = (float(end), float(level))
        else:
            points += [(float(end - size), float(level)), (float(end), float(level))]
    return points


def _dots(curve: Curve) -> list[tuple[float, float]]:
    if len(curve.sums) == 0:
        return []
    blocks = np.array_split(curve.sums, min(MOST_DOTS, len(curve.sums)))
    ends = np.cumsum([len(block) * curve.size for block in blocks])
    sizes = np.diff(ends, prepend=0)
    return [
        (float(end - size / 2), float(block.sum() / size)) for block, end, size in zip(blocks, ends, sizes, strict=True)
    ]


# Sentences.


def lead(arms: Sequence[ArmOverview]) -> str:
    """Return the sentence that comes first.

    >>> lead([])
    'There are no arms.'
    """
    available = [arm for arm in arms if arm.available]
    if not available:
        return "There are no arms." if not arms else "Every arm is retired: nothing can be shown."
    if not any(arm.rewards for arm in arms):
        return "No reward has arrived yet: nothing is known of the arms."
    worn = [arm.name for arm in available if arm.worn]
    shown = sorted((arm for arm in available if arm.share > 0), key=lambda arm: -arm.share)
    favourites = [arm for arm in shown if not arm.worn and arm.share >= 0.1][:3]
    if not worn:
        most = f" {_named([shown[0].name])} is shown most ({shown[0].share:.0%})." if shown else ""
        return f"No arm is worn.{most}"
    if len(worn) == len(available):
        most = f" {_named([shown[0].name])} is shown most ({shown[0].share:.0%})." if shown else ""
        return f"{'Every arm is' if len(worn) > 1 else 'The only arm is'} worn.{most}"
    said = f"{_named(worn)} {'is' if len(worn) == 1 else 'are'} worn"
    if not favourites:
        return f"{said}; {_named([shown[0].name])} is still shown most ({shown[0].share:.0%})." if shown else f"{said}."
    share = sum(arm.share for arm in favourites)
    names = [arm.name for arm in favourites]
    return f"{said}; {_named(names)} {'is' if len(names) == 1 else 'are'} shown instead ({share:.0%} of late)."


def _named(names: Sequence[str]) -> str:
    shown = [f"“{name}”" for name in names]
    if len(shown) > 4:
        shown = [*shown[:3], f"{len(shown) - 3} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _needs(tally: Tally, found: Standing, arms: Sequence[ArmOverview], delays: Sequence[float]) -> list[str]:
    """Return what somebody should do."""
    needs = []
    available = [arm for arm in arms if arm.available]
    if available and all(arm.worn for arm in available):
        needs.append("Every arm is worn: add a new one.")
    if len(available) == 1:
        needs.append("Only one arm is available: add another, or there is nothing to choose from.")
    decided_since = bool(tally.last_rewards) and tally.at > tally.last_rewards[-1][1]
    if decided_since and delays and len(tally.recent_arms) == RECENT:
        silence = time.time() - tally.last_rewards[-1][1]
        usual = float(np.quantile(delays, 0.9))
        if silence > max(SILENCE, 10 * usual):
            needs.append(f"No reward has arrived for {duration(silence)}: check that they are sent.")
    if sum(tally.decided) >= RECENT and sum(tally.rewarded) == 0:
        needs.append(f"{sum(tally.decided):,} decisions, and not one reward: check that they are sent.")
    if found.settings.reward_wait is None and found.pending > MANY_PENDING and found.pending > 0.5 * sum(tally.decided):
        needs.append(
            f"{found.pending:,} decisions wait for a reward, and will for ever: this bandit has no reward_wait."
        )
    return needs


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> duration(0.25), duration(90), duration(7200), duration(200000)
    ('0.25 s', '1.5 min', '2 h', '2.3 days')
    """
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"
