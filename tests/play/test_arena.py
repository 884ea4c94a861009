"""One thread's memory: arrays apart from each other, reset by one copy, with words between them that tell."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

import rotting
from every_policy import CASES, build, title
from rotting._core.defining import leaves, written_first
from rotting.errors import KernelError
from rotting.play import Cell
from rotting.play.arena import Arena
from rotting.play.compiled import CompiledTable
from rotting.play.players import players_of
from rotting.policies import Policy
from rotting.policies._windows.history import PAGE, ROW, STEP, History

PROBLEM = rotting.problems.two_arm(0.5, horizon=700)
NEVER = np.zeros(1, np.int64)


@written_first("kept")
class Inner(NamedTuple):
    kept: np.ndarray
    counts: np.ndarray


class Outer(NamedTuple):
    small: np.ndarray
    inner: Inner
    again: np.ndarray
    flags: np.ndarray


def example():
    counts = np.arange(3)
    return Outer(np.array([1.5]), Inner(np.full(40, 7.0), counts), counts, np.array([True, False, True]))


def spans(arena):
    arrays = {id(array): array for _, array in leaves(arena.arrays[0])}.values()
    return sorted((array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays)


def test_arrays_keep_their_contents_and_lie_apart():
    arena = Arena((example(), None))
    (moved, nothing), before = arena.arrays, example()
    assert nothing is None
    assert type(moved) is Outer
    for (name, ours), (_, theirs) in zip(leaves(moved), leaves(before), strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        assert (ours.dtype, ours.shape, ours.flags.c_contiguous) == (theirs.dtype, theirs.shape, True)
        assert ours.ctypes.data % 128 == 0
    assert moved.again is moved.inner.counts  # one array kept twice stays one
    every = spans(arena)
    assert len(every) == 4
    assert all(after - end >= 128 for (_, end), (after, _) in pairwise(every))


def test_two_arenas_lie_apart():
    arenas = Arena((example(),)), Arena((example(),))  # both alive
    one, other = map(spans, arenas)
    first, second = sorted([(one[0][0], one[-1][1]), (other[0][0], other[-1][1])])
    assert second[0] - first[1] >= 128


def test_a_reset_brings_back_all_but_what_is_written_first():
    arena = Arena((example(),))
    (moved,) = arena.arrays
    for _, array in leaves(moved):
        array[...] = 9
    arena.reset.now[...] = arena.reset.first
    np.testing.assert_array_equal(moved.inner.kept, 9)
    for name, array in leaves(moved):
        if not name.endswith("kept"):
            np.testing.assert_array_equal(array, dict(leaves(example()))[name])
    assert arena.is_intact()


@pytest.mark.parametrize("field", ["small", "again", "flags"])
@pytest.mark.parametrize("beyond", [0, 1, 3])
def test_who_writes_beyond_an_array_is_found_out(field, beyond):
    arena = Arena((example(),))
    array = getattr(arena.arrays[0], field)
    room = np.lib.stride_tricks.as_strided(array, (len(array) + 64,))
    # A word that an array ends in the middle of is nobody's.
    room[-(-array.nbytes // 8) * 8 // array.itemsize + beyond] += 1
    assert not arena.is_intact()


def test_read_only_arrays_and_problems_are_used_as_they_are():
    fixed = np.arange(3)
    fixed.flags.writeable = False
    problem = rotting.problems.ten_arm().arrays
    moved, same = Arena((Inner(fixed, np.zeros(2)), problem)).arrays
    assert moved.kept is fixed
    assert same is problem


def histories(value):
    """Yield the histories in a state."""
    if isinstance(value, History):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from histories(part)


def spoil(history):
    """Fill with rubbish all that a reset leaves alone, but for what no run changes: where every arm's sums begin."""
    first = np.arange(len(history.pulls))
    begins = history.high[first * STEP + ROW].copy(), history.low[first * PAGE].copy()
    history.high[:], history.low[:], history.outlines[:] = np.nan, np.nan, np.nan
    history.high[first * STEP + ROW], history.low[first * PAGE] = begins
    history.page[:, 1:] = 0


@pytest.mark.parametrize("case", CASES, ids=title)
def test_runs_do_not_feel_what_is_not_reset(case):
    (player,) = players_of(build(case, PROBLEM.n_arms), PROBLEM, PROBLEM.horizon)
    cell = Cell(player, PROBLEM, PROBLEM.horizon, np.arange(1, 701), range(9), seed=3)
    table = player.table(cell)
    for run in (5, 0, 4):
        _, earned, pulls, *_ = player.table(cell).play(range(run, run + 1), NEVER)
        for history in histories(table._arena.arrays[0]):
            spoil(history)
        _, again, pulled, *_ = table.play(range(run, run + 1), NEVER)
        np.testing.assert_array_equal(again, earned)
        np.testing.assert_array_equal(pulled, pulls)


def in_turn(state, t, word):
    return (t - 1) % 2


def beyond_late(state, arm, reward):
    state.pulls[arm] += 1
    state.sums[arm if state.pulls[arm] < 300 else 2 + arm] += reward


class OwnState(NamedTuple):
    pulls: np.ndarray
    sums: np.ndarray


@dataclass(frozen=True)
class WritesBeyondLate(Policy, state=OwnState, select=in_turn, update=beyond_late):
    def initial_state(self, n_arms):
        return OwnState(np.zeros(n_arms, np.int64), np.zeros(n_arms))


def test_a_users_kernel_that_writes_outside_its_arrays_is_refused():
    """Beyond the rounds that are tried in Python."""
    with pytest.raises(
        KernelError, match=r"WritesBeyondLate\(\) on two_arm.*uses an index beyond the end of an array.*check=True"
    ):
        rotting.simulate(WritesBeyondLate(), PROBLEM, runs=2, progress=False)


def test_what_is_dear_to_reset_is_made_again():
    policy = rotting.policies.SlidingWindowUCB(tau=10**6)
    (player,) = players_of(policy, PROBLEM, PROBLEM.horizon)
    table = CompiledTable(Cell(player, PROBLEM, 700, np.array([700]), range(3), 0), policy, "label")
    assert not table._reusable
    _, earned, pulls, *_ = table.play(range(3), NEVER)
    usual = rotting.simulate(rotting.policies.SlidingWindowUCB(tau=700), PROBLEM, runs=3, progress=False)
    np.testing.assert_array_equal(pulls, usual.pulls.values[0])
    assert earned.shape == (3, 1)


def test_a_users_states_may_differ_from_run_to_run():
    made = []

    @dataclass(frozen=True)
    class Moody(Policy, state=OwnState, select=favourite, update=add):
        def initial_state(self, n_arms):
            made.append(len(made))
            return OwnState(np.zeros(n_arms, np.int64), np.array([len(made) % 2, (len(made) + 1) % 2], float))

    found = rotting.simulate(Moody(), PROBLEM, runs=6, threads=1, progress=False)
    assert sorted(found.pulls.values[0, :, 0].tolist()) == [0] * 3 + [700] * 3


def favourite(state, t, word):
    return 0 if state.sums[0] > state.sums[1] else 1


def add(state, arm, reward):
    state.pulls[arm] += 1
