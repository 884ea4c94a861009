import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.exponential_weights import draw, probabilities
from rotting.policies import Agent
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3s import Exp3S
from side_by_side import assert_same_choices, assert_same_decisions, assert_survives_extremes


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    gamma=st.sampled_from([0.01, 0.2, 1.0]),
    alpha=st.sampled_from([0.0, 1e-4, 0.1, 1.0]),
    span=st.sampled_from([(0.0, 1.0), (-2.0, 2.0)]),
)
def test_decides_as_the_literal_rule(seed, n_arms, gamma, alpha, span):
    def literal(history, n_arms, t, uniforms):
        return draw(probabilities(history, n_arms, gamma, *span, alpha), uniforms(0))

    policy = Exp3S(gamma, alpha, low=span[0], high=span[1])
    assert_same_decisions(policy, literal, n_arms=n_arms, rounds=35, seed=seed)


def test_without_sharing_it_is_exp3_bit_for_bit():
    fractions = np.linspace(0, 1, 37).tolist()
    assert_same_choices(Exp3S(0.1, 0.0), Exp3(0.1), rounds=2000, values=fractions)


def test_weights_stay_within_floats_and_within_reach_of_each_other():
    """Each weight keeps a share of e alpha / K at least of what the sum was before; 0.5 allows for its growth."""
    agent = Exp3S(gamma=0.5, alpha=0.01).start(n_arms=3, seed=1)
    for _ in range(5000):
        agent.update(1, 1.0)
    weights = agent._state.weights
    assert weights.max() < 1e102
    assert weights.min() / weights.sum() > 0.5 * math.e * 0.01 / 3


@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_weights_survive_a_file(alpha, tmp_path):
    agent = Exp3S(0.2, alpha).start(n_arms=3, seed=1)
    for t in range(500):
        agent.update(agent.select(), float(t % 3 == 0))
    agent.save(tmp_path / "agent.npz")
    assert Agent.load(tmp_path / "agent.npz").same_as(agent)


def test_parameters_of_the_theory():
    first = Exp3S(horizon=10_000, changes=4).initial_state(5).settings.tolist()
    gamma = math.sqrt(5 * (5 * math.log(50_000) + math.e) / ((math.e - 1) * 10_000))
    assert first == [pytest.approx(gamma), 0.0, 1.0, 1e-4]
    assert Exp3S().informed(None, 77) == Exp3S(horizon=77)
    assert Exp3S(horizon=5).informed(None, 77) == Exp3S(horizon=5)


@pytest.mark.parametrize("policy", [Exp3S(), Exp3S(0.2, low=-1e100, high=1e100)])
def test_survives_extremes(policy):
    assert_survives_extremes(policy, rounds=1000)


@pytest.mark.parametrize("bad", [{"gamma": 0}, {"alpha": 2}, {"changes": -1}, {"low": 1.0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Exp3S(**bad)
