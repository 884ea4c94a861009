"""Problems as gymnasium environments, and policies on anybody's bandit environments. Needs `rotting[gym]`.

Importing this module makes every named problem but `push` known to gymnasium: `two_arm` is `"rotting/TwoArm-v0"`.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple, SupportsFloat

import numpy as np

from rotting._core.validation import LARGEST_WHOLE, whole_number
from rotting.errors import BadType, BadValue, MissingExtra
from rotting.play.run import Run
from rotting.policies import PolicyLike
from rotting.policies._contract.policy import as_policy
from rotting.policies._contract.suited import mismatches, warn
from rotting.problems import NAMED, Problem, ProblemLike
from rotting.problems.named import as_problem

try:
    import gymnasium
except ImportError:
    raise MissingExtra("environments need gymnasium, which is not installed", hint="install rotting[gym]") from None

__all__ = ["BanditEnv", "Played", "play"]

NOTHING = np.int64(0)  # the only observation


class BanditEnv(gymnasium.Env[np.int64, np.int64]):
    """A problem as an environment: an action is an arm, and nothing is observed but the reward.

    The rewards are those of `rotting.simulate`: `reset(seed=7)` begins run 0 of seed 7, and each further `reset()` the
    next run. After `horizon` steps an episode is truncated. `info` holds what no policy may know: `mean`, what the pull
    was worth on average.

    Parameters
    ----------
    problem
        A problem, or a text that describes one.
    horizon
        Steps per episode (default: the problem's own).

    Examples
    --------
    >>> import gymnasium, rotting.gym
    >>> env = gymnasium.make("rotting/TwoArm-v0", L=2.0, horizon=100)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> info["mean"], truncated
    (1.0, False)
    """

    def __init__(self, problem: ProblemLike, horizon: int | None = None):
        self.problem = as_problem(problem)
        if not isinstance(self.problem, Problem):
            raise BadType("is not a rotting.Problem", name="problem", value=problem)
        if self.problem.is_limited:
            expected = "one of whose arms each may be pulled in every round"
            raise BadValue(
                "has rounds in which not all actions exist", name="problem", value=problem, expected=expected
            )
        rounds = self.problem.horizon if horizon is None else horizon
        self.horizon = whole_number("horizon", rounds, minimum=1, maximum=LARGEST_WHOLE)
        self.action_space = gymnasium.spaces.Discrete(self.problem.n_arms)
        self.observation_space = gymnasium.spaces.Discrete(1)  # there is nothing to see
        self.run: Run | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin another run: the first one of `seed`, or the one after the last."""
        super().reset(seed=seed)
        if seed is not None or self.run is None:
            first = int(self.np_random.integers(2**62)) if seed is None else seed
            self.run = Run(self.problem, first)
        else:
            self.run = Run(self.problem, self.run.seed, self.run.number + 1)
        return NOTHING, {}

    def step(self, action: np.int64 | int) -> tuple[np.int64, SupportsFloat, bool, bool, dict[str, Any]]:
        """Pull an arm."""
        if self.run is None or self.run.t >= self.horizon:
            raise BadValue("the episode has not begun or is over", hint="call reset() first")
        arm = whole_number("action", action, minimum=0, maximum=self.problem.n_arms - 1)
        mean = self.run.value(arm)
        reward = self.run.pull(arm)
        return NOTHING, reward, False, self.run.t >= self.horizon, {"mean": mean}

    def regret(self) -> float:
        """Return the expected regret of the episode so far, against the problem's oracle."""
        if self.run is None or self.run.t == 0:
            return 0.0
        best = self.problem.oracle(self.run.t, seed=self.run.seed, run=self.run.number).reward[-1]
        return float(best) - self.run.earned


class Played(NamedTuple):
    """What happened in an episode, step by step."""

    arms: np.ndarray  # int64, from 0, wherever the environment's actions start
    rewards: np.ndarray  # float64


def play(policy: PolicyLike, env: gymnasium.Env[Any, Any], seed: int | None = None, steps: int | None = None) -> Played:
    """Let a policy play one episode of any environment whose actions are arms.

    Parameters
    ----------
    policy
        A policy of the package or your own, or a text that describes one. It is told nothing but rewards.
    env
        An environment with a `Discrete` action space. It is reset first.
    seed
        For the environment and for the choices of a randomised policy.
    steps
        When to stop, if the episode does not end before (default: when it ends).

    Examples
    --------
    >>> import gymnasium, rotting.gym
    >>> played = rotting.gym.play("FEWA()", gymnasium.make("rotting/TwoArm-v0", L=4.0, horizon=200), seed=1)
    >>> len(played.arms), int((played.arms == 1).sum()) >= 50
    (200, True)
    """
    if not isinstance(env, gymnasium.Env):
        hint = "gymnasium.make makes one of a name; one of many at a time is none"
        raise BadType("is not an environment", name="env", value=env, expected="a gymnasium.Env", hint=hint)
    space = env.action_space
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise BadType("has actions that are no arms", name="env", value=env, expected="a Discrete action space")
    rule = as_policy(policy)
    if isinstance(env.unwrapped, BanditEnv):
        warn(mismatches(rule, env.unwrapped.problem, env.unwrapped.horizon))
    most = LARGEST_WHOLE if steps is None else whole_number("steps", steps, minimum=1)
    agent = rule.start(int(space.n), seed)
    arms: list[int] = []
    rewards: list[float] = []
    env.reset(seed=seed)
    ended = False
    while not ended and len(arms) < most:
        arm = agent.select()
        _, reward, terminated, truncated, _ = env.step(int(space.start) + arm)
        agent.update(arm, float(reward))
        arms.append(arm)
        rewards.append(float(reward))
        ended = terminated or truncated
    return Played(np.array(arms, np.int64), np.array(rewards))


def _named(name: str, horizon: int | None = None, **parameters: Any) -> BanditEnv:
    """Return the environment of a named problem; what gymnasium is given goes to the problem."""
    make = NAMED[name]
    if horizon is not None and "horizon" in inspect.signature(make).parameters:
        parameters["horizon"] = horizon
    return BanditEnv(make(**parameters), horizon)


def _register() -> None:
    for name in NAMED.keys() - {"push"}:  # not all of its arms may be pulled in every round
        known = f"rotting/{name.title().replace('_', '')}-v0"
        if known not in gymnasium.registry:
            gymnasium.register(known, entry_point="rotting.gym:_named", kwargs={"name": name})


_register()
