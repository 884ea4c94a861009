"""Dynamics, noise and curves from outside the package: everything that built-in ones can do, and errors with names."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import rotting
from rotting.errors import KernelError, ProblemDefinitionError
from rotting.parameters import parameter
from rotting.problems import Constant, Curve, Dynamics, Noise, Problem, parse_problem
from rotting.randomness import uniform


class MoodMemory(NamedTuple):
    pulls: np.ndarray
    mood: np.ndarray


def mood_value(problem, memory, arm, t):
    return problem.dynamics.numbers[0] * memory.mood[arm]


def mood_pulled(problem, memory, arm, t):
    memory.mood[arm] *= 0.9


def flat_draw(problem, arm, mean, key, n):
    return mean + problem.noise.numbers[0] * (uniform(key, n) - 0.5)


def halving(numbers, n):
    return numbers[0] * 0.5 ** (n / numbers[1])


@dataclass(frozen=True)
class OwnMood(Dynamics, memory=MoodMemory, value=mood_value, pulled=mood_pulled):
    scale: float = parameter(1.0, doc="what a good mood is worth")

    def initial_memory(self, n_arms):
        return MoodMemory(np.zeros(n_arms, np.int64), 1.0 / np.arange(1, n_arms + 1))


@dataclass(frozen=True)
class OwnFlat(Noise, draw=flat_draw):
    width: float = parameter(1.0, minimum=0, doc="how wide")

    def scale(self):
        return self.width / 2


@dataclass(frozen=True)
class OwnHalving(Curve, value=halving):
    start: float = parameter(doc="value of the first pull")
    life: float = parameter(above=0, doc="pulls until half of it is left")

    def is_nonincreasing(self):
        return True

    def limit(self):
        return 0.0


MINE = Problem([0.0] * 3, dynamics=OwnMood(2.0), noise=OwnFlat(0.5), name="mine")


def test_it_is_simulated_checked_and_read_from_texts():
    result = rotting.simulate(rotting.UCB1(), MINE, horizon=60, runs=2, rounds=60, progress=False)
    assert result.attrs["oracle"].startswith("look-ahead")
    again = rotting.simulate(rotting.UCB1(), MINE, horizon=60, runs=2, rounds=60, progress=False, check=True)
    np.testing.assert_array_equal(result.pulls.values, again.pulls.values)
    np.testing.assert_allclose(result.regret.values, again.regret.values, rtol=0, atol=1e-12)
    assert parse_problem(repr(MINE)) == MINE
    # What pulls of one arm are worth: 2, 1.8, 1.62, ...
    assert Problem([0.0], dynamics=OwnMood(2.0)).oracle(3).reward == pytest.approx(2 + 1.8 + 1.62)


def test_the_oracle_policy_plays_it():
    agent = rotting.Oracle(MINE).start(3)
    for _ in range(10):
        agent.update(agent.select(), 0.0)
    assert agent.pulls.tolist() == MINE.oracle(10, kind="greedy").pulls.tolist()


def test_own_curves_stand_beside_those_of_the_package():
    curve = OwnHalving(1.0, 2.0)
    assert curve([0, 2, 4]).tolist() == [1.0, 0.5, 0.25]
    problem = Problem([curve, Constant(0.3), OwnHalving(0.8, 5.0)], noise="bernoulli")
    assert parse_problem(repr(problem)) == problem
    table = Problem([c(np.arange(200)) for c in problem.curves], noise="bernoulli")
    policies = [rotting.UCB1(), rotting.CTO(curves=problem.curves)]
    one, other = (
        rotting.simulate(policies, each, horizon=200, runs=2, progress=False, check=check)
        for each, check in ((problem, False), (table, False))
    )
    np.testing.assert_array_equal(one.pulls.values, other.pulls.values)
    np.testing.assert_array_equal(one.regret.values, other.regret.values)
    rotting.simulate(rotting.UCB1(), problem, horizon=20, runs=1, progress=False, check=True)


def test_a_class_that_is_defined_again_is_another_one():
    def make(factor):
        def value(problem, memory, arm, t):
            return factor

        @dataclass(frozen=True)
        class OwnAgain(Dynamics, value=value):
            pass

        return Problem([0.0], dynamics=OwnAgain())

    assert [make(factor).oracle(1).reward[0] for factor in (1.0, 2.0)] == [1.0, 2.0]


def test_incomplete_classes_are_refused_when_they_are_defined():
    before = dict(Dynamics.known), dict(Noise.known), dict(Curve.known)
    for make, says in (
        (lambda: type("OwnA", (Dynamics,), {}), "value missing in the class line"),
        (lambda: type("OwnB", (Noise,), {}), "draw missing in the class line"),
        (lambda: type("OwnC", (Dynamics,), {}, value=lambda arm: 0.0), r"expected value\(problem, memory, arm, t\)"),
        (lambda: type("OwnD", (Noise,), {"draw": None}, draw=flat_draw), "draw is a method"),
        (lambda: type("OwnE", (Dynamics,), {}, value=mood_value, memory=dict), "memory=.*expected a NamedTuple"),
        (lambda: type("OwnF", (Curve,), {}, value=halving), r"has no method is_nonincreasing\(\)"),
    ):
        with pytest.raises(ProblemDefinitionError, match=says):
            make()
    assert before == (Dynamics.known, Noise.known, Curve.known)


def dynamics_of(name, value=mood_value, pulled=mood_pulled, mood=None, pulls=None):
    def initial_memory(self, n_arms):
        counts = np.zeros(n_arms, np.int64) if pulls is None else pulls(n_arms)
        return MoodMemory(counts, np.ones(n_arms) if mood is None else mood(n_arms))

    kind = type(name, (OwnMood,), {"initial_memory": initial_memory}, value=value, pulled=pulled)
    return Problem([0.0] * 3, dynamics=dataclass(frozen=True)(kind)())


SHARED = np.ones(3)


def no_number(problem, memory, arm, t):
    return np.nan


def allocates(problem, memory, arm, t):
    return max([memory.mood[arm], 0.0])


def float_into_whole(problem, memory, arm, t):
    memory.pulls[arm] = 0.5


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"pulls": lambda k: np.zeros(k)}, r"memory.pulls is float64\[3\]; expected int64\[3\] of zeros"),
        ({"pulls": lambda k: np.zeros(k + 1, np.int64)}, r"memory.pulls is int64\[4\]"),
        ({"mood": lambda k: [1.0] * k}, "memory.mood is a list; expected arrays of numbers"),
        ({"mood": lambda k: np.ones(2 * k)[::2]}, "memory.mood is not contiguous"),
        ({"mood": lambda k: SHARED}, "memory.mood is shared by all runs"),
        ({"value": no_number}, "value gave nan for arm 0 in round 1"),
        ({"value": allocates}, "cannot be compiled"),
        ({"pulled": float_into_whole}, "pulled puts a float into an array of int64"),
    ],
    ids=lambda given: "" if isinstance(given, str) else next(iter(given)),
)
def test_broken_contracts_are_named(parts, says):
    problem = dynamics_of("OwnBroken", **parts)
    with pytest.raises(KernelError, match=f"OwnBroken.*{says}"):
        rotting.simulate(rotting.UCB1(), problem, horizon=5, runs=1, progress=False)


def beyond_the_end(problem, memory, arm, t):
    memory.mood[arm + 1] = 1.0


def soon_nan(problem, memory, arm, t):
    return 1.0 if t < 4 else np.nan


def late_nan(problem, memory, arm, t):
    return 1.0 if t < 400 else np.nan


def seldom_nan(problem, arm, mean, key, n):
    return mean + 1.0 if n < 300 else np.inf


def test_checking_finds_the_line():
    problem = dynamics_of("OwnBeyond", pulled=beyond_the_end)
    with pytest.raises(KernelError, match=r"pulled failed in round 3: IndexError.*test_own_problem.py, line \d+"):
        rotting.simulate(rotting.UCB1(), problem, horizon=5, runs=1, progress=False, check=True)


def test_leaving_an_array_in_the_first_rounds_is_noticed_without_asking():
    problem = dynamics_of("OwnBeyondUnasked", pulled=beyond_the_end)
    with pytest.raises(KernelError, match=r"pulled failed in round 3: IndexError.*test_own_problem.py, line \d+"):
        rotting.simulate(rotting.UCB1(), problem, horizon=5, runs=1, progress=False)


@pytest.mark.parametrize("check", [False, True])
def test_means_that_are_not_finite_are_noticed_in_the_first_rounds(check):
    problem = dynamics_of(f"OwnSoonNan{check}", value=soon_nan)
    with pytest.raises(KernelError, match="value gave nan in round 4"):
        rotting.simulate(rotting.UCB1(), problem, horizon=9, runs=1, progress=False, check=check)


def test_means_and_rewards_that_are_not_finite_are_noticed_where_they_are_drawn():
    problem = dynamics_of("OwnLateNan", value=late_nan)
    game = {"horizon": 1000, "runs": 3, "progress": False}
    with pytest.raises(
        KernelError, match=r"OwnLateNan.*mean of arm \d in round 400 of run \d is not finite.*check=True"
    ):
        rotting.simulate(rotting.UCB1(), problem, **game)
    noisy = rotting.Problem([0.5, 0.1], type("OwnSeldomNan", (rotting.problems.Noise,), {}, draw=seldom_nan)())
    with pytest.raises(KernelError, match=r"OwnSeldomNan.*reward of arm 0 in round \d+ of run \d is not finite"):
        rotting.simulate(rotting.UCB1(), noisy, **game)
    with pytest.raises(KernelError, match=r"OwnSeldomNan.*reward of arm 0 in round \d+ of run \d is not finite"):
        rotting.simulate(lambda n_arms: rotting.UCB1().start(n_arms), noisy, **game)


def test_without_the_compiler_it_is_the_same(tmp_path):
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "import rotting, test_own_problem as own\n"
        "r = rotting.simulate(rotting.UCB1(), own.MINE, horizon=30, runs=1, rounds=30, progress=False)\n"
        "print(json.dumps(r.pulls.values.tolist()))\n"
    )
    import os
    from pathlib import Path

    shown = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    result = rotting.simulate(rotting.UCB1(), MINE, horizon=30, runs=1, rounds=30, progress=False)
    assert json.loads(shown) == result.pulls.values.tolist()
