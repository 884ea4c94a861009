"""What would be gained: policies played on a problem that was fitted to the log."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from rotting.logs.fitting import PER, Fitted, batch_of, logged_reward, problem_of

LEVEL = 0.90
REFITS, RUNS, FIRST_RUNS = 60, 2, 10
LOGGED, EQUAL, ORACLE = "logged allocation", "equal split", "oracle"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number and its 90 % interval."""

    point: float
    low: float
    high: float

    def moved(self, by: float) -> Estimate:
        """Return the estimate of the number plus a known one."""
        return Estimate(self.point + by, self.low + by, self.high + by)

    def at_most(self, other: Estimate) -> Estimate:
        """Return the lesser of two estimates.

        >>> Estimate(1.0, -2.0, 5.0).at_most(Estimate(2.0, 0.0, 3.0))
        Estimate(point=1.0, low=-2.0, high=3.0)
        """
        return Estimate(min(self.point, other.point), min(self.low, other.low), min(self.high, other.high))

    def at_least(self, other: Estimate) -> Estimate:
        """Return the greater of two estimates."""
        return Estimate(max(self.point, other.point), max(self.low, other.low), max(self.high, other.high))


@dataclasses.dataclass(frozen=True)
class Gain:
    """One way of choosing, per 1000 exposures: its reward, and what it gains over the logged allocation.

    What arms would do beyond the log is not in the log: they may keep their last value, or go on falling along their
    curves. `reward` and `gain` give each guess one half.
    """

    policy: str
    reward: Estimate
    gain: Estimate
    held: Estimate  # the gain if arms keep their last value
    pessimistic: Estimate  # the gain if arms go on falling, where that is less


def contestants(sigma: float, binary: bool, batch: int) -> dict[str, Any]:
    """Return the policies that make sense for such rewards, and the two references."""
    from rotting.policies import (
        FEWA,
        RAWUCB,
        UCB1,
        BetaThompson,
        EffFEWA,
        EpsilonGreedy,
        GaussianThompson,
        Oracle,
        Uniform,
    )

    noise = sigma / math.sqrt(batch)
    thompson = BetaThompson() if binary and batch == 1 else GaussianThompson(sigma=max(noise, 1e-9))
    return {
        "FEWA": FEWA(sigma=noise),
        "EFF-FEWA": EffFEWA(sigma=noise),
        "RAW-UCB": RAWUCB(sigma=noise),
        "UCB1": UCB1(sigma=noise),
        "Thompson sampling": thompson,
        "epsilon-greedy": EpsilonGreedy(),
        EQUAL: Uniform(),
        ORACLE: Oracle(),
    }


def estimate_gains(
    fitted: Fitted,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
    only: Collection[str] | None = None,
) -> list[Gain]:
    """Play every policy on the fitted problem and on problems fitted to resampled logs.

    All policies meet the same random numbers, and both guesses of what lies beyond the log the same refits. Intervals
    have the width of the refits' scatter and lie around the estimate from the fit itself: taking the mean shift of the
    refits off the estimate as its bias (as the basic bootstrap does) raised its squared error on generated logs.
    `only` names the policies to play (default: all).
    """
    names, point, draws = simulate_fits(fitted, seed, step, only)
    around = draws - draws.mean(axis=0) + point
    gains = []
    for place, name in enumerate(names):
        least = 0.0 if name == ORACLE else -math.inf  # it earns no less than any allocation, by definition
        gained, its_draws = point[:, place] - point[:, 0], around[:, :, place] - around[:, :, 0]
        held, falling = (_interval(gained[way], its_draws[:, way], least) for way in (0, 1))
        pessimistic = falling.at_most(held)
        either = _interval((held.point + pessimistic.point) / 2, its_draws, least)
        either = either.at_least(pessimistic).at_most(held)  # few draws have rough quantiles
        reward = _interval(point[:, place].mean(), around[:, :, place]).moved(fitted.offset * PER)
        gains.append(Gain(name, reward, either, held, pessimistic))
    return gains


def simulate_fits(
    fitted: Fitted, seed: int, step: Callable[[], None], only: Collection[str] | None
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return who played, rewards[way, player] on the fit, and rewards[refit, way, player] on refits.

    The ways are to hold arms constant beyond the log, and to let them go on falling.
    """
    batch = batch_of(fitted.exposures)
    players = contestants(fitted.sigma, fitted.binary, batch)
    if only is not None:
        players = {name: policy for name, policy in players.items() if name in only}
    generator = np.random.default_rng(seed)

    def play(fit: Fitted, runs: int, seed: int) -> np.ndarray:
        return np.stack([_rewards(fit, players, batch, gloomy, runs, seed) for gloomy in (False, True)])

    point = play(fitted, FIRST_RUNS, seed)
    step()
    around = []
    for place in range(REFITS):
        around.append(play(fitted.refit(generator), RUNS, seed + place))
        step()
    return [LOGGED, *players], point, np.stack(around)


def _rewards(
    fitted: Fitted, players: dict[str, Any], batch: int, pessimistic: bool, runs: int, seed: int
) -> np.ndarray:
    """Return the mean reward per 1000 exposures of the logged allocation and of every player."""
    from rotting.simulation import simulate

    problem = problem_of(fitted, "log", batch, pessimistic)
    played = simulate(players, problem, runs=runs, seed=seed, rounds=1, progress=False)
    lost = played["regret"].isel(round=-1).mean("run").values
    earned = float(played["oracle_reward"].values[-1]) - lost
    return np.concatenate([[logged_reward(fitted, batch, pessimistic)], earned / problem.horizon * PER])


def _interval(point: float, draws: np.ndarray, least: float = -math.inf) -> Estimate:
    """Return an estimate with the interval of the draws; it holds the point, and nothing is below `least`."""
    low, high = np.quantile(draws, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(*(max(float(bound), least) for bound in (point, min(low, point), max(high, point))))
