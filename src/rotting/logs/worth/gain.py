"""What would be gained from now on: policies played on what arms may be worth, draw by draw."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.model.launches import EXPOSURE
from rotting.logs.worth.estimates import TAILS, Estimate
from rotting.logs.worth.outlook import Draw, wearing_faster

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
    """What is played: from which exposure and time of each arm on, for how long, against which allocation."""

    arms: np.ndarray  # the numbers of the arms that are chosen among
    start: np.ndarray  # exposures of each of them before
    exposures: int
    shares: np.ndarray  # of the allocation that the policies are compared with
    time: float  # of the log's span: 1 for its end
    span: float  # how much of the log's span the period takes
    earned: float | None = None  # what an exposure earned by this allocation, in the log; None where that is not known
    capped: float | None = None  # the same of the arms, with large rewards cut: luck with one must not move all of them

    @classmethod
    def of(cls, shown: np.ndarray, start: np.ndarray, time: float, span: float) -> Period:
        """Return the period in which arms are shown so often by the allocation, for the most shown of them."""
        arms = np.sort(np.argsort(-shown, kind="stable")[: min(MOST_PLAYED, int((shown > 0).sum()))])
        total = float(shown[arms].sum())
        return cls(arms, start[arms], max(int(total), 1), shown[arms] / total, time, span)

    def scaled(self, draw: Draw) -> Draw:
        """Return a draw whose values from now on are such that the allocation earns at first what it did earn.

        What is uncertain is how arms differ and how they go on, not what the log earned.
        """
        middle = self.start - 0.5 * self.shares * self.exposures  # of the time in which that was earned
        plain = dataclasses.replace(draw, ratio=np.ones(draw.panel.arms), scale=1.0)
        begins = float(self.shares @ plain.values(self.arms, np.maximum(middle, 0.0), self.time))
        if self.capped is None or draw.panel.additive or begins <= 0 or self.capped <= 0:
            return draw
        return dataclasses.replace(draw, scale=self.capped / begins)

    @property
    def batch(self) -> int:
        """How many exposures a pull stands for."""
        return -(-self.exposures // MOST_ROUNDS)

    @property
    def rounds(self) -> int:
        """How many pulls there are."""
        return max(self.exposures // self.batch, 1)


def played_draws(arms: int) -> int:
    """Return on how many draws of an explanation policies are played: fewer where each takes long."""
    return min(PLAYED_DRAWS, max(LEAST_DRAWS, MOST_CURVES // arms))


def compared_policies(sigma: float, binary: bool, batch: int) -> dict[str, Policy]:
    """Return the policies that suit such rewards, and the two references, by the names that the gains give them."""
    from rotting.policies import FEWA, UCB1, BetaThompson, GaussianThompson, Oracle, Uniform

    noise = sigma / math.sqrt(batch)
    beta = binary and batch == 1
    return {
        "FEWA": FEWA(sigma=noise),
        "UCB1": UCB1(sigma=noise),
        thompson_name(binary, batch): BetaThompson() if beta else GaussianThompson(sigma=max(noise, 1e-9)),
        EQUAL: Uniform(),
        ORACLE: Oracle(),
    }


def thompson_name(binary: bool, batch: int) -> str:
    """Return what the gains call Thompson sampling.

    For 0/1 rewards the advice is `BetaThompson`. A pull that stands for several exposures earns their mean, which is
    neither 0 nor 1: there the Gaussian kind stands for it, and is called so.
    """
    return GAUSSIAN_THOMPSON if binary and batch > 1 else THOMPSON


def estimate_gains(
    draws: Sequence[Draw],
    period: Period,
    sigma: float,
    binary: bool,
    offset: float = 0.0,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
    only: Collection[str] | None = None,
    alike: bool = False,
) -> list[Gain]:
    """Play every policy on some of the draws, over one period; policies begin without the log.

    All policies meet the same random numbers. The estimate is the median of the draws, and the interval holds 90 %
    of those of each explanation that is not ruled out. `only` names the policies to play (default: all).
    Where arms may well be `alike`, the interval of every gain holds 0.
    """
    policies = compared_policies(sigma, binary, period.batch)
    if only is not None:
        policies = {name: policy for name, policy in policies.items() if name in only}
    tables, chances = [], []
    for share, chosen in _explained(draws, len(period.start)):
        rewards = []
        for number, draw in enumerate(chosen):
            rewards.append(_rewards(draw, period, policies, sigma, binary, seed + number))
            step()
        tables.append(np.array(rewards))
        chances.append(share)
    return [
        Gain(
            name,
            _interval([table[:, index] for table in tables], chances).shifted(offset * PER),
            _interval([table[:, index] - table[:, 0] for table in tables], chances, [0.0] if alike else []),
        )
        for index, name in enumerate([KEEP, *policies])
    ]


def _explained(draws: Sequence[Draw], arms: int) -> list[tuple[float, list[Draw]]]:
    """Return the draws that are played by what they explain the log with, and how likely that is.

    Explanations of less than 5 % are left out. Last come draws in which arms wear out faster from now on: they count
    for the interval only.
    """
    kinds = {(draw.falls, draw.along) for draw in draws}
    found = []
    for kind in sorted(kinds):
        own = [draw for draw in draws if (draw.falls, draw.along) == kind]
        if len(own) >= UNLIKELY * len(draws):
            places = np.linspace(0, len(own) - 1, min(played_draws(arms), len(own))).astype(int)
            found.append((len(own) / len(draws), [own[place] for place in places]))
    some = np.linspace(0, len(draws) - 1, min(LEAST_DRAWS, len(draws))).astype(int)
    return [*found, (0.0, [wearing_faster(draws[place]) for place in some])]


def count_played(draws: Sequence[Draw], period: Period) -> int:
    """Return how many draws are played."""
    return sum(len(own) for _, own in _explained(draws, len(period.start)))


def _rewards(
    draw: Draw, period: Period, policies: Mapping[str, Policy], sigma: float, binary: bool, seed: int
) -> np.ndarray:
    """Return the mean reward per 1000 exposures of the allocation that is kept, and of every policy."""
    from rotting.simulation.simulator import mean_rewards

    problem = problem_of(draw, period, sigma, binary)
    earned = mean_rewards(policies, problem, period.rounds, RUNS, seed)
    return np.concatenate([[kept_reward(draw, period)], earned / period.rounds * PER])


def problem_of(draw: Draw, period: Period, sigma: float, binary: bool, name: str = "log") -> Problem:
    """Return one draw as a problem: what arms are worth over the period."""
    from rotting.problems import Problem
    from rotting.problems.curves import as_curve

    own = draw.along == EXPOSURE
    pulls = (np.arange(period.rounds) + 0.5) * period.batch
    shown = np.asarray(period.start)[:, None] + (pulls if own else period.shares[:, None] * pulls)
    times = period.time + (0.0 if own else period.span * pulls / period.exposures)
    values = draw.values(period.arms[:, None], shown, times)
    if binary:
        values = np.clip(values, 0.0, 1.0)
    return Problem(
        tuple(as_curve(row) for row in values),
        noise="bernoulli" if binary and period.batch == 1 else "gaussian",
        sigma=sigma / math.sqrt(period.batch),
        restless=not own,
        allow_increasing=True,  # some draws rise a little: what does not wear out falls in half of them
        name=name,
        horizon=period.rounds,
    )


def kept_reward(draw: Draw, period: Period) -> float:
    """Return what an allocation in fixed shares earns over the period, per 1000 exposures."""
    pulls = (np.arange(period.rounds) + 0.5) * period.batch
    times = period.time + period.span * pulls / period.exposures
    now = period.time if draw.along == EXPOSURE else times
    shown = np.asarray(period.start)[:, None] + period.shares[:, None] * pulls
    values = draw.values(period.arms[:, None], shown, now)
    return PER * float(period.shares @ np.minimum(values, draw.highest).mean(axis=1))


def _interval(draws: Sequence[np.ndarray], chances: Sequence[float], also: Sequence[float] = ()) -> Estimate:
    """Return the median over all explanations, and bounds that hold 90 % of the draws of each of them."""
    clean = [np.where(np.abs(own) < ROUNDING, 0.0, own) for own in draws]
    low = min(*(float(np.quantile(own, TAILS[0])) for own in clean), *also)
    high = max(*(float(np.quantile(own, TAILS[1])) for own in clean), *also)
    values = np.concatenate(clean)
    weight = np.concatenate([np.full(len(own), share / len(own)) for own, share in zip(clean, chances, strict=True)])
    order = np.argsort(values, kind="stable")
    middle = int(np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum()))
    return Estimate(float(values[order][min(middle, len(values) - 1)]), low, high)
