"""Noise that is drawn ahead of time is the noise that is drawn when it is needed."""

import numpy as np
import pytest
from rotting.simulation.contestants import contestants
from rotting.play.loop import new_journal, streams_of, streams_of_each

import rotting
from rotting.problems import Bernoulli, Gaussian, NoNoise, Problem
from rotting.simulation import loop

HORIZON = 1000
CURVES = [[0.8] * 300 + [0.1], 0.5, 0.4]


def played(policy, problem, streams):
    """Return the pulls, and what was earned, in a run."""
    (player,) = contestants(policy, problem, HORIZON)
    journal = new_journal(np.arange(1, HORIZON + 1), problem)
    player.begin(problem, streams, HORIZON)(journal, 1, HORIZON)
    return journal.pulls.tolist(), journal.earned.tolist()


class InTurn:
    """Pulls arms in turn and remembers their rewards, drawn one by one in a Python loop."""

    def __init__(self, n_arms):
        self.rewards = [[] for _ in range(n_arms)]

    def select(self):
        return min(range(len(self.rewards)), key=lambda arm: len(self.rewards[arm]))

    def update(self, arm, reward):
        self.rewards[arm].append(reward)


@pytest.mark.parametrize("noise", [Gaussian([0.5, 1, 2]), Bernoulli(), NoNoise()], ids=str)
def test_rewards_are_those_drawn_one_by_one(noise):
    problem, in_turn = Problem(CURVES, noise, horizon=HORIZON), InTurn(3)
    played(lambda n_arms: in_turn, problem, streams_of(7, 3, 3))
    streams = streams_of(7, 3, 3)
    for arm in range(3):
        for n in range(330):
            mean = float(problem.means(n)[arm])
            assert loop.reward_of(problem.arrays, streams, arm, mean, n) == in_turn.rewards[arm][n]


@pytest.mark.parametrize("noise", [Gaussian(1), Bernoulli()], ids=str)
def test_a_run_is_the_same_with_less_room(noise, monkeypatch):
    problem, policy = Problem(CURVES, noise, horizon=HORIZON), rotting.UCB1()
    usual = played(policy, problem, streams_of(1, 5, 3))
    monkeypatch.setattr(loop, "_MANY_ARMS", 2)
    scant = streams_of(1, 5, 3)
    assert scant.ahead.shape == (3, 1)
    assert played(policy, problem, scant) == usual


def test_runs_that_share_memory_share_no_noise():
    problem = rotting.problems.two_arm(0.5, horizon=HORIZON)
    for run, streams in zip(range(2, 6), streams_of_each(1, range(2, 6), 2), strict=True):
        together, alone = (
            played(rotting.UCB1(), problem, streams),
            played(rotting.UCB1(), problem, streams_of(1, run, 2)),
        )
        assert together == alone


def test_an_arm_that_is_pulled_rarely_is_not_drawn_far_ahead():
    problem = Problem(CURVES, horizon=HORIZON)
    streams = streams_of(1, 0, 3)
    (pulls, _) = played(rotting.FEWA(), problem, streams)
    for drawn, pulled in zip(streams.drawn, pulls, strict=True):
        assert pulled <= drawn <= min(2 * pulled, pulled + 64)


def test_a_class_derived_from_gaussian_noise_draws_its_own():
    """Its rewards are not taken from numbers that were drawn for another noise."""

    def draw(problem, arm, mean, key, n):
        return mean + 100.0

    class Shifted(Gaussian, draw=draw):
        pass

    problem = Problem(CURVES, Shifted(1), horizon=HORIZON)
    assert loop.reward_of(problem.arrays, streams_of(0, 0, 3), 0, 0.25, 0) == 100.25
    pulls, _ = played(rotting.UCB1(sigma=0), problem, streams_of(0, 0, 3))
    assert sum(pulls) == HORIZON
