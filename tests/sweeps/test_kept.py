"""What lies in a folder's blocks, cell by cell."""

import numpy as np
import pytest

from rotting import UCB1, Uniform, simulate, sweep
from rotting.problems import stationary, two_arm
from rotting.sweeps import SweepError, blocks
from rotting.sweeps.folder import Folder
from rotting.sweeps.kept import Kept

PROBLEMS = (two_arm(L=1.0, horizon=50), stationary([0.0, 0.5, 1.0]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "SHORTEST_NANOSECONDS", 4 * 10**5)
    sweep([UCB1(), Uniform()], PROBLEMS, 9, 3, out=tmp_path, horizon=50, rounds=4, threads=1, progress=False)
    return Folder.at(tmp_path)


def test_a_cell_is_found_wherever_it_lies(folder):
    assert len(folder.blocks()) > 5
    kept = Kept(folder, folder.blocks())
    for place, problem in enumerate(folder.plan.problems):
        alone = simulate([UCB1(), Uniform()], problem, runs=9, seed=3, rounds=4, progress=False)
        for policy in range(2):
            regret, pulls = kept.of_cell(place, policy, range(2, 8))
            np.testing.assert_array_equal(regret, alone.regret.values[policy, 2:8])
            np.testing.assert_array_equal(pulls, alone.pulls.values[policy, 2:8])


def test_what_is_missing_is_nan_and_none(folder):
    there = folder.blocks()
    whole, part = Kept(folder, there), Kept(folder, there[:1] + there[2:])
    (gone,) = list(folder.plan.numbering.pieces(there[1]))
    runs = range(9)
    regret, pulls = part.of_cell(gone.problem, gone.policy, runs)
    missing = [run in gone.runs for run in runs]
    assert np.isnan(regret[missing]).all()
    assert not pulls[missing].any()
    found = np.logical_not(missing)
    np.testing.assert_array_equal(regret[found], whole.of_cell(gone.problem, gone.policy, runs)[0][found])


def test_damage_is_said(folder):
    file = folder.file(folder.blocks()[0])
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SweepError, match="is damaged"):
        Kept(folder, folder.blocks()).of_cell(0, 0, range(1))
