"""RGP-UCB and RGP-TS against Gaussian process regression from scratch, and their published results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import rgp
from rotting import RGPTS, RGPUCB, simulate
from rotting._core.randomness import word
from rotting.errors import BadValue
from rotting.problems import pike_burke

GAMES = {
    "seed": st.integers(0, 2**32),
    "n_arms": st.integers(1, 4),
    "rounds": st.integers(1, 40),
    "d": st.integers(1, 3),
    "z_max": st.sampled_from([1, 3, 8]),
    "rested": st.booleans(),
    "noisy": st.booleans(),
}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(**GAMES, kind=st.sampled_from([RGPUCB, RGPTS]))
def test_decides_as_the_literal_rule(kind, seed, n_arms, rounds, d, z_max, rested, noisy):
    """Where two sequences are as good, to 1e-6 (covariances of neighbours are nearly singular), either is right."""
    rng, start = np.random.default_rng(seed), z_max if rested else 0
    agent = kind(d, z_max, None if rested else 0, 2.0, noisy=noisy, sigma=0.3).start(n_arms, seed=1)
    reference = rgp.RGP(n_arms, d, z_max, start, 2.0, 0.3, noisy, kind is RGPTS)
    for t in range(1, rounds + 1):
        expected = reference.select(t, np.uint64(word(agent._key, t)))
        chosen = agent.select()
        if chosen != expected:
            assert reference.lead < 1e-6, f"round {t}"
            return
        reward = float(np.sin(reference.z[chosen] + chosen) + 0.3 * rng.normal())
        agent.update(chosen, reward)
        reference.update(chosen, reward)


@pytest.mark.parametrize("kind", [RGPUCB, RGPTS])
def test_beliefs_are_those_of_the_regression(kind):
    rng = np.random.default_rng(0)
    agent, reference = kind(1, 12, 0, 3.0, sigma=0.2).start(2), rgp.RGP(2, 1, 12, 0, 3.0, 0.2, False, False)
    for _ in range(60):
        arm, reward = int(rng.integers(2)), float(rng.normal())
        agent.update(arm, reward)
        reference.update(arm, reward)
    for arm in range(2):
        mean, covariance = reference.belief(arm)
        assert np.allclose(agent._state.mean[arm], mean, atol=1e-9)
        assert np.allclose(agent._state.covariance[arm], covariance, atol=1e-9)


def test_a_plan_outlives_a_choice_among_some_arms():
    agent = RGPUCB(d=3, z_max=5, sigma=0.1).start(4)
    for t in range(40):
        among = [0, 2, 3] if t % 5 == 0 else [0, 1, 2, 3]
        arm, _ = agent.select_among(among, np.uint64(t))
        assert arm in among
        agent.update(arm, float(np.cos(arm + t)))


# Their Table 1, means and 2.5 to 97.5 % of 500 runs at T = 1000, by arms and policy (lengthscale 5).
PUBLISHED = {
    ("logistic", RGPUCB): (461.7, 454.3, 468.9),
    ("logistic", RGPTS): (462.6, 455.7, 469.3),
    ("gamma", RGPUCB): (145.6, 139.6, 151.7),
    ("gamma", RGPTS): (156.5, 149.6, 163.0),
}


@pytest.mark.parametrize(("means", "kind"), PUBLISHED)
def test_the_published_totals(means, kind):
    """Ours are sums of means, so that they spread less than sums of rewards, around the same mean."""
    published, low, high = PUBLISHED[means, kind]
    policy, problem = kind(first_rest=0, noisy=True, sigma=0.1), pike_burke(means)
    result = simulate(policy, problem, runs=30, seed=1, progress=False)
    earned = (result.oracle_reward - result.regret.isel(policy=0)).isel(round=-1).values
    assert low < earned.mean() < high
    assert abs(earned.mean() - published) < 3 * earned.std() / np.sqrt(30) + 0.01 * published


def test_too_many_sequences_are_refused():
    with pytest.raises(BadValue, match=r"d=7.* 2\^20"):
        RGPUCB(d=7).start(10)
