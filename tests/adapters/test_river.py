"""The package's policies in river: its own checks, its evaluation, and the decisions of our agents."""

import copy
import pickle

import gymnasium
import pytest
from river import bandit, preprocessing
from river.checks import common

import rotting
import rotting.gym
from rotting.errors import BadType, BadValue
from rotting.river import RiverPolicy

# Those that are not about data sets and tags, which bandit policies do not have.
CHECKS = [
    common.check_repr,
    common.check_str,
    common.check_clone_same_class,
    common.check_clone_is_idempotent,
    common.check_init_has_default_params_for_tests,
    common.check_init_default_params_are_not_mutable,
    common.check_doc,
    common.check_clone_changes_memory_addresses,
    common.check_mutate_can_be_idempotent,
    common.check_pickling_supports_roundtrip,
    common.check_repr_roundtrips_clone,
    common.check_clone_with_new_params_applies,
    common.check_get_params_matches_signature,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_checks_of_river(check):
    for parameters in RiverPolicy._unit_test_params():
        check(RiverPolicy(**parameters))


@pytest.mark.parametrize("text", ["FEWA(sigma=0.5)", "GaussianThompson()"])
def test_decisions_are_those_of_our_agents(text):
    policy, agent = RiverPolicy(text, seed=4), rotting.parse_policy(text).start(3, seed=4)
    for number in range(60):
        arm = policy.pull(["a", "b", "c"])
        assert "abc".index(arm) == agent.select()
        reward = [0.2, 0.8, 0.5][agent.select()] + 0.01 * (number % 7)
        policy.update(arm, reward)
        agent.update("abc".index(arm), reward)


def test_evaluate():
    policies = [RiverPolicy("EffFEWA(sigma=0.5)", seed=1), RiverPolicy("Uniform()", seed=1), bandit.EpsilonGreedy(0.1)]
    env = gymnasium.make("rotting/TwoArm-v0", L=4.0, horizon=400)
    totals = [0.0, 0.0, 0.0]
    for step in bandit.evaluate(policies, env, n_episodes=2, seed=7):
        totals[step["policy_idx"]] += step["reward"]
    assert totals[0] > totals[1] + 100


def test_better_than_random_where_river_says_so():
    env = gymnasium.make("river_bandits/CandyCaneContest-v0", max_episode_steps=1000)
    policies = [RiverPolicy("EffFEWA(sigma=0.3)"), RiverPolicy("Uniform()", seed=3)]
    totals = [0.0, 0.0]
    for step in bandit.evaluate(policies, env, n_episodes=1, seed=1):
        totals[step["policy_idx"]] += step["reward"]
    assert totals[0] > totals[1]


def test_arms_come_and_go():
    policy = RiverPolicy("FEWA(sigma=0.1)")
    for _ in range(10):
        arm = policy.pull(["old", "good"])
        policy.update(arm, float(arm == "good"))
    assert policy.pull(["old", "good", "new"]) == "new"
    policy.update("new", 0.5)
    assert policy.pull(["new", "old"]) == "new"
    assert policy.pull(["new", "good"]) == "good"
    policy.update("never offered", 0.0)
    assert policy.pull(["new", "good"]) == "good"


def test_rewards_are_scaled_as_in_river():
    policy = RiverPolicy("UCB1()", reward_scaler=preprocessing.TargetStandardScaler(None))
    for reward in (100.0, 200.0, 300.0):
        policy.update("a", reward)
    assert policy._learnt[1][0] == 0.0
    assert abs(policy._learnt[1][2]) < 2


def test_copies_go_on_alike():
    policy = RiverPolicy("EffFEWA(sigma=0.5)")
    for number in range(30):
        policy.update(policy.pull(["a", "b"]), number % 3 / 2)
    for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        assert other.pull(["a", "b"]) == policy.pull(["a", "b"])
        other.update("a", 1.0)
        assert other._agent.t == policy._agent.t + 1


def test_what_is_no_policy_is_refused():
    with pytest.raises(BadType):
        RiverPolicy(3)


def test_a_choice_without_arms_or_with_the_same_one_twice():
    policy = RiverPolicy("UCB1()")
    with pytest.raises(BadValue, match="arm_ids"):
        policy.pull([])
    for arm, reward in (("a", 1.0), ("b", 0.0), ("c", 0.5)):
        policy.update(arm, reward)
    assert policy.pull(["b", "b", "b"]) == "b"
    assert policy.pull(["b", "a", "a"]) == "a"


@pytest.mark.parametrize("rewards", [(float("nan"),), (None,), ("1",), (), (True, False)])
def test_a_bad_reward_changes_nothing(rewards):
    """One that is no number was counted by river before it was refused; of two, the first one was learnt."""
    policy = RiverPolicy("UCB1()")
    with pytest.raises((BadType, BadValue)):
        policy.update("a", *rewards)
    assert (policy._n, policy._learnt, policy.ranking) == (0, ([], []), [])


def test_a_randomised_policy_draws_anew_while_no_reward_comes():
    def drawn():
        policy = RiverPolicy("Uniform()", seed=1)
        return [policy.pull(["a", "b"]) for _ in range(20)]

    assert set(drawn()) == {"a", "b"}
    assert drawn() == drawn()


def test_every_policy_of_the_package_that_needs_to_know_nothing():
    names = [name for name, kind in rotting.policies.POLICIES.items() if not kind.knows]
    names = [name for name in names if name not in ("CTO", "CTOSIM", "DCTOUCB")]
    assert len(names) > 20
    for name in names:
        policy = RiverPolicy(f"{name}()", seed=1)
        for _ in range(3):
            policy.update(policy.pull(["a", "b"]), 0.5)
        assert policy._n == 3
