import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from reference import rising_elimination
from rotting import RisingElimination
from side_by_side import assert_same_run


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    rounds=st.integers(1, 60),
    spare=st.integers(-20, 60),
    noise=st.sampled_from([0.0, 0.0, 0.1]),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule(seed, n_arms, rounds, spare, noise, stray):
    rng = np.random.default_rng(seed)
    pulls = np.arange(rounds + 1)
    curves = rng.uniform(0, 1, (n_arms, 1)) * pulls / (pulls + rng.uniform(0.1, 20, (n_arms, 1)))
    rewards = (curves + noise * rng.normal(size=curves.shape)).tolist()
    horizon = max(rounds + spare, 1)
    reference = rising_elimination.RisingElimination(n_arms, horizon)
    assert_same_run(RisingElimination(horizon), reference, rewards, rounds=rounds, seed=seed, stray=stray)


def test_ends_on_the_best_constant_arm():
    problem = rotting.problems.rising(sigma=0.0, horizon=20_000)
    result = rotting.simulate(RisingElimination(), problem, runs=1, seed=0, progress=False)
    pulls = result.pulls.isel(policy=0, run=0).values
    assert pulls.argmax() == problem.oracle(20_000).pulls.argmax()
    assert pulls.max() > 15_000


def test_the_horizon_is_needed():
    with pytest.raises(ValueError, match="horizon"):
        RisingElimination().start(2)
