"""The bounds of Levine et al. (2017): values worked out by hand, and by brute force."""

import math

import numpy as np
import pytest

from rotting.errors import BadValue
from rotting.problems import Constant, Drop, Exponential, Power
from rotting.problems.named import LEVINE_CURVES
from rotting.theory import dcto_ucb_bound, detection_pulls, swa_bound, wswa_bound


def test_theorem_3_1():
    # K = 8, T = 1000: K^(1/3) T^(2/3) = 200, ln(1414.2)^(1/3) = 1.935714; sigma = 1/8, mu = 2, alpha = 1: 3 * 1/4 * ...
    growth = (1 * 2 + 1) * (1 / 4) * 200 * math.log(math.sqrt(2) * 1000) ** (1 / 3)
    assert swa_bound(8, 1000, 0.125, 2.0, alpha=1.0) == pytest.approx(4 ** (2 / 3) * growth + 48)
    assert wswa_bound(8, 1000, 0.125, 2.0, alpha=1.0) == pytest.approx(8 * growth + 48 * (math.log2(1000) + 1))


def test_the_best_alpha_is_best():
    best = swa_bound(3, 500, 1.0, 1.7)
    others = [swa_bound(3, 500, 1.0, 1.7, alpha=alpha) for alpha in np.linspace(0.05, 2, 60)]
    assert best <= min(others) < 1.001 * best


def brute(curves, n_arms, sigma, delta, most):
    """Return m*_diff(delta / K), each sum from scratch."""

    def found(n):
        for one in curves:
            for other in curves:
                if one == other:
                    continue
                d = [one(j) - other(j) for j in range(n)]
                gap = sum(d[: n // 2]) - sum(d[n // 2 :])
                if gap == 0 or n * sigma**2 / gap**2 > 1 / (8 * math.log(2 * n_arms / delta)):
                    return False
        return True

    fine = [n for n in range(2, most + 1) if found(n)]
    return next((m for m in range(2, most + 1, 2) if all(n in fine for n in range(m, most + 1))), None)


@pytest.mark.parametrize("curves", [(Power(0.1), Power(0.4), Constant(0.2)), (Exponential(1.0, 0.1), Constant(0.3))])
def test_detection_pulls_by_brute_force(curves):
    for sigma in (0.02, 0.1, 0.3):
        assert detection_pulls(curves, 3, sigma, 0.1, most=120) == brute(curves, 3, sigma, 0.1, 120)


def test_curves_that_differ_by_a_constant_are_never_told_apart():
    assert detection_pulls([Constant(0.0), Constant(1.0)], 2, 0.1, 0.1, most=1001) is None


def test_the_papers_own_set_needs_millions_of_pulls():
    """0.1 and 0.15: the difference of the halves changes its sign on the way."""
    assert 4e6 < detection_pulls(LEVINE_CURVES[:2], 10, math.sqrt(0.2), 0.1, most=5_000_000) < 4.5e6


def test_theorem_4_2():
    # Gaps 0.5 and 0.25 with share 1/2: curves are below 0.25 and 0.125 after 3 and 5 pulls; m = 4;
    # 32 * 0.01 * ln(100) / (0.25^2, 0.125^2) = 23.58, 94.31; each times gap + mu(0) = 1.5, 1.25
    curves = [Drop(1.0, 0.0, 9), Drop(1.0, 0.1, 3), Drop(1.0, 0.1, 5)]
    bound = dcto_ucb_bound(curves, [0.5, 0.0, 0.25], 100, 0.1, m=4)
    log = 0.32 * math.log(100)
    assert bound == pytest.approx(log / 0.25**2 * 1.5 + log / 0.125**2 * 1.25)
    assert dcto_ucb_bound(curves, [0.5, 0.0, 0.25], 100, 0.0, m=4) == pytest.approx(4 * 1.5 + 5 * 1.25)
    assert dcto_ucb_bound(curves, [0.5, 0.5, 0.25], 100, 0.1, m=4) == math.inf
    with pytest.raises(BadValue, match="constants="):
        dcto_ucb_bound(curves, [0.5, 0.0], 100, 0.1, m=4)
