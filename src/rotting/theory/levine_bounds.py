"""The bounds of the paper that FEWA's improves on: SWA, wSWA, D-CTO-UCB.

Levine, Crammer, Mannor (2017), "Rotting bandits". `largest` is the largest mean of an arm's first pull.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rotting._core.validation import finite_number, whole_number
from rotting.errors import BadValue
from rotting.problems.curves import CurveLike, curve_set


def swa_bound(n_arms: int, horizon: int, sigma: float, largest: float, alpha: float | None = None) -> float:
    """Bound SWA's expected regret on any rotting problem with means >= 0 (Theorem 3.1).

    (alpha mu + alpha^(-1/2)) 4^(2/3) sigma^(2/3) K^(1/3) T^(2/3) ln^(1/3)(sqrt(2) T) + 3 K mu, mu = `largest`

    alpha = None is the best one, (2 mu)^(-2/3).

    >>> round(swa_bound(n_arms=2, horizon=30_000, sigma=0.5, largest=1.0), 1)
    8036.4
    """
    arms, _, mu, growth = _growth(n_arms, horizon, sigma, largest, alpha)
    return 4 ** (2 / 3) * growth + 3 * arms * mu


def wswa_bound(n_arms: int, horizon: int, sigma: float, largest: float, alpha: float | None = None) -> float:
    """Bound wSWA's expected regret (restart=True) on any rotting problem with means >= 0, whatever the horizon.

    (alpha mu + alpha^(-1/2)) 8 sigma^(2/3) K^(1/3) T^(2/3) ln^(1/3)(sqrt(2) T) + 3 K mu (log2 T + 1)

    >>> round(wswa_bound(n_arms=2, horizon=30_000, sigma=0.5, largest=1.0), 1)
    25590.2
    """
    arms, rounds, mu, growth = _growth(n_arms, horizon, sigma, largest, alpha)
    return 8 * growth + 3 * arms * mu * (math.log2(rounds) + 1)


def _growth(
    n_arms: int, horizon: int, sigma: float, largest: float, alpha: float | None
) -> tuple[int, int, float, float]:
    """Return K, T, mu, and what both bounds multiply."""
    arms = whole_number("n_arms", n_arms, minimum=1, from_float=True)
    rounds = whole_number("horizon", horizon, minimum=1, from_float=True)
    mu, scale = finite_number("largest", largest, above=0), finite_number("sigma", sigma, minimum=0)
    share = (2 * mu) ** (-2 / 3) if alpha is None else finite_number("alpha", alpha, above=0)
    size = arms ** (1 / 3) * rounds ** (2 / 3) * math.log(math.sqrt(2) * rounds) ** (1 / 3)
    return arms, rounds, mu, (share * mu + share**-0.5) * scale ** (2 / 3) * size


def detection_pulls(
    curves: Sequence[CurveLike], n_arms: int, sigma: float, delta: float, most: int = 10_000_000
) -> int | None:
    """Return m*_diff(delta / K): after so many pulls of each arm D-CTO-UCB tells the curves apart, up to delta.

    The smallest even m such that for every pair of curves and all n >= m (as far as `most`, beyond which nothing is
    looked at): n sigma^2 / (sum of d over the first floor(n / 2) pulls - sum of d over the others)^2
    <= 1 / (8 ln(2 K / delta)), d being the difference of the two curves. None if there is none up to `most`.

    >>> from rotting.problems import Power
    >>> detection_pulls([Power(0.1), Power(0.4)], n_arms=2, sigma=0.1, delta=0.1)
    2026
    """
    found, arms = curve_set("detection_pulls", curves), whole_number("n_arms", n_arms, minimum=1)
    limit = 8 * math.log(2 * arms / finite_number("delta", delta, above=0, below=1))
    scale, last = finite_number("sigma", sigma, minimum=0), whole_number("most", most, minimum=2)
    n = np.arange(last)
    sums = [np.concatenate([[0.0], np.cumsum(curve.values_at(n))]) for curve in found]
    n = np.arange(2, last + 1)
    needed = 0
    for place, one in enumerate(sums):
        for other in sums[:place]:
            d = one - other
            wrong = np.flatnonzero(limit * scale**2 * n > (2 * d[n // 2] - d[n]) ** 2)
            if wrong.size:
                needed = max(needed, int(n[wrong[-1]]))
    smallest = max(2, needed + 1 + (needed + 1) % 2)
    return smallest if smallest <= last else None


def dcto_ucb_bound(
    curves: Sequence[CurveLike],
    constants: npt.ArrayLike,
    horizon: int,
    sigma: float,
    m: int,
    share: float = 0.5,
) -> float:
    """Bound the regret of D-CTO-UCB with one decision point, less a constant that does not grow with T (Theorem 4.2).

    sum over i != a* of max{m, n_i, 32 sigma^2 ln T / (Delta_i - eps_i)^2} (Delta_i + mu_a*(0)), where a* is the arm
    with the largest constant, Delta_i how far that of arm i lies below, eps_i = `share` Delta_i, and n_i the first
    number of pulls after which arm i's curve is at most eps_i. It holds with probability 1 - delta if m is
    `detection_pulls(curves, K, sigma, delta)`.

    Parameters
    ----------
    curves
        The curve of each arm, without its constant; curves fall to 0.
    constants
        The constant of each arm.
    horizon, sigma
        T, and the scale of the noise.
    m
        The policy's parameter.
    share
        eps_i / Delta_i, between 0 and 1.

    Examples
    --------
    >>> from rotting.problems import Exponential
    >>> round(dcto_ucb_bound([Exponential(1.0, 0.1)] * 2, [0.5, 0.0], horizon=10_000, sigma=0.1, m=40), 2)
    70.74
    """
    arms = curve_set("dcto_ucb_bound", curves)
    levels = np.asarray(constants, dtype=float)
    if levels.shape != (len(arms),) or not np.all(np.isfinite(levels)):
        raise BadValue("is not a finite number for each curve", name="constants", value=constants)
    rounds, scale = whole_number("horizon", horizon, minimum=1), finite_number("sigma", sigma, minimum=0)
    part = finite_number("share", share, above=0, below=1)
    least = whole_number("m", m, minimum=1)
    best = int(levels.argmax())
    total = 0.0
    for arm, curve in enumerate(arms):
        gap = float(levels[best] - levels[arm])
        if arm == best:
            continue
        if gap == 0:
            return math.inf
        below = np.flatnonzero(curve.values_at(np.arange(rounds)) <= part * gap)
        first = int(below[0]) if below.size else rounds
        pulls = max(least, first, 32 * scale**2 * math.log(rounds) / ((1 - part) * gap) ** 2)
        total += pulls * (gap + arms[best](0))
    return total
