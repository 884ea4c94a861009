"""Every named problem is a gymnasium environment, and every policy plays environments of others."""

import copy
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rotting
import rotting.gym
from rotting.errors import BadType, BadValue
from rotting.problems import NAMED

IDS = sorted(name for name in gymnasium.registry if name.startswith("rotting/"))


def test_every_named_problem_is_known():
    limited = [name for name, make in NAMED.items() if make().is_limited]
    assert len(IDS) == len(NAMED) - len(limited)
    for name in limited:
        with pytest.raises(BadValue, match="not all actions exist"):
            rotting.gym.BanditEnv(name + "()")
    assert {"rotting/TenArm-v0", "rotting/TwoArm-v0", "rotting/CandyCane-v0"} <= set(IDS)


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_nothing_wrong(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name, horizon=20).unwrapped, skip_render_check=True)


def test_parameters_go_to_the_problem():
    env = gymnasium.make("rotting/TwoArm-v0", L=2.0, horizon=40).unwrapped
    assert env.problem == rotting.problems.two_arm(L=2.0, horizon=40)
    env = gymnasium.make("rotting/TenArm-v0", sigma=0.5, horizon=40).unwrapped
    assert env.problem == rotting.problems.ten_arm(sigma=0.5)
    assert env.horizon == 40


def test_an_episode_is_the_run_of_the_simulator():
    problem = rotting.problems.two_arm(L=2.0, horizon=200)
    result = rotting.simulate(rotting.UCB1(), problem, runs=2, seed=3)
    env = rotting.gym.BanditEnv(problem)
    first = rotting.gym.play(rotting.UCB1(), env, seed=3)
    assert (np.bincount(first.arms, minlength=2) == result.pulls.isel(policy=0, run=0)).all()
    assert env.regret() == pytest.approx(float(result.regret.isel(policy=0, run=0, round=-1)))
    second = rotting.gym.play(rotting.UCB1(), env)  # without a seed: the next run
    assert (np.bincount(second.arms, minlength=2) == result.pulls.isel(policy=0, run=1)).all()


def test_an_episode_ends_and_copies_go_their_own_way():
    env = gymnasium.make("rotting/TwoArm-v0", horizon=3)
    env.reset(seed=1)
    other = copy.deepcopy(env)
    rewards = [env.step(0)[1] for _ in range(2)]
    assert env.step(0)[3]
    assert [other.step(0)[1] for _ in range(2)] == rewards
    with pytest.raises(BadValue, match="reset"):
        env.unwrapped.step(0)


class Offset(gymnasium.Env):
    """An environment of somebody else, whose arms are called 5 and 6: the second one pays."""

    action_space = gymnasium.spaces.Discrete(2, start=5)
    observation_space = gymnasium.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        self.left = 50
        return 0, {}

    def step(self, action):
        assert action in self.action_space
        self.left -= 1
        return 0, float(action == 6), self.left == 0, False, {}


def test_policies_play_environments_of_others():
    played = rotting.gym.play("FEWA(sigma=0.1)", Offset())
    assert len(played.arms) == 50
    assert played.rewards.sum() > 40
    assert len(rotting.gym.play("FEWA(sigma=0.1)", Offset(), steps=7).arms) == 7


def test_what_has_no_arms_is_refused():
    env = Offset()
    env.action_space = gymnasium.spaces.Box(0, 1)
    with pytest.raises(BadType, match="Discrete"):
        rotting.gym.play("FEWA()", env)
    with pytest.raises(BadType):
        rotting.gym.BanditEnv(3)


@pytest.mark.parametrize("name", IDS)
def test_what_a_pull_is_worth_is_what_the_run_earns(name):
    env = gymnasium.make(name, horizon=12).unwrapped
    env.reset(seed=4)
    for step in range(12):
        before = env.run.earned
        mean = env.step(step % env.problem.n_arms)[4]["mean"]
        assert env.run.earned - before == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("action", [0.7, 1.0, True, None, "0", float("nan"), 2, -1])
def test_what_is_no_action_is_refused(action):
    """Half an arm was the arm below."""
    env = gymnasium.make("rotting/TwoArm-v0", horizon=5)
    env.reset(seed=1)
    with pytest.raises((BadType, BadValue), match="action"):
        env.step(action)
    assert env.unwrapped.run.t == 0


@pytest.mark.parametrize("env", [3, "rotting/TwoArm-v0", gymnasium.Env])
def test_what_is_no_environment_is_refused(env):
    with pytest.raises(BadType, match=r"gymnasium\.make"):
        rotting.gym.play("UCB1()", env)


def test_many_environments_at_a_time_play_different_runs():
    many = gymnasium.make_vec("rotting/TwoArm-v0", num_envs=3, horizon=4, vectorization_mode="sync")
    many.reset(seed=5)
    rewards = np.array([many.step(np.zeros(3, np.int64))[1] for _ in range(4)])
    for place in range(3):
        alone = gymnasium.make("rotting/TwoArm-v0", horizon=4)
        alone.reset(seed=5 + place)
        assert [alone.step(0)[1] for _ in range(4)] == rewards[:, place].tolist()
    with pytest.raises(BadType, match="many at a time"):
        rotting.gym.play("UCB1()", many)
