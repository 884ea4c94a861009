"""Choices among some of the arms: as if the others did not exist."""

import numpy as np
import pytest

import rotting

# Those that can be made without being told anything about the problem.
POLICIES = []
for each in rotting.policies.POLICIES.values():
    try:
        each().initial_state(2)
        POLICIES.append(each())
    except (TypeError, ValueError):
        pass
POLICIES += [rotting.EffFEWA(grid=1.3), rotting.FEWA(alpha=5.0, sigma=0.2), rotting.FEWA(sigma=0.0)]
KEY = np.uint64(12345)


def played(policy, arms, rewards, keep):
    """Return an agent that has learnt the rewards of the arms in `keep`, which it numbers 0, 1, ..."""
    agent = policy.start(len(keep), seed=1)
    for arm, reward in zip(arms, rewards, strict=True):
        if arm in keep:
            agent.update(keep.index(arm), reward)
    return agent


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("rounds", [5, 40, 700])
def test_other_arms_do_not_exist(policy, rounds):
    random = np.random.default_rng(rounds)
    arms = random.integers(0, 6, rounds).tolist()
    rewards = (random.random(rounds) < 0.5).astype(float).tolist()
    whole = played(policy, arms, rewards, list(range(6)))
    before = whole.to_bytes()
    for keep in ([0, 1, 2, 3, 4, 5], [1, 3, 4], [0, 5], [2]):
        if policy.shared_memory and len(keep) < 6:
            continue
        alone = played(policy, arms, rewards, keep)
        chosen, left = whole.select_among(keep, KEY)
        assert keep.index(chosen) == alone._decide(alone._state, whole.t + 1, KEY)
        if left is not None:
            state = alone._state
            assert [keep.index(arm) for arm in left] == state.active[: state.left[0]].tolist()
    assert whole.to_bytes() == before  # choosing leaves no trace


def test_choices_stay_within_the_arms_for_every_policy():
    for policy in POLICIES:
        whole = played(policy, [0, 1, 2, 3] * 10, [0.0, 1.0, 1.0, 0.0] * 10, [0, 1, 2, 3])
        assert whole.select_among([0, 3], KEY)[0] in (0, 3)


def test_states_that_differ_in_one_bit_are_not_the_same():
    one, other = (played(rotting.FEWA(), [0, 1] * 9, [1.0, 0.5] * 9, [0, 1]) for _ in range(2))
    assert one.same_as(other)
    other.update(0, 1.0)
    assert not one.same_as(other)
    one.update(0, np.nextafter(1.0, 2.0))
    assert not one.same_as(other)


def test_agents_survive_being_bytes():
    agent = played(rotting.FEWA(), [0, 1, 1] * 200, [1.0, 0.5, 0.2] * 200, [0, 1])
    again = rotting.Agent.from_bytes(agent.to_bytes())
    assert again.same_as(agent)
    assert again.select() == agent.select()
