import math
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.policies.greedy import Greedy
from side_by_side import TIES, assert_same_decisions, assert_survives_extremes, first_best, rewards_of


def literal(history, n_arms, t, uniforms):
    return first_best([rewards[-1] if rewards else math.inf for rewards in rewards_of(history, n_arms)])


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 8),
    values=st.sampled_from([(), TIES, (-1e100, 0.0, 1e100)]),
)
def test_decides_as_the_literal_rule(seed, n_arms, values):
    assert_same_decisions(Greedy(), literal, n_arms=n_arms, rounds=120, seed=seed, values=values)


@settings(max_examples=25, deadline=None)
@given(
    curves=st.lists(st.lists(st.integers(0, 20), min_size=40, max_size=40), min_size=1, max_size=5),
)
def test_regret_without_noise_is_at_most_the_largest_drop_per_arm(curves):
    """Heidari et al.: on rotting arms without noise, regret <= L (K - 1), L the largest drop of an arm."""
    curves = [sorted(curve, reverse=True) for curve in curves]
    # The first pull of an arm is a drop too, from a height common to all arms.
    top = max(curve[0] for curve in curves)
    largest_drop = max(a - b for curve in curves for a, b in pairwise([top, *curve]))
    agent = Greedy().start(len(curves))
    earned = 0
    for _ in range(40):
        arm = agent.select()
        reward = curves[arm][agent.pulls[arm]]
        earned += reward
        agent.update(arm, float(reward))
    best = sum(sorted((value for curve in curves for value in curve), reverse=True)[:40])
    assert 0 <= best - earned <= largest_drop * (len(curves) - 1)


def test_survives_extremes():
    assert_survives_extremes(Greedy())
