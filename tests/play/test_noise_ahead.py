"""Noise that is drawn ahead of time is the noise that is drawn when it is needed."""

import numpy as np
import pytest

import rotting
from rotting.play import Cell, loop
from rotting.play.loop import new_ahead, streams_of
from rotting.play.players import players_of
from rotting.problems import Bernoulli, Gaussian, NoNoise, Problem

HORIZON = 1000
CURVES = [[0.8] * 300 + [0.1], 0.5, 0.4]


def table_for(policy, problem, seed):
    """Return where a thread plays."""
    (player,) = players_of(policy, problem, HORIZON)
    return player.table(Cell(player, problem, HORIZON, np.arange(1, HORIZON + 1), range(9), seed))


def played(table, run):
    """Return the pulls, and what was earned, in a run."""
    _, earned, pulls, *_ = table.play(range(run, run + 1), np.zeros(1, np.int64))
    return pulls[0].tolist(), earned[0].tolist()


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
    played(table_for(lambda n_arms: in_turn, problem, 7), 3)
    streams, ahead = streams_of(7, 3, 3), new_ahead(problem)
    for arm in range(3):
        for n in range(330):
            mean = float(problem.means(n)[arm])
            assert loop.reward_of(problem.arrays, streams, ahead, arm, mean, n) == in_turn.rewards[arm][n]


@pytest.mark.parametrize("noise", [Gaussian(1), Bernoulli()], ids=str)
def test_a_run_is_the_same_with_less_room(noise, monkeypatch):
    problem, policy = Problem(CURVES, noise, horizon=HORIZON), rotting.UCB1()
    usual = played(table_for(policy, problem, 1), 5)
    monkeypatch.setattr(loop, "_MANY_ARMS", 2)
    assert new_ahead(problem).noise.shape == (3, 1)
    assert played(table_for(policy, problem, 1), 5) == usual


def test_runs_that_share_memory_share_no_noise():
    problem = rotting.problems.two_arm(0.5, horizon=HORIZON)
    shared = table_for(rotting.UCB1(), problem, 1)
    for run in range(2, 6):
        assert played(shared, run) == played(table_for(rotting.UCB1(), problem, 1), run)


def test_an_arm_that_is_pulled_rarely_is_not_drawn_far_ahead():
    problem = Problem(CURVES, horizon=HORIZON)
    table = table_for(rotting.FEWA(), problem, 1)
    pulls, _ = played(table, 0)
    _, _, ahead, _, _ = table._arena.arrays
    for drawn, pulled in zip(ahead.drawn, pulls, strict=True):
        assert pulled <= drawn <= min(2 * pulled, pulled + 64)


def test_a_class_derived_from_gaussian_noise_draws_its_own():
    """Its rewards are not taken from numbers that were drawn for another noise."""

    def draw(problem, arm, mean, key, n):
        return mean + 100.0

    class Shifted(Gaussian, draw=draw):
        pass

    problem = Problem(CURVES, Shifted(1), horizon=HORIZON)
    assert loop.reward_of(problem.arrays, streams_of(0, 0, 3), new_ahead(problem), 0, 0.25, 0) == 100.25
    pulls, _ = played(table_for(rotting.UCB1(sigma=0), problem, 0), 0)
    assert sum(pulls) == HORIZON
