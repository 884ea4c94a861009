"""A run played from outside is the run of the simulator, pull by pull."""

import numpy as np
import pytest

import rotting
from rotting.errors import RottingError
from rotting.play.run import Run

PROBLEM = rotting.problems.two_arm(L=2.0, horizon=300)


def test_an_agent_on_a_run_does_what_the_simulator_does():
    result = rotting.simulate(rotting.UCB1(), PROBLEM, runs=3, seed=5)
    run, agent = Run(PROBLEM, seed=5, number=2), rotting.UCB1().start(2)
    for _ in range(PROBLEM.horizon):
        arm = agent.select()
        agent.update(arm, run.pull(arm))
    assert (run.pulls == result.pulls.isel(policy=0, run=2)).all()
    regret = float(PROBLEM.oracle(PROBLEM.horizon).reward[-1]) - run.earned
    assert regret == pytest.approx(float(result.regret.isel(policy=0, run=2, round=-1)))


def test_values_are_those_of_the_next_pull():
    run = Run(PROBLEM)
    for _ in range(75):
        assert run.values().tolist() == [0.0, 1.0]
        run.pull(1)
    assert run.values().tolist() == [0.0, -1.0]


def test_runs_differ_and_bad_arms_are_refused():
    first, second = Run(PROBLEM), Run(PROBLEM, number=1)
    assert first.pull(0) != second.pull(0)
    with pytest.raises(RottingError):
        first.pull(2)
    assert np.sum(first.pulls) == 1
