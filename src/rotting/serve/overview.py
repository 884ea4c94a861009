"""What the page says of a bandit: which arms are worn, what is shown instead, what needs somebody."""

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
from rotting.serve.following import RECENT, Bins, Tally

if TYPE_CHECKING:
    from rotting.serve.app import Service

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
    found: Standing
    arms: Sequence[ArmOverview]
    reasons: Mapping[str, str]
    needs: Sequence[str]


async def make_overview(service: Service, bandit: str) -> Overview:
    """Return what the page of a bandit shows now: the same for all who look within a second."""
    await service.entry(bandit)

    def read() -> Overview:
        found = service.writer.bandits.get(bandit).standing()
        reasons = {choice.id: choice.why for choice in tuple(service.writer.reasons.get(bandit, ()))}
        return overview(service.follower.read_now(bandit, found.available, READ_AT_ONCE), found, reasons)

    return await service.shared.get(("overview", bandit), lambda: service.in_thread(read))


def overview(tally: Tally, found: Standing, reasons: Mapping[str, str]) -> Overview:
    """Put together what is known of a bandit."""
    recent = Counter(tally.recent_arms)
    arms = []
    for number, arm in enumerate(tally.arms):
        name, share = arm.name, recent[number] / max(1, len(tally.recent_arms))
        arms.append(
            ArmOverview(
                name=name,
                available=found.available.get(name, False),
                passes=found.passes.get(name),
                decisions=found.decided.get(name, 0),
                rewards=found.received.get(name, 0),
                share=share,
                worn=is_worn(arm.curve),
                dots=_dots(arm.curve),
                fit=fit_of(arm.curve),
            )
        )
    return Overview(tally, found, arms, reasons, _needs(tally, found, arms))


def is_worn(curve: Bins) -> bool:
    """Say whether an arm's rewards fall with its exposures by more than chance explains.

    The test is that of a straight line's slope, which finds any shape of wear-out: it must lie so many standard errors
    below zero.
    """
    whole = _whole(curve)
    if whole[:, 0].sum() < FEWEST_REWARDS or len(whole) < 4:
        return False
    number, total, squares = whole.sum(axis=0)
    variance = max(0.0, squares / number - (total / number) ** 2)  # of one reward
    places = np.arange(len(whole)) - (len(whole) - 1) / 2
    spread = float(places @ places)
    slope = float(places @ whole[:, 1]) / curve.step / spread
    return slope < -STANDARD_ERRORS * math.sqrt(variance / curve.step / spread)


def fit_of(curve: Bins) -> Points:
    """Return the fit that never rises, as in `Bandit.report`: one step per block of about sqrt(n) rewards."""
    if len(curve.sums) == 0:
        return []
    sizes, means = _blocks(curve, max(1, math.isqrt(int(curve.sums[:, 0].sum()))))
    levels = non_increasing_fit(means, sizes)
    ends = np.cumsum(sizes)
    edges = np.flatnonzero(np.diff(levels, prepend=np.inf))  # where a level begins
    starts, stops = (ends - sizes)[edges], ends[[*(edges[1:] - 1), -1]]
    steps = zip(starts.tolist(), stops.tolist(), levels[edges].tolist(), strict=True)
    return [point for start, stop, level in steps for point in ((start, level), (stop, level))]


def _dots(curve: Bins) -> Points:
    if len(curve.sums) == 0:
        return []
    sizes, means = _blocks(curve, MOST_DOTS)
    return list(zip((np.cumsum(sizes) - sizes / 2).tolist(), means.tolist(), strict=True))


def _blocks(curve: Bins, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes and means of so many blocks of rewards in a row."""
    whole = _whole(curve)
    blocks = [block.sum(axis=0) for block in np.array_split(whole, min(most, len(whole)))]
    sizes, sums, _ = np.transpose(blocks)
    return sizes, sums / sizes


def _whole(curve: Bins) -> np.ndarray:
    """Return the curve without its last mean, if that is of fewer rewards than the others: it says little."""
    whole: np.ndarray = curve.sums[curve.sums[:, 0] == curve.step]
    return whole


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
