"""What a policy's class line may say; kernels that belong to one policy and no other."""

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import rotting
from programs import printed_elsewhere, printed_here
from rotting import UCB1, Policy, simulate
from rotting.errors import PolicyDefinitionError
from rotting.policies import POLICIES, ucb1
from rotting.policies.ucb1 import UCB1State
from rotting.problems import stationary

PACKAGE = Path(rotting.__file__).parent
PROBLEM = stationary([0.0, 0.5, 1.0])


class CountState(NamedTuple):
    pulls: np.ndarray


def first(state, t, word):
    return 0


def last(state, t, word):
    return len(state.pulls) - 1


def coin(state, t, word):
    return word % 2


def count(state, arm, reward):
    state.pulls[arm] += 1


def pulls_of(policy: Policy, rounds: int = 20) -> list[int]:
    return simulate(policy, PROBLEM, horizon=rounds, runs=1, progress=False).pulls.values[0, 0].tolist()


class Counting(Policy, abstract=True):
    def initial_state(self, n_arms):
        return CountState(np.zeros(n_arms, np.int64))


@dataclass(frozen=True)
class AlwaysFirst(Counting, state=CountState, select=first, update=count):
    pass


@dataclass(frozen=True)
class AlwaysLast(Counting, state=CountState, select=last, update=count):
    pass


def test_policies_that_share_a_state_class_keep_their_own_functions():
    for policy, expected in ((AlwaysFirst(), [20, 0, 0]), (AlwaysLast(), [0, 0, 20]), (AlwaysFirst(), [20, 0, 0])):
        assert pulls_of(policy) == expected
        agent = policy.start(3)
        assert agent.select() == expected.index(20)


def test_a_derived_policy_replaces_what_it_gives_and_inherits_the_rest():
    before = pulls_of(UCB1())

    @dataclass(frozen=True)
    class StubbornUCB(UCB1, select=last):
        pass

    assert pulls_of(StubbornUCB()) == [0, 0, 20]
    assert pulls_of(UCB1()) == before

    @dataclass(frozen=True)
    class RenamedUCB(UCB1):
        pass

    assert pulls_of(RenamedUCB()) == before


def test_a_notebook_cell_that_is_run_again_plays_what_it_says_now():
    def cell(select):
        @dataclass(frozen=True)
        class InACell(Counting, state=CountState, select=select, update=count):
            pass

        return InACell

    assert pulls_of(cell(first)()) == [20, 0, 0]
    assert pulls_of(cell(last)()) == [0, 0, 20]
    assert Policy.known["InACell"]().start(3).select() == 2


POISON = """
from dataclasses import dataclass
import rotting
from rotting import UCB1
from rotting.policies import ucb1
from rotting.policies.ucb1 import UCB1State

def always0(state, t, word):
    return 0

@dataclass(frozen=True)
class MyUCB(UCB1, state=UCB1State, select=always0, update=ucb1.update):
    pass
"""
PLAY = """
import contextlib
import io
import json
import rotting
problem = rotting.problems.stationary([0.0, 0.5])
def pulls(policy):
    agent = policy.start(2)
    for t in range(100):
        agent.update(agent.select(), float(t % 3))
    return [rotting.simulate(policy, problem, horizon=500, runs=1, progress=False).pulls.values[0, 0].tolist(),
            agent.pulls.tolist()]
print(json.dumps([pulls(policy) for policy in POLICIES]))
"""


def test_no_policy_of_a_user_gets_into_the_cache_of_the_packages_own(tmp_path):
    def run(code: str) -> list[list[int]]:
        return json.loads(printed_elsewhere(code, NUMBA_CACHE_DIR=tmp_path, PYTHONPATH=PACKAGE.parent))

    [mine] = run(POISON + PLAY.replace("POLICIES", "[MyUCB()]"))
    assert mine == [[500, 0], [100, 0]]
    # UCB1's code is written to the cache here, and then MyUCB looks into it.
    theirs, mine_again = run(POISON + PLAY.replace("POLICIES", "[rotting.UCB1(), MyUCB()]"))
    assert mine_again == mine
    assert min(theirs[0]) > 20
    # With a user's policy around or without one, UCB1 is the same.
    assert json.loads(printed_here(PLAY.replace("POLICIES", "[rotting.UCB1()]"))) == [theirs]


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"state": CountState, "select": first}, "update missing"),
        ({"state": CountState, "update": count}, "select missing"),
        ({}, "state and select and update missing"),
        ({"state": dict, "select": first, "update": count}, "NamedTuple with a field pulls"),
        ({"state": CountState, "select": lambda state: 0, "update": count}, r"select\(state, t, word\)"),
        ({"state": CountState, "select": first, "update": print}, r"update\(state, arm, reward\)"),
        ({"state": CountState, "select": lambda s, n, w: 0, "update": count}, r"select\(state, t, word\)"),
        ({"state": CountState, "select": coin, "update": count}, "randomised=False.*uses its random word"),
        ({"state": CountState, "select": first, "update": count, "randomised": True}, "never uses its random word"),
        ({"state": CountState, "select": first, "update": count, "filters": True}, "active, left, dropped"),
        ({"state": CountState, "select": first, "update": count, "knows": ("horizon",)}, "informed"),
        ({"state": CountState, "select": first, "update": count, "keeps_history": True}, "reserve"),
    ],
)
def test_incomplete_and_contradictory_class_lines_are_refused(parts, says):
    with pytest.raises(PolicyDefinitionError, match=f"Faulty: .*{says}"):

        class Faulty(Policy, **parts):
            pass

    assert "Faulty" not in Policy.known


def test_methods_are_no_kernels():
    with pytest.raises(PolicyDefinitionError, match=r"WithMethods: select is a method.*plain function"):

        class WithMethods(UCB1):
            def select(self):
                return 0


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(PolicyDefinitionError, match=r"UCB1: rotting\.policies\.ucb1 has a policy of this name"):

        @dataclass(frozen=True)
        class UCB1(Counting, state=CountState, select=first, update=count):
            pass

    assert Policy.known["UCB1"] is rotting.UCB1
    assert rotting.policies.parse_policy("UCB1()") == rotting.UCB1()


def test_a_policy_with_slots_is_a_policy():
    @dataclass(frozen=True, slots=True)
    class Slotted(Counting, state=CountState, select=last, update=count):
        pass

    assert pulls_of(Slotted()) == [0, 0, 20]


def test_compiled_functions_are_taken_as_the_plain_ones_they_were():
    import numba

    @dataclass(frozen=True)
    class Jitted(Counting, state=CountState, select=numba.njit(last), update=numba.njit(count)):
        pass

    assert pulls_of(Jitted()) == [0, 0, 20]


# Traits, as every policy of the package declares them.


@pytest.mark.parametrize("name", POLICIES)
def test_traits_are_what_the_kernel_does(name, build_policy):
    policy = build_policy(name)
    agent = policy.start(4, seed=0)
    for place in range(40):
        agent.update(place % 4, float(place % 3 == 0))
    assert set(policy.scratch) <= set(policy.State._fields)
    if "problem" in policy.knows:
        return  # it cannot be asked about some of the arms only
    if name in ("AUCBTP", "AUCBTASW"):
        return  # they draw how patient to be, now and then, and no arm: see test_many_arms.py
    chosen = {agent.select_among([0, 1, 2, 3], np.uint64(1000 * key))[0] for key in range(300)}
    assert (len(chosen) > 1) == policy.randomised
    assert (agent.select_among([0, 1, 2, 3], np.uint64(0))[1] is not None) == policy.filters
    grown = policy.reserve(agent._state, 100_000)
    assert (grown is not agent._state) <= policy.keeps_history
    told = policy.informed(PROBLEM, 123)
    assert (told is not policy) <= bool(policy.knows)


def test_the_class_line_is_all_that_a_bandit_needs_to_know(tmp_path):
    @dataclass(frozen=True)
    class TossesCoins(Counting, state=CountState, select=coin, update=count, randomised=True):
        pass

    with rotting.Bandit.open(f"sqlite:///{tmp_path}/b.db", "b", TossesCoins(), ["red", "green"]) as bandit:
        choices = bandit.decide(60)
        assert {choice.arm for choice in choices} == {"red", "green"}
        assert {choice.probability for choice in choices} == {None, 1.0}  # 1: while an arm waits for its first reward
        bandit.verify()


def test_ucb1_is_still_the_shortest_example():
    """CONTRIBUTING and docs/new_policy.md send people there."""
    assert UCB1State._fields == ("settings", "pulls", "totals")
    assert len(Path(ucb1.__file__).read_text().splitlines()) < 80
    assert textwrap.dedent(UCB1.__doc__ or "")


def test_a_class_line_that_says_something_unknown_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'randomized'"):
        type("Misspelt", (Counting,), {}, state=CountState, select=coin, update=count, randomized=True)


def test_who_brings_a_select_does_not_inherit_what_was_said_of_another():
    tossing = type("Tossing", (Counting,), {}, state=CountState, select=coin, update=count, randomised=True)
    assert tossing.randomised
    assert not type("Settled", (tossing,), {}, select=first).randomised
    assert type("AlsoTossing", (tossing,), {}, update=count).randomised
