"""How noise is estimated."""

import json
import math

import numpy as np
import pytest

from rotting import FEWA, UCB1, sigma_for
from rotting._core.noise import NoiseEstimate, variance_from_differences


def estimated(rewards, arms=None):
    noise = NoiseEstimate()
    for arm, reward in zip(arms if arms is not None else [0] * len(rewards), rewards, strict=True):
        noise.add(int(arm), float(reward))
    return noise


def test_wear_and_differences_between_arms_do_not_count():
    """1000 rewards: the estimate's relative deviation is about sqrt(3 / 4 / 1000) = 2.7 %, so 4 of them 11 %."""
    random = np.random.default_rng(3)
    arms = random.integers(0, 5, 1000)
    level = 100.0 * arms - 0.002 * np.arange(1000)
    assert estimated(level + random.normal(0, 0.5, 1000), arms).sigma == pytest.approx(0.5, rel=0.11)


def test_clicks():
    random = np.random.default_rng(4)
    clicks = random.random(4000) < 0.1
    assert estimated(clicks).sigma == pytest.approx(0.3, rel=0.15)


@pytest.mark.parametrize("rewards", [[], [1.0], [0.0] * 50], ids=str)
def test_where_there_is_nothing_to_go_by_there_is_no_estimate(rewards):
    assert estimated(rewards).sigma is None


def test_the_largest_rewards_do_no_harm():
    assert estimated([1e100, -1e100] * 1000).sigma == pytest.approx(2**0.5 * 1e100)


def test_when_estimates_are_due():
    noise = NoiseEstimate()
    due = []
    for count in range(1, 300):
        noise.add(0, 1.0)
        due += [count] if noise.due else []
    assert due == [32, 64, 128, 256]


def test_estimates_survive_being_written():
    noise = estimated([1.0, 0.5, 0.1, 0.7], [0, 1, 0, 1])
    again = NoiseEstimate.from_dict(json.loads(json.dumps(noise.to_dict())))
    for each in (noise, again):
        each.add(0, 0.3)
    assert again.to_dict() == noise.to_dict()


def test_bounds():
    assert sigma_for(0, 1) == 0.5
    assert sigma_for(-2, 4) == 3.0


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), (0, math.inf), (math.nan, 1), ("a", 1), (None, 1)], ids=repr)
def test_bounds_that_are_none(bounds):
    with pytest.raises(ValueError, match="are not bounds of rewards; expected two finite numbers, low < high"):
        sigma_for(*bounds)


def test_policies_accept_the_scale():
    assert UCB1(sigma=sigma_for(0, 3)).sigma == FEWA(sigma=sigma_for(-1, 2)).sigma == 1.5


def test_variance_from_differences():
    values = np.random.default_rng(5).normal(3.0, 0.7, 10_000)
    differences = np.diff(values)
    assert variance_from_differences((differences**2).sum(), len(differences)) == pytest.approx(0.49, rel=0.05)
    assert variance_from_differences(0.0, 0) == 0.0


GOOD = {"last": [[0, 1.0]], "squares": 0.5, "differences": 1, "rewards": 2}


@pytest.mark.parametrize(
    "change",
    [
        {"last": None},
        {"last": [[0]]},
        {"last": [["red", 1.0]]},
        {"last": [[0, math.nan]]},
        {"squares": "much"},
        {"squares": math.inf},
        {"squares": -1.0},
        {"differences": 0},
        {"differences": 3},
        {"rewards": None},
    ],
    ids=repr,
)
def test_plain_data_that_describe_no_estimate(change):
    NoiseEstimate.from_dict(GOOD)
    with pytest.raises(ValueError, match=r"not a noise estimate|without differences"):
        NoiseEstimate.from_dict(GOOD | change)
