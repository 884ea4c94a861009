"""Kernels and problems of users that lie: no wrong number in silence, and `check=True` leads to the line."""

import inspect
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import pytest

from rotting import UCB1, Problem, simulate, tune
from rotting.errors import KernelError
from rotting.parameters import parameter
from rotting.policies import Policy
from rotting.problems import Dynamics, Noise

LATE = 300  # rounds: later than the first ones, which are played checked


class LyingState(NamedTuple):
    settings: np.ndarray
    pulls: np.ndarray


def in_turn(state, t, word):
    return t % len(state.pulls)


def changes_pulls(state, t, word):
    if t == LATE:
        state.pulls[0] += 1  # the line
    return t % len(state.pulls)


def moves_pulls(state, t, word):
    if t == LATE:
        state.pulls[0] += 1  # the line
        state.pulls[1] -= 1
    return t % len(state.pulls)


def counts(state, arm, reward):
    state.pulls[arm] += 1


def counts_twice(state, arm, reward):
    state.pulls[arm] += 1
    if state.pulls[arm] == LATE // 2:
        state.pulls[arm] += 1  # the line


def changes_settings(state, arm, reward):
    state.pulls[arm] += 1
    state.settings[0] += 1.0  # the line


class Lying(Policy, abstract=True):
    def initial_state(self, n_arms):
        return LyingState(np.zeros(1), np.zeros(n_arms, np.int64))


@dataclass(frozen=True)
class ChangesPulls(Lying, state=LyingState, select=changes_pulls, update=counts):
    pass


@dataclass(frozen=True)
class MovesPulls(Lying, state=LyingState, select=moves_pulls, update=counts):
    pass


@dataclass(frozen=True)
class CountsTwice(Lying, state=LyingState, select=in_turn, update=counts_twice):
    pass


@dataclass(frozen=True)
class ChangesSettings(Lying, state=LyingState, select=in_turn, update=changes_settings):
    pass


STEADY = Problem([0.5, 0.4], sigma=0.1, horizon=2 * LATE)


@pytest.mark.parametrize(
    ("kind", "function"), [(ChangesPulls, changes_pulls), (MovesPulls, moves_pulls), (CountsTwice, counts_twice)]
)
@pytest.mark.parametrize("delay", [0, 3])
def test_changed_pulls_are_found_and_the_hint_leads_to_the_line(kind, function, delay):
    with pytest.raises(KernelError, match=r"did not count one pull .* check=True finds the line"):
        simulate(kind(), STEADY, runs=1, delay=delay, progress=False)
    with pytest.raises(KernelError) as caught:
        simulate(kind(), STEADY, runs=1, delay=delay, check=True, progress=False)
    assert f"line {line_of(function)}:" in str(caught.value)


def line_of(function):
    lines, first = inspect.getsourcelines(function)
    return first + next(place for place, text in enumerate(lines) if "# the line" in text)


def test_what_never_changes_is_not_changed_in_the_first_rounds():
    with pytest.raises(KernelError, match=f"settings never changes .*line {line_of(changes_settings)}:"):
        simulate(ChangesSettings(), STEADY, runs=1, progress=False)


def touches(problem, memory, arm, t):
    if t == LATE:
        memory.pulls[0] += 1  # the line


def half(problem, memory, arm, t):
    return 0.5


def wears_problem(problem, memory, arm, t):
    problem.dynamics.numbers[0] += 0.1  # the line
    return problem.dynamics.numbers[0]


def by_round(problem, memory, arm, t):
    return 1.0 / t


def by_others(problem, memory, arm, t):
    return 1.0 / (1.0 + memory.pulls[0])


def sometimes_nan(problem, arm, mean, key, n):
    return np.nan if n == LATE else mean


@dataclass(frozen=True)
class Touches(Dynamics, value=half, pulled=touches):
    pass


@dataclass(frozen=True)
class WearsProblem(Dynamics, value=wears_problem):
    start: float = parameter(0.5, doc="what it begins with")


@dataclass(frozen=True)
class RestedByRound(Dynamics, value=by_round, rested=True):
    pass


@dataclass(frozen=True)
class RestedByOthers(Dynamics, value=by_others, rested=True):
    pass


@dataclass(frozen=True)
class SometimesNaN(Noise, draw=sometimes_nan):
    pass


class Patient:
    """A Python class, which counts nothing."""

    def __init__(self, n_arms):
        pass

    def select(self):
        return 1

    def update(self, arm, reward):
        pass


@pytest.mark.parametrize("policy", [UCB1(), Patient], ids=["compiled", "Python"])
def test_dynamics_that_count_pulls_are_called_by_name(policy):
    problem = Problem([0.5, 0.4], dynamics=Touches(), noise="none", horizon=2 * LATE)
    with pytest.raises(KernelError, match=r"Touches\(\): pulled changed memory.pulls"):
        simulate(policy, problem, runs=1, progress=False)
    with pytest.raises(KernelError, match=f"line {line_of(touches)}:"):
        simulate(UCB1(), problem, runs=1, check=True, progress=False)


def test_problems_never_change():
    problem = Problem([0.5, 0.4], dynamics=WearsProblem(), noise="none", horizon=100)
    with pytest.raises(KernelError, match=f"problems never change .*line {line_of(wears_problem)}:"):
        simulate(UCB1(), problem, runs=1, progress=False)


@pytest.mark.parametrize(("kind", "arm"), [(RestedByRound, 0), (RestedByOthers, 1)])
def test_arms_that_are_not_rested_are_not_called_so(kind, arm):
    with pytest.raises(KernelError, match=f"arm {arm} changes in round .* as rested=True says"):
        simulate(UCB1(), Problem([0.5, 0.4], dynamics=kind(), noise="none"), horizon=50, runs=1, progress=False)


def test_no_nan_gets_through_wherever_it_is_played():
    problem = Problem([0.5, 0.4], noise=SometimesNaN(), horizon=3 * LATE)
    for settings in ({}, {"delay": 5}, {"trace": "rewards"}, {"check": True}):
        for policy in (UCB1(), Patient):
            with pytest.raises(KernelError, match=r"not finite|gave nan"):
                simulate(policy, problem, runs=1, progress=False, **settings)
    with pytest.raises(KernelError, match="not finite"):
        tune(UCB1(), problem, {"sigma": [0.1, 1.0]}, runs=2, progress=False)


class Table(NamedTuple):
    pulls: np.ndarray
    table: np.ndarray


@numba.njit
def looked_up(table, place):
    return table[place]


def reads(state, t, word):
    return np.int64(state.table[t]) % len(state.pulls)


def reads_by_a_helper(state, t, word):
    return np.int64(looked_up(state.table, t)) % len(state.pulls)


def writes_far(state, arm, reward):
    state.pulls[arm] += 1
    if state.pulls[arm] == LATE // 2:
        state.table[len(state.table) + 99] = 1.0


class WithTable(Policy, abstract=True):
    def initial_state(self, n_arms):
        return Table(np.zeros(n_arms, np.int64), np.zeros(LATE))


@dataclass(frozen=True)
class Reads(WithTable, state=Table, select=reads, update=counts):
    pass


@dataclass(frozen=True)
class ReadsByAHelper(WithTable, state=Table, select=reads_by_a_helper, update=counts):
    pass


@dataclass(frozen=True)
class WritesFar(WithTable, state=Table, select=in_turn, update=writes_far):
    pass


def play_long(agent):
    for _ in range(2 * LATE):
        agent.update(agent.select(), 0.5)


@pytest.mark.parametrize("kind", [Reads, ReadsByAHelper, WritesFar])
def test_no_index_leads_beyond_an_array_however_late(kind):
    with pytest.raises(KernelError, match=rf"{kind.__name__}\(\) on problem: a kernel uses an index beyond the end"):
        simulate(kind(), STEADY, runs=1, progress=False)
    with pytest.raises(KernelError, match="a kernel uses an index beyond the end"):
        play_long(kind().start(2))
    assert looked_up.targetoptions["boundscheck"] is None  # as its author left it


def value_from_a_table(problem, memory, arm, t):
    return memory.table[t]


def noise_from_a_table(problem, arm, mean, key, n):
    return mean + problem.noise.numbers[n // LATE]


@dataclass(frozen=True)
class TableDynamics(Dynamics, memory=Table, value=value_from_a_table):
    def initial_memory(self, n_arms):
        return Table(np.zeros(n_arms, np.int64), np.zeros(LATE))


@dataclass(frozen=True)
class TableNoise(Noise, draw=noise_from_a_table):
    width: float = parameter(0.0, doc="the only number")


class First:
    def __init__(self, n_arms): ...

    def select(self):
        return 0

    def update(self, arm, reward): ...


@pytest.mark.parametrize("policy", [First, UCB1(sigma=0.1)])
@pytest.mark.parametrize("own", [{"dynamics": TableDynamics()}, {"noise": TableNoise()}])
def test_no_index_of_a_problem_leads_beyond_an_array(policy, own):
    with pytest.raises(KernelError, match="a kernel uses an index beyond the end"):
        simulate(policy, Problem([0.5, 0.4], horizon=2 * LATE, **own), runs=1, progress=False)


def value_that_writes(problem, memory, arm, t):
    memory.table[arm] += 1.0  # the line
    return memory.table[arm]


def noise_of_chance(problem, arm, mean, key, n):
    return mean + np.random.random()  # noqa: NPY002 (it is what compiled code knows)


@dataclass(frozen=True)
class WritingValue(Dynamics, memory=Table, value=value_that_writes):
    def initial_memory(self, n_arms):
        return Table(np.zeros(n_arms, np.int64), np.zeros(n_arms))


class OfChance(Noise, draw=noise_of_chance):
    pass


def test_looking_at_an_arm_changes_nothing():
    """The Oracle, and `Run.values`, look at arms that are not pulled."""
    with pytest.raises(KernelError, match=f"value changes nothing.*line {line_of(value_that_writes)}:"):
        simulate(UCB1(), Problem([0.5, 0.4], dynamics=WritingValue(), sigma=0.1), horizon=9, runs=1, progress=False)


def test_the_same_pull_pays_the_same():
    with pytest.raises(KernelError, match="draw gives another reward when it is asked again in round 1"):
        simulate(UCB1(), Problem([0.5, 0.4], noise=OfChance()), horizon=9, runs=1, progress=False)


def by_late_rounds(problem, memory, arm, t):
    return 0.5 if t < LATE else 0.1


@dataclass(frozen=True)
class RestedUntilLate(Dynamics, value=by_late_rounds, rested=True):
    pass


def test_rested_arms_do_not_change_late_either():
    with pytest.raises(KernelError, match=r"arm 0 changes until round 3\d\d, when nothing is pulled"):
        simulate(UCB1(), Problem([0.5, 0.4], dynamics=RestedUntilLate(), sigma=0.1, horizon=2 * LATE), progress=False)
