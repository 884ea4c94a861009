"""What would be gained: policies played on a problem that was fitted to the log."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.fitting import PER, Fitted, batch_of, logged_reward, problem_of
from rotting.logs.wearout import TAILS

if TYPE_CHECKING:
    from rotting.policies import Policy

# Fits to resampled logs, runs of every policy on each of them, and runs on the fit itself.
REFITS, RUNS, FIRST_RUNS = 60, 2, 10
LOGGED, EQUAL, ORACLE = "logged allocation", "equal split", "oracle"
THOMPSON, GAUSSIAN_THOMPSON = "Thompson sampling", "Gaussian Thompson sampling"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number and its 90 % interval."""

    point: float
    low: float
    high: float

    def shifted(self, by: float) -> Estimate:
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
    curves. `reward` and `gain` are the means of both guesses.
    """

    policy: str
    reward: Estimate
    gain: Estimate
    held: Estimate  # the gain if arms keep their last value
    pessimistic: Estimate  # the gain if arms go on falling, where that is less


def compared_policies(sigma: float, binary: bool, batch: int) -> dict[str, Policy]:
    """Return the policies that suit such rewards, and the two references, by the names that the gains give them."""
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
    beta = binary and batch == 1
    return {
        "FEWA": FEWA(sigma=noise),
        "EFF-FEWA": EffFEWA(sigma=noise),
        "RAW-UCB": RAWUCB(sigma=noise),
        "UCB1": UCB1(sigma=noise),
        thompson_name(binary, batch): BetaThompson() if beta else GaussianThompson(sigma=max(noise, 1e-9)),
        "epsilon-greedy": EpsilonGreedy(),
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
    fitted: Fitted,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
    only: Collection[str] | None = None,
) -> list[Gain]:
    """Play every policy on the fitted problem and on problems fitted to resampled logs.

    All policies meet the same random numbers, and both guesses of what lies beyond the log the same refits. Intervals
    have the width of the refits' scatter and lie around the estimate from the fit itself: subtracting the mean shift of
    the refits as a bias, as the reverse-percentile (basic) bootstrap does, raised the squared error on generated logs.
    `only` names the policies to play (default: all).
    """
    names, point, draws = simulate_fits(fitted, seed, step, only)
    centred = draws - draws.mean(axis=0) + point
    gains = []
    for index, name in enumerate(names):
        minimum = 0.0 if name == ORACLE else -math.inf  # it earns no less than any allocation, by definition
        gained, gain_draws = point[:, index] - point[:, 0], centred[:, :, index] - centred[:, :, 0]
        held, falling = (_interval(gained[guess], gain_draws[:, guess], minimum) for guess in (0, 1))
        pessimistic = falling.at_most(held)
        either = _interval((held.point + pessimistic.point) / 2, gain_draws, minimum)
        either = either.at_least(pessimistic).at_most(held)  # quantiles of few draws are rough
        reward = _interval(point[:, index].mean(), centred[:, :, index]).shifted(fitted.offset * PER)
        gains.append(Gain(name, reward, either, held, pessimistic))
    return gains


def simulate_fits(
    fitted: Fitted, seed: int, step: Callable[[], None], only: Collection[str] | None
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the names of the policies, rewards[guess, policy] on the fit, and rewards[refit, guess, policy] on refits.

    The guesses are that arms stay constant beyond the log, and that they go on falling.
    """
    batch = batch_of(fitted.exposures)
    policies = compared_policies(fitted.sigma, fitted.binary, batch)
    if only is not None:
        policies = {name: policy for name, policy in policies.items() if name in only}
    generator = np.random.default_rng(seed)

    def play(fit: Fitted, runs: int, seed: int) -> np.ndarray:
        return np.stack([_rewards(fit, policies, batch, pessimistic, runs, seed) for pessimistic in (False, True)])

    point = play(fitted, FIRST_RUNS, seed)
    step()
    draws = []
    for number in range(REFITS):
        draws.append(play(fitted.refit(generator), RUNS, seed + number))
        step()
    return [LOGGED, *policies], point, np.stack(draws)


def _rewards(
    fitted: Fitted, policies: Mapping[str, Policy], batch: int, pessimistic: bool, runs: int, seed: int
) -> np.ndarray:
    """Return the mean reward per 1000 exposures of the logged allocation and of every policy."""
    from rotting.simulation import simulate

    problem = problem_of(fitted, "log", batch, pessimistic)
    played = simulate(policies, problem, runs=runs, seed=seed, rounds=1, progress=False)
    lost = played["regret"].isel(round=-1).mean("run").values
    earned = float(played["oracle_reward"].values[-1]) - lost
    return np.concatenate([[logged_reward(fitted, batch, pessimistic)], earned / problem.horizon * PER])


def _interval(point: float, draws: np.ndarray, minimum: float = -math.inf) -> Estimate:
    """Return an estimate with the interval of the draws; it holds the point, and nothing is below `minimum`."""
    low, high = np.quantile(draws, TAILS)
    return Estimate(*(max(float(bound), minimum) for bound in (point, min(low, point), max(high, point))))
