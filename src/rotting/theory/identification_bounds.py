"""How likely policies that identify the best arm are to err: bounds of the papers.

`gaps` are those of all arms but the best: how much less than the best each is worth (arms that rise: after T pulls).
`sigma` is the scale of the noise; the papers of the first two have rewards in [0, 1], for which it is 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rotting._core.validation import finite_number, whole_number


def successive_rejects_bound(gaps: Sequence[float], horizon: int, sigma: float = 0.5) -> float:
    """Bound the error probability of SuccessiveRejects on arms that never change (Audibert et al. 2010, Theorem 2).

    K (K - 1) / 2 exp(-(T - K) / (4 sigma^2 l H2)), l = 1/2 + 1/2 + 1/3 + ... + 1/K, H2 = max over i of i / gap_(i)^2

    >>> round(successive_rejects_bound([0.3, 0.5], horizon=200), 6)
    0.003887
    """
    return _rejects(gaps, horizon, 4 * finite_number("sigma", sigma, above=0) ** 2)


def sequential_halving_bound(gaps: Sequence[float], horizon: int, sigma: float = 0.5) -> float:
    """Bound the error probability of SequentialHalving on arms that never change (Karnin et al. 2013, Theorem 4.1).

    3 log2(K) exp(-T / (32 sigma^2 log2(K) H2))

    >>> round(sequential_halving_bound([0.3, 0.5], horizon=2000), 6)
    0.003931
    """
    rounds, hard = whole_number("horizon", horizon, minimum=1), hardness(gaps)
    logarithm, scale = math.log2(len(gaps) + 1), finite_number("sigma", sigma, above=0)
    return min(1.0, 3 * logarithm * math.exp(-rounds / (32 * scale**2 * logarithm * hard)))


def rsr_bound(gaps: Sequence[float], horizon: int, sigma: float, share: float = 0.25) -> float:
    """Bound the error probability of RSR on arms that rise (Mussi et al. 2024), if the horizon is large enough.

    K (K - 1) / 2 exp(-share (T - K) / (8 sigma^2 l H2)), l and H2 as above. How large T must be depends on how fast
    arms stop rising, and is not checked here.

    >>> round(rsr_bound([0.3, 0.5], horizon=2000, sigma=0.5), 6)
    0.000658
    """
    window = finite_number("share", share, above=0, maximum=1)
    return _rejects(gaps, horizon, 8 * finite_number("sigma", sigma, above=0) ** 2 / window)


def rucbe_bound(n_arms: int, horizon: int, a: float) -> float:
    """Bound the error probability of RUCBE on arms that rise: 2 T K exp(-a / 10), for a <= `rucbe_exploration`.

    >>> round(rucbe_bound(n_arms=5, horizon=1000, a=150.0), 6)
    0.003059
    """
    arms, rounds = whole_number("n_arms", n_arms, minimum=1), whole_number("horizon", horizon, minimum=1)
    return min(1.0, 2 * rounds * arms * math.exp(-finite_number("a", a, minimum=0) / 10))


def rucbe_exploration(
    gaps: Sequence[float], horizon: int, sigma: float, share: float = 0.25, beta: float = 1.5
) -> float:
    """Return the largest a for which Mussi et al. (2024) bound the error of RUCBE; 0 if there is none.

    share^3 / (4 sigma^2) (x - (1 - 2 share)^-beta)^2, x = sqrt(T / H) for beta >= 3/2, T^(beta - 1) / H^beta below, H
    the sum of gap^(-2/3). The increments of arms' means fall like n^-beta. As in the authors' program, the sum leaves
    the best arm out; there the bracket is squared where it is negative, too, which no theorem allows.

    >>> round(rucbe_exploration([0.3, 0.5], horizon=1000, sigma=0.1, beta=2.0), 2)
    57.97
    """
    rounds, scale = whole_number("horizon", horizon, minimum=1), finite_number("sigma", sigma, above=0)
    window, power = finite_number("share", share, above=0, below=0.5), finite_number("beta", beta, above=1)
    total = float(np.sum(_checked(gaps) ** (-2 / 3)))
    reach = math.sqrt(rounds / total) if power >= 1.5 else rounds ** (power - 1) / total**power
    return float(window**3 / (4 * scale**2) * max(reach - (1 - 2 * window) ** -power, 0.0) ** 2)


def hardness(gaps: Sequence[float]) -> float:
    """Return H2 = max over i = 2, ..., K of i / gap_(i)^2, gaps in increasing order.

    >>> hardness([0.5, 0.25])
    32.0
    """
    ordered = np.sort(_checked(gaps))
    return float(np.max(np.arange(2, len(ordered) + 2) / ordered**2))


def _rejects(gaps: Sequence[float], horizon: int, scale: float) -> float:
    rounds, arms, hard = whole_number("horizon", horizon, minimum=1), len(gaps) + 1, hardness(gaps)
    logarithm = 0.5 + math.fsum(1 / arm for arm in range(2, arms + 1))
    return min(1.0, arms * (arms - 1) / 2 * math.exp(-max(rounds - arms, 0) / (scale * logarithm * hard)))


def _checked(gaps: Sequence[float]) -> np.ndarray:
    return np.array([finite_number("gaps", gap, above=0) for gap in gaps] or [finite_number("gaps", None)])
