"""States that are used again are as good as new ones."""

import numpy as np
import pytest
from rotting.simulation.contestants import contestants
from rotting.simulation.loop import new_journal, streams_of
from rotting.simulation.state_pool import StatePool

import rotting
from rotting._core.defining import leaves

PROBLEM = rotting.problems.two_arm(0.5, horizon=600)


def play(contestant, run):
    """Play one run and return what it left behind."""
    journal = new_journal(np.arange(1, 601), PROBLEM)
    contestant.begin(PROBLEM, streams_of(0, run, 2), 600)(journal, 1, 600)
    return journal


@pytest.mark.parametrize("text", ["FEWA()", "EffFEWA()", "RAWUCB()", "AdwinUCB()", "WSWA()", "Exp3()", "Oracle()"])
def test_runs_on_one_state_are_those_on_new_ones(text):
    policy = rotting.policies.parse_policy(text)
    (reused,) = contestants(policy, PROBLEM, 600)
    for run in range(3):
        (new,) = contestants(policy, PROBLEM, 600)
        ours, theirs = play(reused, run), play(new, run)
        assert np.array_equal(ours.earned, theirs.earned)
        assert np.array_equal(ours.pulls, theirs.pulls)
    (seat,) = reused._seats.values()
    assert len(seat.pool._free) == 1


def arrays(lent):
    """Return the addresses of a state's arrays."""
    assert [array.ctypes.data for _, array in leaves(lent.state)] == [array.ctypes.data for array in lent.arrays]
    return {array.ctypes.data for array in lent.arrays}


def test_a_state_has_one_owner_at_a_time():
    pool = StatePool(rotting.FEWA(), 2, 100)

    def first(): ...
    def second(): ...

    one, other = pool.take(), pool.take()
    pool.give_back_after(first, one)
    pool.give_back_after(second, other)
    assert not arrays(one) & arrays(other)
    assert not arrays(pool.take()) & (arrays(one) | arrays(other))
    mine, theirs = arrays(one), arrays(other)
    del first, one
    assert arrays(pool.take()) == mine
    del second, other
    assert arrays(pool.take()) == theirs


def test_what_is_dear_to_copy_is_made_anew():
    pool = StatePool(rotting.FEWA(), 2, 10**6)

    def user(): ...

    pool.give_back_after(user, pool.take())
    del user
    assert pool._free == []
