"""What is set aside before arms are tested, and said on the page: bursts of rewards, and days that are not complete."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from rotting.errors import BadValue
from rotting.logs.arrays import Flags, Floats
from rotting.logs.model.mixed import Arms, Fit, calendars
from rotting.logs.model.noise import merged
from rotting.logs.model.panel import Panel
from rotting.logs.model.within import Within
from rotting.logs.read.counting import Arm, Cells
from rotting.logs.read.reading import Log

# A burst is a run in which rewards come this often or more, or this many times as often as usual, so that chance would
# not do it once in a thousand such logs; and no more than this share of an arm's exposures.
BURST_RATE, BURST_FACTOR, RARITY, LARGEST_BURST = 0.5, 5.0, 1e-3, 0.1
BLOCKS = 16
# What comes often at launch and fades is no burst but wear-out. To be set aside, clicks at launch must be explained
# better by a rate that stops than by one that decays: by so much log-likelihood, over so many times their length.
LAUNCH, AROUND, STOPS = 10, 4.0, 3.0
LENGTHS = np.geomspace(0.1, 4.0, 40)  # of what stops and what fades that are tried, likewise
# Mean delays of rewards that are tried, as shares of the log's time, and the evidence that it takes.
DELAYS, CLEAR_EVIDENCE = (0.02, 0.04, 0.08, 0.15, 0.3), 3.0
COMPLETE = 0.95  # the end is cut off where fewer of the rewards have arrived
LONGEST_CUT = 0.7
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


@dataclasses.dataclass(frozen=True)
class Burst:
    """Rewards that come too fast to be true: tests, bots, counting errors."""

    arm: str
    first_exposure: int
    exposures: int
    rewards: float
    usual_rate: float
    share_of_rewards: float  # of the arm


def set_bursts_aside(log: Log) -> tuple[Log, tuple[Burst, ...], bool]:
    """Return the log without bursts, what was set aside, and whether starts that fade were kept.

    Only 0/1 rewards can be judged so.
    """
    if not log.binary or log.per_unit:
        return log, (), False
    found = [_burst_cells(arm.cells, len(log.arms)) for arm in log.arms]
    launch = [_at_launch(arm.cells, inside) for arm, inside in zip(log.arms, found, strict=True)]
    fades = starts_fade(log, launch)
    arms, bursts = [], []
    for arm, inside, early in zip(log.arms, found, launch, strict=True):
        chosen = inside & ~early if fades else inside
        if chosen.any():
            bursts += _described(arm, chosen)
            arm = dataclasses.replace(arm, cells=arm.cells.where(~chosen))
        arms.append(arm)
    return dataclasses.replace(log, arms=tuple(arms)), tuple(bursts), fades


def starts_fade(log: Log, launch: list[Flags]) -> bool:
    """Say whether what looks like bursts at launch fades rather than stops, all arms together: then it is wear-out.

    Tests and bots click at one rate and stop; arms that wear out quickly pass through every rate between the first and
    the usual one. Both explanations have a rate and a length of their own for each arm.
    """
    gains = [
        _gain_of_fading(arm.cells, float(arm.cells.count[early].sum()))
        for arm, early in zip(log.arms, launch, strict=True)
        if early.any()
    ]
    return bool(gains) and sum(gains) > -STOPS


def _runs(inside: Flags) -> list[slice]:
    """Return the runs of cells that lie inside.

    >>> _runs(np.array([True, False, True, True]))
    [slice(0, 1, None), slice(2, 4, None)]
    """
    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    return [slice(first, end) for first, end in edges.reshape(-1, 2).tolist()]


def _at_launch(cells: Cells, inside: Flags) -> Flags:
    """Return which cells lie in a burst that begins within the arm's first exposures."""
    chosen = np.zeros_like(inside)
    for run in _runs(inside):
        first = cells.exposure[run][0]
        chosen[run] = first < LAUNCH or first < cells.count[run].sum()
    return chosen


def _gain_of_fading(cells: Cells, length: float) -> float:
    """Return by how much the log-likelihood is higher if the first rate decays to the usual one than if it stops."""
    near = cells.exposure < AROUND * length
    count, total, exposure = cells.count[near], cells.total[near], cells.exposure[near]
    usual = _usual_rate(cells)

    def likelihood(rate: Floats) -> float:
        rate = np.clip(rate, 1e-6, 1 - 1e-6)
        return float((total * np.log(rate) + (count - total) * np.log1p(-rate)).sum(axis=-1).max())

    first = np.linspace(usual, 1.0, 25)[1:, None, None]
    lengths = (LENGTHS * length)[:, None]
    stops = np.where(exposure < lengths, first, usual)
    fades = usual + (first - usual) * np.exp(-exposure / lengths)
    return likelihood(fades) - likelihood(stops)


def _usual_rate(cells: Cells) -> float:
    """Return the median rate of an arm's blocks of exposures: bursts do not move it, and slow wear-out hardly does."""
    return max(float(np.median(merged(cells, BLOCKS).mean)), 1.0 / float(cells.count.sum()))


def _burst_cells(cells: Cells, arms: int) -> Flags:
    """Return which cells of an arm lie in bursts: runs with the highest log-likelihood ratios, one after the other."""
    usual = _usual_rate(cells)
    rate = min(max(BURST_RATE, BURST_FACTOR * usual), 0.95)
    inside = np.zeros(len(cells.count), dtype=bool)
    if rate < 2 * usual:
        return inside
    score = cells.total * np.log(rate / usual) + (cells.count - cells.total) * np.log((1 - rate) / (1 - usual))
    threshold = np.log(len(score) * arms / RARITY)
    while True:
        left = np.where(inside, -np.abs(score).sum(), score)  # much larger numbers would swallow what comes after
        run = _best_run(left)
        if left[run].sum() < threshold or cells.count[run].sum() > LARGEST_BURST * cells.count.sum():
            return inside
        inside[run] = True


def _best_run(score: Floats) -> slice:
    """Return the run of entries with the largest sum.

    >>> _best_run(np.array([-1.0, 2.0, 3.0, -4.0, 1.0]))
    slice(1, 3, None)
    """
    before = np.concatenate([[0.0], np.cumsum(score)])
    last = int(np.argmax(before[1:] - np.minimum.accumulate(before[:-1])))
    return slice(int(np.argmin(before[: last + 1])), last + 1)


def _described(arm: Arm, inside: Flags) -> list[Burst]:
    cells, found = arm.cells, []
    usual, every = _usual_rate(cells), max(float(cells.total.sum()), 1.0)
    for run in _runs(inside):
        count, total = float(cells.count[run].sum()), float(cells.total[run].sum())
        found.append(Burst(arm.name, round(float(cells.exposure[run][0])), int(count), total, usual, total / every))
    return found


@dataclasses.dataclass(frozen=True)
class LateRewards:
    """Rewards that had not arrived when the log was cut off."""

    cut: float  # the last share of the log's time, which is left out
    why: str = "there rewards are lower for every arm, as if not all had arrived"


def find_late_rewards(panel: Panel, within: Within) -> LateRewards | None:
    """Say whether the last days are lower for all arms in the way of rewards that have not arrived yet.

    Delays are taken to be exponential: 1 - exp(-(time left) / delay) of the rewards have arrived. That is weighed
    against calendars that bend in any other way.
    """
    if panel.additive:
        return None
    assumed = within.likeliest.arms.assumed
    seasons = calendars(panel.time)
    found = {}
    for delay in (0.0, *DELAYS):
        arrived = np.log(np.maximum(-np.expm1((panel.time - 1) / delay), 0.01)) if delay else 0.0
        arms = Arms(dataclasses.replace(panel, response=panel.response - arrived), assumed)
        found[delay] = np.logaddexp.reduce([Fit(arms, season).log_likelihood for season in seasons])
    delay = max(found, key=found.__getitem__)
    if found[delay] < found[0.0] + CLEAR_EVIDENCE:
        return None
    return LateRewards(min(-delay * float(np.log(1 - COMPLETE)), LONGEST_CUT))


def cut_off(log: Log, late: LateRewards) -> Log:
    """Return the log without its last stretch of time. Arms that were only shown then keep what they have."""
    arms = []
    for arm in log.arms:
        early = arm.cells.time < 1 - late.cut
        arms.append(dataclasses.replace(arm, cells=arm.cells.where(early)) if early.sum() > 1 else arm)
    return dataclasses.replace(log, arms=tuple(arms))


def delay_share(delay: str | float, seconds: float | None) -> float:
    """Return a delay such as "7d" as a share of the log's time.

    >>> delay_share("7d", 28 * 86400.0), delay_share(0.5, 10.0)
    (0.25, 0.05)
    """
    matched = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([smhdw]?)\s*", str(delay))
    if matched is None or not seconds:
        raise BadValue(
            "cannot be used" if matched else "is no delay",
            name="reward_delay",
            value=delay,
            expected="a number with a unit, such as 7d, 12h or 30m, and a log with times",
        )
    share = float(matched[1]) * _UNITS.get(matched[2], 1.0) / seconds
    if not 0 < share < 1:
        raise BadValue("leaves nothing of the log", name="reward_delay", value=delay, expected="less than its length")
    return share
