"""Problems in which not all arms may be pulled in every round, whoever plays them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import rotting
from rotting.errors import BadValue, KernelError
from rotting.parameters import parameter
from rotting.play import Cell, play, threads
from rotting.play.players import players_of
from rotting.play.run import Run
from rotting.policies import Policy, RecoveringSoftmax
from rotting.problems import Dynamics, Problem, push
from rotting.problems.kernel import SHOWN

PUSH = push(users=7, horizon=150)


class TurnMemory(NamedTuple):
    pulls: np.ndarray
    eligible: np.ndarray


def value(problem, memory, arm, t):
    return 0.1 * arm


def begin(problem, memory, key):
    for arm in range(len(memory.eligible)):
        memory.eligible[arm] = arm % 2


def pulled(problem, memory, arm, t):
    for other in range(len(memory.eligible)):
        memory.eligible[other] = (other + t) % 2


@dataclass(frozen=True)
class Turns(Dynamics, memory=TurnMemory, value=value, pulled=pulled, begin=begin):
    """Odd arms may be pulled in odd rounds, even ones in even rounds."""

    def initial_memory(self, n_arms):
        return TurnMemory(np.zeros(n_arms, np.int64), np.ones(n_arms, np.int64))


TURNS = Problem([0.0] * 4, dynamics=Turns(), horizon=40)


def actions(policy, problem, check=False, delay=0, runs=2):
    traced = rotting.simulate(policy, problem, runs=runs, check=check, trace=["actions"], delay=delay, progress=False)
    return traced.actions.values[0]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("policy", [RecoveringSoftmax(), rotting.UCB1(), rotting.Uniform(), rotting.FEWA()])
def test_only_eligible_arms_are_pulled(policy, check):
    for arms in actions(policy, TURNS, check):
        assert (arms % 2 == np.arange(1, 41) % 2).all()


@pytest.mark.parametrize("policy", [RecoveringSoftmax(tau=0.1, prior=3), rotting.UCB1(), rotting.BetaThompson()])
def test_checked_and_compiled_players_agree(policy):
    np.testing.assert_array_equal(actions(policy, PUSH), actions(policy, PUSH, check=True))


def test_a_policy_that_does_not_see_chooses_as_if_the_others_did_not_exist():
    """UCB1, written down: the largest index among the eligible."""
    run = Run(PUSH, seed=0, number=0)
    agent = rotting.UCB1().start(PUSH.n_arms)
    for arm in actions(rotting.UCB1(), PUSH, runs=1)[0].tolist():
        eligible = run.eligible.nonzero()[0].tolist()
        assert arm == agent.select_among(eligible, np.uint64(0))[0]
        agent.update(arm, run.pull(arm))


def test_a_policy_that_sees_gets_what_the_memory_says():
    run = Run(PUSH, seed=0, number=1)
    policy = RecoveringSoftmax(tau=0.1, prior=3)
    agent = policy.start(PUSH.n_arms)
    for t, arm in enumerate(actions(policy, PUSH)[1].tolist(), 1):
        agent.see(run.eligible.nonzero()[0], run.journal.memory.rest)
        assert agent.select_at(t, run.key) == arm
        agent.update(arm, run.pull(arm))


class Blind:
    def __init__(self, n_arms):
        pass

    def select(self):
        return 0

    def update(self, arm, reward):
        pass


class Seeing(Blind):
    def select(self, eligible):
        return eligible[-1]


def test_python_classes_may_ask_for_the_eligible_arms():
    assert actions(Seeing, TURNS, runs=1)[0].tolist() == [3, 2] * 20
    with pytest.raises(KernelError, match="Blind: select gave 0 in round 1, which may not be pulled then"):
        actions(Blind, TURNS)


class BadState(NamedTuple):
    pulls: np.ndarray
    eligible: np.ndarray


def select(state, t, word):
    return 0


def update(state, arm, reward):
    state.pulls[arm] += 1


@dataclass(frozen=True)
class Ignores(Policy, state=BadState, select=select, update=update, sees=("eligible",)):
    wide: bool = parameter(False, choices=(False, True), doc="whether its field is wrong")

    def initial_state(self, n_arms):
        return BadState(np.zeros(n_arms, np.int64), np.ones(n_arms, float if self.wide else np.int64))


@pytest.mark.parametrize("check", [False, True])
def test_an_arm_that_may_not_be_pulled_stops_the_run(check):
    with pytest.raises(KernelError, match="select gave 0 in round 1, which may not be pulled then"):
        actions(Ignores(), TURNS, check)


def test_a_field_of_another_form_is_refused():
    with pytest.raises(KernelError, match=r"eligible has another form.*int64\[3\]"):
        Ignores(wide=True).start(3)


@pytest.mark.parametrize("sees", [("colour",), ("eligible",)])
def test_what_no_state_can_see_is_refused(sees):
    with pytest.raises(rotting.errors.PolicyDefinitionError, match="sees="):

        class Odd(Ignores if sees == ("colour",) else rotting.UCB1, sees=sees):
            pass


@pytest.mark.parametrize("policy", [RecoveringSoftmax(), rotting.UCB1()])
def test_late_rewards_are_refused(policy):
    with pytest.raises(BadValue, match="delay"):
        actions(policy, PUSH, delay=3)


def test_a_bandit_refuses_what_it_does_not_log(tmp_path):
    with pytest.raises(ValueError, match="policy=RecoveringSoftmax"):
        rotting.Bandit.open(f"sqlite:///{tmp_path}/log.db", "push", RecoveringSoftmax(), ["a", "b"])


def test_oracles_keep_to_the_eligible_arms():
    assert TURNS.oracle(4).reward == pytest.approx(0.3 + 0.2 + 0.3 + 0.2)
    for kind in ("look-ahead", "constant arm", "best cycle"):
        with pytest.raises(BadValue, match="'greedy'"):
            TURNS.oracle(4, kind=kind)


def test_a_run_refuses_other_arms():
    run = Run(TURNS)
    with pytest.raises(BadValue, match=r"arm=0 may not be pulled now.*\[1, 3\]"):
        run.pull(0)
    run.pull(3)
    assert run.eligible.tolist() == [1, 0, 1, 0]


def test_nothing_is_shown_where_nothing_is_to_be_seen():
    """A policy that sees on a problem that shows nothing plays all arms, and ages its rests itself."""
    problem = Problem([0.1, 0.3, 0.2], noise="bernoulli", horizon=300)
    result = rotting.simulate(RecoveringSoftmax(tau=1.0), problem, runs=2, progress=False)
    assert (result.pulls.values > 0).all()
    assert SHOWN == ("eligible", "rest")


def test_a_memory_of_another_form_is_refused():
    @dataclass(frozen=True)
    class Wrong(Turns):
        def initial_memory(self, n_arms):
            return TurnMemory(np.zeros(n_arms, np.int64), np.ones(n_arms))

    with pytest.raises(KernelError, match=r"memory.eligible is float64\[2\]"):
        Problem([0.0, 0.0], dynamics=Wrong()).new_memory()


def test_cells_say_so_too():
    [player] = players_of(rotting.UCB1(), PUSH, 150)
    assert not player.is_compiled
    cell = Cell(player, PUSH, 150, np.array([150]), range(2), 0)
    assert [each.pulls.sum() for each in play([cell], on=threads(1))] == [150, 150]


class NumberState(NamedTuple):
    pulls: np.ndarray
    rest: np.ndarray
    arm: np.ndarray


def select_rested(state, t, word):
    best = 0
    for arm in range(len(state.rest)):
        if state.rest[arm] > state.rest[best]:
            best = arm
    return best


def select_kept(state, t, word):
    return state.arm[0]


def update_kept(state, arm, reward):
    state.pulls[arm] += 1
    state.arm[0] = (arm + 1) % len(state.pulls)


class Made:
    def initial_state(self, n_arms):
        return NumberState(np.zeros(n_arms, np.int64), np.full(n_arms, np.inf), np.zeros(1, np.int64))


@dataclass(frozen=True)
class MostRested(Made, Policy, state=NumberState, select=select_rested, update=update_kept, sees=("rest",)):
    """The eligible arm that the user has not seen for longest."""


@dataclass(frozen=True)
class Keeper(Made, Policy, state=NumberState, select=select_kept, update=update_kept):
    """A policy whose state holds numbers of arms."""


@pytest.mark.parametrize("check", [False, True])
def test_what_else_is_shown_reaches_policies_that_choose_by_views(check):
    run = Run(PUSH, seed=0, number=0)
    for arm in actions(MostRested(), PUSH, check, runs=1)[0].tolist():
        rest = np.where(run.eligible == 1, run.journal.memory.rest, -1.0)
        assert rest[arm] == rest.max()
        run.pull(arm)


def test_a_policy_that_cannot_choose_among_some_arms_is_refused():
    with pytest.raises(KernelError, match=r"Keeper.*depends on the others"):
        actions(Keeper(), PUSH)
