"""Simulations agree with the paper: its figures, its rule without noise, and its theorem."""

import math

import numpy as np
import pytest

from rotting import FEWA, WSWA, EffFEWA, Greedy, Problem, Uniform, simulate, theory
from rotting.problems import Drop, Exponential, ten_arm, two_arm
from small_games import quietly

# The paper. Published values were read off the figures to about 2 %, which is allowed for on top of four standard
# errors of our mean; seeds are fixed.

READING_ERROR = 0.02


def final_regret(policy, problem, runs, **named):
    values = simulate(policy, problem, runs=runs, seed=1, progress=False, rounds=1, **named).regret.values[0, :, -1]
    return values.mean(), values.std(ddof=1) / math.sqrt(runs)


@pytest.mark.parametrize(
    ("policy", "published"),
    [
        (FEWA(alpha=0.03), 14.0),
        (FEWA(alpha=0.06), 15.5),
        (FEWA(alpha=0.1), 18.7),
        (WSWA(alpha=0.02), 58.0),
        (WSWA(alpha=0.06), 156.0),
        (WSWA(alpha=0.2), 490.0),
    ],
    ids=str,
)
def test_two_arms_as_published(policy, published):
    """Figure 1, right: L = 0.02 * 1.25^24 = 4.235."""
    mean, error = final_regret(policy, two_arm(L=0.02 * 1.25**24), runs=200)
    assert error < 0.05 * published  # enough runs to say something
    assert abs(mean - published) <= 4 * error + READING_ERROR * published


@pytest.mark.parametrize(
    ("policy", "low", "high"), [(FEWA(alpha=0.06), 304, 325), (WSWA(alpha=0.02), 490, 500)], ids=str
)
def test_ten_arms_as_published(policy, low, high):
    """Figure 2: FEWA and wSWA at their best alpha."""
    mean, error = final_regret(policy, ten_arm(), runs=100)
    assert error < 0.04 * low
    assert low * (1 - READING_ERROR) - 4 * error <= mean <= high * (1 + READING_ERROR) + 4 * error


# Without noise


def distinct_problem(seed, horizon):
    """Return noiseless falling arms of which no two values are alike."""
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 7))
    drops = rng.exponential(size=(n_arms, horizon)) * (rng.random((n_arms, horizon)) < 0.1)
    means = rng.random((n_arms, 1)) - np.cumsum(drops + 1e-6 * rng.random((n_arms, horizon)), axis=1)
    means -= means[:, 0].min()  # Assumption 1: mu_i(0) >= 0
    assert len(np.unique(means)) == means.size
    return Problem(list(means), noise="none")


@pytest.mark.parametrize("seed", range(12))
def test_without_noise_fewa_is_greedy_and_within_its_bound(seed):
    horizon = 300
    problem = distinct_problem(seed, horizon)
    result = quietly(
        {"fewa": FEWA(sigma=0.0), "eff": EffFEWA(sigma=0.0), "greedy": Greedy(), "uniform": Uniform()},
        problem,
        horizon=horizon,
        runs=1,
        rounds=range(1, horizon + 1),
    )
    regret = result.regret.sel(run=0)
    np.testing.assert_array_equal(regret.sel(policy="fewa"), regret.sel(policy="greedy"))
    np.testing.assert_array_equal(regret.sel(policy="eff"), regret.sel(policy="greedy"))
    np.testing.assert_array_equal(result.pulls.sel(policy="fewa"), result.pulls.sel(policy="greedy"))
    bound = theory.greedy_bound(problem.n_arms, theory.largest_decay(problem, horizon))
    assert float(regret.sel(policy="fewa").max()) <= bound + 1e-9
    # The bound says something here: not everybody keeps it.
    assert float(regret.sel(policy="uniform").max()) > bound


# Theorem 1


@pytest.mark.parametrize(
    "problem",
    [
        two_arm(L=1.0, sigma=0.01),
        two_arm(L=0.2, sigma=0.01),
        Problem([0.0, *(Drop(gap, -gap, 500) for gap in (0.3, 0.6, 1.0))], sigma=0.01),
        Problem([1.0, 0.5, Exponential(1.0, 0.001)], sigma=0.02),
    ],
    ids=lambda problem: f"{problem}, sigma={problem.sigma:g}",
)
def test_theorem_1_holds(problem):
    """At alpha = 5, on problems with so little noise that the bound is not trivial: chance alone exceeds it."""
    horizon, sigma = 10_000, problem.sigma
    decay = theory.largest_decay(problem, horizon)
    bound = theory.fewa_bound(problem.n_arms, horizon, sigma, decay)
    fewa, _ = final_regret(FEWA(alpha=5.0, sigma=sigma), problem, runs=20, horizon=horizon)
    eff, _ = final_regret(EffFEWA(alpha=5.0, sigma=sigma), problem, runs=20, horizon=horizon)
    chance, _ = final_regret(Uniform(), problem, runs=20, horizon=horizon)
    assert fewa <= bound < chance
    assert eff <= theory.eff_fewa_bound(problem.n_arms, horizon, sigma, decay)
