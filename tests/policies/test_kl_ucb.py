import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import kl_ucb
from rotting.policies._windows.bernoulli import bound_height, entropy, height_above, peak_at
from rotting.policies.kl_ucb import KLUCB
from side_by_side import assert_same_run

# Few values, so that ties are frequent; some outside [0, 1], and some so close to 1 that bounds round to it.
VALUES = {
    "coins": [0.0, 1.0],
    "ties": [-1.0, 0.0, 0.25, 0.5, 1.0, 7.0],
    "fine": np.linspace(0, 1, 1000),
    "high": [1.0, 1 - 2**-20, 1 - 2**-40],
}


def rewards_in(kind, n_arms, rounds, seed):
    rng = np.random.default_rng(seed)
    return rng.choice(VALUES[kind], (n_arms, rounds)).tolist()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(sorted(VALUES)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 5),
    c=st.sampled_from([0.0, 0.5, 3.0]),
    stray=st.sampled_from([0.0, 0.3]),
)
def test_decides_as_the_literal_rule(kind, seed, n_arms, c, stray):
    rewards = rewards_in(kind, n_arms, 50, seed)
    assert_same_run(KLUCB(c), kl_ucb.KLUCB(n_arms, c), rewards, rounds=50, seed=seed, stray=stray)


def exact_divergence(p, height):
    """Return kl(p, q) at 1 - q = e^-height to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        p, height = Decimal(p), Decimal(height)
        return p * (p / (1 - (-height).exp())).ln() + (1 - p) * ((1 - p).ln() + height)


@pytest.mark.parametrize("p", [1e-300, 1e-9, 0.01, 0.3, 0.5, 0.7, 0.999, 1 - 2**-40])
@pytest.mark.parametrize("level", [1e-6, 1e-3, 0.1, 1.0, 20.0])
def test_bounds_solve_their_equation(p, level):
    height = bound_height(p, entropy(p), level)
    scale = 2**-48 * (entropy(p) + level)
    assert abs(float(exact_divergence(p, height) - Decimal(level))) < scale
    assert height == pytest.approx(kl_ucb.bound(p, level), rel=1e-8)
    # And comparing without solving never contradicts it.
    for other in (height, math.nextafter(height, 0), math.nextafter(height, math.inf)):
        assert height_above(p, entropy(p), level, peak_at(other)) == height
    assert height_above(p, entropy(p), level, peak_at(1.01 * height)) == -math.inf


def test_bounds_at_the_edges():
    assert bound_height(0.0, 0.0, 0.7) == 0.7  # kl(0, q) = -ln(1 - q)
    assert bound_height(1.0, 0.0, 0.7) == math.inf
    assert bound_height(0.25, entropy(0.25), 0.0) == -math.log(0.75)
    assert height_above(1.0, 0.0, 0.7, peak_at(math.inf)) == math.inf
    assert height_above(0.0, 0.0, 0.7, peak_at(0.0)) == 0.7
    assert height_above(0.5, entropy(0.5), 0.7, peak_at(math.inf)) == -math.inf


def test_a_mean_of_one_is_told_from_a_bound_that_rounds_to_one():
    agent = KLUCB().start(2)
    agent.update(0, 1 - 2**-40)
    agent.update(1, 1.0)
    assert 1 - math.exp(-bound_height(1 - 2**-40, entropy(1 - 2**-40), math.log(3))) == 1.0
    assert agent.select() == 1


@pytest.mark.parametrize("bad", [{"c": -1}, {"c": math.nan}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match="KLUCB: c="):
        KLUCB(**bad)
