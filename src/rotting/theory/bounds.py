"""The paper's bounds that need numbers only: arms K, rounds T, noise sigma and decay L.

Seznec, Locatelli, Carpentier, Lazaric, Valko (2019), "Rotting bandits are not harder than stochastic ones".
`decay` is the paper's L (Assumption 1): 0 <= mu_i(0) <= L, and no pull costs an arm more than L.
`rotting.theory.largest_decay` computes it.
"""

from __future__ import annotations

import math

from rotting._core.validation import finite_number, whole_number

EFF_FACTOR = math.sqrt(2) / (math.sqrt(2) - 1)
"""How much wider EFF-FEWA's confidence is than FEWA's (Corollary 4)."""


def fewa_bound(n_arms: int, horizon: int, sigma: float, decay: float) -> float:
    """Bound FEWA's expected regret on any rotting problem (Theorem 1; alpha = 5, delta0 = 1).

    13 sigma (sqrt(K T) + K) sqrt(ln T) + 2 K L

    The statement's 13 rounds up the proof's 4 sqrt(10) = 12.65. Its 2 K L is what delta_t = 1 / t^5 needs;
    the appendix reaches K L with delta_t = 1 / (K t^5).

    >>> round(fewa_bound(n_arms=2, horizon=10_000, sigma=1.0, decay=0.5), 2)
    5660.42
    """
    arms, rounds, sigma, decay = _checked(n_arms, horizon, sigma, decay)
    return 13 * sigma * (math.sqrt(arms * rounds) + arms) * math.sqrt(math.log(rounds)) + 2 * arms * decay


def eff_fewa_bound(n_arms: int, horizon: int, sigma: float, decay: float) -> float:
    """Bound EFF-FEWA's expected regret on any rotting problem (Corollary 5; alpha = 5, delta0 = 1).

    13 sigma (sqrt(2) / (sqrt(2) - 1) sqrt(K T) + K) sqrt(ln T) + K L

    K L is as stated and belongs to delta_t = 1 / (K t^5); for delta_t = 1 / t^5 the proof gives 2 K L.

    >>> round(eff_fewa_bound(n_arms=2, horizon=10_000, sigma=1.0, decay=0.5), 2)
    19129.55
    """
    arms, rounds, sigma, decay = _checked(n_arms, horizon, sigma, decay)
    spread = EFF_FACTOR * math.sqrt(arms * rounds) + arms
    return 13 * sigma * spread * math.sqrt(math.log(rounds)) + arms * decay


def high_probability_delta0(alpha: float, delta: float) -> float:
    """Return the delta0 with which FEWA's bounds hold with probability 1 - delta: 2 delta / zeta(alpha - 2).

    The proof's union bound also runs over the K arms, and stays at delta if delta_t = delta0 / (K t^alpha).
    For FEWA with delta_t = delta0 / t^alpha it reaches K delta: there, pass delta / K here and to the bounds.

    Parameters
    ----------
    alpha
        FEWA's alpha, > 3.
    delta
        The probability with which the bound may fail, between 0 and 1.

    Examples
    --------
    >>> high_probability_delta0(alpha=4.0, delta=0.05)  # 0.1 / (pi^2 / 6)
    0.0607927101854...
    """
    from scipy.special import zeta  # not at the top: SciPy would slow `import rotting` down

    alpha = finite_number("alpha", alpha, above=3)
    delta = finite_number("delta", delta, above=0, below=1)
    return float(2 * delta / zeta(alpha - 2))


def fewa_high_probability_bound(
    n_arms: int, horizon: int, sigma: float, decay: float, alpha: float, delta: float
) -> float:
    """Bound FEWA's regret on any rotting problem with probability 1 - delta (Corollary 2).

    4 sqrt(2 alpha sigma^2 ln_+(T / delta0^(1 / alpha))) (K - 1 + sqrt((K - 1) T)) + (K - 1) L

    FEWA must be run with delta0 = `high_probability_delta0(alpha, delta)`; see there for the role of K.

    >>> round(fewa_high_probability_bound(2, 10_000, sigma=1.0, decay=0.5, alpha=5.0, delta=0.05), 2)
    3981.01
    """
    arms, rounds, sigma, decay = _checked(n_arms, horizon, sigma, decay)
    logarithm = log_plus(rounds, alpha, high_probability_delta0(alpha, delta))
    others = arms - 1
    width = 4 * math.sqrt(2 * alpha * sigma**2 * logarithm)
    return width * (others + math.sqrt(others * rounds)) + others * decay


def stochastic_lower_bound(n_arms: int, horizon: int, sigma: float) -> float:
    """Return sigma / 10 min(sqrt(K T), T): on some stationary problem no policy does better (Proposition 2).

    Needs two arms at least: with one there is nothing to choose and no regret.

    >>> stochastic_lower_bound(n_arms=4, horizon=10_000, sigma=1.0)
    20.0
    """
    arms = whole_number("n_arms", n_arms, minimum=2, from_float=True)
    rounds = whole_number("horizon", horizon, minimum=1, from_float=True)
    return finite_number("sigma", sigma, minimum=0) / 10 * min(math.sqrt(arms * rounds), rounds)


def deterministic_lower_bound(n_arms: int, decay: float) -> float:
    """Return L (K - 1) / 2: on some noiseless rotting problem no policy does better (Proposition 3).

    >>> deterministic_lower_bound(n_arms=10, decay=2.0)
    9.0
    """
    return greedy_bound(n_arms, decay) / 2


def greedy_bound(n_arms: int, decay: float) -> float:
    """Bound the regret of Greedy on any noiseless rotting problem: L (K - 1) (Proposition 3).

    >>> greedy_bound(n_arms=10, decay=2.0)
    18.0
    """
    arms = whole_number("n_arms", n_arms, minimum=1, from_float=True)
    return finite_number("decay", decay, minimum=0) * (arms - 1)


def log_plus(horizon: int, alpha: float, delta0: float) -> float:
    """Return ln_+(T / delta0^(1 / alpha)), which is ln_+(1 / delta_T) / alpha."""
    return max(0.0, math.log(horizon) - math.log(delta0) / alpha)


def _checked(n_arms: int, horizon: int, sigma: float, decay: float) -> tuple[int, int, float, float]:
    return (
        whole_number("n_arms", n_arms, minimum=1, from_float=True),
        whole_number("horizon", horizon, minimum=1, from_float=True),
        finite_number("sigma", sigma, minimum=0),
        finite_number("decay", decay, minimum=0),
    )
