import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from reference import level_filter
from reference.worlds import rewards_in
from rotting import LevelFilter
from side_by_side import assert_same_run


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    world=st.sampled_from(["coins", "ties"]),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 4),
    rounds=st.integers(1, 16),
    width=st.sampled_from([1.0, 0.0, 2.5]),
    kept=st.sampled_from([0.97, 0.5, 1.0]),
    rule=st.sampled_from(["kaggle", "river"]),
    stray=st.sampled_from([0.0, 0.3]),
)
def test_decides_as_the_literal_rule(world, seed, n_arms, rounds, width, kept, rule, stray):
    reference = level_filter.LevelFilter(n_arms, width, kept, rule)
    rewards = rewards_in(world, n_arms, rounds, seed)
    assert_same_run(LevelFilter(width, kept, rule), reference, rewards, rounds=rounds, seed=seed, stray=stray)


def test_impossible_rewards_change_nothing():
    """Once all levels have come to nothing, a reward of 1 is impossible, and the agent lives on."""
    agent = LevelFilter(kept=0.0).start(2)
    for _ in range(5):
        agent.update(0, 1.0)
    assert agent._state.chances[0].sum() == pytest.approx(1)
    assert agent.select() == 1


def test_a_good_arm_is_not_left_to_try_all_others_first():
    """An arm never pulled has the index of its prior: with 100 arms and 100 rounds, each was pulled once."""
    agent = LevelFilter().start(3)
    agent.update(agent.select(), 1.0)
    assert agent.select() == 0
    result = rotting.simulate(LevelFilter(), rotting.problems.candy_cane(), horizon=100, runs=5, progress=False)
    assert result.regret.isel(round=-1).mean() < 30


def test_plays_the_contest_well():
    """Pulling all arms in turn has a regret of about 917 - 762."""
    result = rotting.simulate(LevelFilter(), rotting.problems.candy_cane(), runs=5, seed=0, progress=False)
    assert result.regret.isel(round=-1).mean() < 100


@pytest.mark.parametrize("bad", [{"width": -1}, {"kept": 1.1}, {"rule": "santa"}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LevelFilter(**bad)
