"""Kernels that break the contract are named, not played."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import rotting
from programs import printed_elsewhere, printed_here
from rotting import Policy, simulate
from rotting.errors import KernelError
from rotting.policies import POLICIES
from rotting.policies._contract.states import fresh_state
from rotting.problems import Drop, Problem, stationary

PACKAGE = Path(rotting.__file__).parent
PROBLEM = stationary([0.0, 0.5, 1.0])


class TotalState(NamedTuple):
    pulls: np.ndarray
    totals: np.ndarray


def in_turn(state, t, word):
    return (t - 1) % len(state.pulls)


def one_too_far(state, t, word):
    return (t - 1) % (len(state.pulls) + 1)


def from_the_end(state, t, word):
    return -1


def far_out(state, t, word):
    return 10**12


def half(state, t, word):
    return 0.5


def learn(state, arm, reward):
    state.pulls[arm] += 1
    state.totals[arm] += reward


def learn_without_counting(state, arm, reward):
    state.totals[arm] += reward


def learn_twice(state, arm, reward):
    state.pulls[arm] += 2


def learn_beyond_the_end(state, arm, reward):
    state.pulls[arm] += 1
    state.totals[arm + 1] = reward


def learn_with_a_list(state, arm, reward):
    state.pulls[arm] += 1
    state.totals[arm] = max([reward, 0.0])


_SHARED = np.zeros(3)


def policy_of(select=in_turn, update=learn, pulls=None, totals=None) -> Policy:
    @dataclass(frozen=True)
    class Tested(Policy, state=TotalState, select=select, update=update):
        def initial_state(self, n_arms):
            return TotalState(
                np.zeros(n_arms, np.int64) if pulls is None else pulls(n_arms),
                np.zeros(n_arms) if totals is None else totals(n_arms),
            )

    return Tested()


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({"pulls": lambda n: np.zeros(n)}, r"pulls is float64\[3\]; expected int64\[3\]"),
        ({"pulls": lambda n: np.zeros(n, np.int32)}, r"pulls is int32"),
        ({"pulls": lambda n: np.zeros(n + 1, np.int64)}, r"pulls is int64\[4\]"),
        ({"pulls": lambda n: np.ones(n, np.int64)}, "zeros"),
        ({"pulls": lambda n: [0] * n}, "pulls is list"),
        ({"totals": lambda n: [0.0] * n}, "state.totals is a list"),
        ({"totals": lambda n: np.random.default_rng(0)}, "state.totals is a Generator"),
        ({"totals": lambda n: np.array(["a"] * n)}, "array of <U1"),
        ({"totals": lambda n: np.zeros(())}, "length one"),
        ({"totals": lambda n: np.zeros((n, 2))[:, 0]}, "not contiguous"),
        ({"totals": lambda n: _SHARED}, "state.totals is shared by all states"),
        ({"totals": lambda n: np.zeros(n, np.int64)}, "puts a float into an array of int64.*test_states.py"),
    ],
)
def test_states_are_checked_when_a_policy_is_first_used(faults, says):
    for use in (lambda policy: policy.start(3), lambda policy: simulate(policy, PROBLEM, horizon=10, runs=1)):
        with pytest.raises(KernelError, match=f"Tested.*{says}"):
            use(policy_of(**faults))


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({"select": one_too_far}, "select gave 3 in round 4; expected an arm from 0 to 2"),
        ({"select": from_the_end}, "select gave -1 in round 1"),
        ({"select": far_out}, "select gave 1000000000000 in round 1"),
        ({"update": learn_without_counting}, "update left pulls at [0, 0, 0] in round 1; expected [1, 0, 0]"),
        ({"update": learn_twice}, "update changes pulls by more than pulls[arm] += 1"),
    ],
)
@pytest.mark.parametrize("check", [False, True])
def test_what_kernels_return_is_checked_in_the_loop(faults, says, check):
    # Without `check`, too: the first rounds of a user's kernels are always played checked.
    with pytest.raises(KernelError, match="Tested") as caught:
        simulate(policy_of(**faults), PROBLEM, horizon=10, runs=1, progress=False, check=check)
    assert says in str(caught.value)


@pytest.mark.parametrize("faults", [{"select": from_the_end}, {"select": far_out}, {"update": learn_twice}])
def test_agents_check_it_too(faults):
    agent = policy_of(**faults).start(3)
    with pytest.raises(KernelError, match=r"Tested.*round 1.*check=True"):
        agent.update(agent.select(), 0.5)


def test_numba_is_quoted_in_a_line():
    def decide(policy):
        policy.start(2).update(policy.start(2).select(), 1.0)

    def play(policy):
        simulate(policy, PROBLEM, horizon=5, runs=1, progress=False)

    # What plain Python objects to, too, is said by the checked first rounds.
    for faults, use, expected in (
        ({"select": half}, decide, "cannot be compiled"),
        ({"select": half}, play, "select gave 0.5 in round 1; expected an arm from 0 to"),
        ({"update": learn_with_a_list}, decide, "cannot be compiled"),
        ({"update": learn_with_a_list}, play, "cannot be compiled"),
    ):
        with pytest.raises(KernelError, match=rf"Tested.*{expected}") as caught:
            use(policy_of(**faults))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 800


def test_checking_leads_to_the_line():
    for update in (learn_beyond_the_end,):
        with pytest.raises(
            KernelError, match=r"IndexError: index 3 .*test_states.py, line \d+: state.totals\[arm \+ 1\]"
        ):
            simulate(policy_of(update=update), PROBLEM, horizon=10, runs=1, progress=False, check=True)


@pytest.mark.parametrize("name", POLICIES)
def test_checking_changes_no_result(name, build_policy):
    problem = Problem([Drop(1.0, 0.0, 20), 0.3, [0.5, 0.4], 0.2], sigma=0.5)
    settings = {"problem": problem} if name == "Oracle" else {}
    policy = build_policy(name, **settings)
    plain, checked = (
        simulate(policy, problem, horizon=60, runs=2, seed=3, progress=False, check=check) for check in (False, True)
    )
    assert checked.pulls.values.tolist() == plain.pulls.values.tolist()
    np.testing.assert_array_equal(checked.regret.values, plain.regret.values)


WITHOUT_COMPILER = """
import json, warnings
import matplotlib.figure  # whose own warnings are not ours
warnings.simplefilter("error")
import rotting
from rotting.errors import PolicyMismatch
warnings.simplefilter("ignore", PolicyMismatch)
from rotting.policies import POLICIES
from rotting.problems import Constant, Drop, Problem
problem = Problem([Drop(1.0, 0.0, 20), 0.3, [0.5, 0.4], 0.2], sigma=0.5)
fitting = {"curves": (Constant(0.0), Constant(0.5))}
needs = {"CTO": fitting, "CTOSIM": fitting, "DCTOUCB": fitting}
needs |= {"LinUCRL": {"window": 2}, "Oracle": {"problem": problem}}
played = {}
for name, kind in POLICIES.items():
    policy = kind(**needs.get(name, {"horizon": 300} if "horizon" in kind.knows else {}))
    result = rotting.simulate(policy, problem, horizon=300, runs=1, seed=2, progress=False)
    agent = policy.start(4, seed=1)
    for t in range(60):
        agent.update(agent.select(), (t % 7) / 7)
    played[name] = [result.pulls.values.tolist(), agent.pulls.tolist()]
print(json.dumps(played))
"""


def test_kernels_run_as_plain_python():
    """Kernels can be stepped through: decisions stay the same."""
    compiled = json.loads(printed_here(WITHOUT_COMPILER))
    assert len(compiled) == len(POLICIES)
    plain = printed_elsewhere(WITHOUT_COMPILER, NUMBA_DISABLE_JIT=1, PYTHONPATH=PACKAGE.parent)
    assert json.loads(plain) == compiled


def test_every_state_of_the_package_fits_the_contract(build_policy):
    for name in POLICIES:
        policy = build_policy(name)
        assert type(fresh_state(policy, 4)) is policy.State
