"""Who may take part in simulations: policies, plain Python classes, policies from elsewhere; what they are called."""

import importlib.util
import sys
import threading
from typing import ClassVar

import numpy as np
import pytest

import rotting
from rotting import FEWA, UCB1, Oracle, Uniform
from rotting.policies import Agent, Policy
from small_games import PROBLEM, PythonUCB1, RoundRobin, assert_same, quietly


def test_a_python_class_does_as_well_as_the_same_rule_compiled():
    result = quietly([UCB1(sigma=0.5), PythonUCB1], rounds=range(1, 121))
    np.testing.assert_array_equal(result.regret.values[0], result.regret.values[1])
    np.testing.assert_array_equal(result.pulls.values[0], result.pulls.values[1])
    assert result["policy"].values.tolist() == ["UCB1(sigma=0.5)", "PythonUCB1"]


def test_whatever_has_a_start_can_take_part():
    class Ready:
        def start(self, n_arms):
            return RoundRobin(n_arms)

    assert_same(quietly(Ready()), quietly(RoundRobin))
    assert_same(quietly(lambda n_arms: RoundRobin(n_arms)), quietly(RoundRobin))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_agent_plays_one_run(threads):
    """What it has learnt in a run would go on in the next, in silence."""
    agent = RoundRobin(3)
    with pytest.raises(ValueError, match=r"the same agent for several runs.*expected a new one from each call"):
        quietly(lambda n_arms: agent, threads=threads)


class Random(RoundRobin):
    """Chooses by chance, and remembers the seeds that it was given."""

    seeds: ClassVar[list[object]] = []

    def __init__(self, n_arms, seed=None):
        super().__init__(n_arms)
        self.seeds.append(seed)
        self.rng = np.random.default_rng(seed)

    def select(self):
        return int(self.rng.integers(self.n_arms))


class RandomByAnotherName(Random):
    """`Class(n_arms)` is how it is called, so the first parameter may have any name."""

    def __init__(self, k, seed=None):
        super().__init__(k, seed)


@pytest.mark.parametrize("policy", [Random, RandomByAnotherName])
def test_a_python_class_with_a_seed_gets_one(policy):
    policy.seeds.clear()
    first, second = quietly(policy, threads=2), quietly(policy, threads=1)
    assert_same(first, second)
    assert all(isinstance(seed, int) for seed in policy.seeds)
    assert len(set(policy.seeds)) == 4  # one per run, the same in both simulations
    assert_same(quietly(policy, runs=2), first.isel(run=slice(2)))


@pytest.mark.parametrize("answer", [-1, 3, 1.5, "a", None, float("nan"), 2**80], ids=repr)
def test_a_python_class_that_names_no_arm_is_told_so(answer):
    class Confused(RoundRobin):
        def select(self):
            return answer if self.t == 5 else 0

    with pytest.raises(ValueError, match=r"Confused: select\(\) gave .*expected an arm from 0 to 2"):
        quietly(Confused, threads=2)


@pytest.mark.parametrize("method", ["__init__", "select", "update"])
@pytest.mark.parametrize("threads", [1, 4])
def test_errors_in_a_python_class_come_through(method, threads):
    class Broken(RoundRobin):
        pass

    def fail(self, *arguments):
        raise RuntimeError("broken on purpose")

    setattr(Broken, method, fail)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="broken on purpose"):
        quietly([Uniform(), Broken, FEWA()], runs=50, threads=threads)
    assert threading.active_count() == before  # nobody is left working


def test_an_error_stops_the_other_runs():
    rounds_played = []

    class Slow(RoundRobin):
        def __init__(self, n_arms):
            super().__init__(n_arms)
            rounds_played.append(0)
            self.place = len(rounds_played) - 1

        def update(self, arm, reward):
            super().update(arm, reward)
            rounds_played[self.place] += 1
            if self.place == 0 and self.t == 10:
                raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        quietly(Slow, horizon=200_000, runs=100, threads=2)
    assert len(rounds_played) < 20
    assert max(rounds_played) < 200_000  # those under way were stopped on their way


def test_labels():
    result = quietly({"a": FEWA(), 5: Uniform(), "c": RoundRobin})
    assert result["policy"].values.tolist() == ["a", "5", "c"]
    assert quietly(FEWA())["policy"].values.tolist() == ["FEWA(alpha=0.06)"]
    assert quietly(policy for policy in (FEWA(), Uniform())).sizes["policy"] == 2


def test_policies_that_look_alike_are_told_apart():
    twins = [FEWA(), FEWA(), FEWA(alpha=0.06 + 1e-9), FEWA(sigma=2.0), RoundRobin, RoundRobin]
    labels = quietly(twins)["policy"].values.tolist()
    assert len(set(labels)) == 6
    assert "FEWA(alpha=0.06, sigma=2)" in labels
    assert any("0.060000001" in label for label in labels)


def test_policies_are_informed_of_what_they_may_know():
    result = quietly([rotting.SWA(), Oracle()], horizon=200)
    assert_same(result.sel(policy=["Oracle()"]), quietly([Oracle(PROBLEM)], horizon=200))
    assert_same(result.isel(policy=[0]), quietly(rotting.SWA(horizon=200), horizon=200))


OWN_POLICY = '''
"""A policy from outside the package, on the kernel contract."""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.policies import Policy


class StrideState(NamedTuple):
    settings: np.ndarray  # int64 [stride]
    pulls: np.ndarray
    totals: np.ndarray


def select(state, t, word):
    return (t - 1) * state.settings[0] % len(state.pulls)


def update(state, arm, reward):
    state.pulls[arm] += 1
    state.totals[arm] += reward


@dataclass(frozen=True)
class StridePolicyOfATest(Policy, state=StrideState, select=select, update=update):
    stride: int = parameter(1, whole=True, minimum=1, doc="how far to go")

    def initial_state(self, n_arms):
        return StrideState(np.array([self.stride]), np.zeros(n_arms, np.int64), np.zeros(n_arms))
'''


@pytest.fixture
def own_module(tmp_path):
    path = tmp_path / "policy_from_outside.py"
    path.write_text(OWN_POLICY)
    spec = importlib.util.spec_from_file_location("policy_from_outside", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["policy_from_outside"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["policy_from_outside"]
    del Policy.known["StridePolicyOfATest"]


def test_a_compiled_policy_from_outside_takes_part(own_module, tmp_path):
    policy = own_module.StridePolicyOfATest(stride=2)
    result = quietly([policy, UCB1(), own_module.StridePolicyOfATest(stride=1), RoundRobin], rounds=range(1, 121))
    assert result["policy"].values.tolist()[0] == "StridePolicyOfATest(stride=2)"
    assert result.pulls.values[0].tolist() == [[40, 40, 40]] * 4
    np.testing.assert_array_equal(result.regret.values[2], result.regret.values[3])
    assert_same(result.isel(policy=[1]), quietly(UCB1(), rounds=range(1, 121)))
    # Its agents can be played and saved as any other's.
    agent = policy.start(3)
    choices = []
    for _ in range(9):
        choices.append(agent.select())
        agent.update(choices[-1], 0.5)
    assert choices == [0, 2, 1] * 3
    agent.save(tmp_path / "agent.npz")
    assert Agent.load(tmp_path / "agent.npz").pulls.tolist() == [3, 3, 3]


class WithoutUpdate:
    def __init__(self, n_arms):
        self.n_arms = n_arms

    def select(self):
        return 0


class WithoutArms:
    def select(self):
        return 0

    def update(self, arm, reward):
        pass


@pytest.mark.parametrize("idea", [WithoutUpdate, WithoutArms])
def test_a_python_class_that_is_no_policy_is_refused(idea):
    with pytest.raises(TypeError, match=idea.__name__):
        quietly(idea)
