"""Simulations give the same whenever and however they are run: threads, other policies, pieces, more runs."""

import numpy as np
import pytest

from rotting import FEWA, UCB1, EpsilonGreedy, Uniform
from rotting._core.randomness import NOISE, normal, stream_key
from rotting.play import compiled, in_python, players
from small_games import PROBLEM, PythonUCB1, RoundRobin, assert_same, quietly

POLICIES = {"fewa": FEWA(), "ucb": UCB1(), "uniform": Uniform(), "epsilon": EpsilonGreedy(), "python": RoundRobin}


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_threads_change_nothing(threads):
    assert_same(quietly(POLICIES, threads=1, runs=9), quietly(POLICIES, threads=threads, runs=9))


@pytest.mark.parametrize("runs_at_once", [1, 3, 1000])
def test_calls_of_any_number_of_runs_give_the_same(runs_at_once, monkeypatch):
    usual = quietly(POLICIES, runs=40)
    for name in ("COMPILED_AT_ONCE", "PYTHON_AT_ONCE"):
        monkeypatch.setattr(players, name, runs_at_once * PROBLEM.horizon)
    assert_same(quietly(POLICIES, runs=40), usual)


def test_a_policy_does_not_feel_the_others():
    together = quietly(POLICIES)
    for label, policy in POLICIES.items():
        assert_same(quietly({label: policy}), together.sel(policy=[label]))
    backwards = quietly(dict(reversed(POLICIES.items())))
    assert_same(backwards.sel(policy=list(POLICIES)), together)


def test_more_runs_keep_the_first_ones():
    many = quietly(POLICIES, runs=8)
    assert_same(quietly(POLICIES, runs=3), many.isel(run=slice(3)))
    # And no run is a copy of another.
    for label in ("fewa", "uniform", "epsilon"):
        final = many.pulls.sel(policy=label).values
        assert len({tuple(row) for row in final.tolist()}) == 8


def test_runs_can_be_added():
    many = quietly(POLICIES, runs=8)
    rest = quietly(POLICIES, runs=5, first_run=3)
    assert rest["run"].values.tolist() == [3, 4, 5, 6, 7]
    assert_same(rest, many.isel(run=slice(3, None)))
    for wrong in (-1, 1.5, True, "1"):
        with pytest.raises(ValueError, match="first_run="):
            quietly(UCB1(), first_run=wrong)


def test_a_longer_horizon_begins_with_the_shorter_one():
    short = quietly(POLICIES, horizon=60, rounds=range(1, 61))
    long = quietly(POLICIES, horizon=120, rounds=range(1, 61))
    np.testing.assert_array_equal(short.regret.values, long.regret.values)


@pytest.mark.parametrize("pieces", [7, 10**9])
def test_runs_are_the_same_in_pieces_of_any_length(pieces, monkeypatch):
    """Runs are played piece by piece, to be able to stop; the horizon here is several of the usual pieces."""
    usual = {"compiled": quietly([FEWA(), UCB1(), Uniform()], horizon=70_000, runs=1)}
    usual["python"] = quietly(PythonUCB1, horizon=1000, runs=2)
    assert np.all(usual["compiled"].pulls.sum("arm") == 70_000)
    assert np.all(usual["python"].pulls.sum("arm") == 1000)
    np.testing.assert_array_equal(usual["python"].regret, quietly(UCB1(sigma=0.5), horizon=1000, runs=2).regret)
    monkeypatch.setattr(compiled.CompiledTable, "at_once", pieces)
    monkeypatch.setattr(in_python, "ROUNDS_AT_ONCE", pieces)
    assert_same(quietly([FEWA(), UCB1(), Uniform()], horizon=70_000, runs=1), usual["compiled"])
    assert_same(quietly(PythonUCB1, horizon=1000, runs=2), usual["python"])


def test_seeds_matter():
    first, second = quietly(POLICIES, seed=0), quietly(POLICIES, seed=1)
    for label in ("fewa", "ucb", "uniform", "epsilon"):
        assert not np.array_equal(first.pulls.sel(policy=label), second.pulls.sel(policy=label))


def test_every_policy_sees_the_same_rewards():
    """The reward of arm i's n-th pull in run r is a function of (seed, r, i, n)."""
    seen: dict[tuple[int, int], set[float]] = {}

    class Curious(RoundRobin):
        """Pulls in a pattern of its own, and writes down what it gets."""

        pattern: tuple[int, ...] = (0, 1, 2)

        def __init__(self, n_arms):
            super().__init__(n_arms)
            self.pulls = [0] * n_arms

        def select(self):
            return self.pattern[self.t % len(self.pattern)]

        def update(self, arm, reward):
            super().update(arm, reward)
            seen.setdefault((arm, self.pulls[arm]), set()).add(reward)
            self.pulls[arm] += 1

    others = [type(f"Curious{i}", (Curious,), {"pattern": p}) for i, p in enumerate([(2, 2, 0), (1,), (0, 0, 1, 2)])]
    quietly([Curious, *others], runs=1, seed=5, horizon=90)
    assert all(len(rewards) == 1 for rewards in seen.values())
    for (arm, n), (reward,) in ((place, tuple(rewards)) for place, rewards in seen.items()):
        expected = PROBLEM.curves[arm](n) + PROBLEM.sigma * normal(stream_key(5, NOISE, 0, arm), n)
        assert reward == pytest.approx(expected, abs=1e-14)
    assert len(seen) > 150
