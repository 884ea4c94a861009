"""What lies in a folder's blocks, cell by cell."""

import numpy as np
import pytest

from rotting import UCB1, EpsilonGreedy, Uniform, simulate, sweep
from rotting.problems import stationary, two_arm
from rotting.sweeps import Plan, SweepError, blocks, open_results
from rotting.sweeps.folder import Folder
from rotting.sweeps.kept import Kept

PROBLEMS = (two_arm(L=1.0, horizon=50), stationary([0.0, 0.5, 1.0]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "SHORTEST_NANOSECONDS", 4 * 10**5)
    sweep([UCB1(), Uniform()], PROBLEMS, 9, 3, out=tmp_path, horizon=50, rounds=4, threads=1, progress=False)
    return Folder.at(tmp_path)


def refuse(file, damage):
    raise damage


def test_a_cell_is_found_wherever_it_lies(folder):
    assert len(folder.blocks()) > 5
    kept = Kept(folder.plan, [folder], refuse)
    for place, problem in enumerate(folder.plan.problems):
        alone = simulate([UCB1(), Uniform()], problem, runs=9, seed=3, rounds=4, progress=False)
        for policy in range(2):
            start = folder.plan.number(place, policy, 2)
            numbers = range(start, start + 6)
            regret, pulls = kept.read(numbers).of(numbers)
            np.testing.assert_array_equal(regret, alone.regret.values[policy, 2:8])
            np.testing.assert_array_equal(pulls, alone.pulls.values[policy, 2:8])


def test_what_is_missing_is_nan_and_none(folder):
    there = folder.blocks()
    whole = Kept(folder.plan, [folder], refuse).read(range(folder.plan.total_runs))
    assert whole.runs(finished=False) == []
    gone, damaged, told = there[1], there[3], []
    folder.file(gone).unlink()
    folder.file(damaged).write_bytes(folder.file(damaged).read_bytes()[:-1])
    part = Kept(folder.plan, [folder], lambda file, damage: told.append(file)).read(range(folder.plan.total_runs))
    assert part.runs(finished=False) == [gone, damaged]
    assert part.runs(finished=True) == [there[0], there[2], range(damaged.stop, folder.plan.total_runs)]
    assert set(told) == {folder.file(damaged)}
    for numbers in (gone, damaged):
        for piece in folder.plan.pieces(numbers):
            regret, pulls = part.of(piece.numbers)
            assert np.isnan(regret).all()
            assert not pulls.any()
    for piece in folder.plan.pieces(there[2]):
        np.testing.assert_array_equal(part.of(piece.numbers)[0], whole.of(piece.numbers)[0])


def test_an_earlier_plan_has_other_numbers_for_the_same_runs(folder):
    old = folder.plan
    more = Plan((EpsilonGreedy(), *old.policies[::-1]), old.problems[::-1], 12, 3, 4)
    kept, own = Kept(more, [folder], refuse), Kept(old, [folder], refuse)
    for piece in more.pieces(range(more.total_runs)):
        content = kept.read(piece.numbers)
        if piece.policy == 0:
            assert content.runs(finished=True) == []
            continue
        there = range(piece.numbers.start, piece.numbers.start + 9)
        assert content.runs(finished=True) == [there]
        first = old.number(1 - piece.problem, 2 - piece.policy, 0)
        theirs = range(first, first + 9)
        np.testing.assert_array_equal(content.of(there)[0], own.read(theirs).of(theirs)[0])
        np.testing.assert_array_equal(content.of(there)[1], own.read(theirs).of(theirs)[1])


def test_damage_is_said(folder):
    file = folder.file(folder.blocks()[0])
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SweepError, match="is damaged"):
        open_results(folder.path)
