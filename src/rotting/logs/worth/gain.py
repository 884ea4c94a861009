"""What would be gained from now on: policies played on what arms may be worth, draw by draw."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting._output.progress import Progress
from rotting.logs.arrays import Floats, Whole
from rotting.logs.model.findings import Findings
from rotting.logs.model.launches import EXPOSURE
from rotting.logs.model.panel import every_cell
from rotting.logs.read.reading import Log
from rotting.logs.worth.estimates import TAILS, Estimate
from rotting.logs.worth.outlook import LATELY, Draw, draw_values, wearing_faster

if TYPE_CHECKING:
    from rotting.policies import Policy
    from rotting.problems import Problem

PER = 1000  # rewards and gains are given per so many exposures
# Draws that policies are played on, runs on each of them, and decisions at most: beyond them a pull stands for several.
PLAYED_DRAWS, RUNS, MOST_ROUNDS = 40, 2, 2_000
LEAST_DRAWS, MOST_CURVES = 20, 2_000
UNLIKELY = 0.05  # explanations that are less likely are left out
ROUNDING = 1e-9  # gains below this come from adding numbers in another order
MOST_PLAYED = 100  # arms that policies choose among; of more, those shown most
KEEP, EQUAL, ORACLE = "keep what you do", "equal split", "oracle"
THOMPSON, GAUSSIAN_THOMPSON = "Thompson sampling", "Gaussian Thompson sampling"


@dataclasses.dataclass(frozen=True)
class Gain:
    """One way of choosing, per 1000 exposures: its reward, and what it gains over going on as at the log's end."""

    policy: str
    reward: Estimate
    gain: Estimate


@dataclasses.dataclass(frozen=True)
class Period:
    """What is played after the log: from which exposure of each arm on, for how long, against which allocation."""

    arms: Whole  # the numbers of the arms that are chosen among
    start: Floats  # exposures of each of them before
    exposures: int
    shares: Floats  # of the allocation that the policies are compared with
    earned: float | None = None  # what an exposure earned by this allocation, in the log; None where that is not known
    capped: float | None = None  # the same of the arms, with large rewards cut: luck with one must not move all of them

    @classmethod
    def of(cls, shown: Floats, start: Floats) -> Period:
        """Return the period in which arms are shown so often by the allocation, for the most shown of them."""
        arms = np.sort(np.argsort(-shown, kind="stable")[: min(MOST_PLAYED, int((shown > 0).sum()))])
        total = float(shown[arms].sum())
        return cls(arms, start[arms], max(int(total), 1), shown[arms] / total)

    @property
    def pulls(self) -> Floats:
        """How many exposures lie before the middle of each pull."""
        return np.arange(0.5, self.rounds) * self.batch

    def values(self, draw: Draw, shares: Floats) -> Floats:
        """Return what arms are worth at each pull, if they have such shares of the pulls: [arm, pull].

        The log ends at time 1, and as many exposures took the last quarter of it.
        """
        time = 1 + (0.0 if draw.along == EXPOSURE else LATELY) * self.pulls / self.exposures
        values = draw.values(self.arms[:, None], self.start[:, None] + shares[:, None] * self.pulls, time)
        return np.minimum(values, draw.highest)

    def scaled(self, draw: Draw) -> Draw:
        """Return a draw whose values from now on are such that the allocation earns at first what it did earn.

        What is uncertain is how arms differ and how they go on, not what the log earned.
        """
        middle = self.start - 0.5 * self.shares * self.exposures  # of the time in which that was earned
        plain = dataclasses.replace(draw, ratio=np.ones(draw.panel.arms), scale=1.0)
        begins = float(self.shares @ plain.values(self.arms, np.maximum(middle, 0.0)))
        if self.capped is None or draw.panel.additive or min(begins, self.capped) <= 0:
            return draw
        return dataclasses.replace(draw, scale=self.capped / begins)

    @property
    def batch(self) -> int:
        """How many exposures a pull stands for."""
        return batch_of(self.exposures)

    @property
    def rounds(self) -> int:
        """How many pulls there are."""
        return max(self.exposures // self.batch, 1)


def batch_of(exposures: int) -> int:
    """Return how many exposures a pull stands for, so that a simulation has at most `MOST_ROUNDS` rounds."""
    return -(-exposures // MOST_ROUNDS)


def lately(log: Log) -> Floats:
    """Return exposures, rewards and capped rewards of each arm in the last quarter of the log."""
    cells, arm = every_cell(log)
    late = cells.time >= 1 - LATELY
    return np.array([np.bincount(arm, late * each) for each in (cells.count, cells.total, cells.capped)])


def period_ahead(log: Log) -> Period:
    """Return the period after the log: a quarter of its exposures, in the shares of its last quarter."""
    recent, totals, capped = lately(log)
    start = np.array([float(arm.exposures) for arm in log.arms])
    if not recent.any():
        return Period.of(start, start)
    period = Period.of(recent, start)
    level = capped[period.arms].sum() / recent[period.arms].sum()
    return dataclasses.replace(period, earned=float(totals.sum() / recent.sum()), capped=float(level))


def values_of(findings: Findings, period: Period, seed: int) -> list[Draw]:
    """Return draws of what the arms of a log are worth, such that they earn what they did at its end."""
    return [period.scaled(draw) for draw in draw_values(findings, np.random.default_rng(seed))]


def compared_policies(sigma: float, binary: bool, batch: int) -> dict[str, Policy]:
    """Return the policies that suit such rewards, and the two references, by the names that the gains give them.

    For 0/1 rewards the advice is `BetaThompson`. A pull that stands for several exposures earns their mean, which is
    neither 0 nor 1: there the Gaussian kind stands for it, and is called so.
    """
    from rotting.policies import FEWA, UCB1, BetaThompson, GaussianThompson, Oracle, Uniform

    noise = sigma / math.sqrt(batch)
    name = GAUSSIAN_THOMPSON if binary and batch > 1 else THOMPSON
    beta = binary and batch == 1
    return {
        "FEWA": FEWA(sigma=noise),
        "UCB1": UCB1(sigma=noise),
        name: BetaThompson() if beta else GaussianThompson(sigma=max(noise, 1e-9)),
        EQUAL: Uniform(),
        ORACLE: Oracle(),
    }


def estimate_gains(
    draws: Sequence[Draw],
    period: Period,
    sigma: float,
    binary: bool,
    offset: float = 0.0,
    seed: int = 0,
    progress: Progress | None = None,
    alike: bool = False,
) -> list[Gain]:
    """Play every policy on some of the draws, over one period; policies begin without the log.

    All policies meet the same random numbers. The estimate is the median of the draws, and the interval holds 90 %
    of those of each explanation that is not ruled out. Where arms may well be `alike`, the interval of every gain
    holds 0.
    """
    from rotting.simulation.simulator import mean_rewards

    policies = compared_policies(sigma, binary, period.batch)
    explained, told = _explained(draws, len(period.start)), progress or Progress()
    told.stage("simulating policies", sum(len(chosen) for _, chosen in explained))
    tables, chances = [], [share for share, _ in explained]
    for _, chosen in explained:
        rewards = []
        for number, draw in enumerate(chosen):
            problem = problem_of(draw, period, sigma, binary)
            earned = mean_rewards(policies, problem, period.rounds, RUNS, seed + number) / period.rounds * PER
            rewards.append([kept_reward(draw, period), *earned])
            told.advance()
        tables.append(np.array(rewards).T)
    return [
        Gain(
            name,
            _interval([table[index] for table in tables], chances).shifted(offset * PER),
            _interval([table[index] - table[0] for table in tables], chances, [0.0] if alike else []),
        )
        for index, name in enumerate([KEEP, *policies])
    ]


def _explained(draws: Sequence[Draw], arms: int) -> list[tuple[float, list[Draw]]]:
    """Return the draws that are played by what they explain the log with, and how likely that is.

    Explanations of less than 5 % are left out. Last come draws in which arms wear out faster from now on: they count
    for the interval only.
    """

    def kind(draw: Draw) -> tuple[bool, str]:
        return draw.falls, draw.along

    def some(own: Sequence[Draw], most: int) -> list[Draw]:
        return [own[place] for place in np.linspace(0, len(own) - 1, min(most, len(own))).astype(int)]

    kinds = [list(own) for _, own in itertools.groupby(sorted(draws, key=kind), kind)]
    most = min(PLAYED_DRAWS, max(LEAST_DRAWS, MOST_CURVES // arms))  # fewer where each takes long
    likely = [own for own in kinds if len(own) >= UNLIKELY * len(draws)]
    found = [(len(own) / len(draws), some(own, most)) for own in likely]
    return [*found, (0.0, [wearing_faster(draw) for draw in some(draws, LEAST_DRAWS)])]


def problem_of(draw: Draw, period: Period, sigma: float, binary: bool) -> Problem:
    """Return one draw as a problem: what arms are worth over the period."""
    from rotting.problems import Problem
    from rotting.problems.curves import as_curve

    own = draw.along == EXPOSURE
    values = period.values(draw, np.ones_like(period.shares) if own else period.shares)
    return Problem(
        tuple(map(as_curve, np.clip(values, 0.0, 1.0) if binary else values)),
        noise="bernoulli" if binary and period.batch == 1 else "gaussian",
        sigma=sigma / math.sqrt(period.batch),
        restless=not own,
        allow_increasing=True,  # some draws rise a little: what does not wear out falls in half of them
        name="log",
        horizon=period.rounds,
    )


def kept_reward(draw: Draw, period: Period) -> float:
    """Return what an allocation in fixed shares earns over the period, per 1000 exposures."""
    return PER * float(period.shares @ period.values(draw, period.shares).mean(axis=1))


def _interval(draws: Sequence[Floats], chances: Sequence[float], also: Sequence[float] = ()) -> Estimate:
    """Return the median over all explanations, and bounds that hold 90 % of the draws of each of them."""
    clean = [np.where(np.abs(own) < ROUNDING, 0.0, own) for own in draws]
    low, high = np.array([np.quantile(own, TAILS) for own in clean]).T
    values = np.concatenate(clean)
    weight = np.repeat(np.divide(chances, [len(own) for own in clean]), [len(own) for own in clean])
    order = np.argsort(values, kind="stable")
    middle = int(np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum()))
    point = values[order][min(middle, len(values) - 1)]
    return Estimate(float(point), float(min(*low, *also)), float(max(*high, *also)))
