"""The paper's bounds that depend on the problem: how far the other arms lie below those of the oracle.

Seznec, Locatelli, Carpentier, Lazaric, Valko (2019), "Rotting bandits are not harder than stochastic ones".
All of them need a rested problem whose arms never increase.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.validation import LARGEST_WHOLE, finite_number, whole_number
from rotting.errors import BadValue
from rotting.problems import Problem
from rotting.theory import checks
from rotting.theory.bounds import EFF_FACTOR, high_probability_delta0, log_plus


class OverpullLimits(NamedTuple):
    """How often FEWA may overpull each arm while its confidence intervals hold."""

    overpulls: npt.NDArray[np.int64]  # (K,): h+_{i,T}, between 1 and T
    gaps: npt.NDArray[np.float64]  # (K,): Delta_{i, h+ - 1}; nan where h+ = 1, as there is no overpull to average


def overpull_limits(
    problem: Problem, horizon: int, alpha: float = 5.0, sigma: float | None = None, delta0: float = 1.0
) -> OverpullLimits:
    """Return h+_{i,T}, the most overpulls of each arm, and Delta_{i,h} at h = h+_{i,T} - 1.

    h+_{i,T} = max{h <= T: h <= 1 + 32 alpha sigma^2 ln_+(T / delta0^(1 / alpha)) / Delta_{i,h-1}^2}
    Delta_{i,h} = min_j mu_j(N*_j - 1) - (average of arm i's first h overpulls)

    The minimum runs over the arms that the oracle pulls: the paper's runs over all, but an arm with N*_j = 0
    has no last pull. Delta is never negative; where it is 0 (overpulls that cost nothing), only T limits h.

    Parameters
    ----------
    problem, horizon
        The problem and T.
    alpha, delta0
        FEWA's parameters, delta_t = delta0 / t^alpha.
    sigma
        The sigma that FEWA is run with; `problem.noise_scale` by default.

    Examples
    --------
    >>> from rotting.problems import stationary
    >>> overpull_limits(stationary([0.0, 1.0], sigma=0.1), horizon=1000)  # 1 + 1.6 ln(1000) = 12.05
    OverpullLimits(overpulls=array([  12, 1000]), gaps=array([1., 0.]))

    References
    ----------
    Seznec et al. (2019), Eq. 10; with delta0, the proof of Lemma 5.
    """
    checks.rotting(problem)
    rounds = _rounds(horizon)
    budget = _budget(problem, rounds, finite_number("alpha", alpha, above=0), sigma, delta0)
    oracle_pulls = problem.oracle(rounds).pulls
    lowest = min(curve(n - 1) for curve, n in zip(problem.curves, oracle_pulls, strict=True) if n > 0)
    limits, gaps = np.ones(problem.n_arms, np.int64), np.full(problem.n_arms, np.nan)
    h = np.arange(1, rounds)  # the h - 1 of the formula
    for arm, curve in enumerate(problem.curves):
        # Never negative: what the oracle leaves is no better than what it takes. Summing the differences
        # keeps an arm that equals the lowest at a gap of exactly 0, which allows every h.
        gap = np.cumsum(lowest - curve(oracle_pulls[arm] + h - 1)) / h
        allowed = np.flatnonzero(h * gap**2 <= budget)
        if allowed.size:
            limits[arm], gaps[arm] = h[allowed[-1]] + 1, gap[allowed[-1]]
    return OverpullLimits(limits, gaps)


def fewa_problem_bound(
    problem: Problem, horizon: int, *, sigma: float | None = None, decay: float | None = None
) -> float:
    """Bound FEWA's expected regret on this problem (Theorem 2; alpha = 5, delta0 = 1).

    sum_i (C ln T / Delta_{i, h+ - 1} + sqrt(C ln T) + 2 L), with C = 160 sigma^2

    C ln T / Delta bounds what an arm's first h+ - 1 overpulls cost. It is left out where they cost nothing
    (Delta = 0: the arm equals the oracle's lowest) and where there are none (h+ = 1). 2 L is the main
    text's, for delta_t = 1 / t^5; the appendix reaches L with delta_t = 1 / (K t^5).

    Parameters
    ----------
    problem, horizon
        The problem and T.
    sigma
        The sigma that FEWA is run with; `problem.noise_scale` by default.
    decay
        The paper's L; `largest_decay(problem, horizon)` by default.

    Examples
    --------
    >>> from rotting.problems import stationary
    >>> problem = stationary([0.0, 1.0], sigma=0.1)
    >>> round(fewa_problem_bound(problem, horizon=1000), 2)  # C ln T = 11.05: 11.05 / 1 + 2 (3.32 + 2)
    21.7
    """
    decay = _decay(problem, horizon, decay)
    gaps = overpull_limits(problem, horizon, sigma=sigma).gaps
    return _sum_over_arms(gaps, _budget(problem, horizon, 5.0, sigma)) + 2 * problem.n_arms * decay


def fewa_problem_high_probability_bound(
    problem: Problem,
    horizon: int,
    alpha: float,
    delta: float,
    *,
    sigma: float | None = None,
    decay: float | None = None,
) -> float:
    """Bound FEWA's regret on this problem with probability 1 - delta (Corollary 3).

    sum_i (B / Delta_{i, h+ - 1} + sqrt(B)) + (K - 1) L
    with B = 32 alpha sigma^2 ln_+(T / delta0^(1 / alpha))

    FEWA must be run with delta0 = `high_probability_delta0(alpha, delta)`; see there for the role of K.
    Parameters and terms left out as in `fewa_problem_bound`.

    >>> from rotting.problems import stationary
    >>> problem = stationary([0.0, 1.0], sigma=0.1)
    >>> round(fewa_problem_high_probability_bound(problem, horizon=1000, alpha=5.0, delta=0.05), 2)
    19.73
    """
    delta0 = high_probability_delta0(alpha, delta)
    decay = _decay(problem, horizon, decay)
    gaps = overpull_limits(problem, horizon, alpha, sigma, delta0).gaps
    budget = _budget(problem, horizon, alpha, sigma, delta0)
    return _sum_over_arms(gaps, budget) + (problem.n_arms - 1) * decay


def eff_fewa_problem_bound(
    problem: Problem, horizon: int, *, sigma: float | None = None, decay: float | None = None
) -> float:
    """Bound EFF-FEWA's regret on this problem (Corollary 6; alpha = 5, delta0 = 1).

    sum_i (2 / (3 - 2 sqrt(2)) C ln T / Delta_{i, h+ - 1} + sqrt(C ln T) + L), with C = 160 sigma^2

    The paper uses FEWA's h+. Where that leaves the first term out (see `fewa_problem_bound`), EFF-FEWA may
    still overpull at a cost, so its own h+ (C times 2 / (3 - 2 sqrt(2))) decides there. L is as stated, for
    delta_t = 1 / (K t^5). Parameters as in `fewa_problem_bound`.

    >>> from rotting.problems import stationary
    >>> round(eff_fewa_problem_bound(stationary([0.0, 1.0], sigma=0.1), horizon=1000), 2)
    137.49
    """
    decay = _decay(problem, horizon, decay)
    sigma = problem.noise_scale if sigma is None else sigma
    gaps = overpull_limits(problem, horizon, sigma=sigma).gaps
    own = overpull_limits(problem, horizon, sigma=EFF_FACTOR * sigma).gaps
    gaps = np.where(gaps > 0, gaps, own)
    budget = _budget(problem, horizon, 5.0, sigma)
    return _sum_over_arms(gaps, budget, EFF_FACTOR**2) + problem.n_arms * decay


def largest_decay(problem: Problem, horizon: int, *, shift: bool = False) -> float:
    """Return the smallest L with which the problem satisfies Assumption 1 for `horizon` pulls per arm.

    That is 0 <= mu_i(0) <= L and mu_i(n) - mu_i(n + 1) <= L, for every arm and n + 1 < horizon.

    Parameters
    ----------
    problem, horizon
        The problem and T.
    shift
        False: refuse arms with mu_i(0) < 0, for which no L will do. True: first add the same constant to all
        arms, so that the lowest mu_i(0) is 0. That makes L smallest and changes neither the regret nor FEWA's
        choices, so the bounds hold with this L too.

    Examples
    --------
    >>> from rotting.problems import Problem, two_arm
    >>> largest_decay(two_arm(L=0.5, horizon=100), horizon=100)
    0.5
    >>> largest_decay(Problem([-1.0, [2.0, 1.5]]), horizon=100, shift=True)
    3.0
    """
    checks.rotting(problem)
    places = np.arange(_rounds(horizon))
    starts = problem.means(0)
    if not shift and starts.min() < 0:
        raise BadValue(
            f"arm {starts.argmin()} starts at {starts.min():g}",
            expected="mu_i(0) >= 0 (Assumption 1)",
            hint="adding a constant to all arms changes no regret, so use largest_decay(..., shift=True) as decay",
        )
    drops = [-np.diff(curve(places)).min(initial=0.0) for curve in problem.curves]
    return float(max(starts.max() - (starts.min() if shift else 0.0), *drops))


def _rounds(horizon: int) -> int:
    return whole_number("horizon", horizon, minimum=1, maximum=LARGEST_WHOLE, from_float=True)


def _budget(problem: Problem, horizon: int, alpha: float, sigma: float | None, delta0: float = 1.0) -> float:
    """Return 32 alpha sigma^2 ln_+(T / delta0^(1 / alpha)), the paper's C_alpha log T."""
    sigma = finite_number("sigma", problem.noise_scale if sigma is None else sigma, minimum=0)
    return 32 * alpha * sigma**2 * log_plus(horizon, alpha, finite_number("delta0", delta0, above=0))


def _decay(problem: Problem, horizon: int, decay: float | None) -> float:
    return largest_decay(problem, horizon) if decay is None else finite_number("decay", decay, minimum=0)


def _sum_over_arms(gaps: npt.NDArray[np.float64], budget: float, factor: float = 1.0) -> float:
    """Return sum_i (factor * budget / gap_i + sqrt(budget)), the first term only where gap_i > 0."""
    return float(np.sum(factor * budget / gaps[gaps > 0]) + len(gaps) * math.sqrt(budget))
