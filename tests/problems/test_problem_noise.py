"""Noise: rewards have the mean and the spread that they should, and means lie where the noise allows them.

Limits of the statistical tests: beyond them with a chance below one in a million.
"""

import math

import numba
import numpy as np
import pytest
from dynamics_examples import NOISES as NOISE_CLASSES

from rotting._core.randomness import stream_key
from rotting.errors import BadValue
from rotting.problems import (
    Bernoulli,
    Binomial,
    Gaussian,
    LogNormal,
    NoNoise,
    Problem,
    ScaledBeta,
    StudentT,
    parse_problem,
)
from rotting.problems.kernel import draw_reward
from rotting.problems.noise import NOISES


@numba.njit
def draw_all(problem, mean, key, drawn):
    for n in range(len(drawn)):
        drawn[n] = draw_reward(problem, 0, mean, key, n)


def rewards(problem: Problem, mean: float, count: int = 20_000) -> np.ndarray:
    drawn = np.empty(count)
    draw_all(problem.arrays, mean, stream_key(3, 1), drawn)
    return drawn


def test_gaussian_rewards():
    drawn = rewards(Problem([0.0], sigma=0.5), 3.0)
    assert abs(drawn.mean() - 3.0) < 4.9 * 0.5 / math.sqrt(len(drawn))
    assert abs(drawn.var() - 0.25) < 4.9 * 0.25 * math.sqrt(2 / len(drawn))
    np.testing.assert_allclose(drawn - 3.0, 0.5 * rewards(Problem([0.0]), 0.0), rtol=0, atol=1e-14)


@pytest.mark.parametrize("mean", [0.0, 0.003, 0.3, 1.0])
def test_bernoulli_rewards(mean):
    drawn = rewards(Problem([0.5], noise="bernoulli"), mean)
    assert set(drawn.tolist()) == {0.0, 1.0} - ({1.0} if mean == 0 else set()) - ({0.0} if mean == 1 else set())
    assert abs(drawn.mean() - mean) <= 4.9 * math.sqrt(mean * (1 - mean) / len(drawn))


def test_rewards_without_noise():
    assert set(rewards(Problem([0.5], noise="none", sigma=2.0), 0.7, 100).tolist()) == {0.7}


def test_the_plain_kinds_have_names():
    assert set(NOISES) == {"gaussian", "bernoulli", "none"}
    assert len({kind._kind for kind in NOISES.values()}) == 3


# Every noise, found by itself

EXAMPLES = {
    type(noise).__name__: noise
    for noise in (
        Gaussian(0.5),
        Bernoulli(),
        NoNoise(),
        Binomial(4),
        ScaledBeta(3.0, -1.0, 2.0),
        StudentT(5.0, 0.5),
        LogNormal(0.5),
    )
}
# The variance of a reward around the mean 0.6.
VARIANCES = {
    "Gaussian": 0.25,
    "Bernoulli": 0.24,
    "NoNoise": 0.0,
    "Binomial": 0.24 / 4,
    "ScaledBeta": 9 * (1.6 / 3) * (1.4 / 3) / 4,
    "StudentT": 0.25 * 5 / 3,
    "LogNormal": 0.36 * (math.exp(0.25) - 1),
}


def test_every_noise_has_an_example_here():
    assert set(EXAMPLES) == set(VARIANCES) == set(NOISE_CLASSES)


@pytest.mark.parametrize("name", NOISE_CLASSES)
def test_every_noise_has_the_mean_and_the_variance_it_should(name):
    noise = EXAMPLES[name]
    drawn = rewards(Problem([0.6], noise=noise), 0.6)
    variance = VARIANCES[name]
    assert abs(drawn.mean() - 0.6) <= 4.9 * math.sqrt(variance / len(drawn)) + 1e-15
    spread = drawn.var(ddof=1)
    assert abs(spread - variance) <= 4.9 * np.std((drawn - 0.6) ** 2) / math.sqrt(len(drawn)) + 1e-12
    # A function of (key, n) alone.
    np.testing.assert_array_equal(drawn[:50], rewards(Problem([0.6], noise=noise), 0.6, 50))


@pytest.mark.parametrize("name", NOISE_CLASSES)
def test_every_noise_reads_back_and_says_where_means_may_lie(name):
    noise = EXAMPLES[name]
    problem = Problem([0.6, 0.5], noise=noise)
    assert problem.noise_model == noise
    assert parse_problem(repr(problem)) == problem
    assert problem.noise_scale == noise.scale()
    for beyond in (noise.lowest - 0.1, noise.highest + 0.1):
        if math.isfinite(beyond):
            with pytest.raises(BadValue, match="has means from"):
                Problem([beyond], noise=noise)


@pytest.mark.parametrize("name", NOISE_CLASSES)
def test_at_the_ends_rewards_stay_inside(name):
    noise = EXAMPLES[name]
    for end in (noise.lowest, noise.highest):
        if math.isfinite(end):
            assert set(rewards(Problem([end], noise=noise), end, 100).tolist()) == {end}


def test_plain_noise_is_kept_by_name_and_old_arguments_mean_the_same():
    assert Problem([0.5], noise=Gaussian(0.3)) == Problem([0.5], sigma=0.3)
    assert Problem([0.5], noise=Bernoulli()) == Problem([0.5], noise="bernoulli")
    assert Problem([0.5], noise=NoNoise()).noise == "none"
    assert repr(Problem([0.5], noise=Gaussian(0.3))) == repr(Problem([0.5], sigma=0.3))


def test_arms_may_have_a_sigma_each():
    problem = Problem([0.0, 0.0], noise=Gaussian([0.5, 2.0]))
    assert parse_problem(repr(problem)) == problem
    key = stream_key(1)
    one, other = (draw_reward(problem.arrays, arm, 0.0, key, 3) for arm in range(2))
    assert other == 4 * one != 0
    assert problem.noise_scale == 2.0
    with pytest.raises(BadValue, match="does not fit 3 arms"):
        Problem([0.0] * 3, noise=Gaussian([0.5, 2.0]))


def test_bad_noise_is_refused():
    for make in (
        lambda: Gaussian(-1.0),
        lambda: Gaussian("1"),
        lambda: Gaussian([1.0, math.nan]),
        lambda: Binomial(0),
        lambda: ScaledBeta(0.0),
        lambda: ScaledBeta(1.0, 2.0, 1.0),
        lambda: StudentT(1.0),
        lambda: LogNormal(-1.0),
    ):
        with pytest.raises(BadValue, match="expected"):
            make()
