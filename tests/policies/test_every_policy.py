"""Checks that every policy must pass: parameters, agents, what they refuse. They find the policies by themselves."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import rotting
import rotting.policies
from every_policy import ARMS, CASES, CLASSES, build, contents, play, title
from rotting.errors import BadValue
from rotting.policies import Policy, parse_policy
from rotting.policies._contract.kernel import decide
from rotting.problems import Constant, Problem

# Parameters


def neighbours(policy: Policy) -> list[Policy]:
    """Return policies that differ from this one in a single number, by as little as a double can."""
    found = []
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        for toward in (-np.inf, np.inf):
            if type(value) is float:
                changed = float(np.nextafter(value, toward))
            elif type(value) is int:
                changed = value + (1 if toward > 0 else -1)
            else:
                continue
            try:
                found.append(dataclasses.replace(policy, **{field.name: changed}))
            except ValueError:
                continue
    return found


def test_repr_can_be_read_back_to_the_last_digit(policy):
    assert parse_policy(repr(policy)) == policy
    for other in neighbours(policy):
        assert parse_policy(repr(other)) == other != policy


def test_policies_are_equal_when_their_parameters_are(policy):
    twin = dataclasses.replace(policy)
    assert twin is not policy
    assert twin == policy
    assert hash(twin) == hash(policy)
    assert len({policy, twin, *neighbours(policy)}) == 1 + len(neighbours(policy))
    assert all(policy != build(other) for other in CASES if title(other) != title_of(policy))


def title_of(policy: Policy) -> str:
    return next(title(other) for other in CASES if build(other) == policy)


def test_policies_are_frozen(policy):
    for name in [field.name for field in dataclasses.fields(policy)] + ["anything"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(policy, name, 1)


def test_unknown_parameters_are_refused(case):
    with pytest.raises(TypeError):
        CLASSES[case[0]](no_such_parameter=1)


# Agents


def test_same_seed_same_run(policy):
    assert play(policy.start(ARMS, seed=5), 300) == play(policy.start(ARMS, seed=5), 300)


def depends_on_chance(policy: Policy) -> bool:
    """Say whether some decision depends on the random stream, the state being the same; or on an earlier draw."""
    if isinstance(policy, rotting.AUCBTP):  # it draws how patient to be with arms, and no arm
        return len({tuple(play(policy.start(ARMS, seed=seed), 300)) for seed in range(4)}) > 1
    agent = policy.start(ARMS, seed=0)
    compiled = decide.compiled_for(agent._state)
    for _ in range(300):
        if len({compiled(agent._state, agent.t + 1, np.uint64(key)) for key in range(20)}) > 1:
            return True
        play(agent, 1)
    return False


def test_different_seeds_differ_if_the_policy_is_randomised(policy):
    runs = {tuple(play(policy.start(ARMS, seed=seed), 300)) for seed in range(4)}
    assert len(runs) == (4 if depends_on_chance(policy) else 1)


def test_without_a_seed_a_randomised_policy_is_different_every_time(policy):
    runs = {tuple(play(policy.start(ARMS), 300)) for _ in range(2)}
    assert len(runs) == (2 if depends_on_chance(policy) else 1)


def test_randomised_policies_are_recognised():
    randomised = {name for name in CLASSES if depends_on_chance(build((name, {})))}
    assert randomised >= {"BetaThompson", "EpsilonGreedy", "Exp3", "GaussianThompson", "Rexp3", "Uniform"}
    assert not randomised & {"FEWA", "EffFEWA", "Greedy", "Oracle", "RAWUCB", "UCB1"}


def test_asking_again_gives_the_same_arm(policy):
    agent = policy.start(ARMS, seed=1)
    for _ in range(100):
        answers = [agent.select() for _ in range(4)]
        assert len(set(answers)) == 1
        assert type(answers[0]) is int
        play(agent, 1)


def test_asking_often_changes_nothing(policy):
    asked, quiet = policy.start(ARMS, seed=1), policy.start(ARMS, seed=1)
    for _ in range(150):
        for _ in range(3):
            asked.select()
        assert play(asked, 1) == play(quiet, 1)


def test_t_and_pulls_count_what_was_played(policy):
    agent = policy.start(ARMS, seed=2)
    assert agent.t == 0
    assert agent.n_arms == ARMS
    counts = [0] * ARMS
    # Rewards may come for any arm, chosen or not.
    arms = [*play(agent, 50), 2, 2, 0]
    for arm in arms[50:]:
        agent.update(arm, 0.5)
    for arm in arms:
        counts[arm] += 1
    assert agent.t == 53
    assert agent.pulls.dtype == np.int64
    assert agent.pulls.tolist() == counts


def test_pulls_are_a_copy(policy):
    agent, untouched = policy.start(ARMS, seed=2), policy.start(ARMS, seed=2)
    play(agent, 40)
    play(untouched, 40)
    agent.pulls[:] = 1_000_000
    assert agent.pulls.sum() == agent.t == 40
    assert play(agent, 40) == play(untouched, 40)


def test_one_arm_alone(case):
    agent = build(case, n_arms=1).start(1, seed=0)
    assert play(agent, 50) == [0] * 50
    assert agent.pulls.tolist() == [50]


def test_a_number_of_arms_that_is_none_is_refused(policy):
    for n_arms in (0, -1, 1.5, "3", None):
        with pytest.raises((TypeError, ValueError), match="n_arms"):
            policy.start(n_arms)


def test_a_seed_that_is_none_is_refused(policy):
    for seed in (-1, 1.5, "0", True):
        with pytest.raises(ValueError, match="seed"):
            policy.start(ARMS, seed=seed)


# Bad input

BAD_REWARDS = [
    float("nan"),
    float("inf"),
    -float("inf"),
    1.1e100,
    -1e300,
    np.float32("nan"),
    np.float64("inf"),
    10**200,
    10**400,  # beyond every float
    None,
    "1",
    [1.0],
    np.array([1.0]),
    1j,
]
BAD_ARMS = [-1, ARMS, 2**70, np.int64(-1), 1.5, 1.0, "a", None, [0]]


def assert_refused(
    policy: Policy, updates: list[tuple[Any, Any]], errors: tuple[type[Exception], ...], match: str
) -> None:
    """Assert that updates are refused, each with a clear message, and that none leaves a trace."""
    for rounds in (0, 64, 90):  # 64: the next update makes room for more pulls
        agent, untouched = policy.start(ARMS, seed=3), policy.start(ARMS, seed=3)
        play(agent, rounds)
        play(untouched, rounds)
        before = contents(agent._state)
        for arm, reward in updates:
            with pytest.raises(errors, match=match):  # noqa: PT012 (which of them was taken must be said)
                agent.update(arm, reward)
                pytest.fail(f"arm {arm!r} and reward {reward!r} were taken")
            assert contents(agent._state) == before
            assert agent.t == rounds
            assert agent.pulls.tolist() == untouched.pulls.tolist()
        assert play(agent, 30) == play(untouched, 30)


def test_bad_rewards_are_refused(policy):
    assert_refused(policy, [(0, reward) for reward in BAD_REWARDS], (TypeError, ValueError), match="reward")


def test_unknown_arms_are_refused(policy):
    updates = [(arm, 0.5) for arm in BAD_ARMS]
    assert_refused(policy, updates, (TypeError, IndexError), match="arm=.*expected a whole number from 0 to 2")


def test_numbers_of_every_kind_are_rewards(policy):
    kinds, plain = policy.start(ARMS, seed=3), policy.start(ARMS, seed=3)
    for reward in (1, True, np.float32(0.5), np.int64(0), np.bool_(True), 0.25, 1e100, -1e100):
        kinds.update(np.int64(1), reward)
        plain.update(1, float(reward))
    assert kinds.pulls.tolist() == plain.pulls.tolist() == [0, 8, 0]
    assert play(kinds, 60) == play(plain, 60)


def test_many_rewards_at_once_are_learnt_as_one_by_one(policy):
    arms = np.random.default_rng(3).integers(3, size=500).tolist()
    rewards = np.random.default_rng(4).normal(size=500).clip(0, 1).tolist()
    one_by_one, at_once = policy.start(n_arms=3, seed=1), policy.start(n_arms=3, seed=1)
    for arm, reward in zip(arms, rewards, strict=True):
        one_by_one.update(arm, reward)
    at_once.update_many(arms[:1], rewards[:1])
    at_once.update_many(arms[1:], rewards[1:])
    assert at_once.same_as(one_by_one)
    assert (at_once.t, at_once.select()) == (one_by_one.t, one_by_one.select())


@pytest.mark.parametrize(
    ("arms", "rewards", "error"),
    [([0, 3], [1.0, 1.0], IndexError), ([0, 1], [1.0, float("nan")], ValueError), ([0, 1], [1.0], ValueError)],
)
def test_of_many_rewards_all_are_refused_or_none(arms, rewards, error):
    agent = rotting.FEWA().start(n_arms=3)
    with pytest.raises(error):
        agent.update_many(arms, rewards)
    assert agent.t == agent.pulls.sum() == 0


@pytest.mark.parametrize(
    "case", [case for case in CASES if CLASSES[case[0]].takes_rewards == ("low", "high")], ids=title
)
def test_rewards_of_another_range_are_those_between_0_and_1(case):
    """Eighths are mapped exactly, so decisions are the same, also where rewards lie outside."""
    policy = build(case)
    shares = np.random.default_rng(3).integers(-3, 12, 400) / 8
    one = policy.start(ARMS, seed=4)
    other = dataclasses.replace(policy, low=-2.0, high=6.0).start(ARMS, seed=4)
    for share in shares:
        arm = one.select()
        assert other.select() == arm
        one.update(arm, share)
        other.update(arm, 8 * share - 2)


@pytest.mark.parametrize("case", [case for case in CASES if CLASSES[case[0]].noise_parameter], ids=title)
def test_the_scale_of_the_noise_can_be_told(case):
    policy, problem = build(case), Problem([Constant(0.5)] * ARMS, sigma=0.25)
    open_still = dataclasses.replace(policy, sigma=None)
    assert open_still.informed(problem, 500) == dataclasses.replace(policy, sigma=0.25)
    assert parse_policy(repr(open_still)) == open_still
    with pytest.raises(BadValue, match="leaves open the scale of the noise"):
        open_still.start(ARMS)
