"""Policies of users that would go wrong without a word: each is refused, and the error says what to do."""

import types
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import pytest

import rotting
from rotting import UCB1, Bandit
from rotting.bandit import BadSettings
from rotting.errors import BadType, BadValue, KernelError, PolicyDefinitionError
from rotting.parameters import parameter
from rotting.policies import Agent, Policy
from rotting.policies.ucb1 import UCB1State

PROBLEM = rotting.problems.two_arm(L=1.0, horizon=50)


class Totals(NamedTuple):
    pulls: np.ndarray
    totals: np.ndarray


def first_arm(state, t, word):
    return 0


def add(state, arm, reward):
    state.pulls[arm] += 1
    state.totals[arm] += reward


def policy_class(name, select=first_arm, update=add, state=Totals, initial=None, **members):
    """Return a policy class of that name, as a module of a user would define it."""

    def initial_state(self, n_arms):
        return Totals(np.zeros(n_arms, np.int64), np.zeros(n_arms))

    members = {"initial_state": initial or initial_state, "__module__": __name__, "__qualname__": name, **members}
    line = {"state": state, "select": select, "update": update}
    return dataclass(frozen=True)(types.new_class(name, (Policy,), line, lambda body: body.update(members)))


def simulate(policy, **options):
    return rotting.simulate(policy, PROBLEM, runs=1, threads=1, progress=False, **options)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_infinite_rewards_are_refused_in_every_precision(kind):
    agent = UCB1().start(2)
    with pytest.raises(BadValue, match="is not finite"):
        agent.update_many([0, 1], np.array([np.inf, 1.0], kind))
    assert agent.t == 0


def test_masked_rewards_are_refused():
    with pytest.raises(BadValue, match="rewards holds masked values"):
        UCB1().start(2).update_many([0, 1], np.ma.array([0.5, 9.0], mask=[0, 1]))


@pytest.mark.parametrize(("arms", "rewards"), [(0, [1.0]), ([0], 1.0), ([0], np.array(1.0)), ("0", [1.0])])
def test_many_rewards_are_sequences(arms, rewards):
    with pytest.raises(BadType):
        UCB1().start(2).update_many(arms, rewards)


def derived(name, totals):
    """Return a class derived from UCB1 that only makes other states."""

    def initial_state(self, n_arms):
        return UCB1State(np.ones(1), np.zeros(n_arms, np.int64), totals(n_arms))

    members = {"initial_state": initial_state, "__module__": __name__}
    return types.new_class(name, (UCB1,), {}, lambda body: body.update(members))


def test_a_derived_class_is_checked_like_any_other():
    simulate(UCB1())
    shared = np.zeros(2)
    with pytest.raises(KernelError, match="update puts a float into an array of int64"):
        simulate(derived("WholeUCB", lambda n: np.zeros(n, np.int64))())
    with pytest.raises(KernelError, match=r"state\.totals is shared by all states"):
        simulate(derived("SharedUCB", lambda n: shared)())
    with pytest.raises(KernelError, match="update puts a float into an array of bool"):
        simulate(derived("TruthUCB", lambda n: np.zeros(n, bool))())


def count_all(state, arm, reward):
    for each in range(len(state.pulls)):
        state.pulls[each] += 1


def test_pulls_of_other_arms_are_not_counted():
    miscounting = policy_class("CountsAll", update=count_all)()
    with pytest.raises(KernelError, match=r"update changes pulls by more than pulls\[arm\] \+= 1"):
        simulate(miscounting)
    with pytest.raises(KernelError, match="update did not count one pull of the arm, and only that"):
        miscounting.start(2).update(0, 1.0)
    with pytest.raises(KernelError, match="update did not count one pull of the arm, and only that"):
        miscounting.start(2).update_many([0], [1.0])


def test_arrays_of_a_state_do_not_overlap():
    def initial_state(self, n_arms):
        base = np.zeros(2 * n_arms)
        return Overlap(np.zeros(n_arms, np.int64), base, base[:n_arms])

    class Overlap(NamedTuple):
        pulls: np.ndarray
        totals: np.ndarray
        part: np.ndarray

    with pytest.raises(KernelError, match=r"state\.part and state\.totals overlap"):
        policy_class("Overlapping", state=Overlap, initial=initial_state)().start(2)


def test_an_agent_of_a_class_that_was_defined_again_cannot_be_saved(tmp_path):
    older = policy_class("Twice")()
    newer = policy_class("Twice", select=lambda state, t, word: 1)()
    with pytest.raises(BadValue, match="its text, read back, is another policy"):
        older.start(2).save(tmp_path / "agent.npz")
    newer.start(2).save(tmp_path / "agent.npz")
    assert Agent.load(tmp_path / "agent.npz").select() == 1


@pytest.mark.parametrize("name", ["randomised", "scratch", "start", "update"])
def test_parameters_take_no_name_that_every_policy_has(name):
    members = {"__annotations__": {name: "float"}, name: parameter(0.5, doc="x", minimum=0)}
    with pytest.raises(PolicyDefinitionError, match=f"{name} cannot be the name of a parameter"):
        policy_class(f"With_{name}", **members)


def test_kernels_are_no_methods_of_a_parent_either():
    mixin = type("Mixin", (), {"select": lambda self, state, t, word: 0})
    with pytest.raises(PolicyDefinitionError, match="select is a method"):
        types.new_class("Mixed", (mixin, UCB1))


def test_initial_state_is_asked_for_when_the_class_is_defined():
    with pytest.raises(PolicyDefinitionError, match="initial_state is missing"):
        types.new_class("Stateless", (Policy,), {"state": Totals, "select": first_arm, "update": add})


@numba.njit
def beyond(totals):
    return totals[10]


def test_checking_reaches_helpers_in_closures_and_modules():
    module = types.ModuleType("helpers")
    module.beyond = beyond
    by_closure, by_module = beyond, module

    def select_by_closure(state, t, word):
        return 0 if by_closure(state.totals) < 1e300 else 1

    def select_by_module(state, t, word):
        return 0 if by_module.beyond(state.totals) < 1e300 else 1

    for place, select in enumerate((select_by_closure, select_by_module)):
        with pytest.raises(KernelError, match="index 10 is out of bounds"):
            simulate(policy_class(f"Beyond{place}", select=select)(), check=True)


def test_a_kernel_that_cannot_be_compiled_is_named_with_the_users_line():
    def allocates(state, t, word):
        return len(np.zeros(3) + state.totals) * 0

    with pytest.raises(
        KernelError, match=r"cannot be compiled: .*\(File .*test_users_policies\.py.*, line \d+"
    ) as caught:
        simulate(policy_class("Allocates", select=allocates)())
    assert "\x1b" not in str(caught.value)


class Follower(NamedTuple):
    pulls: np.ndarray
    arm: np.ndarray  # [a number of an arm]


def follow(state, t, word):
    return state.arm[0]


def remember(state, arm, reward):
    state.pulls[arm] += 1
    if reward < 0.5:
        state.arm[0] = (arm + 1) % len(state.pulls)


def test_a_bandit_refuses_states_with_numbers_of_arms(tmp_path):
    def initial_state(self, n_arms):
        return Follower(np.zeros(n_arms, np.int64), np.zeros(1, np.int64))

    following = policy_class("Following", select=follow, update=remember, state=Follower, initial=initial_state)()
    with pytest.raises(BadSettings, match="its state holds numbers of arms"):
        Bandit.open(f"sqlite:///{tmp_path}/x.db", "hero", following, ["a", "b", "c"])
    Bandit.open(f"sqlite:///{tmp_path}/x.db", "other", policy_class("Sums")(), ["a", "b", "c"]).close()


def turn(state, t, word):
    state.arm[0] += 1
    return state.arm[0] % len(state.pulls)


@pytest.mark.parametrize("shared", [False, True])
def test_a_bandit_refuses_a_select_that_remembers(tmp_path, shared):
    """It selects in copies of the state: what they remember is lost, and one arm would be chosen for ever."""
    own = policy_class(f"Turning{shared}", select=turn, update=remember, state=Follower, initial=begin_at_0)()
    type(own).shared_memory = shared
    with pytest.raises(BadSettings, match="select gives another arm when it is asked again"):
        Bandit.open(f"sqlite:///{tmp_path}/x.db", "hero", own, ["a", "b", "c"])


def begin_at_0(policy, n_arms):
    return Follower(np.zeros(n_arms, np.int64), np.zeros(1, np.int64))


@pytest.mark.parametrize(
    "make",
    [
        lambda: rotting.SWA(horizon=1e300),
        lambda: rotting.SlidingWindowUCB(tau=2**63),
        lambda: rotting.MOSS(horizon=10**400),
        lambda: rotting.Rexp3(horizon=10**400),
        lambda: simulate(UCB1(), horizon=2**63),
        lambda: UCB1().start(2**63 - 1),
        lambda: UCB1().start(2**63),
        lambda: rotting.SlidingWindowUCB(tau=2**62).start(2),
    ],
)
def test_numbers_that_are_too_large_are_refused_by_name(make):
    with pytest.raises(BadValue):
        make()
