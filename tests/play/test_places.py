"""Pieces of cells, and whole ones: the same runs, wherever a cell is cut."""

import numpy as np
import pytest

from rotting import UCB1, EpsilonGreedy
from rotting.play import Cell, play, play_whole, players, threads
from rotting.play.delays import GeometricDelay
from rotting.play.players import players_of
from rotting.problems import two_arm

PROBLEM = two_arm(L=1.0, horizon=40)


@pytest.fixture
def cells(monkeypatch):
    """Return cells that are cut into pieces of two runs."""
    monkeypatch.setattr(players, "COMPILED_AT_ONCE", 2 * PROBLEM.horizon)
    made = players_of([UCB1(), EpsilonGreedy()], PROBLEM, 40)
    named = {"delay": GeometricDelay(3.0), "trace": ("actions", "pulls")}
    return [Cell(each, PROBLEM, 40, np.array([10, 40]), range(3, 10), seed=5, **named) for each in made]


def test_whole_cells_are_their_pieces(cells):
    pieces = sorted(play(cells, threads(3)), key=lambda piece: (piece.cell, piece.runs.start))
    assert len(pieces) > 2 * len(cells)
    told = []
    whole = list(play_whole(cells, threads(3), lambda place, rounds: told.append(rounds)))
    assert sorted(found.cell for found in whole) == [0, 1]
    assert sum(told) == sum(cell.work for cell in cells)
    for found in whole:
        own = [piece for piece in pieces if piece.cell == found.cell]
        assert found.runs == range(3, 10)
        assert found.seconds > 0
        np.testing.assert_array_equal(found.earned, np.concatenate([piece.earned for piece in own]))
        np.testing.assert_array_equal(found.pulls, np.concatenate([piece.pulls for piece in own]))
        for name in ("actions", "pulls"):
            np.testing.assert_array_equal(found.traces[name], np.concatenate([piece.traces[name] for piece in own]))


def test_a_whole_cell_in_one_piece_is_handed_on(cells, monkeypatch):
    monkeypatch.setattr(players, "COMPILED_AT_ONCE", 1 << 20)
    assert {found.runs for found in play_whole(cells[:1], threads(1))} == {range(3, 10)}
