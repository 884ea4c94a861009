"""Noise: rewards have the mean and the spread that they should, and means lie where the noise allows them.

Limits of the statistical tests: beyond them with a chance below one in a million.
"""

import math

import numpy as np
import pytest

from rotting._core.randomness import stream_key
from rotting.problems import Problem
from rotting.problems.kernel import draw_reward
from rotting.problems.noise import NOISES


def rewards(problem: Problem, mean: float, count: int = 20_000) -> np.ndarray:
    key = stream_key(3, 1)
    return np.array([draw_reward(problem.arrays, 0, mean, key, n) for n in range(count)])


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
