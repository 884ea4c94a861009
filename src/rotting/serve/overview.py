"""What the page says of a bandit: which arms are worn, what is shown instead, what needs somebody."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rotting._core.isotonic import non_increasing_fit
from rotting.bandit import Bandit, Standing
from rotting.serve.following import RECENT, Bins, Tally

if TYPE_CHECKING:
    from rotting.serve.writer import Writer

Result = TypeVar("Result")

FEWEST_REWARDS = 40  # of an arm, before anything is said of its wear-out
STANDARD_ERRORS = 2.5  # by which the slope of an arm's rewards must lie below zero
MOST_DOTS = 40  # means in a row that are drawn
SILENCE = 60.0  # seconds, and ten times as long as nine of ten rewards take
MANY_PENDING = 1000
READ_AT_ONCE = 2000  # events, while somebody waits for the page
Points = Sequence[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class ArmOverview:
    """How one arm is doing. `dots` and `fit` are (exposures with a reward, reward)."""

    name: str
    available: bool
    passes: bool | None
    decisions: int
    rewards: int
    share: float  # of the last decisions
    worn: bool
    dots: Points
    fit: Points

    @property
    def state(self) -> str:
        """What it is, in a word or two."""
        if not self.available:
            return "retired"
        if self.rewards == 0:
            return "no rewards yet"
        if self.worn:
            return "worn"
        return "filtered out" if self.passes is False else "fresh"


@dataclasses.dataclass(frozen=True)
class Overview:
    """Everything that the page of a bandit shows. `reasons` are those of decisions, by their ids."""

    tally: Tally
    standing: Standing
    arms: Sequence[ArmOverview]
    reasons: Mapping[str, str]
    needs: Sequence[str]


async def show(service: Writer, bandit: str, make: Callable[[Overview], Result]) -> Result:
    """Return what is made of all that there is to say of a bandit now."""
    row = await service.directory.entry(bandit)
    found = await service.call(bandit, Bandit.standing)
    reasons = {choice.id: choice.why for choice in service.reasons.get(bandit, ())}

    def shown(tally: Tally) -> Result:
        return make(overview(tally, found, reasons))

    return await service.follower.show(row, shown, found.available, READ_AT_ONCE)


def overview(tally: Tally, found: Standing, reasons: Mapping[str, str]) -> Overview:
    """Put together what is known of a bandit."""
    recent = Counter(tally.recent_arms)
    arms = []
    for number, arm in enumerate(tally.arms):
        curve = whole(arm.curve)
        arms.append(
            ArmOverview(
                name=arm.name,
                available=found.available.get(arm.name, False),
                passes=found.passes.get(arm.name),
                decisions=found.decided.get(arm.name, 0),
                rewards=found.received.get(arm.name, 0),
                share=recent[number] / max(1, len(tally.recent_arms)),
                worn=is_worn(curve),
                dots=_dots(curve),
                fit=fit_of(curve),
            )
        )
    return Overview(tally, found, arms, reasons, _needs(tally, found, arms))


def whole(curve: Bins) -> np.ndarray:
    """Return number, sum and squares of rewards in a row.

    Without the last ones, if they are fewer than the others: these say little.
    """
    sums = curve.table(3)
    found: np.ndarray = sums[sums[:, 0] == curve.step]
    return found


def is_worn(curve: np.ndarray) -> bool:
    """Say whether an arm's rewards fall with its exposures by more than chance explains.

    The test is that of a straight line's slope, which finds any shape of wear-out: it must lie so many standard errors
    below zero.
    """
    number, total, squares = curve.sum(axis=0)
    if number < FEWEST_REWARDS or len(curve) < 4:
        return False
    variance = max(0.0, squares / number - (total / number) ** 2)  # of one reward
    places = np.arange(len(curve)) - (len(curve) - 1) / 2
    step, spread = number / len(curve), float(places @ places)
    slope = float(places @ curve[:, 1]) / step / spread
    return bool(slope < -STANDARD_ERRORS * math.sqrt(variance / step / spread))


def fit_of(curve: np.ndarray) -> Points:
    """Return the fit that never rises, as in `Bandit.report`: one step per block of about sqrt(n) rewards."""
    sizes, means = _blocks(curve, math.isqrt(int(curve[:, 0].sum())))
    levels, first, blocks = np.unique(-non_increasing_fit(means, sizes), return_index=True, return_counts=True)
    edges = np.append(0.0, np.cumsum(sizes))
    ends = np.stack([edges[first], edges[first + blocks]], axis=1)
    return list(zip(ends.ravel().tolist(), np.repeat(-levels, 2).tolist(), strict=True))


def _dots(curve: np.ndarray) -> Points:
    sizes, means = _blocks(curve, MOST_DOTS)
    return list(zip((np.cumsum(sizes) - sizes / 2).tolist(), means.tolist(), strict=True))


def _blocks(curve: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes and means of so many blocks of rewards in a row."""
    if len(curve) == 0:
        return np.zeros(0), np.zeros(0)
    blocks = [block.sum(axis=0) for block in np.array_split(curve, min(most, len(curve)))]
    sizes, sums, _ = np.transpose(blocks)
    return sizes, sums / sizes


# Sentences.


def lead(arms: Sequence[ArmOverview]) -> str:
    """Return the sentence that comes first; it says only what is so.

    >>> lead([])
    'There are no arms.'
    """
    available = [arm for arm in arms if arm.available]
    if not available:
        return "There are no arms." if not arms else "Every arm is retired: nothing can be shown."
    if not any(arm.rewards for arm in arms):
        return "No reward has arrived yet: nothing is known of the arms."
    worn = [arm for arm in available if arm.worn]
    most = max(available, key=lambda arm: arm.share)
    shown = f"“{most.name}” is shown most ({most.share:.0%} of late)" if most.share > 0.0 else "nothing is shown"
    if not worn or len(worn) == len(available):
        which = ("The only arm is" if len(worn) == 1 else "Every arm is") if worn else "No arm is"
        return f"{which} worn; {shown}."
    said = f"{_named([arm.name for arm in worn])} {'is' if len(worn) == 1 else 'are'} worn"
    if most.worn:
        return f"{said}; {shown.replace('is shown', 'is still shown')}."
    if most.passes is not False and sum(arm.share for arm in worn) < most.share:
        return f"{said}; {shown.replace('shown most', 'shown instead')}."
    return f"{said}; {shown}."


def _named(names: Sequence[str]) -> str:
    shown = [f"“{name}”" for name in names]
    if len(shown) > 4:
        shown = [*shown[:3], f"{len(shown) - 3} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _needs(tally: Tally, found: Standing, arms: Sequence[ArmOverview]) -> list[str]:
    """Return what somebody should do."""
    available, decided = [arm for arm in arms if arm.available], tally.decided
    delays, silence = tally.delays, time.time() - tally.rewarded_at
    is_silent = len(delays) > 0 and len(tally.recent_arms) == RECENT and tally.at > tally.rewarded_at
    says = {
        "Every arm is worn: add a new one.": len(available) > 0 and all(arm.worn for arm in available),
        "Only one arm is available: add another, or there is nothing to choose from.": len(available) == 1,
        f"No reward has arrived for {duration(silence)}: check that they are sent.": is_silent
        and silence > max(SILENCE, 10 * float(np.quantile(delays, 0.9))),
        f"{decided:,} decisions, and not one reward: check that they are sent.": decided >= RECENT
        and not any(arm.rewarded for arm in tally.arms),
        f"{found.pending:,} decisions wait for a reward, and will for ever: this bandit has no reward_wait.": (
            found.settings.reward_wait is None and found.pending > max(MANY_PENDING, 0.5 * decided)
        ),
    }
    return [need for need, is_so in says.items() if is_so]


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> duration(0.25), duration(90), duration(7200), duration(200000)
    ('0.25 s', '1.5 min', '2 h', '2.3 days')
    """
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"
